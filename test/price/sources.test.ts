import { readFileSync } from 'node:fs';
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

test('the built-in sources are those of docs/settings.md, which says when each was last known', () => {
  const [, table = ''] = readFileSync('docs/settings.md', 'utf8').split('| last known |');
  const rows = table.split('\n\n')[0]?.split('\n').slice(2) ?? [];
  const documented = rows.map((row) => {
    const [, url = '', , known = ''] = row.split(' | ');
    expect(known).toMatch(/^20\d\d-\d\d-\d\d \(.+\)/);
    return url;
  });
  expect(rows).toHaveLength(builtInSources.length);
  for (const [at, { url }] of builtInSources.entries()) {
    expect(`\`${url}\``.startsWith(documented[at]?.replace(/…?`$/, '') ?? '?')).toBe(true);
  }
});

test('no built-in source is one that asks for a key', () => {
  const asking = /coingecko|coincap|coindesk|cryptocompare|bitcoinaverage|coinmarketcap/;
  for (const { url } of builtInSources) expect(url).not.toMatch(asking);
});

/** The price of the same bitcoin in the shape of each source. */
const kraken = (price: unknown) => ({
  a: ['30300.10000', '1', '1.000'],
  b: ['30300.00000', '1', '1.000'],
  c: [price, '0.00067643'],
  v: ['4083.67001100', '4412.73601799'],
  p: ['30706.77771', '30689.13205'],
  t: [34619, 38907],
  l: ['29868.30000', '29868.30000'],
  h: ['31631.00000', '31631.00000'],
  o: '30502.80000',
});
const answers: Record<string, (price: unknown) => unknown> = {
  'api.coinbase.com': (price) => ({
    data: { currency: 'BTC', rates: { USD: price, ETH: '18.1' } },
  }),
  'api.kraken.com': (price) => ({
    error: [],
    result: { XXBTZUSD: kraken(price), XXBTZEUR: kraken('27000.1') },
  }),
  'blockchain.info': (price) => ({
    ARS: { '15m': 1, last: 2, buy: 1, sell: 1, symbol: 'ARS' },
    USD: { '15m': 1, last: price, buy: 1, sell: 1, symbol: 'USD' },
  }),
  'mempool.space': (price) => ({ time: 1763650000, USD: price, EUR: 40545 }),
  'api.yadio.io': (price) => ({
    BTC: { BTC: 1, USD: price, XPT: null },
    base: 'BTC',
    timestamp: 1,
  }),
};

describe.each(builtInSources)('$label', (source) => {
  const read = (price: unknown) => readPrice(source, 'USD', answers[source.label]?.(price));

  test('the number is found', () => {
    expect(read(67866.855)).toBe(67866.855);
    expect(read('67866.85500')).toBe(67866.855);
    expect(readPrice(source, 'XAF', answers[source.label]?.(1))).toBeUndefined();
  });

  test.each([null, 0, -1, '', '-1', '1e5', 'NaN', [], {}, true, 1e13])(
    '%j is no price',
    (price) => {
      expect(read(price)).toBeNaN();
    },
  );

  test.each([
    null,
    [],
    'Just a moment...',
    { error: ['EGeneral:Too many requests'] },
    { error: [], result: { XXBTZUSD: null } },
    { error: [], result: { XXBTZUSD: { c: [] } } },
    { data: null },
    { status: { error_code: 10002, error_message: 'API key missing' } },
    { message: 'Unauthorized' },
  ])('%j has no price', (answer) => {
    expect(readPrice(source, 'USD', answer)).toBeUndefined();
  });
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
