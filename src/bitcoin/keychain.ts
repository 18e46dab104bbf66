// The merchant's wallet: one or several extended public keys and their script type. Reads it from
// text, rejecting private keys first, and derives its addresses. It never stores a private key and
// never repeats a key in a message.
// Sources: BIP32, BIP44, BIP48, BIP49, BIP84, BIP86, BIP380, SLIP-132.

import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js';
import { HARDENED_OFFSET } from '@scure/bip32';
import { equalBytes } from '@scure/btc-signer/utils.js';
import { throwInvalid } from '../lib/errors.ts';
import {
  type ScriptType,
  scriptForKey,
  scriptForWitness,
  scripthash,
  scriptToAddress,
} from './address.ts';
import {
  isMultisig,
  parseDescriptor,
  requireChecksum,
  resemblesDescriptor,
  type WalletType,
  withChecksum,
  writeDescriptor,
} from './descriptor.ts';
import {
  type DecodedKey,
  decodeExtendedKey,
  type ExtendedKey,
  extendedKey,
} from './extended-key.ts';
import type { Scripthash } from './ids.ts';
import { type NamedWallet, requireBareKey } from './key-expression.ts';
import { multisigScript, sortedKeys } from './multisig.ts';
import { type NetworkName, networks } from './network.ts';
import {
  refusePrivateMaterial,
  rejectPrivateMaterial,
  resemblesSecret,
} from './private-material.ts';
import { walletsInText } from './wallet-export.ts';

/** The public key and chain code of one account. */
export interface AccountKey {
  /** 33 bytes. */
  readonly publicKey: Uint8Array;
  /** 32 bytes. */
  readonly chainCode: Uint8Array;
}

export interface WalletKey {
  /**
   * The identity of a wallet: `wpkh(<public key>:<chain code>/0/*)`, both in hex, in the template
   * of its descriptor, several keys sorted. It does not depend on how a key is written (xpub or
   * zpub, depth, parent, origin, alone or in a descriptor).
   */
  readonly descriptor: string;
  readonly scriptType: WalletType;
  readonly network: NetworkName;
  /** The key or descriptor as entered, which is how the merchant's wallet shows it. */
  readonly account: string;
  /** How many of the keys must sign; 1 for a single key. */
  readonly threshold: number;
  readonly keys: readonly AccountKey[];
}

export interface DerivedAddress {
  readonly address: string;
  readonly script: Uint8Array;
  readonly scripthash: Scripthash;
}

export interface WalletKeyOptions {
  readonly network: NetworkName;
  /** Required for an xpub or tpub alone, which do not state it. */
  readonly scriptType?: WalletType;
  /** Also accepts keys deeper than an account. */
  readonly allowDepth?: boolean;
}

/** The last index of an address: hardened ones follow (BIP32). */
export const maxIndex = HARDENED_OFFSET - 1;
/** This many addresses are enough to recognise a wallet. */
const shownAddresses = 3;

/** BIP44: purpose, coin, account. BIP48 adds the script type. */
const accountDepth = 3;
const signerDepth = 4;

export const scriptTypes: readonly ScriptType[] = ['p2pkh', 'p2sh-p2wpkh', 'p2wpkh', 'p2tr'];

/** @throws PaygateError invalid for a key of another network, or below `maxDepth` */
function requireNetworkAndDepth(
  { kind, depth }: DecodedKey,
  { network, allowDepth }: WalletKeyOptions,
  maxDepth: number,
): void {
  const { prefix } = kind;
  if (!kind.networks.includes(network)) {
    throwInvalid(`this ${prefix} is of ${kind.networks.join(', ')}; paygate runs on ${network}`);
  }
  if (depth > maxDepth && !allowDepth) {
    throwInvalid(
      `this ${prefix} is at depth ${depth}, below an account (depth ${maxDepth}): most ` +
        'wallets would not find payments to it. If yours does, allow it: --allow-depth, or the tick for ' +
        'it in the dashboard',
    );
  }
}

interface WalletKeyParts extends Omit<WalletKey, 'descriptor' | 'keys'> {
  readonly keys: readonly ExtendedKey[];
}

