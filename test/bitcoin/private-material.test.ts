import { sha256 } from '@noble/hashes/sha2.js';
import { createBase58check } from '@scure/base';
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
function expectRefused(text: string): void {
  const parse = () => parseWalletKey(text, { network: 'mainnet', scriptType: 'p2wpkh' });
  expect(parse).toThrow(PaygateError);
  expect(parse).toThrow(new PaygateError('invalid', refusal));
}

function expectFound(text: string): void {
  expect(containsPrivateMaterial(text), text).toBe(true);
  expectRefused(text);
}

describe('private material', () => {
  test('the error says what it is', () => {
    expect(refusal).toContain('looks like a private key or recovery words');
  });

  test.each([...extendedPrivateKeys, ...singleKeys])('%s', (secret) => {
    for (const text of [...disguises(secret), ...pieces(secret)]) expectFound(text);
  });

  test.each([
    `Private key: ${'e8f32e72'.repeat(8)}`,
    `privkey=0x${'E8F32E72'.repeat(8)}`,
    `${bip84.zpub}\nprivate key (hex) ${'e8f32e72'.repeat(8)}`,
  ])('%s', (text) => expectFound(text));

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
    for (const text of [share, `"${share}"`, `mine:${share}`]) expectFound(text);
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
    ['a seed of 16 bytes', hexKey.slice(32)],
    ['a seed of 64 bytes', hexKey.repeat(2)],
    ['a Chinese phrase without spaces', '的 的 的 的 的 的 的 的 的 的 的 在'.replaceAll(' ', '')],
  ])('%s', (_, text) => {
    expect(containsPrivateMaterial(text)).toBe(false);
    expectRefused(text);
  });
});

describe('public hex', () => {
  const point =
    '79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798' +
    '483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8';
  const x = point.slice(0, 64);
  const unspendable = '50929b74c1a04954b78b4b6035e97a5e078a5a0f28ec96d547bfee9ace803ac0';
  const key = bip86.xpub;

  test.each([
    ['a script tree with a key alone', `tr(${key}/0/*,pk(${x}))`, 'only the key path'],
    ['a tree in braces', `tr(${key}/<0;1>/*,{pk(${x}),pk(${x})})`, 'only the key path'],
    [
      'the point without a key, and a tree',
      `tr(${unspendable},pk(${key}/0/*))`,
      'only the key path',
    ],
    ['another point, and a tree', `tr(${x},pk(${key}/0/*))`, 'only the key path'],
    ['a multisig leaf', `tr(${key}/0/*,multi_a(1,${x},${key}/0/*))`, 'only the key path'],
    ['the point without a key', `tr(${unspendable})`, 'has no path'],
    ['that point alone', unspendable, 'not an extended public key'],
    ['that point in upper case', unspendable.toUpperCase(), 'not an extended public key'],
    [
      'a hash in miniscript',
      `wsh(and_v(v:pk(${key}/0/*),sha256(${x})))`,
      'not an output descriptor',
    ],
    [
      'two hashes',
      `wsh(andor(pk(${key}/0/*),sha256(${x}),hash256(${x})))`,
      'not an output descriptor',
    ],
    ['the master public key of Electrum 1.x', point, 'master public key of an Electrum 1.x wallet'],
    ['that key in upper case', point.toUpperCase(), 'master public key of an Electrum 1.x wallet'],
    ['a compressed public key', `02${x}`, 'not an extended public key'],
    ['a whole public key', `04${point}`, 'not an extended public key'],
  ])('%s is not said to be private', (_, text, reason) => {
    expect(containsPrivateMaterial(text)).toBe(false);
    expect(refusalOf(text)).toContain(reason);
    expect(refusalOf(text)).not.toContain('private key');
  });

  test.each([
    ['128 digits that are no point', `${point.slice(0, -1)}9`],
    ['another x', `${unspendable.slice(0, -1)}1`],
    ['in place of a key', `wpkh(${x})`],
    ['as the key of tr', `tr(${x})`],
    ['beside a hash', `wsh(and_v(v:pk(${x}),sha256(${x})))`],
  ])('%s may be private', (_, text) => expect(refusalOf(text)).toBe(refusal));

  test.each([
    `txid ${x}, output 0`,
    `{"mpk":"${point}","type":"old"}`,
    `server seed: ${x}`,
    `?seed=${x}&entropy=${x}`,
    `seed = ${point}`,
    `tr(${key}/0/*,pk(${x}))`,
    `paid to ${unspendable}`,
    `{"seed":"Tomato seeds of San Marzano"}`,
    `{"cart":[{"seed":"Basil, 200 pieces","qty":2}]}`,
    `"keystores":[]} {"seed":"Tomato seeds"}`,
  ])('%s is no secret in any field', (text) => expect(containsPrivateMaterial(text)).toBe(false));
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
    // Time of this process alone, because other processes may have the processor.
    const started = process.cpuUsage();
    for (const text of [
      'x',
      'xprv',
      '5K',
      'a\nb\n',
      '1 a ',
      'apple, banana ',
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
    expect(process.cpuUsage(started).user / 1000).toBeLessThan(5000);
  });
});
