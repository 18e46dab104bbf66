import { expect, test } from 'vitest';
import { networks } from '../../../src/bitcoin/network.ts';
import { clockError, maxBlockAgeMs } from '../../../src/domain/payment/clock-check.ts';

const releasedAt = Date.UTC(2026, 10, 21);
const hourMs = 3_600_000;
const newestBlockTime = (releasedAt + 24 * hourMs) / 1000;
const newestMs = newestBlockTime * 1000;

test.each([
  [releasedAt - 1, undefined, 'this paygate was released on 2026-11-21 00:00:00'],
  [releasedAt, undefined, undefined],
  [releasedAt + hourMs, newestBlockTime, 'the newest block is of 2026-11-22 00:00:00'],
  [newestMs - 2 * hourMs - 1, newestBlockTime, 'the newest block'],
  // As far ahead as consensus allows a block's time.
  [newestMs - 2 * hourMs, newestBlockTime, undefined],
  [newestMs + 1000 * hourMs, newestBlockTime, undefined],
])('at %i with a block of %s', (now, newest, said) => {
  const fault = clockError(now, { releasedAt, newestBlockTime: newest });
  if (said === undefined) expect(fault).toBeUndefined();
  else expect(fault).toContain(said);
});

test.each([
  ['mainnet', 3],
  ['testnet3', 8],
  ['testnet4', 8],
  ['signet', 8],
] as const)('on %s the newest block is at most %i hours old', (network, hours) => {
  const maxAgeMs = maxBlockAgeMs(network);
  const at = (now: number) => clockError(now, { releasedAt, newestBlockTime, maxAgeMs });
  expect(at(newestMs + hours * hourMs)).toBeUndefined();
  expect(at(newestMs + hours * hourMs + 1)).toMatch(
    /^the clock of this machine is wrong: it shows .*, but the newest block is of 2026-11-22 00:/,
  );
  expect(at(newestMs - 2 * hourMs - 1)).toContain('the newest block');
  expect(clockError(releasedAt, { releasedAt, newestBlockTime: undefined, maxAgeMs })).toBe(
    undefined,
  );
});

test('regtest alone has no schedule of blocks', () => {
  const without = Object.values(networks).filter(({ name }) => maxBlockAgeMs(name) === undefined);
  expect(without.map(({ name }) => name)).toEqual(['regtest']);
});
