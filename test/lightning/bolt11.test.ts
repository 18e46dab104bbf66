// The reader of invoices: every example of the specification, and what no wallet may be shown.

import { readFileSync } from 'node:fs';
import { bech32 } from '@scure/base';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PaygateError } from '../../src/lib/errors.ts';
import { checkInvoice, readInvoice } from '../../src/lightning/bolt11.ts';
import { QrCode } from '../../src/web/qr-code.tsx';
import { field, type InvoiceFields, publicKeyOf, writeInvoice } from '../support/bolt11.ts';

interface Example {
  readonly title: string;
  readonly invoice: string;
}

const examples: { readonly valid: readonly Example[]; readonly invalid: readonly Example[] } =
  JSON.parse(readFileSync(new URL('bolt11-examples.json', import.meta.url), 'utf8'));

/** The key that signed all examples but one, and the hash in all of them. */
const specKey = '03e7156ae33b0a208d0744199163177e909e80176e55d97a2f221ede0f934dd9ad';
const specHash = '0001020304050607080900010203040506070809000102030405060708090102';
const picoHash = '462264ede7e14047e9b249da94fefc47f41f7d02ee9b091815a5506bc8abf75f';
// As its own signature gives; the specification does not say it.
const highSKey = '02d0139ce7427d6dfffd26a326c18be754ef1e64672b42694ba5b23ef6e6e7803d';

const exampleOf = (title: string): string =>
  examples.valid.find((each) => each.title.startsWith(title))?.invoice ?? '';

describe('the examples of BOLT 11', () => {
  test('all are here', () => {
    expect(examples.valid).toHaveLength(16);
    expect(examples.invalid).toHaveLength(10);
  });

  test.each(examples.valid)('$title', ({ title, invoice }) => {
    const { publicKey, paymentHash, createdAt } = readInvoice(invoice);
    expect({ publicKey, paymentHash, createdAt }, title).toEqual({
      publicKey: title.includes('high-S') ? highSKey : specKey,
      paymentHash: title.includes('0.0096') ? picoHash : specHash,
      createdAt: title.includes('0.0096') ? 1_572_468_703 : 1_496_314_658,
    });
  });

  test.each([
    ['Please make a donation', null, 3600, 'bc', false],
    ['Please send $3', 250_000_000n, 60, 'bc', false],
    ['Now send $24', 2_000_000_000n, 3600, 'bc', false],
    ['The same, on testnet', 2_000_000_000n, 3600, 'tb', true],
    ['On mainnet, with fallback (P2TR)', 2_000_000_000n, 3600, 'bc', true],
    ['Please send 0.00967878534', 967_878_534n, 604_800, 'bc', false],
    ['Please send $30', 2_500_000_000n, 3600, 'bc', false],
    ['Please send 0.01 BTC', 1_000_000_000n, 3600, 'bc', false],
  ])('%s: amount, expiry, network, address', (title, valueMsat, seconds, prefix, hasAddress) => {
    expect(readInvoice(exampleOf(title))).toMatchObject({ valueMsat, seconds, prefix, hasAddress });
  });

  test.each([
    ['Same, but adding invalid', 'it requires the feature 100 of a wallet'],
    ['Bech32 checksum', 'it is not bech32'],
    ['Malformed bech32 string (no 1)', 'it is not bech32'],
    ['Malformed bech32 string (mixed case)', 'it is not bech32'],
    ['Signature is not', 'its signature is wrong'],
    ['String is too short', 'it is too short'],
    ['Invalid multiplier', 'its network or its amount is unknown'],
    ['Invalid sub-milli', 'its amount has a fraction of a millisatoshi'],
    ['Missing required s', 'it has no payment secret'],
    ['Non canonical', 'a field is doubled'],
  ])('invalid: %s', (title, reason) => {
    const { invoice = '' } = examples.invalid.find((each) => each.title.startsWith(title)) ?? {};
    expect(() => readInvoice(invoice)).toThrow(`the node gave no usable invoice: ${reason}`);
  });
});

