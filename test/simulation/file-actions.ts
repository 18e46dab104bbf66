// Actions of the operator on the file: back it up, and restore a copy.

import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { minSkip } from '../../src/domain/store/allocation.ts';
import { restoreFile } from '../../src/store/backup/restore.ts';
import { backupAsItIs } from '../../src/store/file/backup.ts';
import { markPath } from '../../src/store/mark/high-water-mark.ts';
import { meanwhile } from './chain-actions.ts';
import { noteFinals } from './invariants.ts';
import { orderActions } from './order-actions.ts';
import { readOrders, type SimulatedOrder } from './orders.ts';
import type { Random } from './random.ts';
import type { IssuedAddress, Shop } from './recount.ts';
import { type Action, finish, type Run, settle } from './run.ts';

/** A copy of the file, and the state of the shops at that moment. */
export interface Copy {
  readonly path: string;
  /** In the order of their creation. */
  readonly shops: readonly Shop[];
  /** In the order of issue. */
  readonly issued: readonly IssuedAddress[];
  readonly shopOrders: ReadonlyMap<string, SimulatedOrder>;
}

const copy: Action = async (run) => {
  const path = join(dirname(run.app.path), `copy-${run.step}.db`);
  await backupAsItIs(run.app.path, path);
  const shopOrders = new Map(run.shopOrders);
  const shops = structuredClone(run.shops);
  run.copies.push({ path, shops, issued: [...run.issued], shopOrders });
  return `copy: after ${run.issued.length} addresses`;
};

const restore: Action = async (run, random) => {
  const chosen = random.recent(run.copies);
  return chosen === undefined ? 'restore: no copy' : restoreCopy(run, random, chosen);
};

/** The same backup a second time, after the shops received what the first restore made of it. */
const restoreAgain: Action = async (run, random) => {
  const chosen = run.lastRestored ?? random.recent(run.copies);
  if (chosen === undefined) return copy(run, random);
  const first = run.lastRestored ? '' : `${await restoreCopy(run, random, chosen)}; `;
  const paid = await orderActions.payOrder(run, random);
  run.app.chain.mine();
  if (random.chance(0.7)) await settle(run);
  return `${first}${await restoreCopy(run, random, chosen)}, again, after ${paid}`;
};

export async function restoreCopy(run: Run, random: Random, chosen: Copy): Promise<string> {
  await finish(run, run.app.stop());
  const before = await meanwhile(run, random);
  // As on another machine. Without the mark file, paygate skips at least `minSkip` indexes.
  const isMarkLost = random.chance(0.3) && issuedSince(run, chosen) < minSkip;
  if (isMarkLost) rmSync(markPath(run.app.path));
  restoreFile(chosen.path, run.app.path, `restored-${run.step}`);
  noteRestored(run, chosen);
  run.lastRestored = chosen;
  run.restoredEvents = new Set(readOrders(run.app.path).events.map(({ id }) => id));
  await run.app.start();
  return `restore: of ${chosen.issued.length} addresses, ${run.issued.length} were issued${isMarkLost ? ', without its mark file' : ''};${before}`;
}

/** The most indexes that a wallet has used since the copy. */
function issuedSince({ issued }: Run, copy: Copy): number {
  const maxIndex = (of: readonly IssuedAddress[], wanted: number): number =>
    Math.max(-1, ...of.flatMap(({ index, shop }) => (shop.wallet === wanted ? [index] : [])));
  const wallets = new Set(issued.map(({ shop }) => shop.wallet));
  return Math.max(
    0,
    ...[...wallets].map((each) => maxIndex(issued, each) - maxIndex(copy.issued, each)),
  );
}

function noteRestored(run: Run, { shops, issued, shopOrders }: Copy): void {
  noteFinals(run);
  run.events = [];
  for (const [address, { id }] of run.shopOrders) {
    if (!shopOrders.has(address)) run.lostOrders.push(id);
  }
  // A newer copy may hold orders that an older one lost.
  const held = new Set([...shopOrders.values()].map(({ id }) => id));
  run.lostOrders.splice(0, Infinity, ...run.lostOrders.filter((id) => !held.has(id)));
  run.shopOrders.clear();
  for (const [address, order] of shopOrders) run.shopOrders.set(address, order);
  run.restoredAt = run.received.length;
  run.isRestored = true;
  run.eventsRestoredAt = run.receivedEvents.length;
  // An order since the copy may get a new address, and an older order its first one again.
  for (const [name, order] of run.orders) run.orders.set(name, { ...order, at: 0 });
  const minimums = run.shops.map(({ maxMinimumSat }) => maxMinimumSat);
  const back = shops.map((shop, place) => {
    return { ...shop, maxMinimumSat: Math.max(shop.maxMinimumSat, minimums[place] ?? 0) };
  });
  run.shops.splice(0, run.shops.length, ...back);
  const known = new Map(issued.map((each) => [each.address, each]));
  for (const [place, each] of run.issued.entries()) {
    const before = known.get(each.address);
    run.issued[place] = before ? { ...before, shop: shopAgain(run, before) } : skipped(run, each);
  }
}

/** After a restore the same id may belong to another shop, on another wallet. */
const shopAgain = ({ shops }: Run, { shop }: IssuedAddress): Shop =>
  shops.find(({ id, wallet }) => id === shop.id && wallet === shop.wallet) ?? shop;

/** An address that was issued after the copy. */
function skipped(run: Run, { shop, ...issued }: IssuedAddress): IssuedAddress {
  const sharers = run.shops.filter(({ wallet }) => wallet === shop.wallet);
  const issuing = sharers.filter(({ archived }) => !archived);
  const [only, second] = issuing.length > 0 ? issuing : sharers;
  return {
    ...issued,
    shop: second === undefined && only !== undefined ? only : shop,
    // The copy may lack the wallet; then it is unwatched until a shop uses it again.
    isUnwatched: only === undefined,
    // The file no longer records which of several shops requested it.
    isAmbiguous: second !== undefined,
  };
}

export const fileActions = { copy, restore, restoreAgain };

export const fileWeights: Readonly<Record<keyof typeof fileActions, number>> = {
  copy: 4,
  restore: 2,
  restoreAgain: 1.5,
};
