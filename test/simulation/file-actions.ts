// Actions of the operator on the file: back it up, and restore a copy.

import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { minSkip } from '../../src/domain/allocation.ts';
import { backupAsItIs } from '../../src/store/backup/backup.ts';
import { restoreFile } from '../../src/store/backup/restore.ts';
import { markPath } from '../../src/store/mark/high-water-mark.ts';
import { meanwhile } from './chain-actions.ts';
import { noteFinals } from './invariants.ts';
import type { Given, Shop } from './recount.ts';
import { type Action, type Run, through } from './run.ts';

/** A copy of the file, and what was known when it was made. */
export interface Copy {
  readonly path: string;
  /** As they were, in the order in which they were opened. */
  readonly shops: readonly Shop[];
  /** In the order in which they were handed out. */
  readonly given: readonly Given[];
}

const copy: Action = async (run) => {
  const path = join(dirname(run.app.path), `copy-${run.step}.db`);
  await backupAsItIs(run.app.path, path);
  run.copies.push({ path, shops: structuredClone(run.shops), given: [...run.given] });
  return `copy: after ${run.given.length} addresses`;
};

const restore: Action = async (run, random) => {
  const chosen = random.recent(run.copies);
  if (chosen === undefined) return 'restore: no copy';
  await through(run, run.app.stop());
  const before = await meanwhile(run, random);
  // As on another machine: nothing says then how far the file before it went, and a hundred are skipped.
  const isMarkLost = random.chance(0.3) && goneOn(run, chosen) < minSkip;
  if (isMarkLost) rmSync(markPath(run.app.path));
  restoreFile(chosen.path, run.app.path, `restored-${run.step}`);
  noteRestored(run, chosen);
  await run.app.start();
  return `restore: of ${chosen.given.length} addresses, ${run.given.length} were given out${isMarkLost ? ', without its mark' : ''};${before}`;
};

/** How many indexes of a wallet were passed since the copy, at most. */
function goneOn({ given }: Run, copy: Copy): number {
  const furthest = (of: readonly Given[], wanted: number): number =>
    Math.max(-1, ...of.flatMap(({ index, shop }) => (shop.wallet === wanted ? [index] : [])));
  const wallets = new Set(given.map(({ shop }) => shop.wallet));
  return Math.max(
    0,
    ...[...wallets].map((each) => furthest(given, each) - furthest(copy.given, each)),
  );
}

function noteRestored(run: Run, { shops, given }: Copy): void {
  noteFinals(run);
  run.restoredAt = run.heard.length;
  // An order of since may have another address now, one of before its first.
  for (const [name, order] of run.orders) run.orders.set(name, { ...order, at: 0 });
  const most = run.shops.map(({ maxMinimumSat }) => maxMinimumSat);
  const back = shops.map((shop, place) => {
    return { ...shop, mostMinimumSat: Math.max(shop.maxMinimumSat, most[place] ?? 0) };
  });
  run.shops.splice(0, run.shops.length, ...back);
  const known = new Map(given.map((each) => [each.address, each]));
  for (const [place, each] of run.given.entries()) {
    const before = known.get(each.address);
    run.given[place] = before ? { ...before, shop: shopAgain(run, before) } : skipped(run, each);
  }
}

/** Another one may have the number since: a file that was restored, and gave it to a shop on another wallet. */
const shopAgain = ({ shops }: Run, { shop }: Given): Shop =>
  shops.find(({ id, wallet }) => id === shop.id && wallet === shop.wallet) ?? shop;

/** What the copy does not know as given out. */
function skipped(run: Run, { shop, ...given }: Given): Given {
  const sharers = run.shops.filter(({ wallet }) => wallet === shop.wallet);
  const issuing = sharers.filter(({ archived }) => !archived);
  const [only, second] = issuing.length > 0 ? issuing : sharers;
  return {
    ...given,
    shop: second === undefined && only !== undefined ? only : shop,
    // Of a wallet that the copy does not know nothing is seen, until a shop has it again.
    unseen: only === undefined,
    // Nobody knows any more which of several asked for it.
    forgotten: second !== undefined,
  };
}

export const fileActions = { copy, restore };

export const fileWeights: Readonly<Record<keyof typeof fileActions, number>> = {
  copy: 4,
  restore: 2,
};
