// Actions of merchants and operator: request addresses, respond badly, stop and start, lose power,
// change settings. Time also passes.

import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import SqliteDatabase from 'better-sqlite3';
import { addressToScript } from '../../src/bitcoin/address.ts';
import { networks } from '../../src/bitcoin/network.ts';
import { dayMs } from '../../src/lib/time-units.ts';
import { markPath } from '../../src/store/mark/high-water-mark.ts';
import { positionsBeside } from '../../src/store/mark/mark-position.ts';
import type { Reply } from '../support/app.ts';
import type { Answer } from '../support/receiver.ts';
import { meanwhile } from './chain-actions.ts';
import { noteFinals } from './invariants.ts';
import { invoiceSecret } from './invoice-webhooks.ts';
import { giveNode } from './lightning.ts';
import type { Random } from './random.ts';
import type { IssuedAddress, Shop } from './recount.ts';
import { type Action, finish, noticedMs, type Run } from './run.ts';
import { indexOf, walletKey } from './wallet-keys.ts';

function take(shop: Shop, { status, body }: Reply): IssuedAddress[] {
  if (status === 503) return [];
  if (status !== 200) throw new Error(`no address: ${status} ${JSON.stringify(body)}`);
  const address = String(body.address);
  const index = indexOf(shop.wallet, address);
  return [{ address, shop, index, script: addressToScript(address, networks.regtest) }];
}

const request = (run: Run, { name }: Shop, query = '', init?: RequestInit): Promise<Reply> =>
  finish(run, run.app.ask(`/api/new_address?match_callback=/${name}${query}`, init));

export const open = ({ shops }: Run): Shop[] => shops.filter(({ archived }) => !archived);

const ask: Action = async (run, random) => {
  const shop = random.pick(open(run));
  const count = Number(random.weighted({ 1: 6, 2: 2, 3: 1 }));
  const replies = await Promise.all(Array.from({ length: count }, () => request(run, shop)));
  const issued = replies.flatMap((reply) => take(shop, reply));
  run.issued.push(...issued.sort((one, other) => one.index - other.index));
  return `ask: ${shop.name} ${issued.map(({ index }) => index).join(', ')}`;
};

/** One after another within a second. */
const rush: Action = async (run, random) => {
  const shop = random.pick(open(run));
  const issued: IssuedAddress[] = [];
  for (let left = random.int(5, 16); left > 0; left -= 1) {
    issued.push(...take(shop, await request(run, shop)));
  }
  run.issued.push(...issued);
  return `rush: ${shop.name} ${issued.map(({ index }) => index).join(', ')}`;
};

/** With `reset=1`, which returns the last address again if it has no payment. */
const askReset: Action = async (run, random) => {
  const shop = random.pick(open(run));
  const reply = await request(run, shop, '&reset=1');
  const [issued] = take(shop, reply);
  if (issued === undefined) return `askReset: ${shop.name} nothing`;
  if (run.shopOrders.has(issued.address)) throw new Error(`${issued.address} has an order`);
  const last = run.issued
    .filter((each) => each.shop === shop && !run.shopOrders.has(each.address))
    .at(-1);
  if (last?.address === issued.address) return `askReset: ${shop.name} ${issued.index} again`;
  run.issued.push(issued);
  return `askReset: ${shop.name} ${issued.index}`;
};

/** With an idempotency key, which may have been used before. */
const askOnce: Action = async (run, random) => {
  const shop = random.pick(open(run));
  const name = `${shop.name} ${random.int(1, 6)}`;
  const headers = { 'Idempotency-Key': name };
  const [issued] = take(shop, await request(run, shop, '', { headers }));
  if (issued === undefined) return `askOnce: ${name} nothing`;
  const now = run.world.trueNow();
  const { addresses, at } = run.orders.get(name) ?? { addresses: [], at: 0 };
  // A clock that was wrong by less is not noticed.
  const isSure = now - at < dayMs - noticedMs;
  if (isSure && addresses.at(-1) !== issued.address) {
    throw new Error(`${name} has ${addresses.at(-1)}, and ${issued.address} now`);
  }
  if (addresses.includes(issued.address)) return `askOnce: ${name} ${issued.index} again`;
  const keptAt = Math.min(now, run.world.now());
  run.orders.set(name, { addresses: [...addresses, issued.address], at: keptAt });
  run.issued.push(issued);
  return `askOnce: ${name} ${issued.index}`;
};

