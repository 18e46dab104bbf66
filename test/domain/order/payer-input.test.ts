import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type LinkBody, parseLinkInput } from '../../../src/domain/order/link-input.ts';
import { parsePayerInput } from '../../../src/domain/order/payer-input.ts';
import { formatMoney } from '../../../src/domain/payment/money.ts';

const link = (body: LinkBody) => parseLinkInput({ title: 'Tips', ...body });
const euros = link({ currency: 'EUR', min: '5', max: '500' });

test('a fixed amount stays, whatever is entered', () => {
  const poster = link({ currency: 'EUR', amount: '25.00' });
  const expected = {
    input: {
      price: { kind: 'fiat', currency: 'EUR', minor: 2_500n },
      note: null,
      customerEmail: null,
    },
  };
  expect(parsePayerInput(poster, {})).toEqual(expected);
  expect(parsePayerInput(poster, { amount: '1', note: 'hello', email: 'a@b.example' })).toEqual(
    expected,
  );
  expect(parsePayerInput(link({ amount_sat: 5_000 }), { amount: 'x' })).toEqual({
    input: { price: { kind: 'sat', amountSat: 5_000 }, note: null, customerEmail: null },
  });
});

describe('an amount', () => {
  const anyAmount = { EUR: link({ currency: 'EUR' }), JPY: link({ currency: 'JPY' }) };
  const dinars = link({ currency: 'KWD' });

  test.each([
    ['12.50', 1_250n],
    ['12,5', 1_250n],
    [' 12 ', 1_200n],
    ['.5', 50n],
    ['012,', 1_200n],
    ['١٢٫٥٠', 1_250n],
    ['۱۲٫۵', 1_250n],
    ['１２．５', 1_250n],
    ['0.01', 1n],
  ])('may be typed as %s', (amount, minor) => {
    const { input } = parsePayerInput(anyAmount.EUR, { amount });
    expect(input?.price).toEqual({ kind: 'fiat', currency: 'EUR', minor });
  });

  test.each([
    [anyAmount.EUR, '', 'missing', undefined],
    [anyAmount.EUR, '.', 'no-number', undefined],
    [anyAmount.EUR, 'ten', 'no-number', undefined],
    [anyAmount.EUR, '-5', 'no-number', undefined],
    [anyAmount.EUR, '1e3', 'no-number', undefined],
    [anyAmount.EUR, '1.234,50', 'no-number', undefined],
    [anyAmount.EUR, '1,234', 'too-many-decimals', 2],
    [anyAmount.JPY, '1.5', 'too-many-decimals', 0],
    [dinars, '1.2345', 'too-many-decimals', 3],
    [anyAmount.EUR, '0.00', 'too-small', 1],
    [anyAmount.EUR, `1${'0'.repeat(13)}`, 'too-large', 999_999_999_999_999],
    [euros, '4.99', 'too-small', 500],
    [euros, '500.01', 'too-large', 50_000],
    [link({}), '545', 'too-small', 546],
    [link({}), '1000.5', 'too-many-decimals', 0],
    [link({ max_sat: 2_000 }), '2001', 'too-large', 2_000],
    [anyAmount.EUR, `${'abandon '.repeat(11)}about`, 'private-material', undefined],
  ])('%# %j is refused', (asked, amount, reason, limit) => {
    const problem = { field: 'amount', reason, ...(limit !== undefined && { limit }) };
    expect(parsePayerInput(asked, { amount })).toEqual({ problems: [problem] });
  });

  test.each([
    [anyAmount.EUR, '1,000', '.', [100n, 100_000n]],
    [dinars, '1,000', '.', [1_000n, 1_000_000n]],
    [dinars, '1.000', ',', [1_000n, 1_000_000n]],
    [anyAmount.JPY, '1.000', ',', [1n, 1_000n]],
    [link({}), '1.000', '.', [1n, 1_000n]],
  ] as const)(
    '%# %j is refused, because it has two meanings',
    (asked, amount, separator, meanings) => {
      const problem = { field: 'amount', reason: 'two-meanings', meanings };
      expect(parsePayerInput(asked, { amount }, separator)).toEqual({ problems: [problem] });
    },
  );

  test('is read by the separator of the language', () => {
    const price = { kind: 'fiat', currency: 'KWD', minor: 1_000n };
    expect(parsePayerInput(dinars, { amount: '1.000' }, '.').input?.price).toEqual(price);
    expect(parsePayerInput(dinars, { amount: '1,000' }, ',').input?.price).toEqual(price);
  });

  test('is what was typed, to the unit', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('EUR', 'JPY', 'KWD'),
        fc.bigInt({ min: 1n, max: 10n ** 15n - 1n }),
        (currency, minor) => {
          const amount = formatMoney(minor, currency);
          const price = { kind: 'fiat', currency, minor };
          expect(parsePayerInput(link({ currency }), { amount }).input?.price).toEqual(price);
        },
      ),
    );
  });
});

