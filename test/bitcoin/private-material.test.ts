import { sha256 } from '@noble/hashes/sha2.js';
import { createBase58check } from '@scure/base';
import { entropyToMnemonic } from '@scure/bip39';
import { wordlist as czech } from '@scure/bip39/wordlists/czech.js';
import { wordlist as english } from '@scure/bip39/wordlists/english.js';
import { wordlist as french } from '@scure/bip39/wordlists/french.js';
import { wordlist as italian } from '@scure/bip39/wordlists/italian.js';
import { wordlist as japanese } from '@scure/bip39/wordlists/japanese.js';
import { wordlist as korean } from '@scure/bip39/wordlists/korean.js';
import { wordlist as portuguese } from '@scure/bip39/wordlists/portuguese.js';
import { wordlist as simplifiedChinese } from '@scure/bip39/wordlists/simplified-chinese.js';
import { wordlist as spanish } from '@scure/bip39/wordlists/spanish.js';
import { wordlist as traditionalChinese } from '@scure/bip39/wordlists/traditional-chinese.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseWalletKey } from '../../src/bitcoin/keychain.ts';
import { containsPrivateMaterial } from '../../src/bitcoin/private-material.ts';
import { PaygateError } from '../../src/lib/errors.ts';
import { bip44, bip49, bip49Testnet, bip84, bip86 } from './vectors/accounts.ts';
import { invalidKeys, keyPairs } from './vectors/bip32.ts';

const base58check = createBase58check(sha256);

/** An account key under other version bytes: the private half of BIP84's with SLIP-132's list. */
function withVersion(text: string, version: number): string {
  const payload = base58check.decode(text);
  new DataView(payload.buffer).setUint32(0, version);
  return base58check.encode(payload);
}

const extendedPrivateKeys: readonly string[] = [
  bip44.xprv,
  bip49.yprv,
  bip49Testnet.uprv,
  bip84.zprv,
  // tprv, vprv; Yprv, Zprv, Uprv, Vprv
  ...[0x04358394, 0x045f18bc, 0x0295b005, 0x02aa7a99, 0x024285b5, 0x02575048].map((version) =>
    withVersion(bip84.zprv, version),
  ),
  ...keyPairs.map((pair) => pair.xprv),
  ...invalidKeys.filter((key) => key.refusal === 'private').map((key) => key.text),
];

/** Bitcoin Core's key_io_valid.json: compressed and not, of mainnet, testnet4, signet, regtest. */
const singleKeys: readonly string[] = [
  '5JuW2AMDYu4xVwRG9DZW18VbzQrGcd5RCgb99sS6ehJsNQXu5b9',
  'L5nJeqKmpHp4P7F8ZYyjwc5a7P4d8EabuGAzfGJk7yC1BJyzNaEd',
  '92ZdE5HoLafywnTBbzPxbvRmp75pSfzvdU3XaZGh1cToipgdHVh',
  'cV83kKisF3RQSvXbUCm9ox3kaz5JjEUBWcx8tNydfGJcyeUxuH47',
  'cND53Dhp8eCZqG2ghe8YhSCGesXZ8fE5PGD1khrqNvEi4RBoXhEK',
  '91mn1wYKEB1zyof1VFm8tMtocZx1oBrKKRCu9GCpgZvPmBLEJjp',
  'KwuVvu6hsuEMHrfFWJQV64tRrWX3QzqHH18JuAHYqYV6dqBvNKxd',
  // BIP38
  '6PRVWUbkzzsbcVac2qwfssoUJAN1Xhrg6bNk8J7Nzm5H7kxEbn2Nh2ZoGg',
];

const repeat = (word: string, last: string, count = 11) =>
  [...Array<string>(count).fill(word), last].join(' ');

const allLists = [
  ...[czech, english, french, italian, japanese, korean, portuguese, spanish],
  ...[simplifiedChinese, traditionalChinese],
];

/** A phrase of so many bytes of entropy. */
const phrase = (bytes: number, list = english) =>
  entropyToMnemonic(
    Uint8Array.from({ length: bytes }, (_, at) => at * 41 + bytes),
    list,
  );