describe('readInvoice', () => {
  const plain: InvoiceFields = {};

  test('reads what is written', () => {
    expect(readInvoice(writeInvoice(plain))).toEqual({
      prefix: 'bcrt',
      valueMsat: 250_000_000n,
      createdAt: 1_800_000_000,
      seconds: 900,
      paymentHash: 'ab'.repeat(32),
      publicKey: publicKeyOf(1),
      hasAddress: false,
    });
  });

  test.each([
    ['', null],
    ['1', 100_000_000_000n],
    ['3m', 300_000_000n],
    ['1u', 100_000n],
    ['10n', 1_000n],
    ['10p', 1n],
  ])('an amount of "%s"', (amount, valueMsat) => {
    expect(readInvoice(writeInvoice({ amount })).valueMsat).toBe(valueMsat);
  });

  test.each(['0', '01u', '1x', '-1', '1.5m', 'u', `${'9'.repeat(20)}`, '1uu'])(
    'an amount of "%s" is refused',
    (amount) => {
      expect(() => readInvoice(writeInvoice({ amount }))).toThrow('its network or its amount');
    },
  );

  test.each(['1p', '9999p'])('a fraction of a millisatoshi (%s) is refused', (amount) => {
    expect(() => readInvoice(writeInvoice({ amount }))).toThrow('its amount has a fraction');
  });

  test.each(['lnbcx', 'lnltc', 'lnsb', 'bc', 'lnbcrtx'])('the prefix %s is refused', (prefix) => {
    expect(() => readInvoice(writeInvoice({ prefix }))).toThrow('its network or its amount');
  });

  test('without an expiry it is an hour', () => {
    expect(readInvoice(writeInvoice({ seconds: null })).seconds).toBe(3600);
  });

  test('an expiry beyond all numbers is one that was not asked for', () => {
    const endless = { ...plain, seconds: null, fields: [field(6, Array(300).fill(31))] };
    expect(readInvoice(writeInvoice(endless)).seconds).toBe(Number.POSITIVE_INFINITY);
  });

  test('the key in the invoice must be the one that signed', () => {
    const named = (key: number, signer: number) => writeInvoice({ signer, keyField: key });
    expect(readInvoice(named(2, 2)).publicKey).toBe(publicKeyOf(2));
    expect(() => readInvoice(named(2, 1))).toThrow('its signature is wrong');
  });

  test('a high S with the key in the invoice is refused', () => {
    expect(() => readInvoice(writeInvoice({ keyField: 1, highS: true }))).toThrow(
      'its signature is wrong',
    );
    expect(readInvoice(writeInvoice({ highS: true })).publicKey).toBe(publicKeyOf(1));
  });

  test.each([1, 16, 6, 5, 19])('a second field of type %i is refused', (type) => {
    const length = { 1: 52, 16: 52, 19: 53 }[type] ?? 1;
    const double = [field(type, Array(length).fill(0)), field(type, Array(length).fill(0))];
    const fields = { ...(type === 6 ? { seconds: null } : {}), fields: double };
    expect(() => readInvoice(writeInvoice(fields))).toThrow('a field is doubled');
  });

  test('fields of another length, and unknown ones, are skipped', () => {
    const odd = [field(1, Array(51).fill(1)), field(16, []), field(19, [1]), field(2, [1, 2])];
    expect(readInvoice(writeInvoice({ fields: [...odd, ...odd] }))).toEqual(
      readInvoice(writeInvoice(plain)),
    );
  });

  test('an address is seen, even a second one', () => {
    const address = field(9, [17, ...Array(32).fill(0)]);
    expect(readInvoice(writeInvoice({ fields: [address, address] })).hasAddress).toBe(true);
  });

  test('without a hash it is refused', () => {
    expect(() => readInvoice(writeInvoice({ paymentHash: null }))).toThrow(
      'it has no payment hash',
    );
  });

  test('a field that runs into the signature is refused', () => {
    const tooLong = writeInvoice({ fields: [[2, 0, 5, 1]] });
    expect(() => readInvoice(tooLong)).toThrow('a field is longer than the invoice');
  });

  test.each([8, 14, 16, 24, 48, 9, 99, 101])('feature %i is known or optional', (bit) => {
    expect(readInvoice(writeInvoice({ features: [bit] })).seconds).toBe(900);
  });

  test.each([0, 10, 18, 30, 100, 262])('feature %i is required and unknown', (bit) => {
    expect(() => readInvoice(writeInvoice({ features: [8, bit] }))).toThrow(
      `it requires the feature ${bit} of a wallet`,
    );
  });

  test('any text is read or refused, and nothing else', () => {
    const text = fc.oneof(
      fc.string({ maxLength: 300, unit: 'binary' }),
      fc
        .tuple(fc.string({ minLength: 1 }), fc.array(fc.integer({ min: 0, max: 31 })))
        .filter(([prefix]) => /^[!-~]+$/.test(prefix) && prefix.toLowerCase() === prefix)
        .map(([prefix, words]) => bech32.encode(prefix, words, false)),
      fc
        .array(fc.integer({ min: 0, max: 31 }), { minLength: 111, maxLength: 300 })
        .map((words) => bech32.encode('lnbcrt1m', words, false)),
    );
    fc.assert(
      fc.property(text, (each) => {
        try {
          readInvoice(each);
        } catch (error) {
          expect(error).toBeInstanceOf(PaygateError);
          expect((error as PaygateError).code).toBe('invalid');
        }
      }),
      { numRuns: 100 },
    );
  });

  test('an invoice is as long as the QR code of its page can be, and no longer', () => {
    const ofLength = (length: number): string => {
      const lacking = length - writeInvoice(plain).length;
      const fields = [1_000, 1_000, 500, lacking - 4 * 3 - 2_500];
      const padding = fields.map((words) => field(2, Array(words).fill(0)));
      return writeInvoice({ ...plain, fields: padding });
    };
    const longest = ofLength(3_381);
    expect(longest).toHaveLength(3_381);
    expect(readInvoice(longest).publicKey).toBe(publicKeyOf(1));
    const code = (text: string) => QrCode({ text: `LIGHTNING:${text.toUpperCase()}`, label: '' });
    expect(String(code(longest))).toContain('<svg');
    const tooLong = ofLength(3_382);
    expect(() => code(tooLong)).toThrow();
    expect(() => readInvoice(tooLong)).toThrow('it is too long for a QR code');
  });

  test('an invoice that was altered is refused, or has another signer', () => {
    const { words } = bech32.decode(writeInvoice(plain) as `${string}1${string}`, false);
    const place = fc.integer({ min: 0, max: words.length - 1 });
    fc.assert(
      fc.property(place, fc.integer({ min: 1, max: 31 }), (at, change) => {
        const altered = words.map((word, index) => (index === at ? word ^ change : word));
        let publicKey: string | undefined;
        try {
          ({ publicKey } = readInvoice(bech32.encode('lnbcrt2500u', altered, false)));
        } catch (error) {
          expect(error).toBeInstanceOf(PaygateError);
        }
        expect(publicKey).not.toBe(publicKeyOf(1));
      }),
      { numRuns: 100 },
    );
  });
});

