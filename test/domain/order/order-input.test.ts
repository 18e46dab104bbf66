import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type OrderBody,
  orderDefaults,
  parseOrderInput,
} from '../../../src/domain/order/order-input.ts';
import { PaygateError } from '../../../src/lib/errors.ts';

const noFlags = { allowPrivateCallback: false, allowHttpCallback: false };
const parse = (body: OrderBody, flags = noFlags) => parseOrderInput(body, orderDefaults, flags);
const euro: OrderBody = { amount: '12.50', currency: 'EUR' };

test('a whole body', () => {
  const body = {
    ...euro,
    reference: '1007',
    description: '2 posters\nA2',
    expires_in: 600,
    quote_seconds: 300,
    tolerance_percent: 0.29,
    return_url: 'https://shop.example/thanks/1007?a=b',
    language: 'pt-br',
    customer_email: ' Anna.M+1@bücher.example ',
    metadata: { cart: '7f', ['__proto__']: 'x' },
  };
  expect(parse(body)).toEqual({
    price: { kind: 'fiat', currency: 'EUR', minor: 1250n },
    reference: '1007',
    description: '2 posters\nA2',
    expiresInSeconds: 600,
    quoteSeconds: 300,
    toleranceBasisPoints: 29,
    returnUrl: 'https://shop.example/thanks/1007?a=b',
    language: 'pt-BR',
    customerEmail: 'Anna.M+1@xn--bcher-kva.example',
    metadata: body.metadata,
  });
});

test('what is missing, null or empty has its default', () => {
  const expected = {
    price: { kind: 'sat', amountSat: 546 },
    reference: null,
    description: null,
    expiresInSeconds: 3_600,
    quoteSeconds: 900,
    toleranceBasisPoints: 50,
    returnUrl: null,
    language: null,
    customerEmail: null,
    metadata: {},
  };
  const names = ['amount', 'currency', 'reference', 'description', 'expires_in', 'quote_seconds'];
  const more = ['tolerance_percent', 'return_url', 'language', 'customer_email', 'metadata'];
  const nulls = Object.fromEntries([...names, ...more].map((name) => [name, null]));
  expect(parse({ amount_sat: 546 })).toEqual(expected);
  expect(parse({ ...nulls, amount_sat: 546 })).toEqual(expected);
  const empty = { reference: '', description: '', return_url: '', customer_email: '' };
  expect(parse({ amount_sat: 546, ...empty })).toEqual(expected);
});

const thief = 'thief@evil.example';
test.each([
  ['no address', 'anna'],
  ['a header field', `anna@customer.example\r\nBcc: ${thief}`],
  ['a line break alone', `anna@customer.example\n${thief}`],
  ['a folded field', `anna@customer.example\r\n ${thief}`],
  ['a NUL', `anna@customer.example\0${thief}`],
  ['angle brackets', `Anna <${thief}>`],
  ['angle brackets within', `anna@customer.example>,<${thief}`],
  ['two with a comma', `anna@customer.example,${thief}`],
  ['two with a semicolon', `anna@customer.example;${thief}`],
  ['two with a space', `anna@customer.example ${thief}`],
  ['two signs', `anna@customer.example@evil.example`],
  ['a group', `all:${thief};`],
  ['a comment', `anna(${thief})@customer.example`],
  ['quotes', `"anna ${thief}"@customer.example`],
  ['letters beyond ASCII', 'ännä@customer.example'],
  ['a sign that looks like @', `anna@customer.example＠evil.example`],
  ['a line separator', `anna@customer.example\u2028${thief}`],
  ['a text that turns its direction', `anna@customer.example\u202e${thief}`],
  ['a long name', `${'a'.repeat(65)}@customer.example`],
  ['a long domain', `anna@${'a.'.repeat(130)}example`],
  ['a million characters', 'a'.repeat(1_000_000)],
  ['an address literal', 'anna@[127.0.0.1]'],
])('%s is no address of a customer', (_, customerEmail) => {
  expect(() => parse({ ...euro, customer_email: customerEmail })).toThrow('customer_email: ');
});