const recoveryWords: readonly string[] = [
  repeat('abandon', 'about'),
  repeat('zoo', 'vote', 23),
  'legal winner thank year wave sausage worth useful legal winner thank yellow',
  'ozone drill grab fiber curtain grace pudding thank cruise elder eight picnic',
  ...allLists.map((list) => phrase(16, list)),
  ...[20, 24, 28, 32].map((bytes) => phrase(bytes)),
  phrase(16, spanish).normalize('NFD').replace(/\p{M}/gu, ''),
  repeat('abandon', 'about').toUpperCase(),
  phrase(16).replace(/\b./g, (letter) => letter.toUpperCase()),
  phrase(16, french).normalize('NFKD'),
  phrase(16, french).normalize('NFC'),
  phrase(16, japanese).normalize('NFC'),
  // The first four letters are enough for a wallet.
  repeat('aban', 'abou'),
  // Electrum: SegWit, standard, before 2.0 (which has no checksum) with all else gone.
  'wild father tree among universe such mobile favorite target dynamic credit identify',
  'cram swing cover prefer miss modify ritual silly deliver chunk behind inform able',
  // aezeed, of lnd's documentation
  'absorb original enlist once climb erode kid thrive kitchen giant define tube orange leader harbor comfort olive fatal success suggest drink penalty chimney ritual',
  // SLIP-39, the first vector of its specification
  'duckling enlarge academic academic agency result length solution fridge kidney coal piece deal husband erode duke ajar critical decision keyboard',
];

/** Words of a list with a wrong checksum: one is mistyped or in the wrong position. */
const likelyWords: readonly string[] = [
  'abandon ability able about above absent absorb abstract absurd abuse access accident',
  phrase(16).replace(/^\S+ \S+/, (two) => two.split(' ').reverse().join(' ')),
  phrase(16).replace(/\w+$/, 'zoo'),
  // A letter too many, too few, wrong, or in its neighbour's place.
  ...[/^.(?=\w)/, /(?<= \w)\w/, /\w$/].flatMap((letter) =>
    ['q$&', '', 'q'].map((by) => phrase(16).replace(letter, by)),
  ),
  'abandon ability able about aboev absent absorb abstract absurd abuse access accident',
  'powerful random nobody notice nothing important anyway look away hidden message over',
];

const numbered = (words: string, mark: (index: number) => string) =>
  words
    .split(' ')
    .map((word, index) => mark(index + 1) + word)
    .join(' ');

const listOf = (words: string, entry: (word: string, index: number) => string) =>
  words
    .split(' ')
    .map((word, index) => entry(word, index + 1))
    .join('');

/** Percent-encoded like in a Callback URL, behind `%20` or `%3D`. */
const inUrl = (secret: string) =>
  `https://shop.example/paid?memo=100%25${encodeURIComponent(` key=${secret} `)}&x=%ff%`;

/** The spellings of a secret from paper, a password manager or a chat. */
function disguises(secret: string): string[] {
  return [
    secret,
    `  ${secret}\n`,
    `"${secret}"`,
    `‘${secret}’`,
    `my key: ${secret}`,
    `--xpub ${secret} --name shop`,
    `{"xpub":"${secret}"}`,
    `wpkh([d34db33f/84h/0h/0h]${secret}/0/*)#qwlqgth7`,
    inUrl(secret),
  ];
}

/** A key in pieces, none of which is recognisable alone. */
function pieces(secret: string): string[] {
  const broken = (length: number, between: string) =>
    secret.match(new RegExp(`.{1,${length}}`, 'g'))?.join(between) ?? '';
  return [
    broken(4, ' '),
    broken(10, '\n'),
    broken(11, '\r\n  '),
    broken(5, '\u00a0'),
    broken(5, '\u3000'),
    broken(7, '\u200b'),
    broken(6, '\t'),
    broken(9, '" "'),
  ];
}

/** The one message for every secret, which therefore contains nothing of it. */
function refusalOf(text: string): string {
  try {
    parseWalletKey(text, { network: 'mainnet' });
    throw new Error('a private key was taken');
  } catch (thrown) {
    return (thrown as Error).message;
  }
}

const refusal = refusalOf(bip84.zprv);
const likelyRefusal = refusalOf(english.slice(0, 12).join(' '));

