import { expect, it } from 'vitest';
import type { Header } from '../../src/bitcoin/header.ts';
import type { NetworkName } from '../../src/bitcoin/network.ts';
import { doubtOf, formatDoubtOfServer } from '../../src/domain/server-standing.ts';
import { branch, firstHeader, type HeldChain, hold, ruledBy } from '../support/headers.ts';

const hour = 3_600_000;
const first = firstHeader();
const headers = [first, ...branch(first, 160)];
const tip = headers.at(-1) as Header;

const chain = (): HeldChain => hold(ruledBy('none'), headers);

/** What is to be said of a server with that tip, so long after our own. */
function doubt(held: HeldChain, end: Header, laterMs = 0, network: NetworkName = 'mainnet') {
  const known = held.view.byHash(end.hash);
  if (known === undefined) throw new Error('not a header of the chain');
  const now = held.tip().header.time * 1000 + laterMs;
  return doubtOf({ view: held.view, network, tip: known, now });
}

const back = (blocks: number): Header => headers.at(-1 - blocks) as Header;

it('P-162 one block behind is on its way, two are a lag, however many it is an ancestor', () => {
  const held = chain();
  expect(doubt(held, tip)).toBeUndefined();
  expect(doubt(held, back(1))).toBeUndefined();
  expect(doubt(held, back(2))).toEqual({ kind: 'lag', blocks: 2 });
  expect(doubt(held, back(150))).toEqual({ kind: 'lag', blocks: 150 });
});

it('P-163 a tip is stale after eight hours by its own time, but not on regtest', () => {
  const held = chain();
  expect(doubt(held, tip, 8 * hour)).toBeUndefined();
  expect(doubt(held, tip, 8 * hour + 1)).toEqual({ kind: 'stale', ageMs: 8 * hour + 1 });
  expect(doubt(held, tip, 90 * hour, 'regtest')).toBeUndefined();
});

it('a branch that leaves ours two blocks back is a race, three are a disagreement', () => {
  const held = chain();
  const [race, other] = [branch(back(2), 2), branch(back(3), 3)];
  held.feed(race);
  held.feed(other);
  expect(doubt(held, race.at(-1) as Header)).toBeUndefined();
  expect(doubt(held, other.at(-1) as Header)).toEqual({ kind: 'branch', depth: 3 });
  // It does not become a lag by being short.
  expect(doubt(held, other[0] as Header)).toEqual({ kind: 'branch', depth: 3 });
});

it('a heavier branch deeper than 144 is told apart from a lighter one', () => {
  const held = chain();
  const side = branch(back(145), 146);
  for (const header of side.slice(0, -1)) held.feed([header]);
  expect(doubt(held, side.at(-2) as Header)).toEqual({ kind: 'branch', depth: 145 });
  expect(held.feed(side.slice(-1))).toMatchObject({ kind: 'deep' });
  expect(doubt(held, side.at(-1) as Header)).toEqual({ kind: 'deep', depth: 145 });
  expect(held.tip().header.hash).toBe(tip.hash);
});

it('each is told in words', () => {
  expect(formatDoubtOfServer({ kind: 'lag', blocks: 3 })).toBe('it is 3 blocks behind');
  expect(formatDoubtOfServer({ kind: 'stale', ageMs: 9.5 * hour })).toContain('9 hours old');
  expect(formatDoubtOfServer({ kind: 'branch', depth: 4 })).toContain('4 blocks back');
  expect(formatDoubtOfServer({ kind: 'deep', depth: 150 })).toContain('not followed');
});
