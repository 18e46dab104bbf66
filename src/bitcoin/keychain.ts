// The merchant's wallet as paygate knows it: one extended public key, or several, and the kind of
// addresses made of them. It derives those addresses and refuses everything that is not such a
// wallet, private keys before all else. It never keeps a private key and never repeats any key in a
// message. Sources: BIP32, BIP44, BIP48, BIP49, BIP84, BIP86, BIP380, SLIP-132.

import { bytesToHex } from '@noble/hashes/utils.js';
import { HARDENED_OFFSET } from '@scure/bip32';
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
  resemblesDescriptor,
  type WalletType,
  writeDescriptor,
} from './descriptor.ts';
import {
  type DecodedKey,
  decodeExtendedKey,
  type ExtendedKey,
  extendedKey,
} from './extended-key.ts';
import type { Scripthash } from './ids.ts';
import { inKeyOrder, multisigScript } from './multisig.ts';
import { type NetworkName, networks } from './network.ts';
import { containsPrivateMaterial, refusePrivate, resemblesSecret } from './private-material.ts';
import { refuse } from './refuse.ts';

/** Of one account. */
export interface AccountKey {
  /** 33 bytes. */
  readonly publicKey: Uint8Array;
  /** 32 bytes. */
  readonly chainCode: Uint8Array;
}

export interface WalletKey {
  /**
   * What makes two wallets the same one: `wpkh(<public key>:<chain code>/0/*)`, both in hex, inside
   * the template of their descriptor, several keys in order. The way in which a key was written
   * (xpub or zpub, depth, parent, origin, alone or in a descriptor) is no part of it.
   */
  readonly descriptor: string;
  readonly scriptType: WalletType;
  readonly network: NetworkName;
  /** The key or descriptor as it was given, which is how the merchant's wallet shows it. */
  readonly account: string;
  /** How many of the keys must sign; 1 where there is one. */
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
  /** Needed for an xpub or tpub alone, which do not say it themselves. */
  readonly scriptType?: WalletType;
  /** Takes keys deeper than an account, too. */
  readonly allowDepth?: boolean;
}

/** Of an address: the last one before the hardened ones (BIP32). */
export const highestIndex = HARDENED_OFFSET - 1;
/** So many addresses are enough to know a wallet by. */
const compared = 3;

/** BIP44: purpose, coin, account; BIP48 has the script type below that. */
const accountDepth = 3;
const signerDepth = 4;

export const scriptTypes: readonly ScriptType[] = ['p2pkh', 'p2sh-p2wpkh', 'p2wpkh', 'p2tr'];

