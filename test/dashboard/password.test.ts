import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { createPasswords, type PasswordClient } from '../../src/dashboard/password.ts';
import { cheapHash } from '../support/visitor.ts';

const one: PasswordClient = { network: 'one', isKnown: false };

const passwords = () => createPasswords((length) => randomBytes(length));

test('a password is verified by its hash, whose cost is that of scrypt N = 2^15, p = 3', async () => {
  const { hash, verify } = passwords();
  const [first, second] = await Promise.all([hash('a lamp, two owls'), hash('a lamp, two owls')]);
  expect(first).toMatch(/^scrypt:15:8:3:/);
  expect(first).not.toBe(second);
  expect(await verify('a lamp, two owls', first, one)).toBe(true);
  expect(await verify('a lamp, two owlz', first, one)).toBe(false);
});

test('the same characters in another Unicode form are the same password', async () => {
  const { verify } = passwords();
  expect(
    await verify('a\u0308 and fourteen more', cheapHash('\u00e4 and fourteen more'), one),
  ).toBe(true);
});

test.each(['', 'fourteen chars', '👍'.repeat(14), 'x'.repeat(1001)])(
  '%j is no valid password',
  async (text) => {
    await expect(passwords().hash(text)).rejects.toThrow('at least 15');
  },
);

test.each([
  'passwordpassword',
  'iloveyouiloveyou',
  'P@ssw0rd2026!!!',
  'qwertyuiopasdfgh',
  '1234567890123456',
  'abcdefghijklmnop',
  'Sommer2026Sommer2026',
  'paygatepaygatepaygate',
  'bitcoin dashboard',
  'x'.repeat(1000),
  // Passwords of leaks, which stand on lists in this or in a shorter form.
  'iloveyouforever',
  'passw0rdpassw0rd!',
  'qwerty123456789',
  '1q2w3e4r5t6y7u8i9o',
  '1qaz2wsx3edc4rfv5tgb',
  '!QAZ2wsx#EDC4rfv',
  'zaq12wsxcde34rfv',
  'drowssapdrowssap',
  'manchesterunited',
  'jesuschrist123456',
  'Summer2026!Summer2026!',
  'administrator1234',
  // Phrases that everybody knows.
  'correct horse battery staple',
  'c0rrecth0rsebatterystap1e',
  'Correct-Horse-Battery-Staple-2026!',
  'To be, or not to be',
  'tobeornottobetobeornottobe',
  'Th1s1sMyP@ssw0rd',
  'thequickbrownfox1',
  'Satoshi Nakamoto 2009',
  'not your keys, not your coins',
  'Bitcoin to the moon!',
])('%j is refused as easy to guess', async (text) => {
  await expect(passwords().hash(text)).rejects.toThrow('This password is easy to guess');
});

test('a password of names of this gateway is refused, and one of other words is not', async () => {
  const { hash } = passwords();
  const words = ['Kaffeerösterei'];
  await expect(hash('Kaffeerösterei 1', words)).rejects.toThrow('easy to guess');
  await expect(hash('pferd batterie heft', words)).resolves.toMatch(/^scrypt:/);
});

test.each(['Rose Coffee 2026', 'rosecoffee2026!', 'coffeerosecoffee', 'pay.rosecoffee.example'])(
  '%j is refused, because it has only words of a store or its host',
  async (text) => {
    const words = ['Rose Coffee', 'pay.rosecoffee.example'];
    await expect(passwords().hash(text, words)).rejects.toThrow('easy to guess');
  },
);

test.each([
  'velvet otter ladder',
  'staple to the horse, moon',
  'a correct answer, a horse',
  'Qm7-xKd2-pWz9-aB',
  'tr0ub4dor&3 kettle swim',
  '8f3c9a1e5b7d2046',
  'löwenzahn trinkt blaue ziegel',
])('%j is accepted', async (text) => {
  await expect(passwords().hash(text)).resolves.toMatch(/^scrypt:/);
});

test('unknown clients fill six places of the queue at most; known clients have two more', async () => {
  const { verify } = passwords();
  const stored = cheapHash('fifteen letters');
  const tryOf = (line: number, isKnown = false) =>
    verify('fifteen letters', stored, { network: String(line), isKnown });
  const strangers = Array.from({ length: 6 }, (_, line) => tryOf(line));
  await expect(tryOf(7)).rejects.toThrow('Too many');
  const known = [tryOf(8, true), tryOf(9, true)];
  await expect(tryOf(10, true)).rejects.toThrow('Too many');
  expect(await Promise.all([...strangers, ...known])).toEqual(Array(8).fill(true));
  expect(await tryOf(7)).toBe(true);
});

test('one network prefix has at most two places of the queue', async () => {
  const { verify } = passwords();
  const stored = cheapHash('fifteen letters');
  const tries = Array.from({ length: 10 }, () => verify('wrong', stored, one));
  const other = verify('fifteen letters', stored, { ...one, network: 'other' });
  const made = await Promise.allSettled(tries);
  expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
  expect(await other).toBe(true);
  expect(await verify('fifteen letters', stored, one)).toBe(true);
});