/** The order of keys in a descriptor changes no address, so the identity sorts them. */
function makeWalletKey(parts: WalletKeyParts): WalletKey {
  const { scriptType: type, threshold } = parts;
  const keys = sortedKeys(parts.keys).map(({ publicKey, chainCode }) => ({ publicKey, chainCode }));
  const expressions = keys.map(
    ({ publicKey, chainCode }) => `${bytesToHex(publicKey)}:${bytesToHex(chainCode)}/0/*`,
  );
  return { ...parts, keys, descriptor: writeDescriptor({ type, threshold, keys: expressions }) };
}

/**
 * Asks for the script type, with the first address of each to compare with the merchant's wallet.
 */
function rejectUnknownScriptType(subject: string, wallets: readonly WalletKey[]): never {
  const examples = wallets.map(
    (wallet) =>
      `  ${wallet.scriptType.padEnd(12)} ${deriveAddress(wallet, 0, 0)?.address ?? 'none'}`,
  );
  throwInvalid(
    `${subject}. Give --script with the type ` +
      `whose address is the first receive address (m/0/0) in your wallet:\n${examples.join('\n')}`,
  );
}

/**
 * The wallet in a text: an extended public key, an output descriptor or a file that wallets export.
 * White space and invisible characters around it are ignored.
 * @throws PaygateError invalid, saying what is wrong without repeating any key
 */
export function parseWalletKey(text: string, options: WalletKeyOptions): WalletKey {
  const named = namedWallets(text);
  const [only] = named;
  if (named.length === 1 && only !== undefined) return walletKeyOf(only, options);
  const { scriptType, ...others } = options;
  const known = distinct(acceptedWallets(named, others));
  const found = known.filter((each) => scriptType === undefined || each.scriptType === scriptType);
  const [first, second] = found;
  if (first !== undefined && second === undefined) return first;
  const types = new Set(known.map((each) => each.scriptType));
  if (first === undefined) {
    return throwInvalid(
      `this has no account for ${scriptType} addresses, only for ${[...types].join(', ')}`,
    );
  }
  if (new Set(found.map((each) => each.scriptType)).size === found.length) {
    return rejectUnknownScriptType('this has several accounts', found);
  }
  if (named.filter(isOpen).length > 1) {
    throwInvalid(
      'this has several keys that do not say which kind of address they are for. Give one of them ' +
        'alone, with --script. If they sign together, give the output descriptor of their wallet',
    );
  }
  return throwInvalid(
    'this has several wallets of one kind: give the key or descriptor of one of them',
  );
}

/** @throws PaygateError invalid, for private material first */
function namedWallets(text: string): readonly NamedWallet[] {
  refusePrivateMaterial([text]);
  return walletsInText(text);
}

/** Whether a key does not state its script type. */
const isOpen = ({ text, scriptType }: NamedWallet): boolean =>
  scriptType === undefined && /^[xt]pub/i.test(text);

/**
 * The wallets that fit this server. A key that does not state its script type stands for a wallet
 * of each type that no other key states.
 * @throws PaygateError invalid if none fits, or a key beside others is mistyped
 */
function acceptedWallets(
  named: readonly NamedWallet[],
  options: Omit<WalletKeyOptions, 'scriptType'>,
): WalletKey[] {
  const failures: unknown[] = [];
  const accept = (one: NamedWallet, scriptType?: ScriptType): WalletKey[] => {
    try {
      return [walletKeyOf(one, { ...options, ...(scriptType && { scriptType }) })];
    } catch (thrown) {
      failures.push(thrown);
      return [];
    }
  };
  const stated = named.filter((one) => !isOpen(one)).flatMap((one) => accept(one));
  const types = new Set<WalletType>(stated.map(({ scriptType }) => scriptType));
  const open = named.length === 1 ? named.filter(isOpen) : openAccounts(named, stated);
  const left = scriptTypes.filter((type) => !types.has(type));
  const wallets = [...stated, ...open.flatMap((one) => left.flatMap((type) => accept(one, type)))];
  if (wallets.length === 0) throw failures[0];
  return wallets;
}

/**
 * The keys without a script type that may be accounts of their own. Neither the master key of the
 * others is one, nor another spelling of a key whose type is stated once.
 * @throws PaygateError invalid for a mistyped key
 */
