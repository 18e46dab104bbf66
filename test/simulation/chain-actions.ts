// Actions of people, miners and nodes: payments, blocks, reorganisations, replacements, evictions.

import { HDKey } from '@scure/bip32';
import type { Txid } from '../../src/bitcoin/ids.ts';
import { deriveAddress } from '../../src/bitcoin/keychain.ts';
import { PaygateError } from '../../src/lib/errors.ts';
import type { Fate } from '../../src/sandbox/chain/reorganise.ts';
import type { Outpoint } from '../../src/sandbox/chain/simulated-transaction.ts';
import type { Recipient } from '../../src/sandbox/chain/spender.ts';
import { amountSatOf } from './orders.ts';
import type { Random } from './random.ts';
import type { IssuedAddress } from './recount.ts';
import { type Action, floorHeight, noteMined, type Run } from './run.ts';
import { walletKey } from './wallet-keys.ts';

/** A refusal by the rules of the chain is no failure; the action just does not happen. */
export function unlessRefused(what: string, run: () => string): string {
  try {
    return `${what}: ${run()}`;
  } catch (error) {
    if (error instanceof PaygateError) return `${what}: refused, ${error.message}`;
    throw error;
  }
}

const short = (txid: string): string => txid.slice(0, 8);

/** Most payments go to recently issued addresses. */
function someOutputs(run: Run, random: Random): Recipient[] {
  const count = random.weighted({ 1: 6, 2: 2, 3: 1 });
  return Array.from({ length: Number(count) }, () => {
    const to = random.recent(run.issued);
    const order = run.shopOrders.get(to?.address ?? '');
    const isExact = order !== undefined && random.chance(0.4);
    const some = random.chance(0.1) ? random.int(330, 999) : random.int(1_000, 5_000_000);
    const valueSat = isExact ? amountSatOf(order) : some;
    return { script: to?.script ?? run.app.chain.faucet.script, valueSat };
  });
}

const pay: Action = (run, random) =>
  unlessRefused('pay', () => {
    const outputs = someOutputs(run, random);
    const inputs = random.weighted({ confirmed: 4, unconfirmed: 2, any: 4 });
    const options = { rbf: random.chance(0.8), ...(inputs === 'any' ? {} : { inputs }) };
    const txid = run.app.chain.pay(outputs, options);
    return `${short(txid)} ${outputs.map(({ valueSat }) => valueSat).join('+')} from ${inputs}`;
  });

/** The merchant spends the coins of an address, perhaps to an address of the same wallet. */
const spend: Action = (run, random) =>
  unlessRefused('spend', () => {
    const from = random.recent(run.issued);
    if (from === undefined) return 'nothing was issued';
    const outputs = random.chance(0.5) ? someOutputs(run, random).slice(0, 1) : [];
    return spendAll(run, from, outputs);
  });

/** Spends every coin of an address. The outputs are small, so the coins suffice. */
export function spendAll(
  run: Run,
  from: IssuedAddress,
  outputs: readonly Recipient[] = [],
): string {
  const coins = outputsTo(run, from);
  if (coins.length === 0) return 'no coins';
  const small = outputs.map((output) => ({ ...output, valueSat: 600 }));
  const txid = run.app.chain.spend(coins, { privateKey: keyOf(from), outputs: small });
  return `${short(txid)} of ${coins.length} coins`;
}

function outputsTo({ app: { chain } }: Run, { script }: IssuedAddress): Outpoint[] {
  const blocks = Array.from(
    { length: chain.tipHeight - floorHeight },
    (_, at) => chain.block(floorHeight + 1 + at)?.transactions ?? [],
  );
  const all = [...blocks.flat(), ...chain.mempool()];
  const spent = new Set(all.flatMap(({ inputs }) => inputs.map((each) => key(each))));
  return all
    .filter(({ coinbase }) => !coinbase)
    .flatMap(({ txid, outputs }) =>
      outputs.flatMap((output, vout) =>
        Buffer.compare(output.script, script) === 0 ? [{ txid, vout }] : [],
      ),
    )
    .filter((outpoint) => !spent.has(key(outpoint)));
}

const key = ({ txid, vout }: Outpoint): string => `${txid}:${vout}`;

function keyOf({ index, shop }: IssuedAddress): Uint8Array {
  const root = HDKey.fromMasterSeed(new Uint8Array(32).fill(shop.wallet));
  const { privateKey } = root.derive(`m/84'/1'/0'/0/${index}`);
  if (privateKey === null) throw new Error('a key without a private part');
  return privateKey;
}

