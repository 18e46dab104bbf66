import { describe, expect, test } from 'vitest';
import { PaygateError } from '../../src/lib/errors.ts';
import {
  builtInSources,
  hasAllCurrencies,
  parsePriceSource,
  readPrice,
  sourceUrl,
} from '../../src/price/sources.ts';

test('there are at least three built-in sources, each with every currency in one answer', () => {
  expect(new Set(builtInSources.map(({ label }) => label)).size).toBeGreaterThanOrEqual(3);
  for (const source of builtInSources) {
    expect(source.url).toMatch(/^https:/);
    expect(hasAllCurrencies(source)).toBe(true);
  }
});

/** Answers of the built-in sources, in their own shapes. */
const answers: Record<string, unknown> = {
  'api.coinbase.com': { data: { currency: 'BTC', rates: { USD: '67866.855', 'USD.x': '1' } } },
  'api.coingecko.com': { rates: { usd: { name: 'US Dollar', value: 67866.855, type: 'fiat' } } },
  'blockchain.info': { USD: { '15m': 1, last: 67866.855, buy: 2, sell: 3, symbol: 'USD' } },
  'mempool.space': { time: 1763650000, USD: 67866.855 },
  'api.yadio.io': { BTC: { USD: 67866.855 }, base: 'BTC' },
};

test.each(builtInSources)('$label: the number is found', (source) => {
  expect(readPrice(source, 'USD', answers[source.label])).toBe(67866.855);
  expect(readPrice(source, 'XAF', answers[source.label])).toBeUndefined();
});

describe('answers of a source are hostile input', () => {
  const source = parsePriceSource('https://a.example/#rates.{CODE}');
  const read = (value: unknown) => readPrice(source, 'USD', { rates: { USD: value } });

  test.each([1, 0.01, 67866.85, '67866.85', '1', '0.01000001'])('%j is a price', (value) => {
    expect(read(value)).toBe(Number(value));
  });

  const absurd = [
    0,
    0.00999,
    -1,
    -67866.85,
    1e13,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    null,
    true,
  ];
  const texts = [
    '',
    '0',
    '0.00001473',
    '-1',
    'NaN',
    'Infinity',
    '1e5',
    '0x10',
    ' 1',
    '1,000',
    '1'.repeat(500),
  ];
  test.each([...absurd, ...texts, [], [1], {}])('%j is not a price', (value) => {
    expect(read(value)).toBeNaN();
  });

  test.each([null, 1, 'text', [], {}, { rates: null }, { rates: [] }, { rates: 'USD' }])(
    '%j has no such currency',
    (answer) => {
      expect(readPrice(source, 'USD', answer)).toBeUndefined();
    },
  );

  test('nothing that was not sent is found', () => {
    for (const path of ['constructor.{CODE}', '__proto__.{CODE}', '{CODE}.length']) {
      const odd = parsePriceSource(`https://a.example/#${path}`);
      expect(readPrice(odd, 'USD', { rates: {} })).toBeUndefined();
    }
  });
});

describe('a source in a setting', () => {
  test('names the currency in its URL, its path, or both', () => {
    const source = parsePriceSource('https://a.example:8443/btc{code}?q={CODE}#a.0.{CODE}-x');
    expect(source).toMatchObject({ label: 'a.example:8443', path: ['a', '0', '{CODE}-x'] });
    expect(hasAllCurrencies(source)).toBe(false);
    expect(sourceUrl(source, 'EUR')).toBe('https://a.example:8443/btceur?q=EUR');
    expect(readPrice(source, 'EUR', { a: [{ 'EUR-x': 5 }] })).toBe(5);
  });

  test('may use http on this machine only', () => {
    for (const host of ['127.0.0.1:80', 'localhost', '[::1]:9']) {
      expect(parsePriceSource(`http://${host}/#{CODE}`).path).toEqual(['{CODE}']);
    }
    for (const host of ['a.example', '10.0.0.1', '127.0.0.1.example', '128.0.0.1']) {
      expect(() => parsePriceSource(`http://${host}/#{CODE}`)).toThrow(/must use https/);
    }
  });

  test.each([
    '',
    'https://a.example',
    'https://a.example#',
    'https://a.example/#last',
    'https://a.example/{CODE}',
    'https://a.example/{CODE}#',
    'https://a.example/#{CODE}..x',
    'https://a.example/#{CODE}#x',
    'https://a.example/#{CODE} x',
    'https://user:word@a.example/#{CODE}',
    'a.example/#{CODE}',
  ])('not %j', (text) => {
    expect(() => parsePriceSource(text)).toThrow(PaygateError);
  });

  test('nor another scheme', () => {
    expect(() => parsePriceSource('file:///etc/passwd#{CODE}')).toThrow(PaygateError);
  });
});