function openAccounts(
  named: readonly NamedWallet[],
  stated: readonly WalletKey[],
): readonly NamedWallet[] {
  const isOf =
    ({ publicKey, chainCode }: AccountKey) =>
    ({ keys }: WalletKey) =>
      keys.some(
        (key) => equalBytes(key.publicKey, publicKey) && equalBytes(key.chainCode, chainCode),
      );
  const bare = named.filter(({ text }) => !resemblesDescriptor(text));
  const decoded = bare.map((one) => ({ one, ...decodeExtendedKey(one.text) }));
  const hasAccounts = bare.length < named.length || decoded.some(({ depth }) => depth > 0);
  return decoded
    .filter(({ one, depth, key }) => {
      const isMaster = depth === 0 && hasAccounts;
      const types = new Set(stated.filter(isOf(key)).map(({ scriptType }) => scriptType));
      return isOpen(one) && !isMaster && types.size !== 1;
    })
    .map(({ one }) => one);
}

const distinct = (wallets: readonly WalletKey[]): WalletKey[] =>
  [...new Map(wallets.toReversed().map((each) => [each.descriptor, each])).values()].toReversed();

function walletKeyOf(named: NamedWallet, options: WalletKeyOptions): WalletKey {
  const wallet = resemblesDescriptor(named.text)
    ? fromDescriptor(named.text, options)
    : fromBareKey(named, options);
  const firstAddress = named.firstAddress?.replace(/^(bc|tb|bcrt)1.*/i, (it) => it.toLowerCase());
  if (firstAddress !== undefined && deriveAddress(wallet, 0, 0)?.address !== firstAddress) {
    throwInvalid('the first address in this file is not the first one of its output descriptor');
  }
  return wallet;
}

/** A wallet's row in the database. */
interface StoredWallet {
  readonly descriptor: string;
  readonly account: string;
  readonly scriptType: string;
}

/**
 * The wallet of a row, from its normalised descriptor. Stricter checks of texts never change a
 * wallet that is already stored.
 */