/** Refuses by its looks what is not one bare key, secrets before all else. */
function requireBareKey(text: string): void {
  if (!/^[xyztuv]pub/i.test(text) && resemblesSecret(text)) refusePrivate();
  if (text === '') refuse('no wallet key given: paste an xpub, ypub or zpub');
  if (/[)[\]/*,]/.test(text)) {
    refuse(
      'a key with an origin or a path is a part of an output descriptor: give that whole, such as ' +
        'wpkh([…]xpub…/0/*)#…, or the bare xpub, ypub or zpub of the account',
    );
  }
  if (/[\s\p{Cc}\p{Cf}]/u.test(text)) {
    refuse('there is white space inside the wallet key: remove it');
  }
  if (/^((bc|tb|bcrt)1[a-z0-9]{20,90}|[123mn][1-9A-HJ-NP-Za-km-z]{25,34})$/i.test(text)) {
    refuse(
      'this is an address; paygate needs the public key that all addresses of the wallet come from: ' +
        'its xpub, ypub or zpub',
    );
  }
}

/** Refuses a sound key that does not fit this server. */
function requireFit(
  { kind, depth }: DecodedKey,
  { network, allowDepth }: WalletKeyOptions,
  deepest: number,
): void {
  const { prefix } = kind;
  if (!kind.networks.includes(network)) {
    refuse(`this ${prefix} is of ${kind.networks.join(', ')}; paygate runs on ${network}`);
  }
  if (depth > deepest && !allowDepth) {
    refuse(
      `this ${prefix} is at depth ${depth}, below an account (depth ${deepest}): most ` +
        'wallets would not find payments to it. If yours does, allow it: --allow-depth, or the tick for ' +
        'it in the dashboard',
    );
  }
}

interface Parts extends Omit<WalletKey, 'descriptor' | 'keys'> {
  readonly keys: readonly ExtendedKey[];
}

/** The order of keys in a descriptor changes no address, and so no wallet either. */
function makeWalletKey(parts: Parts): WalletKey {
  const { scriptType: type, threshold } = parts;
  const keys = inKeyOrder(parts.keys).map(({ publicKey, chainCode }) => ({ publicKey, chainCode }));
  const expressions = keys.map(
    ({ publicKey, chainCode }) => `${bytesToHex(publicKey)}:${bytesToHex(chainCode)}/0/*`,
  );
  return { ...parts, keys, descriptor: writeDescriptor({ type, threshold, keys: expressions }) };
}

/** Asks for the script type so that a look at the wallet answers it. */
function askScriptType(prefix: string, key: ExtendedKey, network: NetworkName): never {
  const examples = scriptTypes.map((scriptType) => {
    const parts = { scriptType, threshold: 1, keys: [key], network, account: '' };
    const first = deriveAddress(makeWalletKey(parts), 0, 0);
    return `  ${scriptType.padEnd(12)} ${first?.address ?? 'none'}`;
  });
  refuse(
    `this ${prefix} does not say which kind of address the wallet uses. Give --script with the type ` +
      `whose address is the first receive address (m/0/0) in your wallet:\n${examples.join('\n')}`,
  );
}

/**
 * The wallet that an extended public key or an output descriptor stands for.
 * @param text xpub, tpub, ypub, upub, zpub or vpub, or a descriptor with checksum; white space
 *   around it is dropped
 * @throws PaygateError invalid, saying what is wrong without repeating any key
 */
export function parseWalletKey(text: string, options: WalletKeyOptions): WalletKey {
  const account = text.trim();
  if (containsPrivateMaterial(account)) refusePrivate(account);
  return resemblesDescriptor(account)
    ? fromDescriptor(account, options)
    : fromBareKey(account, options);
}

function fromBareKey(account: string, options: WalletKeyOptions): WalletKey {
  requireBareKey(account);
  const decoded = decodeExtendedKey(account);
  const { kind, key } = decoded;
  if (kind.multisig) {
    refuse(
      `a ${kind.prefix} is the key of one signer of a multisig wallet. Give the output ` +
        'descriptor of the whole wallet: wsh(sortedmulti(…))#…',
    );
  }
  requireFit(decoded, options, accountDepth);
  const { network } = options;
  const scriptType = kind.scriptType ?? options.scriptType;
  if (scriptType === undefined) return askScriptType(kind.prefix, key, network);
  requireType(scriptType, options, `a ${kind.prefix} is`);
  if (isMultisig(scriptType)) refuse('one key alone is no multisig wallet: give its descriptor');
  return makeWalletKey({ scriptType, threshold: 1, keys: [key], network, account });
}

function fromDescriptor(account: string, options: WalletKeyOptions): WalletKey {
  // Between its marks a descriptor may hold a private key in hex, which nothing else tells.
  if (account.split(/[^0-9A-Za-z]/).some(resemblesSecret)) refusePrivate();
  const { type: scriptType, threshold, keys: texts } = parseDescriptor(account);
  const deepest = isMultisig(scriptType) ? signerDepth : accountDepth;
  const keys = texts.map((text) => {
    const decoded = decodeExtendedKey(text);
    const { prefix } = decoded.kind;
    if (!/^[xt]pub$/.test(prefix)) {
      refuse(`an output descriptor holds keys as xpub or tpub, not as ${prefix} (BIP380)`);
    }
    requireFit(decoded, options, deepest);
    return decoded.key;
  });
  requireType(scriptType, options, 'this output descriptor is');
  const { network } = options;
  const wallet = makeWalletKey({ scriptType, threshold, keys, network, account });
  if (new Set(wallet.keys.map(({ publicKey }) => bytesToHex(publicKey))).size < keys.length) {
    refuse('this output descriptor names the same key twice');
  }
  return wallet;
}

/** Refuses when the key says another script type than the one it was given with. */
function requireType(found: WalletType, { scriptType }: WalletKeyOptions, subject: string): void {
  if (scriptType === undefined || scriptType === found) return;
  refuse(`${subject} for ${found} addresses, not for ${scriptType}: one of the two is wrong`);
}

/** Parents of the addresses, so that each address costs one derivation a key. */
const branchCache = new WeakMap<WalletKey, ExtendedKey[][]>();

function branchKeys(wallet: WalletKey, branch: 0 | 1): ExtendedKey[] {
  const known = branchCache.get(wallet) ?? [];
  branchCache.set(wallet, known);
  known[branch] ??= wallet.keys.map(
    ({ publicKey, chainCode }) =>
      extendedKey(publicKey, chainCode).child(branch) ??
      refuse('this wallet key has no valid branch: no wallet can use it'),
  );
  return known[branch];
}

/** The output script of the keys of one index. */
function scriptOf({ scriptType, threshold }: WalletKey, keys: readonly ExtendedKey[]): Uint8Array {
  const publicKeys = inKeyOrder(keys).map(({ publicKey }) => publicKey);
  if (isMultisig(scriptType)) {
    return scriptForWitness(multisigScript(threshold, publicKeys), scriptType);
  }
  return scriptForKey(publicKeys[0] ?? new Uint8Array(), scriptType);
}

/**
 * An address of the wallet.
 * @param branch 0 for addresses shown to others, 1 for change (BIP44)
 * @param index 0..2^31-1
 * @returns undefined for an index without a valid child, which BIP32 says to skip
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

/** The wallet's first receive addresses, for comparison with what the merchant's own wallet shows. */
export function firstAddresses(key: WalletKey, count = compared): string[] {
  const found: string[] = [];
  for (let index = 0; found.length < count; index += 1) {
    const derived = deriveAddress(key, 0, index);
    if (derived !== undefined) found.push(derived.address);
  }
  return found;
}

/**
 * The wallets that a text may stand for: one, or where an xpub or tpub does not say its script type, one of each.
 * @throws PaygateError invalid
 */
export function possibleWallets(
  text: string,
  options: Omit<WalletKeyOptions, 'scriptType'>,
): readonly WalletKey[] {
  const bare = /^[xt]pub/i.test(text.trim());
  if (!bare) return [parseWalletKey(text, options)];
  return scriptTypes.map((scriptType) => parseWalletKey(text, { ...options, scriptType }));
}
