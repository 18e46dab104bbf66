// What the operator does with the file: keeps copies of it, and puts one in its place.

import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { backupAsItIs } from '../../src/store/backup.ts';
import { markPath } from '../../src/store/highwater.ts';
import { restoreFile } from '../../src/store/restore.ts';
import { meanwhile } from './chain-actions.ts';
import type { Shop } from './recount.ts';
import { type Action, noteFinals, type Run, through } from './run.ts';

/** A copy of the file, and what was known when it was made. */
export interface Copy {
  readonly path: string;
  /** As they were, in the order in which they were opened. */
  readonly shops: readonly Shop[];
  /** How many addresses were given out. */
  readonly given: number;
}

const copy: Action = async (run) => {
  const path = join(dirname(run.house.path), `copy-${run.step}.db`);
  await backupAsItIs(run.house.path, path);
  run.copies.push({ path, shops: structuredClone(run.shops), given: run.given.length });
  return `copy: after ${run.given.length} addresses`;
};

const restore: Action = async (run, random) => {
  // One that does not know a shop would not know its wallet: what is paid to that is not seen then.
  const fitting = run.copies.filter(({ shops }) => shops.length === run.shops.length);
  const chosen = random.recent(fitting);
  if (chosen === undefined) return 'restore: no copy that knows every shop';
  await through(run, run.house.stop());
  const before = await meanwhile(run, random);
  // As on another machine: nothing says then how far the file before it went.
  const isMarkLost = random.chance(0.3);
  if (isMarkLost) rmSync(markPath(run.house.path));
  restoreFile(chosen.path, run.house.path, `restored-${run.step}`);
  noteRestored(run, chosen);
  await run.house.start();
  return `restore: of ${chosen.given} addresses, ${run.given.length} were given out${isMarkLost ? ', without its mark' : ''};${before}`;
};

function noteRestored(run: Run, { shops, given }: Copy): void {
  noteFinals(run);
  run.restoredAt = run.heard.length;
  // An order of since may have another address now, one of before its first.
  for (const [name, order] of run.orders) run.orders.set(name, { ...order, at: 0 });
  for (const [place, shop] of run.shops.entries()) {
    Object.assign(shop, shops[place], { mostMinimumSat: shop.mostMinimumSat });
  }
  for (const each of run.given.slice(given)) {
    const sharers = run.shops.filter(({ wallet }) => wallet === each.shop.wallet);
    // Nobody knows any more which of them asked for it.
    each.forgotten = sharers.length > 1;
  }
}

export const fileActions = { copy, restore };

export const fileWeights: Readonly<Record<keyof typeof fileActions, number>> = {
  copy: 4,
  restore: 2,
};
