import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js';
import { createBase58check } from '@scure/base';
import { HDKey } from '@scure/bip32';
import { pubECDSA } from '@scure/btc-signer/utils.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  addressToScript,
  type ScriptType,
  scriptForKey,
  scriptForWitness,
} from '../../src/bitcoin/address.ts';
import {
  descriptorChecksum,
  parseDescriptor,
  type WalletType,
  writeDescriptor,
} from '../../src/bitcoin/descriptor.ts';
import { decodeExtendedKey } from '../../src/bitcoin/extended-key.ts';
import {
  deriveAddress,
  parseWalletKey,
  type WalletKeyOptions,
} from '../../src/bitcoin/keychain.ts';
import { multisigScript, sortedKeys } from '../../src/bitcoin/multisig.ts';
import { networks } from '../../src/bitcoin/network.ts';
import { PaygateError } from '../../src/lib/errors.ts';
import { bip44, bip49, bip84, bip86 } from './vectors/accounts.ts';
import { derived, derivedKeys } from './vectors/derived.ts';
import {
  badChecksums,
  badKeyExpressions,
  badTemplates,
  bip67,
  multi16,
  multi20,
  singleKey,
  sortedMulti,
} from './vectors/descriptors.ts';

const mainnet: WalletKeyOptions = { network: 'mainnet' };
const deep: WalletKeyOptions = { ...mainnet, allowDepth: true };
const xpubVersions = { private: 0x0488ade4, public: 0x0488b21e };

const withChecksum = (body: string) => `${body}#${descriptorChecksum(body)}`;

/** A public account of a made-up signer, at a depth. */
function account(number: number, depth = 3, versions = xpubVersions): string {
  const { publicKey, chainCode } = HDKey.fromMasterSeed(new Uint8Array(32).fill(number));
  if (publicKey === null || chainCode === null) throw new Error('a seed without a key');
  const parent = depth === 0 ? {} : { index: 1, parentFingerprint: 1 };
  return new HDKey({ publicKey, chainCode, depth, versions, ...parent }).publicExtendedKey;
}

/** The message of an error, which repeats nothing of a key. */
function refusalOf(text: string, options: WalletKeyOptions = mainnet): string {
  let message = '';
  try {
    parseWalletKey(text, options);
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(PaygateError);
    message = (thrown as PaygateError).message;
  }
  expect(message).not.toBe('');
  for (const token of text.match(/[0-9A-Za-z]{20,}/g) ?? []) {
    const parts = Array.from({ length: token.length - 9 }, (_, at) => token.slice(at, at + 10));
    expect(parts.filter((part) => message.includes(part))).toEqual([]);
  }
  return message;
}

const first = (text: string, options = mainnet) =>
  deriveAddress(parseWalletKey(text, options), 0, 0)?.address;

describe('the checksum (BIP380)', () => {
  test('of the vector', () => {
    expect(descriptorChecksum('raw(deadbeef)')).toBe('89f8spxm');
  });

  test.each(badChecksums)('refuses %s', (_, text, said) => {
    expect(refusalOf(text)).toContain(said);
  });

  test('a right one does not help an unsupported template', () => {
    expect(refusalOf('raw(deadbeef)#89f8spxm')).toContain('not an output descriptor that');
  });

  test('the error names a missing one, but never the right one for a wrong one', () => {
    const body = `wpkh(${account(1)}/0/*)`;
    expect(refusalOf(body)).toContain(`#${descriptorChecksum(body)}`);
    expect(refusalOf(`${body}#qqqqqqqq`)).not.toContain(descriptorChecksum(body));
  });

  test('detects every change of one character', () => {
    const text = withChecksum(`wsh(sortedmulti(2,${account(1)}/0/*,${account(2)}/0/*))`);
    const characters = [..."0123456789()[],'/*abcdefghijklmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ#"];
    const change = fc.record({
      at: fc.nat(text.length - 1),
      by: fc.constantFrom(...characters),
    });
    fc.assert(
      fc.property(change, ({ at, by }) => {
        fc.pre(text[at] !== by);
        expect(() => parseDescriptor(text.slice(0, at) + by + text.slice(at + 1))).toThrow(
          PaygateError,
        );
      }),
    );
  });
});