describe('checkInvoice', () => {
  const now = 1_800_000_000_000;
  const asked = { valueSat: 250_000, seconds: 900, network: 'regtest' } as const;
  const paymentHash = 'ab'.repeat(32);
  const check = (fields: InvoiceFields, change: Partial<Parameters<typeof checkInvoice>[1]> = {}) =>
    checkInvoice({ invoice: writeInvoice(fields), paymentHash }, { ...asked, ...change }, now);

  test('what was asked for is accepted', () => {
    expect(check({})).toEqual(readInvoice(writeInvoice({})));
  });

  test.each([
    ['mainnet', 'lnbc'],
    ['testnet3', 'lntb'],
    ['testnet4', 'lntb'],
    ['signet', 'lntbs'],
    ['regtest', 'lnbcrt'],
  ] as const)('on %s it begins with %s', (network, prefix) => {
    expect(check({ prefix }, { network }).prefix).toBe(prefix.slice(2));
  });

  test.each<[string, InvoiceFields, string]>([
    ['network', { prefix: 'lnbc' }, 'it begins with lnbc, but this paygate is on regtest'],
    ['higher amount', { amount: '2501u' }, 'it is about 250100000 msat instead of 250000 sat'],
    ['lower amount', { amount: '2499999990p' }, 'it is about 249999999 msat instead of'],
    ['no amount', { amount: '' }, 'it is about any number of msat instead of 250000 sat'],
    ['hash', { paymentHash: 'ac'.repeat(32) }, 'its payment hash is not the one beside it'],
    ['expiry', { seconds: 901 }, 'it expires after 901 s instead of 900 s'],
    ['address', { fields: [field(9, [0, 1])] }, 'it names an address of its own'],
    ['early', { createdAt: now / 1000 - 121 }, 'its time differs from the clock here by -121 s'],
    ['late', { createdAt: now / 1000 + 121 }, 'its time differs from the clock here by 121 s'],
  ])('another %s is refused', (_, fields, reason) => {
    expect(() => check(fields)).toThrow(`the node gave no usable invoice: ${reason}`);
  });

  test.each([-120, 120])('clocks may differ by %i s', (seconds) => {
    expect(check({ createdAt: now / 1000 + seconds }).seconds).toBe(900);
  });
});
