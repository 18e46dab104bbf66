// Prices against servers that play the sources: honest, down, hanging, lying, rate-limiting, or
// with invalid answers. The test sets the clock.

import { afterEach, describe, expect, test } from 'vitest';
import { Prices } from '../../src/price/prices.ts';
import { parsePriceSource } from '../../src/price/sources.ts';
import { type Answer, type Receiver, startReceiver } from '../support/receiver.ts';
import { createTestWorld, type TestWorld } from '../support/world.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

interface Stage {
  readonly world: TestWorld;
  readonly prices: Prices;
  readonly sources: readonly Receiver[];
  /** How often each source was asked. */
  asked(): number[];
  /** The new log entries about sources since the last call, each by its number. */
  said(): string[];
}

const json = (rates: Record<string, unknown>): Answer => ({
  status: 200,
  body: JSON.stringify({ rates }),
});

/** Sources that answer always the same, one each. */
async function setUp(...answers: (Answer | (() => Answer))[]): Promise<Stage> {
  const world = createTestWorld();
  const sources: Receiver[] = [];
  for (const answer of answers) {
    const source = await startReceiver({
      answer: () => (typeof answer === 'function' ? answer() : answer),
    });
    cleanups.push(() => source.close());
    sources.push(source);
  }
  const parsed = sources.map(({ origin }) => parsePriceSource(`${origin}/all#rates.{CODE}`));
  const prices = new Prices({ world, sources: parsed });
  cleanups.push(() => prices.stop());
  const nameOf = (host: unknown) =>
    String(sources.findIndex(({ origin }) => origin.endsWith(String(host))));
  return {
    world,
    prices,
    sources,
    asked: () => sources.map(({ requests }) => requests.length),
    said: () =>
      world.logs
        .splice(0)
        .map(({ message, fields }) =>
          [message.slice('price source '.length), nameOf(fields.source), fields.reason]
            .filter((part) => part !== undefined)
            .join(': '),
        ),
  };
}

const honest = json({ USD: 67866.85, EUR: '58000.5', JPY: 10_000_000 });

describe('P-44 three honest sources', () => {
  test('are requested on demand, not before', async () => {
    const { prices, asked, world } = await setUp(honest, honest, honest);
    await world.advance(3_600_000);
    expect(asked()).toEqual([0, 0, 0]);
    expect(await prices.price('USD')).toBe(67866.85);
    expect(asked()).toEqual([1, 1, 1]);
  });

  test('are requested once a minute, for all currencies and all concurrent callers', async () => {
    const { prices, asked, world, sources } = await setUp(honest, honest, honest);
    const found = await Promise.all([
      ...['USD', 'usd', 'EUR', 'JPY'].map((each) => prices.price(each)),
      prices.currencies(),
    ]);
    expect(found.slice(0, 4)).toEqual([67866.85, 67866.85, 58000.5, 10_000_000]);
    await world.advance(59_000);
    await prices.price('USD');
    expect(asked()).toEqual([1, 1, 1]);
    await world.advance(1_000);
    await prices.price('USD');
    expect(asked()).toEqual([2, 2, 2]);
    expect(sources[0]?.requests[0]).toMatchObject({ method: 'GET', url: '/all' });
    expect(sources[0]?.requests[0]?.headers.authorization).toBeUndefined();
  });

  test('a price is as old as its oldest answer', async () => {
    let answer: Answer = honest;
    const { prices, world } = await setUp(
      () => answer,
      () => answer,
    );
    await prices.price('USD');
    answer = json({ EUR: 1, USD: 1 });
    await world.advance(50_000);
    expect(await prices.price('EUR')).toBe(58000.5);
    await world.advance(10_000);
    expect(await prices.price('EUR')).toBe(1);
    // And so it ends to be served ten minutes after that.
    answer = { status: 500 };
    await world.advance(50_000);
    expect(await prices.price('USD')).toBe(1);
    await world.advance(549_000);
    expect(await prices.price('USD')).toBe(1);
    await world.advance(1_000);
    await expect(prices.price('USD')).rejects.toMatchObject({ code: 'unavailable' });
  });

  test('list the currencies that have a price', async () => {
    const one = json({ USD: 1, EUR: 2, CHF: 3, XXY: 4, BTC: 1 });
    const other = json({ USD: 1, EUR: 3, CHF: 3, JPY: 5 });
    const { prices, said } = await setUp(one, other);
    expect(await prices.currencies()).toEqual([
      { code: 'CHF', name: 'Swiss Franc' },
      { code: 'USD', name: 'US Dollar' },
    ]);
    expect(said()).toEqual([]);
  });

  test('the list of currencies is cached like a price', async () => {
    let answer: Answer = honest;
    const { prices, asked, world } = await setUp(
      () => answer,
      () => answer,
    );
    const codes = async () => (await prices.currencies()).map(({ code }) => code);
    expect(await codes()).toEqual(['EUR', 'JPY', 'USD']);
    answer = json({ CHF: 1 });
    await world.advance(59_000);
    const kept = await prices.currencies();
    expect(await prices.currencies()).toBe(kept);
    await world.advance(1_000);
    expect(await codes()).toEqual(['CHF']);
    expect(asked()).toEqual([2, 2]);
    answer = { status: 500 };
    for (let minute = 1; minute < 10; minute += 1) {
      await world.advance(60_000);
      expect(await codes()).toEqual(['CHF']);
    }
    await world.advance(60_000);
    await expect(prices.currencies()).rejects.toMatchObject({ code: 'unavailable' });
  });

  test('are not requested for BTC or for an unknown currency', async () => {
    const { prices, asked } = await setUp(honest);
    expect(await prices.price('BTC')).toBe(1);
    expect(await prices.price('btc')).toBe(1);
    for (const text of ['', 'ABC', 'USDT', '..', '{CODE}', '__proto__']) {
      expect(await prices.price(text)).toBeNull();
    }
    expect(asked()).toEqual([0]);
  });

  test('null for a currency that none or only one of them has', async () => {
    const { prices } = await setUp(honest, honest, json({ USD: 67866.85, CHF: 60000 }));
    expect(await prices.price('XAF')).toBeNull();
    expect(await prices.price('CHF')).toBeNull();
  });
});

