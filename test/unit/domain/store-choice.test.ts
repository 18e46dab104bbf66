import { describe, expect, it } from 'vitest';
import { type Candidate, chooseStore, type Wish } from '../../../src/domain/store-choice.ts';
import { PaygateError } from '../../../src/errors.ts';

const store = (id: number, callbackUrl: string, account = `zpub${id}`): Candidate => ({
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

function refusal(stores: readonly Candidate[], wish: Wish): PaygateError {
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
    expect(chooseStore([cafe], { callback: 'https://nobody.example' })).toBe(cafe);
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

  it('keeps what else is known of it', () => {
    expect(chooseStore([{ ...cafe, walletId: 9 }], {}).walletId).toBe(9);
  });
});

describe('no store is guessed', () => {
  it.each<[string, readonly Candidate[], Wish, number, RegExp]>([
    ['there is none', [], {}, 1001, /add an xpub/],
    ['there is none, whatever is wished', [], { callback: 'x' }, 1001, /add an xpub/],
    ['several and no wish', all, {}, 1032, /1 "Shop 1".*4 "Shop 4"/],
    ['several of one account', all, { account: 'SHARED' }, 1032, /3 "Shop 3".*4 "Shop 4"/],
    ['a part that several have', all, { callback: 'shop.example' }, 1032, /make it longer/],
    ['two with the same URL', all, { callback: bakery.callbackUrl }, 1032, /its own \(3.*4/],
    ['a part of the same URL of two', all, { callback: 'bakery' }, 1032, /give each its own/],
    ['a URL of nobody', all, { callback: 'https://x/' }, 1003, /Could not find matching xpub/],
    ['the only store, and another account', [cafe], { account: 'xpub9' }, 1003, /matching xpub/],
    ['an account of nobody', all, { account: 'xpub9' }, 1003, /Could not find matching xpub/],
    ['case counts', all, { callback: 'ABCDEF' }, 1003, /Could not find matching xpub/],
    [
      'a callback of another account',
      all,
      { account: 'zpub2', callback: 'bakery' },
      1003,
      /Could not find matching xpub/,
    ],
  ])('%s', (_what, stores, wish, number, message) => {
    const error = refusal(stores, wish);
    expect(error).toMatchObject({ code: 'invalid', number });
    expect(error.message).toMatch(message);
    // Clients take a message that begins so for another fault (wire §1).
    expect(error.message).not.toMatch(/^Currency/);
  });

  it('a refusal of several names only those that fit', () => {
    expect(refusal(all, { account: 'SHARED' }).message).not.toContain('Shop 1');
    expect(refusal(all, { callback: 'shop.example' }).message).not.toContain('Shop 3');
  });

  it('a name with quotes and line ends stays one line', () => {
    const odd = { ...cafe, name: 'A "b"\nc' };
    expect(refusal([odd, cafeTwo], {}).message).not.toContain('\n');
  });

  it('is told of the hosts, which fit', () => {
    const shouted = store(5, 'https://Cafe.Example:8443/cb?secret=abc');
    const { message } = refusal([shouted, bakery], {});
    expect(message).toContain('(5 "Shop 5" at Cafe.Example:8443, 3 "Shop 3" at bakery.example)');
    expect(chooseStore([shouted, bakery], { callback: 'Cafe.Example:8443' })).toBe(shouted);
  });

  it('never repeats a callback URL, in which secrets stand', () => {
    for (const wish of [{}, { callback: 'shop.example' }, { callback: 'nobody' }]) {
      expect(refusal(all, wish).message).not.toMatch(/https?:|secret|abc/);
    }
  });
});
