import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { createPasswords, type PasswordClient } from '../../../src/dashboard/guard/password.ts';
import { guessablePasswords } from '../../support/guessable-passwords.ts';
import { cheapHash } from '../../support/visitor.ts';

const one: PasswordClient = { network: 'one', isKnown: false };

const passwords = () => createPasswords((length) => randomBytes(length));

test('S-105 a password is verified by its hash, whose cost is that of scrypt N = 2^15, p = 3', async () => {
  const { hash, verify } = passwords();
  const [first, second] = await Promise.all([hash('a lamp, two owls'), hash('a lamp, two owls')]);
  expect(first).toMatch(/^scrypt:15:8:3:/);
  expect(first).not.toBe(second);
  expect(await verify('a lamp, two owls', first, one)).toBe(true);
  expect(await verify('a lamp, two owlz', first, one)).toBe(false);
});

test('S-138 the same characters in another Unicode form are the same password', async () => {
  const { verify } = passwords();
  expect(
    await verify('a\u0308 and fourteen more', cheapHash('\u00e4 and fourteen more'), one),
  ).toBe(true);
});

test.each(['', 'fourteen chars', '👍'.repeat(14), 'x'.repeat(1001)])(
  'S-137 %j is no valid password',
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
  // Words of the product, and of each shop.
  ...guessablePasswords,
  'PayGate-2026-PayGate',
  'p4yg4te p4yg4te p4yg4te!',
  'etagyap niocticb etagyap',
  'My Bitcoin Wallet 2026',
  'online shop payments',
  'administrator@localhost',
  'btcpay order invoice order',
  // Repetitions and patterns.
  'tulip tulip tulip tulip',
  'tuliptuliptuliptulip',
  'Xylophone Xylophone 7',
  'aaaaaaaaaaaaaaaaaaaa',
  'abababababababababab',
  'aaabbbcccdddeeefff!!!',
  '123123123123123123',
  '111222333444555666',
  '0101010101010101',
  '987654321987654321',
  'zyxwvutsrqponmlkjihg',
  'qwertz qwertz qwertz',
  'azertyuiopqsdfghjklm',
  'poiuytrewqlkjhgfdsa',
  'qazwsxedcrfvtgbyhn',
  '!@#$%^&*()!@#$%^&*()',
  'asdf1234asdf1234asdf',
  '314159265358979323',
  // Dates.
  '24.12.1990 24.12.1991',
  'Sommer 1999-12-24 Sommer',
  '19841985198619871988',
  // Few common words, joined, reversed, with digits for letters, or with characters between.
  'dragon monkey dragon',
  'superman batman 2026',
  'liverpoolchelsea2026',
  'Michael Jackson 1982!',
  'gnimeht nogard nogard',
  'm0nk3y-dr4g0n-m0nk3y',
  'l.e.t.m.e.i.n.n.o.w!',
  'i l o v e y o u s o m u c h',
  'my correct horse battery staple',
  'correct1horse2battery3staple',
  'Passwort Passwort 123',
  'weihnachten weihnachten',
])('S-75 %j is refused as easy to guess', async (text) => {
  await expect(passwords().hash(text)).rejects.toThrow('This password is easy to guess');
});

test.each([
  ['Tea House', 'tea house tea house 1'],
  ['Bäckerei Müller', 'backerei-muller-2026'],
  ['Bäckerei Müller', 'rellüm iereckäb 2026'],
  ['Crêperie 24', 'CRÊPERIE crêperie 24'],
  ['shop.tulipgarden.example', 'tulipgardentulipgarden'],
  ['御茶ノ水書店', '御茶ノ水書店御茶ノ水書店御茶ノ水'],
])('names are taken out: of %j nothing is left in %j', async (name, text) => {
  await expect(passwords().hash(text, [name])).rejects.toThrow('easy to guess');
});

test('a short name is taken out where it stands alone', async () => {
  const { hash } = passwords();
  await expect(hash('ost xylo ost ost ost', ['Ost'])).rejects.toThrow('easy to guess');
  await expect(hash('frosty ostler xx', ['Ost'])).resolves.toMatch(/^scrypt:/);
  await expect(hash('a mossy kettle-a', ['a', '', '!'])).resolves.toMatch(/^scrypt:/);
});

test.each([
  // Two words, or eight characters, or a word and four characters.
  ['paygate fox owl', true],
  ['paygate xylophone', false],
  ['paygate fox fox fox', false],
  ['paygate fox k7!b', true],
  ['paygate fox k7!!', false],
  ['paygate a1b2c9d7', true],
  ['paygate a1b2c9d d', false],
  // A row of twelve letters may be several words.
  ['paygate velvetmossyk', true],
  ['paygate velvetmossy', false],
  // Two points for a common word, four for another.
  ['silver mountain tiger', false],
  ['silver mountain fox', true],
  ['silver mountain coffee tiger', true],
  // Four characters in a row of a sequence.
  ['paygate abc efg ijk', true],
  ['paygate abcd efgh ijkl', false],
])('%j has enough left: %s', async (text, isEnough) => {
  const hashed = passwords().hash(text);
  if (isEnough) await expect(hashed).resolves.toMatch(/^scrypt:/);
  else await expect(hashed).rejects.toThrow('easy to guess');
});

test('the longest password is checked at once', async () => {
  const { hash } = passwords();
  await expect(hash('ab'.repeat(500))).rejects.toThrow('easy to guess');
  await expect(hash(`${'x'.repeat(128)} velvet otter`)).rejects.toThrow('easy to guess');
  await expect(hash(`${'x'.repeat(115)} velvet otter`)).resolves.toMatch(/^scrypt:/);
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
  // Words of the product beside others, and four common ones.
  'paygate velvet otter',
  'bitcoin xylophone 7391',
  'silver mountain coffee tiger',
  // Words without spaces, and few spaces.
  'velvetotterladder',
  'mossy kettle 2026',
  // Random characters.
  '7x4k1s5e3t0a7q1z',
  'hQ9!vR2@xT5#zL8$',
  'fkwqzjxvhbtmydrn',
  '483920174650281',
  '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  'sandbox-3f9a1c7b2e84',
  // Other languages.
  'grüne Wolken über Äckern',
  'été brûlant, chêne doré',
  'żółw pędzi przez łąkę',
  'фиолетовый чайник поёт',
  '葡萄の匂いがする静かな図書館で眠る',
  '紫色 水壶 唱歌 给 月亮 听 到 天亮 了',
  'كتاب أخضر فوق الجبل البعيد',
  'बैंगनी केतली धीरे गाती है',
  '보라색 주전자가 노래를 한다',
  'कखगघङचछजझञटठडढण',
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