test('1,000 addresses are none', () => {
  const addresses = Array.from({ length: 1_000 }, (_, at) => `a${at}@customer.example`);
  for (const between of [',', ', ', ';', '\n', ' ']) {
    expect(() => parse({ ...euro, customer_email: addresses.join(between) })).toThrow(
      'customer_email: ',
    );
  }
});

test('a store has defaults of its own', () => {
  const own = {
    expiresInSeconds: 0,
    quoteSeconds: 600,
    toleranceBasisPoints: 0,
    language: 'de',
  };
  const store = { ...own, adjustBasisPoints: -500 };
  const input = parseOrderInput(euro, store, noFlags);
  expect(input).toMatchObject({ ...own, price: { adjustBasisPoints: -500 } });
  expect(input).not.toHaveProperty('adjustBasisPoints');
});

test.each([
  [{ amount_sat: 21e14 }, { price: { kind: 'sat', amountSat: 21e14 } }],
  [{ amount: '5', currency: 'eur' }, { price: { kind: 'fiat', currency: 'EUR', minor: 500n } }],
  [{ ...euro, expires_in: 0 }, { expiresInSeconds: 0 }],
  [{ ...euro, expires_in: 300 }, { expiresInSeconds: 300 }],
  [{ ...euro, expires_in: 31_622_400 }, { expiresInSeconds: 31_622_400 }],
  [{ ...euro, quote_seconds: 3_600 }, { quoteSeconds: 3_600 }],
  [{ ...euro, tolerance_percent: 0 }, { toleranceBasisPoints: 0 }],
  [{ ...euro, tolerance_percent: 10 }, { toleranceBasisPoints: 1_000 }],
  [{ ...euro, reference: 'é'.repeat(64) }, { reference: 'é'.repeat(64) }],
  [{ ...euro, language: 'DE' }, { language: 'de' }],
])('%j is allowed', (body, expected) => {
  expect(parse(body)).toMatchObject(expected);
});

const oneOf = 'amount: exactly one is expected: amount with currency, or amount_sat';

test.each<[OrderBody, string]>([
  [{}, oneOf],
  [{ ...euro, amount_sat: 1_000 }, oneOf],
  [{ currency: 'EUR', amount_sat: 1_000 }, oneOf],
  [{ currency: 'EUR' }, 'amount: is missing'],
  [{ amount: '12.50' }, 'currency: is missing, such as EUR'],
  [{ amount: '12.50', currency: '' }, 'currency: a currency has three letters'],
  [{ amount: '12.50', currency: 'EURO' }, 'currency: a currency has three letters'],
  [{ amount: '0.001', currency: 'btc' }, 'currency: a price in bitcoin'],
  [{ amount: '', currency: 'EUR' }, 'amount: a decimal number'],
  [{ amount: '12.505', currency: 'EUR' }, 'amount: an amount in EUR has at most 2 decimals'],
  [{ amount: '0.00', currency: 'EUR' }, 'amount: must be above 0'],
  [{ amount_sat: 545 }, 'amount_sat: the amount is 545 sat; an order has at least 546 sat'],
  [{ amount_sat: 0 }, 'amount_sat: the amount is 0 sat'],
  [{ amount_sat: 21e14 + 1 }, 'amount_sat: the amount is more than all bitcoins'],
  [{ amount_sat: 1_000.5 }, 'amount_sat: whole satoshis are expected'],
  [{ amount_sat: Number.NaN }, 'amount_sat: whole satoshis are expected'],
  [{ ...euro, expires_in: 299 }, 'expires_in: whole seconds from 300 to 31622400'],
  [{ ...euro, expires_in: -1 }, 'or 0 for never'],
  [{ ...euro, expires_in: 31_622_401 }, 'expires_in: whole seconds'],
  [{ ...euro, expires_in: 300.5 }, 'expires_in: whole seconds'],
  [{ ...euro, quote_seconds: 299 }, 'quote_seconds: whole seconds from 300 to 3600 are expected'],
  [{ ...euro, quote_seconds: 0 }, 'quote_seconds: whole seconds'],
  [{ ...euro, quote_seconds: 3_601 }, 'quote_seconds: whole seconds'],
  [{ ...euro, tolerance_percent: -0.01 }, 'tolerance_percent: a number from 0 to 10'],
  [{ ...euro, tolerance_percent: 10.01 }, 'tolerance_percent: a number from 0 to 10'],
  [{ ...euro, tolerance_percent: 0.125 }, 'at most 2 decimals'],
  [{ ...euro, reference: 'é'.repeat(65) }, 'reference: has 130 bytes; at most 128 are allowed'],
  [{ ...euro, reference: 'a\nb' }, 'reference: has control characters'],
  [{ ...euro, reference: '\ud800' }, 'reference: has control characters or broken characters'],
  [{ ...euro, description: 'x'.repeat(1_025) }, 'description: has 1025 bytes'],
  [{ ...euro, description: 'a\0b' }, 'description: has control characters'],
  [{ ...euro, language: 'deutsch!' }, 'language: a language tag'],
  [{ ...euro, language: 'de-x1' }, 'language: a language tag'],
  [{ ...euro, metadata: { cart: 'x'.repeat(20_001) } }, 'metadata: has 20012 bytes'],
  [{ ...euro, metadata: { cart: '\u0000' } }, 'metadata: has control characters'],
  [
    { ...euro, metadata: Object.fromEntries([...Array(21).keys()].map((n) => [`${n}`, ''])) },
    'metadata: has 21 pairs; at most 20 are allowed',
  ],
])('%j is refused', (body, problem) => {
  expect(() => parse(body)).toThrow(expect.objectContaining({ code: 'invalid' }));
  expect(() => parse(body)).toThrow(problem);
});