describe('a failing source is excluded, and logged once', () => {
  const faults: [string, Answer, string][] = [
    ['down', 'reset', 'it closed the connection during the TLS handshake'],
    ['broken', { status: 500, body: '{}' }, 'it answered 500'],
    ['moved', { status: 302, headers: { location: 'http://127.0.0.1:1/' } }, 'it answered 302'],
    ['no JSON', { status: 200, body: '<html>' }, 'its answer is not JSON'],
    ['half a JSON', { status: 200, body: '{"rates":' }, 'its answer is not JSON'],
    ['nothing', { status: 200, body: '' }, 'its answer is not JSON'],
    ['no rates', { status: 200, body: '{"error":1}' }, 'its answer has no known currency'],
    ['endless', 'endless', 'its answer is larger than 256 KiB'],
    ['negative', json({ USD: -67866.85 }), 'its value is not a price'],
    ['NaN', json({ USD: 'NaN' }), 'its value is not a price'],
    ['words', json({ USD: 'a lot' }), 'its value is not a price'],
    ['a lie', json({ USD: 60000 }), 'more than 5 % off the median'],
    ['a big lie', json({ USD: 9e12 }), 'more than 5 % off the median'],
    ['no HTTP', { bytes: 'hello\r\n\r\n', end: 'close' }, 'HTTPParserError'],
  ];
  test.each(faults)('%s', async (_, answer, reason) => {
    const { prices, said, world } = await setUp(honest, answer, honest);
    expect(await prices.price('USD')).toBe(67866.85);
    expect(said()).toEqual([`left out: 1: ${reason}`]);
    await world.advance(60_000);
    expect(await prices.price('USD')).toBe(67866.85);
    expect(said()).toEqual([]);
  });

  test('one that hangs delays a price by at most 3 s', async () => {
    const { prices, said, world, sources } = await setUp(honest, 'hang', honest);
    const asked = prices.price('USD');
    await Promise.all(sources.map((source) => source.waitFor(1)));
    await world.advance(3_000);
    expect(await asked).toBe(67866.85);
    expect(said()).toEqual(['left out: 1: no answer within 3 s']);
  });

  test('one that is down', async () => {
    const { prices, said, sources } = await setUp(honest, honest, honest);
    await sources[2]?.close();
    expect(await prices.price('USD')).toBe(67866.85);
    expect(said()).toEqual(['left out: 2: it refuses connections']);
  });

  test('one that is back is logged, too', async () => {
    let answer: Answer = { status: 503 };
    const { prices, said, world } = await setUp(honest, () => answer, honest);
    await prices.price('USD');
    answer = honest;
    await world.advance(60_000);
    await prices.price('USD');
    expect(said()).toEqual(['left out: 1: it answered 503', 'is back: 1']);
  });

  test('one that limits its clients is left alone for its Retry-After, up to ten minutes', async () => {
    const limit = (seconds: number): Answer => ({
      status: 429,
      headers: { 'retry-after': String(seconds) },
    });
    const { prices, asked, world } = await setUp(honest, limit(150), limit(86_400), honest);
    for (let minute = 0; minute < 11; minute += 1) {
      expect(await prices.price('USD')).toBe(67866.85);
      await world.advance(60_000);
    }
    // At minutes 0, 3, 6 and 9; at 0 and 10.
    expect(asked()).toEqual([11, 4, 2, 11]);
  });
});

