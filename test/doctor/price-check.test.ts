// The doctor's check of prices, against servers that play the sources.

import { afterEach, expect, test } from 'vitest';
import { type PriceChecksInput, priceChecks } from '../../src/doctor/price-check.ts';
import { parseLinkInput } from '../../src/domain/order/link-input.ts';
import { Prices } from '../../src/price/prices.ts';
import { parsePriceSource } from '../../src/price/sources.ts';
import { cleanUp, whenOver } from '../support/files.ts';
import { startReceiver } from '../support/receiver.ts';
import { openTestStore } from '../support/store.ts';
import { createTestWorld } from '../support/world.ts';

afterEach(cleanUp);

/** Sources that answer so, and a store with a currency. */
async function setUp(currency: string | null, ...bodies: readonly string[]) {
  const sources = await Promise.all(
    bodies.map((body) => startReceiver({ answer: () => ({ status: body ? 200 : 403, body }) })),
  );
  for (const source of sources) whenOver(() => source.close());
  const parsed = sources.map(({ origin }) => parsePriceSource(`${origin}/#{CODE}`));
  const prices = new Prices({ world: createTestWorld(), sources: parsed });
  whenOver(() => prices.stop());
  const records = await openTestStore();
  await records.addWallet();
  await records.addStore({ currency });
  const run = (input: Partial<PriceChecksInput> = {}) =>
    Promise.all(
      priceChecks({ prices, records, ...input }).map(async (check) => {
        expect(check.name).toBe('price');
        return check.run(new AbortController().signal);
      }),
    );
  return { run, records, hosts: parsed.map(({ label }) => label).sort(), sources };
}

test('the price, and the sources behind it', async () => {
  const { run, hosts } = await setUp('EUR', '{"EUR":50000}', '{"EUR":"50000.5"}');
  expect(await run()).toEqual([
    { state: 'ok', text: `1 BTC is 50000.25 EUR, by ${hosts.join(', ')}` },
  ]);
});

test('a source that is left out is a warning', async () => {
  const { run } = await setUp('EUR', '{"EUR":50000}', '{"EUR":50000}', '');
  const [found] = await run();
  expect(found?.state).toBe('warn');
  expect(found?.text).toMatch(/; left out: 127\.0\.0\.1:\d+: it answered 403$/);
});

test('no price fails, with the reason', async () => {
  const { run } = await setUp('EUR', '{"EUR":50000}', '');
  const [down] = await run();
  expect(down?.state).toBe('fail');
  expect(down?.text).toMatch(/^no price in EUR: 127\.0\.0\.1:\d+: it answered 403; name another/);
  const other = await setUp('XAF', '{"EUR":50000}', '{"EUR":50000}');
  expect(await other.run()).toEqual([
    { state: 'fail', text: expect.stringContaining('no price in XAF: too few sources have it') },
  ]);
});

test('nothing is requested without a currency, a store, or prices', async () => {
  const { run, sources, records } = await setUp(null, '{"EUR":50000}');
  expect(await run()).toEqual([]);
  expect(await run({ records: undefined })).toEqual([]);
  expect(await run({ prices: undefined })).toEqual([]);
  await records.write((tx) => {
    const input = parseLinkInput({ title: 'Mug', currency: 'USD' });
    records.links.create(tx, 1, { ...input, publicId: 'lnk_1', storeId: 1 });
  });
  expect(await run({ prices: undefined })).toEqual([
    { state: 'fail', text: 'prices are off (--price off), and links in USD make no order' },
  ]);
  expect(sources[0]?.requests).toEqual([]);
});