test('every problem is reported', () => {
  const body = { amount: '-1', currency: 'EUR', expires_in: 1, language: '?' };
  expect(() => parse(body)).toThrow(
    /^amount: .*; expires_in: .*; language: a language tag is expected, such as de or pt-BR$/,
  );
});

test('any body is read, or refused with a reason', () => {
  /** Mostly what is allowed, so that some bodies are read. */
  const mostly = <T>(good: T, arbitrary: fc.Arbitrary<T>) =>
    fc.oneof(
      { weight: 9, arbitrary: fc.constantFrom(good, null, undefined) },
      { weight: 1, arbitrary },
    );
  const text = fc.string({ unit: 'binary' });
  const number = fc.oneof(fc.double(), fc.integer());
  const body = fc.record({
    amount: mostly('12.50', text),
    currency: mostly('EUR', text),
    amount_sat: mostly(undefined, number),
    reference: mostly('1007', text),
    description: mostly('2 posters', text),
    expires_in: mostly(600, number),
    quote_seconds: mostly(600, number),
    tolerance_percent: mostly(1, number),
    return_url: mostly('https://shop.example/', fc.oneof(fc.webUrl(), text)),
    language: mostly('de', text),
    metadata: mostly({ cart: '7f' }, fc.dictionary(text, text)),
  });
  const outcomes = { read: 0, refused: 0 };
  fc.assert(
    fc.property(body, (given) => {
      try {
        const { price } = parse(given);
        expect(price.kind === 'sat' ? price.amountSat : price.minor).toBeGreaterThan(0);
        outcomes.read += 1;
      } catch (error) {
        if (!(error instanceof PaygateError)) throw error;
        expect(error.message.length).toBeGreaterThan(10);
        outcomes.refused += 1;
      }
    }),
    { numRuns: 2_000 },
  );
  expect(outcomes.read).toBeGreaterThan(0);
  expect(outcomes.refused).toBeGreaterThan(0);
});

