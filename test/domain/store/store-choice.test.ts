import { describe, expect, it } from 'vitest';
import {
  chooseStore,
  noWalletError,
  type StoreCandidate,
  type StoreQuery,
} from '../../../src/domain/store/store-choice.ts';
import { PaygateError } from '../../../src/lib/errors.ts';

const store = (id: number, callbackUrl: string, account = `zpub${id}`): StoreCandidate => ({
  id,
  name: `Shop ${id}`,
  callbackUrl,
  account,
});

const cafe = store(1, 'https://shop.example/cb?secret=abc');
const cafeTwo = store(2, 'https://shop.example/cb?secret=abcdef');
const bakery = store(3, 'https://bakery.example/paid', 'zpubSHARED');
const bakeryTwo = store(4, 'https://bakery.example/paid', 'zpubSHARED');
const all = [cafe, cafeTwo, bakery, bakeryTwo];

function refusal(stores: readonly StoreCandidate[], wish: StoreQuery): PaygateError {
  try {
    chooseStore(stores, wish);
  } catch (error) {
    if (error instanceof PaygateError) return error;
    throw error;
  }
  throw new Error('a store was chosen');
}

describe('the store that a request means', () => {
  it('is the only one there is', () => {
    expect(chooseStore([cafe], {})).toBe(cafe);
    expect(chooseStore([cafe], { callback: '', account: '' })).toBe(cafe);
    expect(chooseStore([cafe], { callback: cafe.callbackUrl })).toBe(cafe);
    expect(chooseStore([cafe], { callback: 'secret=abc', account: 'zpub1' })).toBe(cafe);
  });

  it.each([
    ['a whole URL', { callback: cafeTwo.callbackUrl }, cafeTwo],
    ['a whole URL that others begin with', { callback: cafe.callbackUrl }, cafe],
    ['the secret inside', { callback: 'abcdef' }, cafeTwo],
    ['a part of the account', { account: 'zpub2' }, cafeTwo],
    ['an account and a callback', { account: 'zpub1', callback: 'shop.example' }, cafe],
  ])('is named by %s', (_what, wish, chosen) => {
    expect(chooseStore(all, wish)).toBe(chosen);
  });

  it.each(['|', '%7C', '%7c'])('is named by a URL with a bar in either form: %s', (bar) => {
    const cart = (form: string) =>
      store(5, `https://cart.example/index.php?route=pay/pay${form}callback&secret=abcd`);
    const stores = (form: string) => [...all, cart(form)];
    for (const saved of ['%7C', '|']) {
      for (const callback of [
        `https://cart.example/index.php?route=pay/pay${bar}callback&secret=abcd`,
        `pay/pay${bar}callback`,
        `${bar}call`,
      ]) {
        expect(chooseStore(stores(saved), { callback }).id).toBe(5);
      }
      const part = `index.php?route=pay/pay${bar}callback&secret=abcd`;
      expect(chooseStore(stores(saved), { callback: part, hidesSecrets: true }).id).toBe(5);
      expect(() =>
        chooseStore(stores(saved), { callback: `y${bar}callback`, hidesSecrets: true }),
      ).toThrow(/no store/);
    }
  });

  it.each([
    ['the whole URL', cafe.callbackUrl, cafe],
    ['a part that it sees', 'bakery.example', bakery],
    ['a whole secret', 'abcdef', cafeTwo],
    ['a whole parameter', 'secret=abcdef', cafeTwo],
    ['the URL without its scheme', 'shop.example/cb?secret=abcdef', cafeTwo],
    ['its end', 'cb?secret=abcdef', cafeTwo],
    ['a part of a secret', 'abcde', undefined],
    ['the end of a secret', 'bcdef', undefined],
    ['a part around the beginning of a secret', '=abcde', undefined],
    ['a parameter with a part of its secret', 'secret=abcde', undefined],
    ['a part of a parameter', 'cret=abcdef', undefined],
    ['a part that ends in a secret', 'shop.example/cb?secret=ab', undefined],
  ])('can be named by %s, or not, with a key that sees no secrets', (_what, callback, chosen) => {
    const choose = () => chooseStore([cafe, cafeTwo, bakery], { callback, hidesSecrets: true });
    if (chosen === undefined) expect(choose).toThrow('fits the Callback URL of no store');
    else expect(choose()).toBe(chosen);
  });

  it('is returned with all its fields', () => {
    expect(chooseStore([{ ...cafe, walletId: 9 }], {}).walletId).toBe(9);
  });
});

describe('P-11 a store without a wallet', () => {
  it('has a message that no plugin reads as an unsupported coin', () => {
    const { message, number } = noWalletError(cafe);
    expect([number, message]).toEqual([1001, expect.stringContaining('paygate store wallet 1')]);
    expect(message).not.toMatch(/^Currency|add an xpub|Could not find matching xpub/i);
  });
});

