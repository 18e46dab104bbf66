// What the merchants and the operator do: ask for addresses, answer badly, stop and start, lose power,
// change their minds; and time, which passes.

import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import SqliteDatabase from 'better-sqlite3';
import { addressToScript } from '../../src/bitcoin/address.ts';
import { deriveAddress } from '../../src/bitcoin/keychain.ts';
import { networks } from '../../src/bitcoin/network.ts';
import { markPath } from '../../src/store/highwater.ts';
import { merchantKey, type Reply } from '../support/house.ts';
import type { Answer } from '../support/receiver.ts';
import { chainActions, chainWeights } from './chain-actions.ts';
import type { Random } from './random.ts';
import type { Given, Shop } from './recount.ts';
import { type Action, noteFinals, type Run, through } from './run.ts';

const keys = new Map<number, ReturnType<typeof merchantKey>>();
const indexes = new Map<string, number>();

function keyOf(wallet: number): ReturnType<typeof merchantKey> {
  const key = keys.get(wallet) ?? merchantKey(wallet);
  keys.set(wallet, key);
  return key;
}

/** Which index of a wallet an address has; -1 for one that is not of this wallet. */
function indexOf(wallet: number, address: string): number {
  for (let index = 0; index < 1_000; index += 1) {
    const place = `${wallet} ${index}`;
    const known = addressesAt.get(place) ?? deriveAddress(keyOf(wallet), 0, index)?.address ?? '';
    addressesAt.set(place, known);
    indexes.set(known, index);
    if (known === address) return index;
  }
  return -1;
}

const addressesAt = new Map<string, string>();

function take(shop: Shop, { status, body }: Reply): Given[] {
  if (status === 503) return [];
  if (status !== 200) throw new Error(`no address: ${status} ${JSON.stringify(body)}`);
  const address = String(body.address);
  const index = indexes.get(address) ?? indexOf(shop.wallet, address);
  return [{ address, shop, index, script: addressToScript(address, networks.regtest) }];
}

const request = (run: Run, { name }: Shop): Promise<Reply> =>
  through(run, run.house.ask(`/api/new_address?match_callback=/${name}`));

const ask: Action = async (run, random) => {
  const shop = random.pick(run.shops);
  const count = Number(random.weighted({ 1: 6, 2: 2, 3: 1 }));
  const replies = await Promise.all(Array.from({ length: count }, () => request(run, shop)));
  const given = replies.flatMap((reply) => take(shop, reply));
  run.given.push(...given.sort((one, other) => one.index - other.index));
  return `ask: ${shop.name} ${given.map(({ index }) => index).join(', ')}`;
};

const merchant: Action = (run, random) => {
  const answer = random.pick<Answer>([
    { status: 500 },
    'reset',
    'hang',
    { status: 429, headers: { 'Retry-After': String(random.int(1, 200)) } },
    { status: 302, headers: { Location: 'http://elsewhere.invalid/' } },
  ]);
  const lasts = random.int(1, 5);
  const mine = { answer };
  run.merchant = mine;
  run.troubles.push({
    untilStep: run.step + lasts,
    end: () => {
      if (run.merchant === mine) run.merchant = { answer: { status: 200 } };
    },
  });
  return `merchant: ${JSON.stringify(answer)} for ${lasts} steps`;
};

const clock: Action = async (run, random) => {
  const seconds = Number(random.weighted({ 1: 4, 5: 4, 20: 4, 61: 4, 300: 2, 1800: 1, 7200: 0.4 }));
  await run.world.advance(seconds * 1_000);
  return `clock: ${seconds} s`;
};

/** Some of what happens on the chain while paygate is down. */
async function meanwhile(run: Run, random: Random): Promise<string> {
  const happened: string[] = [];
  for (let left = random.int(0, 4); left > 0; left -= 1) {
    happened.push(await chainActions[random.weighted(chainWeights)](run, random));
  }
  return happened.length === 0 ? '' : ` [${happened.join('; ')}]`;
}

const restart: Action = async (run, random) => {
  await through(run, run.house.stop());
  const happened = await meanwhile(run, random);
  await run.house.start();
  return `restart:${happened}`;
};

/**
 * As kill -9: the files are those of this moment, whatever the old process still does is undone, and it
 * reaches nobody. They are written back in place, so that their inodes are the same. With `torn`, the
 * mark is that of a moment later: its raise was synced, and the commit did not happen.
 */
const crash: Action = async (run, random) => {
  const { house, world } = run;
  const torn = random.chance(0.3);
  const files = [house.path, `${house.path}-wal`].map(photograph);
  let mark = photograph(markPath(house.path));
  world.cutPower();
  if (torn) {
    await request(run, random.pick(run.shops));
    mark = photograph(markPath(house.path));
  }
  await through(run, house.stop());
  rmSync(`${house.path}-shm`, { force: true });
  for (const put of [...files, mark]) put();
  world.restorePower();
  const happened = await meanwhile(run, random);
  await house.start();
  return `crash${torn ? ' between mark and commit' : ''}:${happened}`;
};

/** @returns puts the file's bytes back */
function photograph(path: string): () => void {
  if (!existsSync(path)) return () => rmSync(path, { force: true });
  const bytes = readFileSync(path);
  return () => writeFileSync(path, bytes);
}

/** As a command of the CLI does it, in another connection to the file. */
function change(run: Run, { id }: Pick<Shop, 'id'>, fields: Record<string, string | number>): void {
  const file = new SqliteDatabase(run.house.path);
  const set = Object.keys(fields).map((name) => `${name} = @${name}`);
  file.prepare(`update stores set ${set.join(', ')} where id = @id`).run({ ...fields, id });
  file.close();
}

const demand: Action = (run, random) => {
  const shop = random.pick(run.shops);
  noteFinals(run);
  shop.required = random.int(1, 5);
  change(run, shop, { required_confirmations: shop.required });
  return `demand: ${shop.name} wants ${shop.required}`;
};

/** The template's shop, made this simulation's own. */
export function firstShop(run: Run, random: Random): Shop {
  const required = random.int(1, 4);
  const shop = { id: 1, name: 'shop1', wallet: 1, tellsReversal: random.chance(0.3), required };
  change(run, shop, {
    callback_url: `${run.house.receiver.origin}/shop1?secret=s3cr3t`,
    required_confirmations: required,
    reversal_callback: Number(shop.tellsReversal),
  });
  run.shops.push(shop);
  return shop;
}

async function addShop(run: Run, random: Random): Promise<Shop> {
  const wallet = random.chance(0.7) ? 1 : 2;
  const isKnown = run.shops.some((shop) => shop.wallet === wallet);
  const name = `shop${run.shops.length + 1}`;
  const required = random.int(1, 4);
  const { id } = await run.house.addStore({
    name,
    key: keyOf(wallet),
    callbackUrl: `${run.house.receiver.origin}/${name}?secret=s3cr3t`,
    confirmations: required,
    ...(isKnown || random.chance(0.5) ? {} : { startIndex: 0 }),
  });
  const shop = { id, name, wallet, tellsReversal: false, required };
  run.shops.push(shop);
  return shop;
}

const open: Action = async (run, random) => {
  if (run.shops.length >= 3) return 'open: enough shops';
  const { name, wallet, required } = await addShop(run, random);
  return `open: ${name} on wallet ${wallet}, ${required} confirmations`;
};

export const houseActions = { ask, merchant, clock, restart, crash, demand, open };

export const houseWeights: Readonly<Record<keyof typeof houseActions, number>> = {
  ask: 16,
  merchant: 5,
  clock: 8,
  restart: 3,
  crash: 4,
  demand: 3,
  open: 1.5,
};
