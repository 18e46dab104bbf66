import { describe, expect, test } from 'vitest';
import {
  type LinkBody,
  linkBodyOf,
  parseLinkChange,
  parseLinkInput,
} from '../../../src/domain/order/link-input.ts';
import { PaygateError } from '../../../src/lib/errors.ts';

const poster: LinkBody = { title: 'Poster', amount: '25.00', currency: 'EUR' };

test('a whole body', () => {
  const body: LinkBody = {
    title: ' Poster ',
    description: 'A2\nmatt',
    amount: '25.00',
    currency: 'eur',
    note: 'optional',
    active: false,
    most_orders: 10,
    ask_email: true,
  };
  expect(parseLinkInput(body)).toEqual({
    title: 'Poster',
    description: 'A2\nmatt',
    ...{ currency: 'EUR', amount: 2_500, minAmount: null, maxAmount: null, suggested: [] },
    ...{ note: 'optional', isActive: false, maxOrders: 10, adjustBasisPoints: null },
    asksEmail: true,
  });
});

test('what is missing or null has its default: a page where the payer enters satoshis', () => {
  const expected = {
    title: 'Tips',
    description: null,
    ...{ currency: null, amount: null, minAmount: null, maxAmount: null, suggested: [] },
    ...{ note: 'no', isActive: true, maxOrders: null, adjustBasisPoints: null },
    asksEmail: false,
  };
  expect(parseLinkInput({ title: 'Tips' })).toEqual(expected);
  const nulls = Object.fromEntries(
    Object.keys(linkBodyOf(parseLinkInput(poster))).map((name) => [name, null]),
  );
  expect(parseLinkInput({ ...nulls, title: 'Tips' })).toEqual(expected);
});

describe('an amount that the payer enters', () => {
  test('has bounds and suggestions in the currency', () => {
    const open = { min: '5', max: '500.00', suggested: ['5', '10.50'] };
    expect(parseLinkInput({ title: 'Tips', currency: 'EUR', ...open })).toMatchObject({
      ...{ currency: 'EUR', amount: null, minAmount: 500, maxAmount: 50_000 },
      suggested: [500, 1_050],
    });
  });

  test('or in satoshis', () => {
    const open = { min_sat: 1_000, max_sat: 100_000, suggested_sat: [1_000, 100_000] };
    expect(parseLinkInput({ title: 'Tips', ...open })).toMatchObject({
      ...{ currency: null, amount: null, minAmount: 1_000, maxAmount: 100_000 },
      suggested: [1_000, 100_000],
    });
  });
});

function problemsOf(body: LinkBody): string[] {
  try {
    parseLinkInput(body);
  } catch (error) {
    if (!(error instanceof PaygateError) || error.code !== 'invalid') throw error;
    return error.message.split(/; (?=[a-z_]+: )/);
  }
  return [];
}

test.each<[LinkBody, ...string[]]>([
  [{ ...poster, title: '' }, 'title: is missing'],
  [{ ...poster, title: 'ö'.repeat(101) }, 'title: has 202 bytes'],
  [{ ...poster, title: 'A\nB' }, 'title: has control characters'],
  [{ ...poster, description: 'x'.repeat(1_025) }, 'description: has 1025 bytes'],
  [{ ...poster, currency: null }, 'amount: give a currency, or amount_sat instead'],
  [{ ...poster, currency: 'EUX' }, 'currency: a currency has three letters'],
  [{ ...poster, currency: 'BTC' }, 'currency: a price in bitcoin is given in satoshis'],
  [{ ...poster, amount: '25.001' }, 'amount: an amount in EUR has at most 2 decimals'],
  [{ ...poster, amount: '25.50', currency: 'JPY' }, 'amount: an amount in JPY has no decimals'],
  [{ ...poster, amount: '0' }, 'amount: must be above 0'],
  [{ ...poster, amount_sat: 1_000 }, 'amount_sat: a link with a currency has amount'],
  [{ title: 'Tips', amount_sat: 545 }, 'amount_sat: the amount is 545 sat'],
  [{ title: 'Tips', min_sat: 1_000.5 }, 'min_sat: whole satoshis are expected'],
  [{ ...poster, min: '1' }, 'min: is for a link whose payer enters the amount'],
  [{ ...poster, suggested: ['1'] }, 'suggested: is for a link whose payer enters the amount'],
  [{ title: 'Tips', currency: 'EUR', min: '5', max: '4' }, 'min: must not be above max'],
  [{ title: 'Tips', max_sat: 1_000, suggested_sat: [1_001] }, 'suggested_sat: each amount must be'],
  [{ title: 'Tips', suggested_sat: Array(9).fill(1_000) }, 'suggested_sat: has 9 amounts'],
  [{ ...poster, most_orders: 0 }, 'most_orders: a whole number from 1 to 1000000'],
  [
    { currency: 'EUR', min: 'x', max_sat: 1, most_orders: 1.5 },
    ...['title: is missing', 'max_sat: a link with a currency has max', 'min: a decimal number'],
    'most_orders: a whole number',
  ],
])('%j is refused, with all problems', (body, ...expected) => {
  const problems = problemsOf(body);
  expect(problems).toHaveLength(expected.length);
  for (const [at, problem] of problems.entries()) expect(problem).toContain(expected[at]);
});

test('no text may hold a private key, and none of it is repeated', () => {
  const words = `${'abandon '.repeat(11)}about`;
  const fields = [
    ...['title', 'description', 'currency', 'amount', 'min', 'max'].map((name) => ({
      [name]: words,
    })),
    { suggested: ['5', words] },
  ];
  for (const field of fields) {
    const problems = problemsOf({ ...poster, ...field }).join();
    expect(problems).toContain('this looks like a private key or recovery words');
    expect(problems).not.toContain('abandon');
  }
});

describe('a change', () => {
  const before = parseLinkInput({
    ...{ ...poster, description: 'A2', note: 'required', most_orders: 3, ask_email: true },
  });

  test('leaves what it does not name', () => {
    expect(parseLinkChange(before, {})).toEqual(before);
    expect(parseLinkChange(before, { active: false, title: undefined })).toEqual({
      ...before,
      isActive: false,
    });
  });

  test('null is the default', () => {
    const change = { description: null, note: null, most_orders: null, ask_email: null };
    expect(parseLinkChange(before, change)).toMatchObject({
      ...{ title: 'Poster', amount: 2_500, description: null, note: 'no', maxOrders: null },
      asksEmail: false,
    });
  });

  test('may turn a fixed amount into one of the payer, and into satoshis', () => {
    expect(parseLinkChange(before, { amount: null, min: '5.00' })).toMatchObject({
      ...{ currency: 'EUR', amount: null, minAmount: 500 },
    });
    const satoshis = { amount: null, currency: null, amount_sat: 5_000 };
    expect(parseLinkChange(before, satoshis)).toMatchObject({ currency: null, amount: 5_000 });
  });

  test('follows the same rules', () => {
    expect(() => parseLinkChange(before, { min: '1' })).toThrow('min: is for a link');
    expect(() => parseLinkChange(before, { title: null })).toThrow('title: is missing');
  });
});

test.each<LinkBody>([
  poster,
  { title: 'Tips', currency: 'JPY', min: '100', suggested: ['100', '500'] },
  { title: 'Tips', amount_sat: 5_000, ask_email: true },
  { title: 'Till', min_sat: 600, max_sat: 1_000, suggested_sat: [700] },
])('the body of a link makes the same link: %j', (body) => {
  const link = parseLinkInput(body);
  expect(parseLinkInput(linkBodyOf(link))).toEqual(link);
});
