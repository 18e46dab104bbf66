// The currencies without a price, with a real store and servers that play the sources.

import { afterEach, expect, test } from 'vitest';
import { parseLinkInput } from '../../src/domain/order/link-input.ts';
import { dayMs, minuteMs } from '../../src/lib/time-units.ts';
import { neededCurrencies, PriceWatch } from '../../src/price/price-watch.ts';
import { Prices } from '../../src/price/prices.ts';
import { parsePriceSource } from '../../src/price/sources.ts';
import { cleanUp, whenOver } from '../support/files.ts';
import { startReceiver } from '../support/receiver.ts';
import { openTestStore, type TestRecords } from '../support/store.ts';
import { createTestWorld } from '../support/world.ts';

afterEach(cleanUp);

type Rates = Record<string, number> | undefined;

/** Two sources whose rates the test sets; they answer 500 without. */
async function setUp() {
  const market: { one: Rates; other: Rates } = { one: { EUR: 100 }, other: { EUR: 100 } };
  const answer = (rates: Rates) => ({ status: rates ? 200 : 500, body: JSON.stringify(rates) });
  const sources = await Promise.all([
    startReceiver({ answer: () => answer(market.one) }),
    startReceiver({ answer: () => answer(market.other) }),
  ]);
  for (const source of sources) whenOver(() => source.close());
  const world = createTestWorld();
  const parsed = sources.map(({ origin }) => parsePriceSource(`${origin}/#{CODE}`));
  const prices = new Prices({ world, sources: parsed });
  const records = await openTestStore();
  await records.addWallet();
  await records.addStore();
  const watch = new PriceWatch({ world, records, prices });
  whenOver(() => watch.stop());
  whenOver(() => prices.stop());
  return {
    ...{ world, market, prices, records, watch },
    missing: () => watch.missing().map(({ currency }) => currency),
    asked: () => sources[0].requests.length,
  };
}

const addLink = (records: TestRecords, currency: string | null, isActive = true, storeId = 1) =>
  records.write((tx) => {
    const input = parseLinkInput({ title: 'Mug', ...(currency && { currency }) });
    const publicId = `lnk_${currency}${storeId}${isActive}`;
    records.links.create(tx, 1, { ...input, publicId, storeId, isActive });
  });

const setCurrency = (records: TestRecords, currency: string) =>
  records.write((tx) => records.catalog.changeStore(tx, 1, { currency }));

test('a refused order counts for a day after the last one, or until there is a price', async () => {
  const { world, market, prices, missing } = await setUp();
  market.other = { EUR: 200 };
  expect(missing()).toEqual([]);
  await expect(prices.rateCents('EUR')).rejects.toThrow('No fresh price');
  expect(missing()).toEqual(['EUR']);
  await world.advance(dayMs - 1);
  expect(missing()).toEqual(['EUR']);
  await expect(prices.rateCents('EUR')).rejects.toThrow('No fresh price');
  await world.advance(1);
  expect(missing()).toEqual(['EUR']);
  await world.advance(dayMs);
  expect(missing()).toEqual([]);
  await expect(prices.rateCents('EUR')).rejects.toThrow('No fresh price');
  expect(missing()).toEqual(['EUR']);
  market.other = { EUR: 100 };
  await world.advance(minuteMs);
  expect(await prices.rateCents('EUR')).toBe(10_000);
  expect(missing()).toEqual([]);
});

test('a currency that is not ours counts only if sources answer or agree too little', async () => {
  const { prices, records, missing } = await setUp();
  expect(await prices.rateCents('XAF')).toBeNull();
  expect(missing()).toEqual([]);
  await setCurrency(records, 'XAF');
  expect(missing()).toEqual(['XAF']);
});

test('a price without an order counts in an outage, never in a dispute', async () => {
  const { world, market, prices, missing, watch } = await setUp();
  market.other = { EUR: 200, USD: 1 };
  for (const currency of ['EUR', 'USD']) await prices.price(currency).catch(() => undefined);
  expect(missing()).toEqual([]);
  await world.advance(minuteMs);
  market.other = undefined;
  await expect(prices.price('EUR')).rejects.toThrow('No fresh price');
  expect(watch.missing()).toMatchObject([
    { currency: 'EUR', reason: expect.stringMatching(/^127\.0\.0\.1:\d+: it answered 500$/) },
  ]);
});

test('one source of three that is down is no outage', async () => {
  const { world, prices, market } = await setUp();
  market.one = undefined;
  const third = await startReceiver({ answer: () => ({ status: 200, body: '{"EUR":300}' }) });
  whenOver(() => third.close());
  const more = new Prices({
    world,
    sources: [...prices.status(), { source: new URL(third.origin).host }].map(({ source }) =>
      parsePriceSource(`http://${source}/#{CODE}`),
    ),
  });
  await expect(more.price('EUR')).rejects.toThrow('No fresh price');
  expect(more.refusals()).toEqual([]);
});

test('the needed currencies are those of running stores and of their active links', async () => {
  const { prices, records } = await setUp();
  const needed = (off = false) => [
    ...neededCurrencies({ records, prices: off ? undefined : prices }),
  ];
  expect(needed()).toEqual([]);
  await setCurrency(records, 'EUR');
  await addLink(records, 'USD');
  await addLink(records, 'CHF', false);
  await addLink(records, null);
  expect(needed()).toEqual(['EUR', 'USD']);
  expect(needed(true)).toEqual(['USD']);
  await records.write((tx) => records.catalog.archiveStore(tx, 1, 1, false));
  expect(needed()).toEqual([]);
});

test('without prices, a currency of a link has none', async () => {
  const { world, records } = await setUp();
  await addLink(records, 'USD');
  const off = new PriceWatch({ world, records, prices: undefined });
  off.start();
  expect(off.missing()).toEqual([
    { currency: 'USD', reason: expect.stringContaining('prices are switched off (--price off)') },
  ]);
});

test('a missing price is requested each minute, a needed one every ten, others never', async () => {
  const { world, market, prices, records, watch, missing, asked } = await setUp();
  await setCurrency(records, 'EUR');
  watch.start();
  await world.until(() => asked() === 1, 'the first request');
  // Up to the next full ten minutes, and a second.
  await world.advance(10 * minuteMs - (world.now() % (10 * minuteMs)) + 1000);
  await world.until(() => asked() === 2, 'the request of these ten minutes');
  await world.advance(9 * minuteMs);
  expect(asked()).toBe(2);
  await world.advance(minuteMs);
  await world.until(() => asked() === 3, 'the request after ten minutes');
  market.one = undefined;
  await world.advance(10 * minuteMs);
  await world.until(() => missing().length === 1, 'the refusal');
  market.one = { EUR: 100 };
  await world.advance(2 * minuteMs);
  await world.until(() => missing().length === 0, 'the price');
  const before = asked();
  await world.advance(5 * minuteMs);
  expect(asked()).toBe(before);
  watch.stop();
  await world.advance(60 * minuteMs);
  expect(asked()).toBe(before);
  expect(await prices.rateCents('EUR')).toBe(10_000);
});

test('a file that cannot be read is logged', async () => {
  const { world, records, watch } = await setUp();
  await records.database.close();
  watch.start();
  await world.until(() => world.logs.length > 0, 'the log entry');
  expect(world.logs[0]?.message).toBe('missing prices could not be requested');
});
