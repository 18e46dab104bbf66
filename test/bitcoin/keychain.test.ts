import { bytesToHex } from '@noble/hashes/utils.js';
import { HDKey } from '@scure/bip32';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { ScriptType } from '../../src/bitcoin/address.ts';
import { decodeExtendedKey, type ExtendedKey } from '../../src/bitcoin/extended-key.ts';
import {
  deriveAddress,
  parseWalletKey,
  type WalletKeyOptions,
} from '../../src/bitcoin/keychain.ts';
import type { NetworkName } from '../../src/bitcoin/network.ts';
import { PaygateError } from '../../src/lib/errors.ts';
import { bip44, bip49, bip49Testnet, bip84, bip86 } from './vectors/accounts.ts';
import { invalidKeys, keyPairs, publicSteps } from './vectors/bip32.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

const mainnet: WalletKeyOptions = { network: 'mainnet' };
const none = { publicKey: new Uint8Array(), chainCode: new Uint8Array() };

function addresses(text: string, options: WalletKeyOptions, branch: 0 | 1, count: number) {
  const key = parseWalletKey(text, options);
  return Array.from({ length: count }, (_, index) => deriveAddress(key, branch, index)?.address);
}

/** The message of an error, which never repeats the text. */
function refusalOf(text: string, options: WalletKeyOptions = mainnet): string {
  let message = '';
  try {
    parseWalletKey(text, options);
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(PaygateError);
    message = (thrown as PaygateError).message;
  }
  expect(message).not.toBe('');
  const parts = new Set(Array.from({ length: text.length }, (_, at) => text.slice(at, at + 8)));
  for (const part of parts) if (part.length === 8) expect(message).not.toContain(part);
  return message;
}

describe('BIP32 vectors', () => {
  test.each(publicSteps)('$name', ({ parent, index, child }) => {
    const derived = decodeExtendedKey(parent).key.child(index);
    const expected = decodeExtendedKey(child).key;
    expect(derived?.publicKey).toEqual(expected.publicKey);
    expect(derived?.chainCode).toEqual(expected.chainCode);
  });

  test.each(keyPairs)('$xpub at depth $depth', ({ depth, xpub, xprv }) => {
    const key = parseWalletKey(xpub, { ...mainnet, scriptType: 'p2wpkh', allowDepth: true });
    const node = HDKey.fromExtendedKey(xprv);
    const [{ publicKey, chainCode } = none] = key.keys;
    expect(publicKey).toEqual(node.publicKey);
    expect(chainCode).toEqual(node.chainCode);
    expect(decodeExtendedKey(xpub).depth).toBe(depth);
  });

  test.each(invalidKeys)('refuses $why', ({ text, refusal }) => {
    const said = refusal === 'private' ? 'looks like a private key' : refusal;
    expect(refusalOf(text, { ...mainnet, scriptType: 'p2wpkh', allowDepth: true })).toContain(said);
  });
});

describe('accounts of the BIPs', () => {
  test('BIP44', () => {
    const options = { ...mainnet, scriptType: 'p2pkh' } as const;
    expect(addresses(bip44.xpub, options, 0, 1)).toEqual(bip44.receive);
  });

  test('BIP49, mainnet and testnet', () => {
    expect(addresses(bip49.ypub, mainnet, 0, 1)).toEqual(bip49.receive);
    for (const network of ['testnet3', 'testnet4', 'signet', 'regtest'] as const) {
      expect(addresses(bip49Testnet.upub, { network }, 0, 1)).toEqual(bip49Testnet.receive);
    }
  });

  test('BIP84', () => {
    expect(addresses(bip84.zpub, mainnet, 0, 2)).toEqual(bip84.receive);
    expect(addresses(bip84.zpub, mainnet, 1, 1)).toEqual(bip84.change);
  });

  test('BIP86', () => {
    const options = { ...mainnet, scriptType: 'p2tr' } as const;
    expect(addresses(bip86.xpub, options, 0, 2)).toEqual(bip86.receive);
    expect(addresses(bip86.xpub, options, 1, 1)).toEqual(bip86.change);
    const key = parseWalletKey(bip86.xpub, options);
    const scripts = [0, 1].map((index) => deriveAddress(key, 0, index)?.script ?? new Uint8Array());
    expect(scripts.map(bytesToHex)).toEqual(bip86.receiveScripts);
  });
});