export function storedWalletKey(row: StoredWallet, network: NetworkName): WalletKey {
  const { descriptor, account } = row;
  const [, threshold = '1'] = /sortedmulti\((\d+),/.exec(descriptor) ?? [];
  const keys = [...descriptor.matchAll(/([0-9a-f]{66}):([0-9a-f]{64})\/0\/\*/g)].map(
    ([, publicKey = '', chainCode = '']) => ({
      publicKey: hexToBytes(publicKey),
      chainCode: hexToBytes(chainCode),
    }),
  );
  const scriptType = row.scriptType as WalletType;
  return { descriptor, account, scriptType, network, threshold: Number(threshold), keys };
}

function fromBareKey(
  { text: account, scriptType: stated }: NamedWallet,
  options: WalletKeyOptions,
): WalletKey {
  requireBareKey(account);
  const decoded = decodeExtendedKey(account);
  const { kind, key } = decoded;
  const { prefix } = kind;
  if (kind.multisig) {
    throwInvalid(
      `a ${prefix} is the key of one signer of a multisig wallet. Give the output ` +
        'descriptor of the whole wallet: wsh(sortedmulti(…))#…',
    );
  }
  requireNetworkAndDepth(decoded, options, accountDepth);
  const { network } = options;
  if (stated !== undefined)
    requireType(kind.scriptType ?? stated, { network, scriptType: stated }, `a ${prefix} is`);
  const scriptType = kind.scriptType ?? stated ?? options.scriptType;
  const walletOf = (type: WalletType) =>
    makeWalletKey({ scriptType: type, threshold: 1, keys: [key], network, account });
  if (scriptType === undefined) {
    return rejectUnknownScriptType(
      `this ${prefix} does not say which kind of address the wallet uses`,
      scriptTypes.map(walletOf),
    );
  }
  requireType(
    scriptType,
    options,
    stated === undefined ? `a ${prefix} is` : 'this key is, by its path,',
  );
  if (isMultisig(scriptType))
    throwInvalid('one key alone is no multisig wallet: give its descriptor');
  return walletOf(scriptType);
}

/** SLIP-132: the script type of a key's prefix; xpub and tpub fit all types. */
const typeOfPrefix: Readonly<Record<string, WalletType>> = {
  ypub: 'p2sh-p2wpkh',
  upub: 'p2sh-p2wpkh',
  zpub: 'p2wpkh',
  vpub: 'p2wpkh',
  Ypub: 'p2sh-p2wsh',
  Upub: 'p2sh-p2wsh',
  Zpub: 'p2wsh',
  Vpub: 'p2wsh',
};

function fromDescriptor(text: string, options: WalletKeyOptions): WalletKey {
  // A descriptor may contain a private key in hex, which only this check finds. Public hex is in a
  // script tree (BIP386, x-only keys) and in hash fragments of miniscript.
  const hex = /^tr\(.*,/.test(text) ? '' : text.replace(/(?:sha|hash)256\([0-9a-f]*\)/gi, '');
  if (hex.split(/[^0-9A-Za-z]/).some(resemblesSecret)) rejectPrivateMaterial();
  const { type: scriptType, threshold, keys: texts } = parseDescriptor(text);
  const maxDepth = isMultisig(scriptType) ? signerDepth : accountDepth;
  const keys = texts.map((each) => {
    const decoded = decodeExtendedKey(each);
    const { prefix } = decoded.kind;
    const isFor = typeOfPrefix[prefix] ?? scriptType;
    if (isFor !== scriptType) {
      throwInvalid(
        `this output descriptor is for ${scriptType} addresses, and a ${prefix} in it is for ${isFor}: ` +
          'one of the two is wrong',
      );
    }
    requireNetworkAndDepth(decoded, options, maxDepth);
    return decoded.key;
  });
  requireType(scriptType, options, 'this output descriptor is');
  const { network } = options;
  const account = withChecksum(text);
  const wallet = makeWalletKey({ scriptType, threshold, keys, network, account });
  if (new Set(wallet.keys.map(({ publicKey }) => bytesToHex(publicKey))).size < keys.length) {
    throwInvalid('this output descriptor names the same key twice');
  }
  requireChecksum(text);
  return wallet;
}

/** @throws PaygateError invalid if the key states another script type than the options */
function requireType(found: WalletType, { scriptType }: WalletKeyOptions, subject: string): void {
  if (scriptType === undefined || scriptType === found) return;
  throwInvalid(`${subject} for ${found} addresses, not for ${scriptType}: one of the two is wrong`);
}

/** The keys of both branches, so that each address costs one derivation per key. */
const branchCache = new WeakMap<WalletKey, ExtendedKey[][]>();

function branchKeys(wallet: WalletKey, branch: 0 | 1): ExtendedKey[] {
  const known = branchCache.get(wallet) ?? [];
  branchCache.set(wallet, known);
  known[branch] ??= wallet.keys.map(
    ({ publicKey, chainCode }) =>
      extendedKey(publicKey, chainCode).child(branch) ??
      throwInvalid('this wallet key has no valid branch: no wallet can use it'),
  );
  return known[branch];
}

/** The output script of one index. */
function scriptOf({ scriptType, threshold }: WalletKey, keys: readonly ExtendedKey[]): Uint8Array {
  const publicKeys = sortedKeys(keys).map(({ publicKey }) => publicKey);
  if (isMultisig(scriptType)) {
    return scriptForWitness(multisigScript(threshold, publicKeys), scriptType);
  }
  return scriptForKey(publicKeys[0] ?? new Uint8Array(), scriptType);
}

/**
 * An address of the wallet.
 * @param branch 0 for receive addresses, 1 for change (BIP44)
 * @param index 0..2^31-1
 * @returns undefined for an index without a valid child, which BIP32 skips
 * @throws PaygateError invalid for another index
 */
export function deriveAddress(
  wallet: WalletKey,
  branch: 0 | 1,
  index: number,
): DerivedAddress | undefined {
  const children = branchKeys(wallet, branch).map((key) => key.child(index));
  const valid = children.filter((child) => child !== undefined);
  if (valid.length < children.length) return undefined;
  const script = scriptOf(wallet, valid);
  const address = scriptToAddress(script, networks[wallet.network]);
  return { address, script, scripthash: scripthash(script) };
}

/** The wallet's first receive addresses, to compare with the merchant's own wallet. */
export function firstAddresses(key: WalletKey, count = shownAddresses): string[] {
  const found: string[] = [];
  for (let index = 0; found.length < count; index += 1) {
    const derived = deriveAddress(key, 0, index);
    if (derived !== undefined) found.push(derived.address);
  }
  return found;
}

/**
 * The wallets that a text may mean. A key that does not state its script type gives one wallet for
 * each type.
 * @throws PaygateError invalid
 */
export function possibleWallets(
  text: string,
  options: Omit<WalletKeyOptions, 'scriptType'>,
): readonly WalletKey[] {
  return distinct(acceptedWallets(namedWallets(text), options));
}
