import { expect, test } from 'vitest';
import type { Txid } from '../../src/bitcoin/ids.ts';
import type { StatusHash } from '../../src/domain/payment/script-history.ts';
import type { Observation, SeenPayment } from '../../src/store/payments/observation.ts';
import { partsOf } from '../../src/watcher/address-sync.ts';

const output = { valueSat: 600, signalsRbf: false, coinbase: false };
const seen = (count: number): SeenPayment[] =>
  Array.from({ length: count }, (_, at) => ({ txid: String(at) as Txid, block: null, output }));

const observe = (count: number): Observation => ({
  addressId: 1,
  origin: 'issued',
  seen: seen(count),
  gone: [{ txid: 'gone' as Txid, replacedBy: null }],
  statusHash: 'bb' as StatusHash,
});

test.each([
  [0, [0]],
  [1, [1]],
  [200, [200]],
  [201, [200, 1]],
  [1_000, [200, 200, 200, 200, 200]],
])('%i payments are recorded in parts of %j, and only the last has the status', (count, sizes) => {
  const observation = observe(count);
  const parts = [...partsOf(observation)];
  expect(parts.map((part) => part.seen.length)).toEqual(sizes);
  expect(parts.flatMap((part) => part.seen)).toEqual(observation.seen);
  for (const part of parts.slice(0, -1)) {
    expect(part).toMatchObject({ gone: [], statusHash: undefined });
  }
  const { gone, statusHash } = observation;
  expect(parts.at(-1)).toMatchObject({ gone, statusHash, origin: 'issued', addressId: 1 });
});