describe('identity', () => {
  const zpub = parseWalletKey(bip84.zpub, mainnet);
  const [{ publicKey, chainCode } = none] = zpub.keys;
  /** The same key in another spelling: version bytes of BIP32, another depth and parent. */
  const disguised = new HDKey({
    publicKey,
    chainCode,
    depth: 2,
    index: 7,
    parentFingerprint: 99,
  }).publicExtendedKey;

  test('is the template, the public key and the chain code', () => {
    const body = `${bytesToHex(publicKey)}:${bytesToHex(chainCode)}/0/*`;
    const of = (scriptType: ScriptType) =>
      parseWalletKey(disguised, { ...mainnet, scriptType }).descriptor;
    expect(zpub.descriptor).toBe(`wpkh(${body})`);
    expect(of('p2wpkh')).toBe(`wpkh(${body})`);
    expect(of('p2pkh')).toBe(`pkh(${body})`);
    expect(of('p2sh-p2wpkh')).toBe(`sh(wpkh(${body}))`);
    expect(of('p2tr')).toBe(`tr(${body})`);
  });

  test('the account is the text as given, without the space around it', () => {
    const key = parseWalletKey(`\n ${bip84.zpub}\t`, { ...mainnet, scriptType: 'p2wpkh' });
    const { publicKey, chainCode } = decodeExtendedKey(bip84.zpub).key;
    expect(key.account).toBe(bip84.zpub);
    expect(key).toMatchObject({
      scriptType: 'p2wpkh',
      network: 'mainnet',
      threshold: 1,
      keys: [{ publicKey, chainCode }],
    });
  });
});

describe('script type', () => {
  test('an xpub alone: refused with the first address of every type', () => {
    const message = refusalOf(bip44.xpub);
    const types: ScriptType[] = ['p2pkh', 'p2sh-p2wpkh', 'p2wpkh', 'p2tr'];
    for (const scriptType of types) {
      const [first] = addresses(bip44.xpub, { ...mainnet, scriptType }, 0, 1);
      expect(message).toMatch(new RegExp(`^ *${scriptType} +${first}$`, 'm'));
    }
    expect(message).toContain(bip44.receive[0]);
  });

  test('a tpub alone: addresses of its network', () => {
    const node = decodeExtendedKey(bip44.xpub).key;
    const tpub = new HDKey({
      publicKey: node.publicKey,
      chainCode: node.chainCode,
      depth: 3,
      versions: { private: 0x04358394, public: 0x043587cf },
    }).publicExtendedKey;
    expect(refusalOf(tpub, { network: 'regtest' })).toContain(' bcrt1p');
  });

  test('one key of several', () => {
    const said = 'one key alone is no multisig wallet';
    expect(refusalOf(bip44.xpub, { ...mainnet, scriptType: 'p2wsh' })).toContain(said);
  });

  test('a contradiction', () => {
    const said = 'a zpub is for p2wpkh addresses, not for p2tr';
    expect(refusalOf(bip84.zpub, { ...mainnet, scriptType: 'p2tr' })).toContain(said);
    expect(refusalOf(bip49.ypub, { ...mainnet, scriptType: 'p2wpkh' })).toContain('p2sh-p2wpkh');
  });
});