const mine: Action = (run, random) =>
  unlessRefused('mine', () => {
    const { chain } = run.app;
    const blocks = Number(random.weighted({ 1: 6, 2: 2, 3: 2 }));
    const which = random.weighted({ all: 7, none: 2, some: 3 });
    const to = random.chance(0.08) ? random.recent(run.issued)?.script : undefined;
    const include =
      which === 'some' ? withParents(run, (_) => random.chance(0.5)) : (which as 'all' | 'none');
    chain.mine(blocks, { include, ...(to === undefined ? {} : { to }) });
    const coinbase = to === undefined ? '' : ', coinbase to a shop';
    return `${blocks} with ${which} up to ${chain.tipHeight}${coinbase}`;
  });

/** The chosen transactions of the mempool whose unconfirmed parents are chosen too. */
function withParents({ app: { chain } }: Run, isChosen: (txid: Txid) => boolean): Txid[] {
  const waiting = chain.mempool();
  const unconfirmed = new Set(waiting.map(({ txid }) => txid));
  const chosen = new Set<Txid>();
  for (const { txid, inputs } of waiting) {
    const ready = inputs.every((input) => !unconfirmed.has(input.txid) || chosen.has(input.txid));
    if (isChosen(txid) && ready) chosen.add(txid);
  }
  return [...chosen];
}

const reorganise: Action = (run, random) => {
  const { chain } = run.app;
  const depth = Math.min(random.int(1, 6), chain.tipHeight - floorHeight);
  if (depth < 1) return 'reorganise: too early';
  const blocks = depth + random.int(1, 2);
  const fork = chain.tipHeight - depth;
  const one = someFate(random, fork, blocks);
  const isMixed = random.chance(0.5);
  const transactions = () => (isMixed ? someFate(random, fork, blocks) : one);
  const { dropped } = chain.reorganise(depth, { transactions, blocks });
  run.lost.push(...dropped.keys());
  const fate = isMixed ? 'mixed fates' : JSON.stringify(one);
  return `reorganise: ${depth} replaced by ${blocks}, ${fate}, ${dropped.size} dropped`;
};

const someFate = (random: Random, fork: number, blocks: number): Fate => {
  const fate = random.weighted({ mempool: 3, drop: 2, 'remine-same-height': 3, height: 2 });
  return fate === 'height' ? { height: fork + random.int(1, blocks) } : fate;
};

const replace: Action = (run, random) =>
  unlessRefused('replace', () => {
    const old = random.recent(run.app.chain.mempool());
    if (old === undefined) return 'nothing waits';
    const how = random.weighted({ same: 4, nothing: 3, other: 2 });
    const outputs = how === 'same' ? undefined : how === 'nothing' ? [] : someOutputs(run, random);
    const txid = run.app.chain.replace(old.txid, outputs);
    run.lost.push(old.txid);
    return `${short(old.txid)} by ${short(txid)}, paying ${how}`;
  });

const evict: Action = (run, random) => {
  const victim = random.recent(run.app.chain.mempool());
  if (victim === undefined) return 'evict: nothing waits';
  run.app.chain.evict(victim.txid);
  run.lost.push(victim.txid);
  return `evict: ${short(victim.txid)}`;
};

const rebroadcast: Action = (run, random) =>
  unlessRefused('rebroadcast', () => {
    const txid = random.recent(run.lost);
    if (txid === undefined) return 'nothing was lost';
    run.app.chain.rebroadcast(txid);
    return short(txid);
  });

/** A few random actions on the chain while paygate is down. @returns their description */
export async function meanwhile(run: Run, random: Random): Promise<string> {
  const happened: string[] = [];
  for (let left = random.int(0, 4); left > 0; left -= 1) {
    happened.push(await chainActions[random.weighted(chainWeights)](run, random));
  }
  return happened.length === 0 ? '' : ` [${happened.join('; ')}]`;
}

/**
 * Pays an address that paygate has not issued yet. Another program on the same wallet may have
 * issued it, or the owner.
 */
const payUnissued: Action = (run, random) =>
  unlessRefused('payUnissued', () => {
    const { wallet } = random.pick(run.shops);
    const last = run.issued.filter(({ shop }) => shop.wallet === wallet).at(-1)?.index ?? -1;
    const index = last + random.int(1, 6);
    const { script } = deriveAddress(walletKey(wallet), 0, index) ?? {};
    if (script === undefined) return 'no such child';
    const txid = run.app.chain.pay([{ script, valueSat: random.int(1_000, 90_000) }]);
    return `${short(txid)} to index ${index} of wallet ${wallet}`;
  });