describe('the return URL', () => {
  const http = { ...noFlags, allowHttpCallback: true };
  const local = { ...noFlags, allowPrivateCallback: true };

  test.each([
    ['https://shop.example', noFlags],
    ['HTTPS://shop.example/', noFlags],
    // The customer's browser opens it, not paygate.
    ['https://192.168.0.10/thanks', noFlags],
    ['https://shop.example?mail=me@shop.example#a@b', noFlags],
    ['https://shop.example/@me/%5C', noFlags],
    ['http://shop.example/thanks', http],
    ['http://192.168.0.10/thanks', local],
    ['http://localhost:8080/thanks', local],
    ['http://vww6ybal4bd7szmgncyruucpgfkqahzddi37ktceo3ah7ngmcopnpyyd.onion/', noFlags],
  ])('%s is allowed', (url, flags) => {
    expect(parse({ ...euro, return_url: url }, flags).returnUrl).toBe(url);
  });

  test.each([
    ['http://shop.example/thanks', noFlags, 'must start with https://'],
    ['http://203.0.113.7/thanks', local, 'must start with https://'],
    ['http://127.0.0.1/thanks', noFlags, 'must start with https://'],
    ['javascript:alert(1)', http, 'must be a whole URL'],
    ['https:shop.example', noFlags, 'must be a whole URL'],
    ['//shop.example', noFlags, 'must be a whole URL'],
    ['shop.example', noFlags, 'must be a whole URL'],
    ['https://', noFlags, 'must be a whole URL'],
    ['data:text/html,x', http, 'must be a whole URL'],
    ['https://bank.example@shop.example/', noFlags, 'a user name or a password'],
    ['https://@shop.example/', noFlags, 'a user name or a password'],
    ['https://:@shop.example/', noFlags, 'a user name or a password'],
    // Browsers read \ as /, other programs do not: they would name another host.
    ['https://evil.example\\@shop.example/', noFlags, 'write it as %5C'],
    ['https://shop.example\\thanks', noFlags, 'write it as %5C'],
    ['https://shop.example/thanks?a=\\b', noFlags, 'write it as %5C'],
    ['https:///shop.example/thanks', noFlags, 'must be a whole URL'],
    ['https://\\shop.example/thanks', noFlags, 'write it as %5C'],
    ['https://shop.example/a b', noFlags, 'take it out'],
    [`https://shop.example/${'x'.repeat(2_048)}`, noFlags, 'at most 2048 are allowed'],
  ])('%s is refused', (url, flags, problem) => {
    expect(() => parse({ ...euro, return_url: url }, flags)).toThrow(`return_url: `);
    expect(() => parse({ ...euro, return_url: url }, flags)).toThrow(problem);
  });
});

describe('private keys', () => {
  /** The key 1, with a valid checksum. */
  const wif = 'KwDiBf89QgGbjEhKnhXJuH7LrciVrZi3qYjgd9M7rFU73sVHnoWn';

  test.each<OrderBody>([
    { amount: wif, currency: 'EUR' },
    { ...euro, reference: wif },
    { ...euro, description: `pay ${wif}` },
    { ...euro, return_url: `https://shop.example/${wif}` },
    { ...euro, language: wif },
    { ...euro, metadata: { key: wif } },
    { ...euro, metadata: { [wif]: '' } },
  ])('are refused in any field, and never repeated: %#', (body) => {
    const refused = () => parse(body);
    expect(refused).toThrow('looks like a private key');
    expect(refused).not.toThrow(wif);
  });
});

describe('goods are no recovery words', () => {
  const goods = 'Apple Banana Bread Butter Coffee Cream Chicken Rice Sugar Cheese Tuna Lemon'.split(
    ' ',
  );
  const basket = goods.map((name) => `1 x ${name}`).join(', ');

  test.each<OrderBody>([
    { ...euro, description: basket },
    { ...euro, description: goods.join(', ') },
    { ...euro, reference: goods.join('-') },
    { ...euro, metadata: { cart: JSON.stringify(goods) } },
    { ...euro, metadata: { cart: JSON.stringify(goods.map((name, id) => ({ id, name }))) } },
    {
      ...euro,
      metadata: { txid: 'f4184fc596403b9d638783cf57adfe4c75c605f6356fbc91338530e9831e9e16' },
    },
    { ...euro, return_url: `https://shop.example/?cart=${encodeURIComponent(basket)}` },
  ])('in any field: %#', (body) => {
    expect(() => parse(body)).not.toThrow();
  });
});