describe('errors', () => {
  const xpub = bip44.xpub;
  const multisig = {
    Ypub: 0x0295b43f,
    Zpub: 0x02aa7ed3,
    Upub: 0x024289ef,
    Vpub: 0x02575483,
  };
  const { publicKey, chainCode } = decodeExtendedKey(xpub).key;
  const encode = (version: number) =>
    new HDKey({ publicKey, chainCode, depth: 3, versions: { private: 0, public: version } })
      .publicExtendedKey;

  test.each(Object.entries(multisig))('%s: a multisig key', (prefix, version) => {
    const network: NetworkName = prefix < 'W' && prefix !== 'Ypub' ? 'testnet4' : 'mainnet';
    const text = encode(version);
    expect(text.slice(0, 4)).toBe(prefix);
    const message = refusalOf(text, { network });
    expect(message).toContain(`a ${prefix} is the key of one signer`);
    expect(message).toContain('output descriptor');
  });

  test('another network', () => {
    expect(refusalOf(xpub, { network: 'testnet4' })).toContain('is of mainnet');
    expect(refusalOf(bip49Testnet.upub)).toContain(
      'this upub is of testnet3, testnet4, signet, regtest; paygate runs on mainnet',
    );
  });

  test('depth: an account is at 3', () => {
    const options = { ...mainnet, scriptType: 'p2wpkh' } as const;
    for (const { depth, xpub: text } of keyPairs) {
      if (depth <= 3) expect(parseWalletKey(text, options).scriptType).toBe('p2wpkh');
      else expect(refusalOf(text, options)).toContain(`at depth ${depth}`);
      expect(parseWalletKey(text, { ...options, allowDepth: true }).account).toBe(text);
    }
  });

  const texts: [string, string, string][] = [
    ['nothing', '', 'no wallet key given'],
    ['only space', ' \n', 'no wallet key given'],
    ['a wrong checksum', `${xpub.slice(0, -1)}k`, 'checksum is wrong'],
    ['a wrong letter within', xpub.replace('zxcF', 'zxcG'), 'checksum is wrong'],
    ['a letter too few', xpub.slice(0, -1), 'wrong length'],
    ['a letter too many', `${xpub}1`, 'wrong length'],
    ['two keys', xpub + xpub, 'wrong length'],
    ['very much of it', 'x'.repeat(1_000_001), 'too long'],
    ['characters outside Base58', xpub.replace('B', '0'), 'has characters'],
    ['quotes', `"${xpub}"`, 'does not say which kind'],
    ['an address', 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4', 'this is an address'],
    ['an address of old', bip44.receive[0] as string, 'this is an address'],
    ['an address in capitals', 'TB1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KXPJZSX', 'this is an address'],
    ['a space within', `${xpub.slice(0, 50)} ${xpub.slice(50)}`, 'white space'],
    ['a line break within', `${xpub.slice(0, 50)}\n${xpub.slice(50)}`, 'white space'],
    ['spaces all over', xpub.replace(/.{4}/g, '$& '), 'white space'],
    [
      'a space that does not show',
      `${xpub.slice(0, 50)}\u200b${xpub.slice(50)}`,
      'does not show (U+200B)',
    ],
    ['a path', `${xpub}/0`, 'another path behind it'],
    ['the change branch', `${xpub}/1/*`, 'another path behind it'],
    ['a single public key', bytesToHex(publicKey), 'has characters'],
    ['a key of Litecoin', encode(0x019da462), 'of a kind that paygate does not know'],
  ];
  test.each(texts)('%s', (_, text, said) => {
    expect(refusalOf(text)).toContain(said);
  });
});

describe('deriveAddress', () => {
  const key = parseWalletKey(bip84.zpub, mainnet);
  const nodes: ExtendedKey = Object.getPrototypeOf(decodeExtendedKey(bip84.zpub).key);

  test('the last index, and none beyond', () => {
    expect(deriveAddress(key, 0, 2 ** 31 - 1)?.address).toMatch(/^bc1q/);
    for (const index of [-1, 2 ** 31, 1.5, Number.NaN]) {
      expect(() => deriveAddress(key, 0, index)).toThrow(PaygateError);
    }
  });

  test('an index without a valid child is left to the caller to skip', () => {
    const { child } = nodes;
    vi.spyOn(nodes, 'child').mockImplementation(function (this: ExtendedKey, index) {
      return index === 5 ? undefined : child.call(this, index);
    });
    expect(deriveAddress(key, 0, 5)).toBeUndefined();
    expect(deriveAddress(key, 0, 6)).toBeDefined();
  });

  test('one derivation an address, once a branch is known', () => {
    const fresh = parseWalletKey(bip84.zpub, mainnet);
    const derive = vi.spyOn(nodes, 'child');
    deriveAddress(fresh, 0, 0);
    deriveAddress(fresh, 1, 0);
    expect(derive).toHaveBeenCalledTimes(4);
    deriveAddress(fresh, 0, 1);
    deriveAddress(fresh, 1, 1);
    expect(derive).toHaveBeenCalledTimes(6);
  });

  test('a copy of a key derives the same', () => {
    expect(deriveAddress({ ...key }, 0, 1)?.address).toBe(bip84.receive[1]);
  });
});