/** Pays several addresses, one of them twice. Sometimes a replacement pays only some of them. */
const payMany: Action = async (run, random) => {
  const { chain } = run.app;
  const chosen = new Set(Array.from({ length: 5 }, () => random.recent(run.issued)));
  const scripts = [...chosen].flatMap((issued) => issued?.script ?? []);
  const [first] = scripts;
  if (first === undefined) return 'payMany: nothing was issued';
  const outputs = [...scripts, first].map((script) => ({
    script,
    valueSat: random.int(1_000, 900_000),
  }));
  const paid = unlessRefused('payMany', () => {
    const txid = chain.pay(outputs);
    return `${short(txid)} to ${scripts.length} addresses`;
  });
  // This action may also happen while paygate is down.
  if (random.chance(0.6)) await run.world.advance(1_000);
  const old = chain.mempool().at(-1);
  if (old === undefined || random.chance(0.3)) return paid;
  const some = outputs.filter(() => random.chance(0.5));
  const replaced = unlessRefused('replaced', () => {
    const txid = chain.replace(old.txid, some);
    run.lost.push(old.txid);
    return `${short(old.txid)} by ${short(txid)}, paying ${some.length} of it`;
  });
  return `${paid}, ${replaced}`;
};

/** A transaction is replaced; then the replacement leaves and the original comes back. */
const undo: Action = async (run, random) => {
  const { chain } = run.app;
  const old = random.recent(chain.mempool());
  if (old === undefined) return 'undo: nothing waits';
  let rival: Txid | undefined;
  const replaced = unlessRefused('undo', () => {
    rival = chain.replace(old.txid);
    return `${short(old.txid)} by ${short(rival)}`;
  });
  if (rival === undefined) return replaced;
  await run.world.advance(1_000);
  chain.evict(rival);
  run.lost.push(rival);
  const back = unlessRefused('back', () => short(chain.rebroadcast(old.txid)));
  return `${replaced}, ${back}`;
};

/** Two rival blocks of equal work, one after the other. Some steps later a third one decides. */
const race: Action = (run, random) => {
  const { chain } = run.app;
  const isEmpty = random.chance(0.5);
  chain.mine(1, { include: isEmpty ? 'none' : 'all' });
  const { height } = chain.tip;
  const lasts = random.int(1, 3);
  const switched = random.int(0, lasts - 1);
  run.activeFaults.push({
    untilStep: run.step + switched,
    end: () => {
      if (chain.tipHeight !== height) return;
      const { dropped } = chain.reorganise(1, { transactions: 'mempool', blocks: 0 });
      run.lost.push(...dropped.keys());
      chain.mine(1, { include: isEmpty ? 'all' : 'none' });
    },
  });
  run.activeFaults.push({ untilStep: run.step + lasts, end: () => void chain.mine() });
  return `race: at ${height}, the other side after ${switched} steps, decided after ${lasts}`;
};

/** One server follows a rival block of another miner, until the next block decides. */
const rivalBlock: Action = (run, random) => {
  const { chain, servers } = run.app;
  const server = random.pick(servers);
  const to = random.chance(0.1) ? random.recent(run.issued)?.script : undefined;
  const [own, theirs] = random.pick([
    ['all', 'none'],
    ['none', 'all'],
    ['all', 'all'],
  ] as const);
  const block = chain.rival(theirs, to);
  noteMined(run, block.transactions, 1);
  const end = server.inject({ kind: 'rival', block });
  chain.mine(1, { include: own });
  const lasts = random.int(1, 4);
  run.activeFaults.push({
    untilStep: run.step + lasts,
    end() {
      if (chain.tipHeight === block.height) chain.mine();
      end();
    },
  });
  const place = servers.indexOf(server);
  return `rivalBlock: at ${block.height}, ${own} here, ${theirs} at server ${place}, decided after ${lasts}`;
};

export const chainActions = {
  ...{ pay, spend, mine, reorganise, replace, evict, rebroadcast, payUnissued },
  ...{ payMany, undo, race, rivalBlock },
};

export const chainWeights: Readonly<Record<keyof typeof chainActions, number>> = {
  pay: 20,
  spend: 3,
  mine: 16,
  reorganise: 9,
  replace: 6,
  evict: 4,
  rebroadcast: 5,
  payUnissued: 2,
  payMany: 4,
  undo: 2,
  race: 2,
  rivalBlock: 3,
};