const merchant: Action = (run, random) => {
  const answer = random.pick<Answer>([
    { status: 500 },
    'reset',
    'hang',
    { status: 429, headers: { 'Retry-After': String(random.int(1, 200)) } },
    { status: 200, body: 'Error: secret does not match' },
    { status: 302, headers: { Location: 'http://elsewhere.invalid/' } },
  ]);
  const lasts = random.int(1, 5);
  const mine = { answer };
  run.merchant = mine;
  run.activeFaults.push({
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

/** Only the wall clock jumps; no time passes. */
const jump: Action = (run, random) => {
  const minutes = random.int(1, 100) * random.pick([-1, 1]);
  run.world.jumpWallClock(minutes * 60_000);
  return `jump: ${minutes} min`;
};

const restart: Action = async (run, random) => {
  await finish(run, run.app.stop());
  const happened = await meanwhile(run, random);
  await run.app.start();
  return `restart:${happened}`;
};

/**
 * Like kill -9. The old process can connect to no server and no shop, and what it writes from now
 * on is undone. The files are restored in place, so their inodes stay.
 * @param work what it writes; the mark file is synced before its commit, so that stays
 */
export async function loseWrites(run: Run, work?: () => Promise<unknown>): Promise<void> {
  const { app, world } = run;
  const files = [app.path, `${app.path}-wal`].map(snapshot);
  let mark = snapshotMark(app.path);
  world.cutPower();
  if (work !== undefined) {
    await work();
    mark = snapshotMark(app.path);
  }
  await finish(run, app.stop());
  rmSync(`${app.path}-shm`, { force: true });
  for (const restore of [...files, mark]) restore();
  world.restorePower();
}

/** With `torn`, the mark file is a moment newer: it was synced, and the commit was lost. */
const crash: Action = async (run, random) => {
  const torn = random.chance(0.3);
  await loseWrites(run, torn ? () => request(run, random.pick(open(run))) : undefined);
  const happened = await meanwhile(run, random);
  await run.app.start();
  return `crash${torn ? ' between mark and commit' : ''}:${happened}`;
};

/** @returns a function that restores the file's present content */
function snapshot(path: string): () => void {
  if (!existsSync(path)) return () => rmSync(path, { force: true });
  const bytes = readFileSync(path);
  return () => writeFileSync(path, bytes);
}

function snapshotMark(path: string): () => void {
  const mark = markPath(path);
  const restore = snapshot(mark);
  const [before] = positionsBeside(mark);
  return () => {
    restore();
    const [now] = positionsBeside(mark);
    if (before !== undefined && now !== undefined) renameSync(now.path, before.path);
  };
}

/** Changes a store through another connection to the file, like a command of the CLI. */
export function changeStore(
  run: Run,
  { id }: Pick<Shop, 'id'>,
  fields: Record<string, string | number>,
): void {
  const file = new SqliteDatabase(run.app.path);
  const set = Object.keys(fields).map((name) => `${name} = @${name}`);
  file.prepare(`update stores set ${set.join(', ')} where id = @id`).run({ ...fields, id });
  file.close();
}

const setConfirmations: Action = (run, random) => {
  const shop = random.pick(run.shops);
  noteFinals(run);
  shop.required = random.int(1, 5);
  changeStore(run, shop, { required_confirmations: shop.required });
  return `setConfirmations: ${shop.name} wants ${shop.required}`;
};

const setMinimum: Action = (run, random) => {
  const shop = random.pick(run.shops);
  const minimumSat = random.chance(0.4) ? 0 : random.int(500, 200_000);
  shop.maxMinimumSat = Math.max(shop.maxMinimumSat, minimumSat);
  changeStore(run, shop, { minimum_sat: minimumSat });
  return `setMinimum: ${shop.name} wants ${minimumSat} or more`;
};

/** Like `paygate store remove`: issued addresses stay watched, and callbacks continue. */
const archive: Action = async (run, random) => {
  const shop = random.pick(open(run));
  if (open(run).length === 1) return 'archive: the last shop';
  await run.app.withStore(({ catalog, database }) =>
    database.write((tx) => catalog.archiveStore(tx, run.world.now(), shop.id, false)),
  );
  shop.archived = true;
  const { status } = await request(run, shop);
  if (status !== 400 && status !== 503) throw new Error(`${shop.name} was removed: ${status}`);
  return `archive: ${shop.name}`;
};

/** The webhook secret of the template's store and of stores that TestApp adds. */
const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const newShop = (name: string) => ({
  maxMinimumSat: 0,
  archived: false,
  bands: [],
  settings: { path: `/${name}`, secret },
  pastSettings: [],
  stoppedAt: undefined,
  node: undefined,
});

/** Gives a shop a webhook of each format. */
function addWebhooks(run: Run, { id, name }: Pick<Shop, 'id' | 'name'>): void {
  const file = new SqliteDatabase(run.app.path);
  const at = `${run.app.receiver.origin}/${name}`;
  file
    .prepare("update webhooks set url = ?, events = 'order,payment' where store_id = ?")
    .run(`${at}/hook`, id);
  file
    .prepare(
      "insert into webhooks (store_id, format, url, events, secret) values (?, 'btcpay', ?, '', ?)",
    )
    .run(id, `${at}/btcpay`, invoiceSecret);
  file.close();
}

/** Configures the template's shop for this simulation. */
export function firstShop(run: Run, random: Random): Shop {
  const required = random.int(1, 4);
  const shop: Shop = {
    id: 1,
    name: 'shop1',
    wallet: 1,
    hasReversalCallback: random.chance(0.3),
    required,
    ...newShop('shop1'),
  };
  changeStore(run, shop, {
    callback_url: `${run.app.receiver.origin}/shop1?secret=s3cr3t`,
    required_confirmations: required,
    reversal_callback: Number(shop.hasReversalCallback),
  });
  addWebhooks(run, shop);
  run.shops.push(shop);
  return shop;
}

async function createShop(run: Run, random: Random): Promise<Shop> {
  const wallet = random.chance(0.7) ? 1 : 2;
  const isKnown = run.shops.some((shop) => shop.wallet === wallet);
  const name = `shop${run.shops.length + 1}`;
  const required = random.int(1, 4);
  const { id } = await run.app.addStore({
    name,
    key: walletKey(wallet),
    callbackUrl: `${run.app.receiver.origin}/${name}?secret=s3cr3t`,
    confirmations: required,
    ...(isKnown || random.chance(0.5) ? {} : { startIndex: 0 }),
  });
  const shop: Shop = { id, name, wallet, hasReversalCallback: false, required, ...newShop(name) };
  addWebhooks(run, shop);
  run.shops.push(shop);
  await giveNode(run, shop);
  return shop;
}

const addShop: Action = async (run, random) => {
  if (run.shops.length >= 3) return 'addShop: enough shops';
  const { name, wallet, required } = await createShop(run, random);
  return `addShop: ${name} on wallet ${wallet}, ${required} confirmations`;
};

export const appActions = {
  ...{ ask, rush, askReset, askOnce, merchant, clock, jump, restart, crash },
  ...{ setConfirmations, setMinimum, addShop, archive },
};

export const appWeights: Readonly<Record<keyof typeof appActions, number>> = {
  ask: 12,
  rush: 2.5,
  askReset: 2,
  askOnce: 3,
  merchant: 5,
  clock: 8,
  jump: 1,
  restart: 3,
  crash: 4,
  setConfirmations: 3,
  setMinimum: 1.5,
  addShop: 2.5,
  archive: 0.7,
};