describe('a note', () => {
  const noted = (note: 'no' | 'optional' | 'required', text?: string) =>
    parsePayerInput(link({ amount_sat: 5_000, note }), { note: text });

  test('is one line, or none', () => {
    expect(noted('optional', ' Table 4 ').input?.note).toBe('Table 4');
    expect(noted('optional', ' ').input?.note).toBeNull();
    expect(noted('no', 'Table 4').input?.note).toBeNull();
    expect(noted('required', '😀'.repeat(200)).input?.note).toHaveLength(400);
  });

  test('may be a basket, whose words are no recovery words', () => {
    const goods = 'apple banana bread butter coffee cream chicken rice sugar cheese tuna lemon';
    expect(noted('required', goods).input?.note).toBe(goods);
    const list = goods.replaceAll(' ', ', 2 x ');
    expect(noted('required', list).input?.note).toBe(list);
  });

  test.each([
    [undefined, 'missing', undefined],
    ['  ', 'missing', undefined],
    ['x'.repeat(201), 'too-long', 200],
    ['a\nb', 'bad-characters', undefined],
    ['\ud800', 'bad-characters', undefined],
    [`${'abandon '.repeat(11)}about`, 'private-material', undefined],
  ])('%# is refused', (text, reason, limit) => {
    const problem = { field: 'note', reason, ...(limit !== undefined && { limit }) };
    expect(noted('required', text)).toEqual({ problems: [problem] });
  });
});

describe('a mail address', () => {
  const typed = (email?: string, ask_email = true) =>
    parsePayerInput(link({ amount_sat: 5_000, ask_email }), { email });

  test('may be given if the link asks for it', () => {
    expect(typed(' Anna.M+1@bücher.example ').input?.customerEmail).toBe(
      'Anna.M+1@xn--bcher-kva.example',
    );
    for (const email of [undefined, '', ' \t'])
      expect(typed(email).input?.customerEmail).toBeNull();
    expect(typed('anna@customer.example', false).input?.customerEmail).toBeNull();
    expect(typed('no address', false).problems).toBeUndefined();
  });

  test.each([
    ['anna', 'no-address'],
    ['anna@customer.example\r\nBcc: eve@evil.example', 'no-address'],
    ['anna@customer.example, eve@evil.example', 'no-address'],
    [`${'abandon '.repeat(11)}about`, 'private-material'],
  ])('%# is refused', (email, reason) => {
    expect(typed(email)).toEqual({ problems: [{ field: 'email', reason }] });
  });
});

test('all problems are reported', () => {
  const asked = link({ currency: 'EUR', note: 'required', ask_email: true });
  expect(parsePayerInput(asked, { amount: 'x', email: 'x' })).toEqual({
    problems: [
      { field: 'amount', reason: 'no-number' },
      { field: 'note', reason: 'missing' },
      { field: 'email', reason: 'no-address' },
    ],
  });
});