function expectRefused(text: string, message = refusal): void {
  const parse = () => parseWalletKey(text, { network: 'mainnet', scriptType: 'p2wpkh' });
  expect(parse).toThrow(PaygateError);
  expect(parse).toThrow(new PaygateError('invalid', message));
}

function expectFound(text: string): void {
  expect(containsPrivateMaterial(text), text).toBe(true);
  expectRefused(text);
}

describe('private material', () => {
  test('the error says what it is', () => {
    expect(refusal).toContain('looks like a private key or recovery words');
    expect(likelyRefusal).toContain('looks like recovery words, one of them wrong');
  });

  test.each([...extendedPrivateKeys, ...singleKeys])('%s', (secret) => {
    for (const text of [...disguises(secret), ...pieces(secret)]) expectFound(text);
  });

  test.each(recoveryWords)('%s', (words) => {
    const variants = [
      words,
      `\n${words}  `,
      `"${words}"`,
      `seed: ${words}`,
      words.replaceAll(' ', '\n'),
      words.replaceAll(' ', '  '),
      words.replaceAll(' ', '\u00a0'),
      words.replaceAll(' ', '\u3000'),
      words.replaceAll(' ', '\u200b'),
      words.replaceAll(' ', ', '),
      words.replaceAll(' ', '-'),
      numbered(words, (index) => `${index}. `),
      numbered(words, (index) => `${index}.`),
      numbered(words, (index) => `${index}) `),
      numbered(words, (index) => `${index}: `),
      numbered(words, (index) => `(${index}) `),
      numbered(words, (index) => `[${index}]`),
      numbered(words, (index) => `word${index}=`),
      words.split(' ').join('&w='),
      `https://shop.example/?${listOf(words, (word, index) => `w${index}=${word}&`)}`,
      `<ol>${listOf(words, (word) => `<li>${word}</li>\r\n`)}</ol>`,
      numbered(words, (index) => `${index}${['st', 'nd', 'rd'][index - 1] ?? 'th'} `),
      numbered(words, (index) => `${'abcdefghijklmnopqrstuvwxyzabcdefg'[index]}) `),
      JSON.stringify(words.split(' ')),
      JSON.stringify(words.split(' ').map((word, index) => ({ index, word }))),
      inUrl(words),
    ];
    for (const text of variants) expectFound(text);
    expectFound(`Here is the xpub of our shop: ${bip84.zpub}, and the words are ${words}. Thanks!`);
  });

  test('words with line breaks, joined, or copied in rows', () => {
    const words = phrase(16).split(' ');
    const [left, right] = [words.slice(0, 6), words.slice(6)];
    expectFound(words.map((word) => `${word.slice(0, 2)}\u200b${word.slice(2)}`).join(' '));
    expectFound(words.map((word) => `${word.slice(0, 2)}\u00ad${word.slice(2)}`).join(' '));
    expectFound(words.map((word) => word.replace(/./, (first) => first.toUpperCase())).join(''));
    expectFound(left.map((word, at) => `${at + 1}. ${word}   ${at + 7}. ${right[at]}`).join('\n'));
    expectFound(words.map((word, at) => `${'i'.repeat((at % 3) + 1)}. ${word}`).join('\n'));
  });

  test('words without separators, or as single letters', () => {
    for (const list of allLists.filter((each) => !/\p{Script=Han}/u.test(each[0] ?? ''))) {
      for (const words of [phrase(16, list), phrase(32, list)]) {
        const glued = words.replace(/\s/gu, '');
        for (const text of [glued, glued.normalize('NFC'), `seed: ${glued}`]) expectFound(text);
        if (list === english) expectFound([...glued].join(' '));
        if (list === english) expectFound(`${bip84.zpub}\n${glued.toUpperCase()}`);
      }
    }
    expectFound(phrase(16).replace(/\b(\w{2})(\w)/g, '$1-\n$2'));
    expectFound(phrase(16).replace(/(\w{4})\w*\s?/g, '$1'));
  });

  test('words in markup, after escapes, and twice', () => {
    const words = phrase(16).split(' ');
    expectFound(
      words.map((word, at) => `<p class="word"><i>${at + 1}</i><b>${word}</b></p>`).join('\n'),
    );
    expectFound(words.join('\\n'));
    expectFound(`${words.join(' ')}\n${words.join(' ')}`);
    expectFound(`${phrase(16)}\n${entropyToMnemonic(new Uint8Array(16).fill(7), english)}`);
    const share = recoveryWords.at(-1) ?? '';
    expectFound(share.replace(/(\w{4})\w*/g, '$1'));
  });

  test.each([
    'UR:CRYPTO-SEED/OYADGDIYWLAMAEJSZSWDWYTLTIFEENFTLNMNWKBDHNSSRO',
    'ur:crypto-sskr/gogdaeadbyaahfbkbgcldm',
    'my backup ur:seed/oyadgdiywlamaejszswdwytltifeenftlnmnwkbdhnssro',
    `Private key: ${'e8f32e72'.repeat(8)}`,
    `privkey=0x${'E8F32E72'.repeat(8)}`,
    `${bip84.zpub}\nprivate key (hex) ${'e8f32e72'.repeat(8)}`,
    `BIP39 entropy: ${'e8f32e72'.repeat(4)}`,
    `seed ${'e8f32e72'.repeat(16)}`,
  ])('%s', (text) => expectFound(text));

  test.each(likelyWords)('%s: a wrong checksum, which the refusal mentions', (words) => {
    for (const text of [words, ` ${words}\n`, `seed: ${words}`, numbered(words, (n) => `${n}. `)]) {
      expect(containsPrivateMaterial(text), text).toBe(true);
      expectRefused(text, likelyRefusal);
    }
  });

  test('a Chinese phrase without spaces, in place of a key', () => {
    for (const list of [simplifiedChinese, traditionalChinese]) {
      const text = phrase(16, list).replaceAll(' ', '');
      expectRefused(text);
      expect(containsPrivateMaterial(text)).toBe(false);
    }
  });

  test('an extended private key next to a word', () => {
    for (const key of extendedPrivateKeys.filter(
      (text) => /^.prv/.test(text) && text.length === 111,
    )) {
      for (const text of [
        `key${key}`,
        `1${key}`,
        `xpub${key}`,
        `my${key}end`,
        `a.b/c${key.slice(0, 40)}`,
        `KEY${key.toUpperCase()}`,
        `key${key.toLowerCase()}`,
        `key${key.slice(0, 30)}\u200b${key.slice(30)}`,
        `${bip84.zpub}${key}`,
        key.replace(/.{20}/g, '$&-'),
        `my ${key.replace(/.{10}/g, '$&, ')}`,
      ]) {
        expectFound(text);
      }
    }
    for (const key of singleKeys) {
      expectFound(`key${key}`);
      expectFound(`my key: ${key.replace(/.{7}/g, '$&-')}`);
    }
  });

  test.each([
    // BIP93
    'ms10testsxxxxxxxxxxxxxxxxxxxxxxxxxx4nzvca9cmczlw',
    'MS12NAMEA320ZYXWVUTSRQPNMLKJHGFEDCAXRPP870HKKQRM',
    'ms13cashsllhdmn9m42vcsamx24zrxgs3qqjzqud4m0d6nln',
    'ms10leetsllhdmn9m42vcsamx24zrxgs3qrl7ahwvhw4fnzrhve25gvezzyqqtum9pgv99ycma',
  ])('codex32: %s', (share) => {
    const pieces = share.match(/.{1,4}/g) ?? [];
    for (const text of [
      share,
      `"${share}"`,
      `mine:${share}`,
      pieces.join(' '),
      pieces.join('\n'),
    ]) {
      expectFound(text);
    }
  });

  test('SeedQR: the positions of the words in their list', () => {
    const digits = phrase(16)
      .split(' ')
      .map((word) => `${english.indexOf(word)}`.padStart(4, '0'));
    for (const text of [
      digits.join(''),
      digits.join(' '),
      digits.join(', '),
      `seed ${digits.join('-')}.`,
    ])
      expectFound(text);
    expect(containsPrivateMaterial('0123456789'.repeat(5).slice(2))).toBe(false);
  });

  test('a PEM private key', () => {
    for (const kind of ['', 'EC ', 'RSA ', 'ENCRYPTED ', 'OPENSSH ']) {
      expectFound(
        `-----BEGIN ${kind}PRIVATE KEY-----\nMHQCAQEEIA==\n-----END ${kind}PRIVATE KEY-----`,
      );
    }
    expectFound('-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQ==');
    expect(containsPrivateMaterial('-----BEGIN CERTIFICATE-----\nMIIB\n-----END')).toBe(false);
    expect(containsPrivateMaterial('-----BEGIN PUBLIC KEY-----\nMIIB\n-----END')).toBe(false);
  });

  test.each([
    { keystore: { type: 'bip32', seed: 'QmFzZTY0IG9mIGEgc2VlZA==', xpub: bip84.zpub } },
    { keystore: { xprv: 'QmFzZTY0IG9mIGEgc2VlZA==', xpub: bip84.zpub } },
    { keystores: [{ seed: { type: 'BIP39', mnemonicString: [1, 2] } }] },
    { mnemonic: 'not yet known words' },
    { master_private_key: 'QmFzZTY0IG9mIGEgc2VlZA==' },
  ])('a wallet file with its secrets: %j', (file) => {
    expectFound(JSON.stringify(file));
    expectFound(JSON.stringify(file, undefined, 2));
  });

  test('a key with unknown version bytes, beside a public key', () => {
    const secret = withVersion(bip84.zprv, 0x12345678);
    expectFound(secret);
    expectFound(`${bip84.zpub} and ${secret}`);
    expectFound(`${secret} and ${bip84.zpub}`);
    expect(
      containsPrivateMaterial(`${bip84.zpub} and ${withVersion(bip84.zpub, 0x12345678)}`),
    ).toBe(false);
  });

  test('mistyped, cut and doubled keys are still private', () => {
    const key = bip84.zprv;
    for (const text of [
      key.slice(0, 60),
      key.slice(0, 20),
      `${key}x`,
      key.replace('T', 'U'),
      key.toLowerCase(),
      key.toUpperCase(),
      `${key}${key}`,
    ]) {
      expectFound(text);
    }
    const wif = singleKeys[1] as string;
    for (const text of [wif.slice(0, -1), `${wif}1`, wif.replace('J', 'K')]) expectFound(text);
  });
});