describe('scripts of the BIPs', () => {
  test.each(singleKey)('%s (BIP381, 382, 386)', (type, key, script) => {
    expect(bytesToHex(scriptForKey(hexToBytes(key), type))).toBe(script);
  });

  test.each(bip67)('BIP67, vector %#', ({ list, sorted, script, address }) => {
    const keys = list.map((key) => ({ publicKey: hexToBytes(key) }));
    const order = sortedKeys(keys).map(({ publicKey }) => publicKey);
    expect(order.map(bytesToHex)).toEqual(sorted);
    expect(bytesToHex(multisigScript(2, order))).toBe(script);
    // That BIP pays the bare script's hash, which paygate does not.
    expect(addressToScript(address, networks.mainnet)).toHaveLength(23);
  });

  test('BIP383: 16 of 16', () => {
    const script = multisigScript(16, multi16.keys.map(hexToBytes));
    expect(bytesToHex(scriptForWitness(script, 'p2sh-p2wsh'))).toBe(multi16.script);
  });

  test('BIP383: 20 of 20, a number without an opcode', () => {
    const base58check = createBase58check(sha256);
    const keys = multi20.keys.map((wif) => pubECDSA(base58check.decode(wif).slice(1, 33)));
    const script = multisigScript(20, keys);
    expect(bytesToHex(scriptForWitness(script, 'p2wsh'))).toBe(multi20.wsh);
    expect(bytesToHex(scriptForWitness(script, 'p2sh-p2wsh'))).toBe(multi20.shWsh);
  });

  test('BIP383: sortedmulti sorts the derived keys', () => {
    const [one, other] = sortedMulti.keys.map((text) => decodeExtendedKey(text).key);
    const scripts = [0, 1, 2].map((index) => {
      const children = [one?.child(index), other?.child(0)?.child(0)?.child(index)];
      const keys = children.flatMap((child) => (child === undefined ? [] : [child]));
      return bytesToHex(
        multisigScript(
          2,
          sortedKeys(keys).map((key) => key.publicKey),
        ),
      );
    });
    expect(scripts).toEqual(sortedMulti.scripts);
  });
});

