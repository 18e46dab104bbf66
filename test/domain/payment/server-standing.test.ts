import { expect, it } from 'vitest';
import type { Header } from '../../../src/bitcoin/header.ts';
import type { NetworkName } from '../../../src/bitcoin/network.ts';
import { doubtOf, formatDoubtOfServer } from '../../../src/domain/payment/server-standing.ts';
import {
  branch,
  firstHeader,
  ruledBy,
  type StoredChain,
  storeHeaders,
} from '../../support/headers.ts';

const hour = 3_600_000;
const first = firstHeader();
const headers = [first, ...branch(first, 160)];
const tip = headers.at(-1) as Header;

const chain = (): StoredChain => storeHeaders(ruledBy('none'), headers);

/** The doubt about a server with a tip, `laterMs` after ours. */
function doubt(stored: StoredChain, end: Header, laterMs = 0, network: NetworkName = 'mainnet') {
  const known = stored.view.byHash(end.hash);
  if (known === undefined) throw new Error('not a header of the chain');
  const now = stored.tip().header.time * 1000 + laterMs;
  return doubtOf({ view: stored.view, network, tip: known, now });
}

const back = (blocks: number): Header => headers.at(-1 - blocks) as Header;

it('P-162 a tip one block behind is in time, two or more are a lag, if it is on our chain', () => {
  const stored = chain();
  expect(doubt(stored, tip)).toBeUndefined();
  expect(doubt(stored, back(1))).toBeUndefined();
  expect(doubt(stored, back(2))).toEqual({ kind: 'lag', blocks: 2 });
  expect(doubt(stored, back(150))).toEqual({ kind: 'lag', blocks: 150 });
});

it('P-163 a tip is stale after eight hours by its own time, but not on regtest', () => {
  const stored = chain();
  expect(doubt(stored, tip, 8 * hour)).toBeUndefined();
  expect(doubt(stored, tip, 8 * hour + 1)).toEqual({ kind: 'stale', ageMs: 8 * hour + 1 });
  expect(doubt(stored, tip, 90 * hour, 'regtest')).toBeUndefined();
});

it('a fork two blocks deep is a race, three blocks deep a disagreement', () => {
  const stored = chain();
  const [race, other] = [branch(back(2), 2), branch(back(3), 3)];
  stored.feed(race);
  stored.feed(other);
  expect(doubt(stored, race.at(-1) as Header)).toBeUndefined();
  expect(doubt(stored, other.at(-1) as Header)).toEqual({ kind: 'branch', depth: 3 });
  // A shorter fork is no lag.
  expect(doubt(stored, other[0] as Header)).toEqual({ kind: 'branch', depth: 3 });
});

it('a fork deeper than 144 with more work differs from one with less', () => {
  const stored = chain();
  const side = branch(back(145), 146);
  for (const header of side.slice(0, -1)) stored.feed([header]);
  expect(doubt(stored, side.at(-2) as Header)).toEqual({ kind: 'branch', depth: 145 });
  expect(stored.feed(side.slice(-1))).toMatchObject({ kind: 'deep' });
  expect(doubt(stored, side.at(-1) as Header)).toEqual({ kind: 'deep', depth: 145 });
  expect(stored.tip().header.hash).toBe(tip.hash);
});

it('each doubt has a text', () => {
  expect(formatDoubtOfServer({ kind: 'lag', blocks: 3 })).toBe('it is 3 blocks behind');
  expect(formatDoubtOfServer({ kind: 'stale', ageMs: 9.5 * hour })).toContain('9 hours old');
  expect(formatDoubtOfServer({ kind: 'branch', depth: 4 })).toContain('4 blocks back');
  expect(formatDoubtOfServer({ kind: 'deep', depth: 150 })).toContain('not followed');
});