describe('P-44 no fresh price', () => {
  const unavailable = { code: 'unavailable', retryAfterSeconds: 60 };

  test('when all are down and none had a price', async () => {
    const { prices } = await setUp({ status: 500 }, 'reset', { status: 404 });
    await expect(prices.price('USD')).rejects.toMatchObject(unavailable);
    await expect(prices.currencies()).rejects.toMatchObject(unavailable);
  });

  test('when too few are left: a single source could answer anything', async () => {
    const { prices } = await setUp(honest, { status: 500 }, { status: 500 });
    await expect(prices.price('USD')).rejects.toMatchObject(unavailable);
  });

  test('repeats no request within the minute, not even a failed one', async () => {
    const { prices, asked, world } = await setUp(honest, { status: 500 });
    await expect(prices.price('USD')).rejects.toMatchObject(unavailable);
    await world.advance(59_999);
    await expect(prices.price('USD')).rejects.toMatchObject(unavailable);
    expect(asked()).toEqual([1, 1]);
    await world.advance(1);
    await expect(prices.price('USD')).rejects.toMatchObject(unavailable);
    expect(asked()).toEqual([2, 2]);
  });

  test('when two of them are one host: it counts once', async () => {
    const [one, down] = [
      await startReceiver({ answer: () => honest }),
      await startReceiver({ answer: () => ({ status: 500 }) }),
    ];
    for (const source of [one, down]) cleanups.push(() => source.close());
    const urls = [`${one.origin}/all`, `${one.origin}/ticker`, `${down.origin}/all`];
    const sources = urls.map((url) => parsePriceSource(`${url}#rates.{CODE}`));
    const world = createTestWorld();
    await expect(new Prices({ world, sources }).price('USD')).rejects.toMatchObject(unavailable);
    // Without another source, it is trusted like a source that is named once.
    const alone = new Prices({ world, sources: sources.slice(0, 2) });
    expect(await alone.price('USD')).toBe(67866.85);
  });

  test('a price names the sources behind it, and its cached copy the same', async () => {
    const { prices, sources } = await setUp(honest, honest, honest, json({ USD: 1 }));
    const hosts = sources.slice(0, 3).map(({ origin }) => new URL(origin).host);
    const expected = { price: 67866.85, sources: hosts.sort() };
    expect(await prices.sourcedPrice('USD')).toMatchObject(expected);
    expect(await prices.sourcedPrice('USD')).toMatchObject(expected);
    expect(await prices.sourcedPrice('CHF')).toMatchObject({ price: null, sources: [] });
  });

  test('when two disagree', async () => {
    const { prices, said } = await setUp(json({ USD: 1 }), json({ USD: 2 }));
    await expect(prices.price('USD')).rejects.toMatchObject(unavailable);
    expect(said()).toEqual([
      'left out: 0: more than 5 % off the median',
      'left out: 1: more than 5 % off the median',
    ]);
  });

  test('an old price is served until it is ten minutes old', async () => {
    let answer: Answer = honest;
    const { prices, world } = await setUp(
      () => answer,
      () => answer,
    );
    expect(await prices.price('USD')).toBe(67866.85);
    answer = { status: 500 };
    for (let minute = 1; minute < 10; minute += 1) {
      await world.advance(60_000);
      expect(await prices.price('USD')).toBe(67866.85);
    }
    await world.advance(60_000);
    await expect(prices.price('USD')).rejects.toMatchObject(unavailable);
    // And a set clock makes nothing fresh again.
    world.jumpWallClock(-3_600_000);
    await expect(prices.price('USD')).rejects.toMatchObject(unavailable);
    answer = honest;
    await world.advance(60_000);
    expect(await prices.price('USD')).toBe(67866.85);
  });

  test('a price from before the machine slept ages by its sleep', async () => {
    let answer: Answer = honest;
    const { prices, asked, world } = await setUp(
      () => answer,
      () => answer,
    );
    await prices.price('USD');
    await prices.currencies();
    // The monotonic clock stands still while a machine is suspended.
    world.jumpWallClock(65_000);
    answer = json({ USD: 50_000 });
    expect(await prices.price('USD')).toBe(50_000);
    expect((await prices.currencies()).map(({ code }) => code)).toEqual(['USD']);
    expect(asked()).toEqual([2, 2]);
    // No network yet.
    answer = 'reset';
    world.jumpWallClock(8 * 3_600_000);
    await expect(prices.price('USD')).rejects.toMatchObject(unavailable);
    await expect(prices.currencies()).rejects.toMatchObject(unavailable);
  });

  test('a price requested before the machine slept ages by its sleep', async () => {
    let sleepMs = 65_000;
    const sleepy = (): Answer => {
      world.jumpWallClock(sleepMs);
      sleepMs = 0;
      return honest;
    };
    const { prices, asked, world } = await setUp(sleepy, honest);
    await prices.price('USD');
    await prices.price('USD');
    expect(asked()).toEqual([2, 2]);
  });

  test('a clock that drifts makes no price older', async () => {
    const { prices, asked, world } = await setUp(honest, honest);
    await prices.price('USD');
    for (let second = 0; second < 59; second += 1) {
      await world.advance(1_000);
      world.jumpWallClock(second % 2 === 0 ? 400 : -400);
      await prices.price('USD');
    }
    expect(asked()).toEqual([1, 1]);
  });

  test('after a stop no caller waits', async () => {
    const { prices, sources } = await setUp('hang', 'hang');
    const asked = prices.price('USD');
    await Promise.all(sources.map((source) => source.waitFor(1)));
    prices.stop();
    await expect(asked).rejects.toMatchObject(unavailable);
  });
});