describe('the six templates', () => {
  /** A ypub or zpub as an xpub. */
  const xpubOf = (text: string) => {
    const { publicKey, chainCode } = decodeExtendedKey(text).key;
    const place = { depth: 3, index: 0, parentFingerprint: 1 };
    return new HDKey({ publicKey, chainCode, ...place, versions: xpubVersions }).publicExtendedKey;
  };
  const singles: [ScriptType, (key: string) => string, string, string | undefined][] = [
    ['p2pkh', (key) => `pkh(${key})`, bip44.xpub, bip44.receive[0]],
    ['p2sh-p2wpkh', (key) => `sh(wpkh(${key}))`, xpubOf(bip49.ypub), bip49.receive[0]],
    ['p2wpkh', (key) => `wpkh(${key})`, xpubOf(bip84.zpub), bip84.receive[0]],
    ['p2tr', (key) => `tr(${key})`, bip86.xpub, bip86.receive[0]],
  ];

  test.each(singles)(
    '%s: the same wallet as its key alone',
    (scriptType, template, key, receive) => {
      const alone = parseWalletKey(key, { ...mainnet, scriptType });
      for (const origin of ['', '[d34db33f]', "[D34DB33F/84'/0h/2147483647]"]) {
        for (const path of ['/0/*', '/<0;1>/*', '/**']) {
          const text = withChecksum(template(`${origin}${key}${path}`));
          const wallet = parseWalletKey(` ${text}\n`, mainnet);
          expect(wallet).toMatchObject({ scriptType, threshold: 1, account: text });
          expect(wallet.descriptor).toBe(alone.descriptor);
          expect(deriveAddress(wallet, 0, 0)?.address).toBe(receive);
          expect(deriveAddress(wallet, 1, 5)).toEqual(deriveAddress(alone, 1, 5));
        }
      }
    },
  );

  const several = (type: WalletType, threshold: number, ...keys: string[]) =>
    withChecksum(
      writeDescriptor({ type, threshold, keys: keys.map((each) => each.replace(/\w$/, '$&/0/*')) }),
    );

  test('several keys: neither their order nor their notation makes another wallet', () => {
    const keys = [1, 2, 3].map((number) => account(number, 4));
    const one = parseWalletKey(several('p2wsh', 2, ...keys), mainnet);
    const same = [`[d34db33f/48h]${keys[2]}`, `${keys[0]}`, `[00000000]${keys[1]}`].map(
      (each) => `${each}/<0;1>/*`,
    );
    const other = parseWalletKey(several('p2wsh', 2, ...same), mainnet);
    expect(other.descriptor).toBe(one.descriptor);
    expect(deriveAddress(other, 0, 9)).toEqual(deriveAddress(one, 0, 9));
    expect(one.descriptor).toMatch(
      /^wsh\(sortedmulti\(2(,[0-9a-f]{66}:[0-9a-f]{64}\/0\/\*){3}\)\)$/,
    );
    expect(deriveAddress(one, 0, 0)?.address).toMatch(/^bc1q.{58}$/);
  });

  test('several keys: threshold, kind and every key make another one', () => {
    const keys = [1, 2, 3].map((number) => account(number, 4));
    const texts = [
      several('p2wsh', 2, ...keys),
      several('p2wsh', 1, ...keys),
      several('p2sh-p2wsh', 2, ...keys),
      several('p2wsh', 2, ...keys.slice(1)),
      several('p2wsh', 2, ...keys, account(4, 4)),
    ];
    expect(new Set(texts.map((text) => parseWalletKey(text, mainnet).descriptor)).size).toBe(5);
    expect(new Set(texts.map((text) => first(text))).size).toBe(5);
    expect(first(texts[2] ?? '')).toMatch(/^3/);
  });

  test('20 keys, and no more', () => {
    const keys = Array.from({ length: 21 }, (_, at) => account(at + 1, 4));
    expect(first(several('p2wsh', 20, ...keys.slice(1)))).toMatch(/^bc1q/);
    expect(refusalOf(several('p2wsh', 20, ...keys))).toContain('1 to 20 keys');
  });
});