describe('P-11 no store is assumed', () => {
  it.each<[string, readonly StoreCandidate[], StoreQuery, number, RegExp]>([
    ['there is none', [], {}, 1001, /no store yet: make one/],
    ['there is none, whatever is wished', [], { callback: 'x' }, 1001, /no store yet: make one/],
    ['several and no wish', all, {}, 1032, /1 "Shop 1".*4 "Shop 4"/],
    ['several of one account', all, { account: 'SHARED' }, 1032, /3 "Shop 3".*4 "Shop 4"/],
    ['a part that several have', all, { callback: 'shop.example' }, 1032, /make it longer/],
    ['two with the same URL', all, { callback: bakery.callbackUrl }, 1032, /its own \(3.*4/],
    ['a part of the same URL of two', all, { callback: 'bakery' }, 1032, /give each its own/],
    ['a URL of nobody', all, { callback: 'https://x/' }, 1003, /fits the Callback URL of no store/],
    ['the only store, and another URL', [cafe], { callback: 'https://x/' }, 1003, /of no store/],
    [
      'the only store, and a longer URL',
      [cafe],
      { callback: `${cafe.callbackUrl}d` },
      1003,
      /secret/,
    ],
    ['the only store, and a blank', [cafe], { callback: ' ' }, 1003, /of no store/],
    [
      'the only store, and another account',
      [cafe],
      { account: 'xpub9' },
      1003,
      /wallet of no store/,
    ],
    ['an account of nobody', all, { account: 'xpub9' }, 1003, /wallet of no store/],
    ['case counts', all, { callback: 'ABCDEF' }, 1003, /fits the Callback URL of no store/],
    [
      'a callback of another account',
      all,
      { account: 'zpub2', callback: 'bakery' },
      1003,
      /fits the Callback URL of no store/,
    ],
  ])('%s', (_what, stores, wish, number, message) => {
    const error = refusal(stores, wish);
    expect(error).toMatchObject({ code: 'invalid', number });
    expect(error.message).toMatch(message);
    // Clients take a message that begins like this for another error.
    expect(error.message).not.toMatch(/^Currency|add an xpub|Could not find matching xpub/i);
  });

  it('a refusal of several names only those that fit', () => {
    expect(refusal(all, { account: 'SHARED' }).message).not.toContain('Shop 1');
    expect(refusal(all, { callback: 'shop.example' }).message).not.toContain('Shop 3');
  });

  it('a name with quotes and line ends stays one line', () => {
    const odd = { ...cafe, name: 'A "b"\nc' };
    expect(refusal([odd, cafeTwo], {}).message).not.toContain('\n');
  });

  it('the message names hosts that match_callback accepts', () => {
    const shouted = store(5, 'https://Cafe.Example:8443/cb?secret=abc');
    const { message } = refusal([shouted, bakery], {});
    expect(message).toContain('(5 "Shop 5" at Cafe.Example:8443, 3 "Shop 3" at bakery.example)');
    expect(chooseStore([shouted, bakery], { callback: 'Cafe.Example:8443' })).toBe(shouted);
  });

  it('never repeats the secrets of a callback URL', () => {
    const wishes = [{}, { callback: 'shop.example' }, { callback: 'nobody' }, { account: 'none' }];
    for (const wish of wishes) expect(refusal(all, wish).message).not.toMatch(/secret=|abc/);
  });

  it('the message names the callback URLs without their secrets, and what to do', () => {
    const pathed = store(6, 'https://shop.example/wc-api/5f3a9c81d2?key=k');
    const { message } = refusal([cafe, pathed], { callback: 'https://other.example/?token=t0ken' });
    expect(message).toContain('Store 1 "Shop 1" has https://shop.example/cb?…, ');
    expect(message).toContain('store 6 "Shop 6" has https://shop.example/wc-api/…?….');
    expect(message).toContain('`paygate store set ID --callback-url URL`');
    expect(message).not.toMatch(/t0ken|abc|5f3a|key/);
  });

  it('the message notes a difference in the secrets that it hides', () => {
    const near = refusal([cafe], { callback: 'https://shop.example/cb?secret=xyz' }).message;
    expect(near).toContain('a part that is not shown here, such as the secret');
    expect(refusal([cafe], { callback: 'https://x/' }).message).not.toContain('not shown here');
  });

  it('names the first of many stores', () => {
    const many = Array.from({ length: 500 }, (_, at) =>
      store(at + 1, `https://shop.example/${at}/`),
    );
    const { message } = refusal(many, { callback: 'nobody' });
    expect(message).toContain('store 10 "Shop 10" has https://shop.example/9/, and 490 more.');
    expect(message.length).toBeLessThan(1_500);
  });
});