describe('other sources', () => {
  test('a single source is trusted if the operator named no other', async () => {
    const { prices } = await setUp(honest);
    expect(await prices.price('USD')).toBe(67866.85);
    expect((await prices.currencies()).map(({ code }) => code)).toEqual(['EUR', 'JPY', 'USD']);
  });

  test('a source with the price of a dollar in bitcoin has no price, not 0', async () => {
    const { prices, said } = await setUp(json({ USD: '0.00001473' }));
    await expect(prices.price('USD')).rejects.toMatchObject({ code: 'unavailable' });
    expect(said()).toEqual(['left out: 0: its value is not a price']);
  });

  test('a source with a URL for each currency', async () => {
    const source = await startReceiver({
      answer: ({ url }) =>
        url === '/btcusd' ? { status: 200, body: '{"last":"67866.85"}' } : { status: 404 },
    });
    cleanups.push(() => source.close());
    const world = createTestWorld();
    const parsed = parsePriceSource(`${source.origin}/btc{code}#last`);
    const prices = new Prices({ world, sources: [parsed] });
    expect(await prices.price('USD')).toBe(67866.85);
    await expect(prices.price('CHF')).rejects.toMatchObject({ code: 'unavailable' });
    expect(source.requests.map(({ url }) => url)).toEqual(['/btcusd', '/btcchf']);
  });
});