describe('what a node derives', () => {
  const regtest: WalletKeyOptions = { network: 'regtest' };
  const given = (text: string) => {
    const body = text.replace(/(?<=[(,])[AB]/g, (key) => derivedKeys[key === 'A' ? 0 : 1]);
    expect(descriptorChecksum(body.replace(/#.*/, ''))).toBe(body.slice(-8));
    return body;
  };
  const isTaken = (text: string) => {
    const paths = [...text.matchAll(/[AB]([^,)]*)/g)].map(([, path = '']) => path);
    return new Set(paths).size === 1 && ['/0/*', '/<0;1>/*'].includes(paths[0] ?? '');
  };

  test.each(derived.filter(([text]) => isTaken(text)))(
    '%s: paygate does, too',
    (text, ...addresses) => {
      const wallet = parseWalletKey(given(text), regtest);
      const branches = text.includes('<0;1>') ? ([0, 1] as const) : ([0] as const);
      const found = branches.flatMap((branch) =>
        [0, 1].map((index) => deriveAddress(wallet, branch, index)?.address),
      );
      expect(found).toEqual(addresses);
    },
  );

  test.each(derived.filter(([text]) => !isTaken(text)))('%s: refused', (text) => {
    expect(refusalOf(given(text), regtest)).toMatch(/path/);
  });
});

describe('errors', () => {
  const key = account(1);
  const others = [2, 3].map((number) => `${account(number, 4)}/0/*`);
  const say = (body: string, said: string, options = mainnet) =>
    expect(refusalOf(withChecksum(body), options)).toContain(said);

  test.each(badTemplates)('BIP template: %s', (body) => {
    say(body(key), 'not an output descriptor that paygate knows', deep);
  });

  test.each(badKeyExpressions)('BIP key expression: %s', (_, expression, said) => {
    say(`wpkh(${expression(key)})`, said, deep);
  });

  test('a script tree', () => say(`tr(${key}/0/*,pk(${others[0]}))`, 'only the key path'));
  test('the change branch', () => say(`wpkh(${key}/1/*)`, 'the receive branch'));
  test('branches the other way round', () => say(`wpkh(${key}/<1;0>/*)`, 'the receive branch'));
  test('a single key', () => {
    const { publicKey } = decodeExtendedKey(key).key;
    say(`wpkh(${bytesToHex(publicKey)})`, 'one address only');
  });

  test('thresholds', () => {
    for (const threshold of ['0', '3', '-1', 'a', '', '1.0', '01', '100']) {
      say(`wsh(sortedmulti(${threshold},${others}))`, 'the number of keys that must sign');
    }
    say('wsh(sortedmulti(1))', '1 to 20 keys');
    say(`wsh(sortedmulti(1,${others[0]},))`, 'malformed');
  });

  test('the same key twice', () => {
    say(`wsh(sortedmulti(2,${others[0]},[d34db33f]${others[0]}))`, 'the same key twice');
  });

  test('depth: 3 for one key, 4 inside wsh', () => {
    say(`wpkh(${account(1, 4)}/0/*)`, 'at depth 4, below an account (depth 3)');
    const signer = `${account(9, 5)}/0/*`;
    say(`wsh(sortedmulti(1,${others[0]},${signer}))`, 'at depth 5, below an account (depth 4)');
    const text = withChecksum(`sh(wsh(sortedmulti(1,${others[0]},${signer})))`);
    expect(first(text, deep)).toMatch(/^3/);
  });

  test('another network, also of one key among several', () => {
    const tpub = `${account(5, 4, { private: 0x04358394, public: 0x043587cf })}/0/*`;
    say(`wsh(sortedmulti(1,${others[0]},${tpub}))`, 'this tpub is of testnet3');
    say(`wpkh(${key}/0/*)`, 'this xpub is of mainnet', { network: 'regtest' });
  });

  test('a mistyped key within a right checksum', () => {
    say(`wpkh(${key.slice(0, -1)}1/0/*)`, 'checksum is wrong; copy it again');
  });

  test('another script type than asked for', () => {
    const said = 'for p2wpkh addresses, not for p2tr';
    say(`wpkh(${key}/0/*)`, said, { ...mainnet, scriptType: 'p2tr' });
  });

  test('a very long text, spaces, line breaks', () => {
    expect(refusalOf(`wpkh(${'x'.repeat(1_000_000)})`)).toContain('too long');
    say(`wsh(sortedmulti(1, ${others[0]}))`, 'white space');
    expect(refusalOf(withChecksum(`wpkh(${key})`).replace('(', '(\n'))).toContain('white space');
  });
});

describe('private material', () => {
  const said = 'looks like a private key';
  const secrets = [
    bip44.xprv,
    bip84.zprv,
    multi20.keys[0] ?? '',
    '0c28fca386c7a227600b2fe50b7cae11ec86d3bf1fbe471be89827e19d72aa1d',
  ];

  test.each(secrets)('secret %#, at any position', (secret) => {
    const bodies = [
      `wpkh(${secret}/0/*)`,
      `tr([d34db33f/86h]${secret})`,
      `wsh(sortedmulti(1,${account(1, 4)}/0/*,${secret}/0/*))`,
      `combo(${secret})`,
    ];
    for (const body of bodies) {
      expect(refusalOf(body)).toContain(said);
      expect(refusalOf(`${body}#89f8spxm`)).toContain(said);
      expect(refusalOf(withChecksum(body))).toContain(said);
    }
  });

  test('with odd spaces', () => {
    const spaced = `${bip44.xprv.slice(0, 60)} ${bip44.xprv.slice(60)}`;
    expect(refusalOf(`wpkh( ${spaced} /0/*)`)).toContain(said);
  });
});