describe('text that is private only in place of a public key', () => {
  const hexKey = 'e8f32e723decf4051aefac8e2c93c9c5b214313817cdb01a1494b917c8436b35';
  test.each([
    ['32 bytes in hex', hexKey],
    ['in upper case', hexKey.toUpperCase()],
    ['with 0x', `0x${hexKey}`],
    ['in pieces', `${hexKey.slice(0, 32)}\n ${hexKey.slice(32)}`],
    ['in quotes', `"${hexKey}"`],
    ['by bytes', hexKey.replace(/..(?=.)/g, '$&:')],
    ['a minikey', 'S6c56bnXQiBjk9mqSYE7ykVQ7NzrRy'],
    ['a seed of 16 bytes', hexKey.slice(32)],
    ['a seed of 64 bytes', hexKey.repeat(2)],
  ])('%s', (_, text) => {
    expect(containsPrivateMaterial(text)).toBe(false);
    expectRefused(text);
  });
});

describe('text that is not private', () => {
  test.each([
    bip44.xpub,
    bip49.ypub,
    bip49Testnet.upub,
    bip84.zpub,
    bip86.xpub,
    'wpkh([d34db33f/84h/0h/0h]xpub6BgBgsespWvERF3LHQu6CnqdvfEvtMcQjYrcRzx53QJjSxarj2afYWcLteoGVky7D3UKDP9QyrLprQ3VCECoY49yfdDEHGCtMMj92pReUsQ/0/*)#8zl0zxma',
    'bc1p5cyxnuxmeuwuvkwfem96lqzszd02n6xdcjrs20cac6yqjjwudpxqkedrcr',
    '1LqBGSKuX5yYUonjxT5qGfpUsXKYYWeabA',
    'f4184fc596403b9d638783cf57adfe4c75c605f6356fbc91338530e9831e9e16',
    'pgk_3kTMd9ZfK8vQx2LwYb5RhGcN7sJpA4uE6iWoBnXqVzDyFe1m0CtS',
    'GET /api/v2/btc/address?url=https%3A%2F%2Fshop.example%2Fpaid%3Forder%3D1 HTTP/1.1',
    `https://shop.example/paid?key=%20${bip84.zpub}&memo=${encodeURIComponent('abandon '.repeat(11))}`,
    '{"level":30,"time":1790000000000,"msg":"callback sent","store":1,"status":2,"attempt":1}',
    'the server gave a history that is shorter than the one before it, so it is asked again',
    'an xprv, a yprv or a zprv is never accepted: paste the xpub of the account',
    'xprv',
    'abandon '.repeat(11),
    '',
    'extraordinary '.repeat(12),
    `This is the xpub, not the xprv: ${bip44.xpub}`,
    `no xprv ${bip84.zpub}`,
    `The private key stays at home. Public key: ${bip84.zpub}`,
    `seed txid: f4184fc596403b9d638783cf57adfe4c75c605f6356fbc91338530e9831e9e16`,
    'ur:crypto-account/oeadcyemrewytyaolytaaddloxaxhdclaolp',
    'https://shop.example/paid?secret=e8f32e723decf4051aefac8e2c93c9c5',
    'pleaseuseonlythisaddressforpaymentsofordersinourshopandneveranyothers',
    `xprv 1. ${bip84.zpub} 2. ${bip44.xpub}`,
    `Here is the account public key of the wallet for our shop: ${bip84.zpub}`,
    `Please use this public key when you make new addresses for orders ${bip44.xpub} and tell me`,
    `Dies ist der öffentliche Schlüssel unseres Kontos für den neuen Laden in Wien: ${bip84.zpub}`,
    `这是我们商店钱包的账户公钥，请用它生成收款地址：${bip84.zpub}`,
    `Voici la clé publique du compte de notre boutique, elle ne peut rien dépenser: ${bip84.zpub}`,
    'I do not know which of these I should paste here, can you please help me with that',
    `{"name":"Vault","addressType":"P2WSH","network":"mainnet","client":{"type":"public"},"quorum":{"requiredSigners":2,"totalSigners":3},"extendedPublicKeys":[{"name":"One","bip32Path":"m/48h/0h/0h/2h","xpub":"${bip44.xpub}","xfp":"73c5da0a","method":"ledger"}],"startingAddressIndex":0}`,
    `{"keystore":{"type":"bip32","seed":null,"xprv":null,"seed_type":"segwit","seed_version":17,"xpub":"${bip84.zpub}"}}`,
  ])('%s', (text) => {
    expect(containsPrivateMaterial(text)).toBe(false);
  });

  test('law: an extended public key is never mistaken for a private one', () => {
    const versions = [0x0488b21e, 0x049d7cb2, 0x04b24746, 0x043587cf, 0x044a5262, 0x045f1cf6];
    const key = fc
      .tuple(
        fc.constantFrom(...versions),
        fc.uint8Array({ minLength: 41, maxLength: 41 }),
        fc.constantFrom(2, 3),
        fc.uint8Array({ minLength: 32, maxLength: 32 }),
      )
      .map(([version, rest, sign, x]) => {
        const payload = Uint8Array.of(0, 0, 0, 0, ...rest, sign, ...x);
        new DataView(payload.buffer).setUint32(0, version);
        return base58check.encode(payload);
      });
    fc.assert(
      fc.property(key, (text) => {
        expect(containsPrivateMaterial(text)).toBe(false);
      }),
      { numRuns: 2000 },
    );
  });

  test('long text is checked fast', () => {
    const started = performance.now();
    for (const text of [
      'x',
      'xprv',
      '5K',
      'a ',
      'abandon ',
      '的',
      '1',
      '\u200b',
      ' "',
      'xpub ',
      '%20',
      'seed (',
      '<b>',
      'abandonability'.repeat(20).concat(' '),
    ]) {
      containsPrivateMaterial(text.repeat(200_000 / text.length));
    }
    containsPrivateMaterial(`seed${' '.repeat(200_000)}`);
    expect(performance.now() - started).toBeLessThan(5000);
  });
});
