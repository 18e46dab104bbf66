// The merchant's wallet as paygate knows it: one extended public key and the kind of addresses made
// of it. It derives those addresses and refuses everything that is not such a key, private keys
// before all else. It never keeps a private key and never repeats any key in a message.
// Sources: BIP32, BIP44, BIP49, BIP84, BIP86, SLIP-132.

import { bytesToHex } from '@noble/hashes/utils.js';
import { type ScriptType, scriptForKey, scripthash, scriptToAddress } from './address.ts';
import {
  type DecodedKey,
  decodeExtendedKey,
  type ExtendedKey,
  extendedKey,
} from './extended-key.ts';
import type { Scripthash } from './ids.ts';
import { type NetworkName, networks } from './network.ts';
import { containsPrivateMaterial, refusePrivate, resemblesSecret } from './private-material.ts';
import { refuse } from './refuse.ts';

export interface WalletKey {
  /**
   * What makes two wallets the same one: `wpkh(<public key>:<chain code>/0/*)`, both in hex, inside
   * `pkh`, `sh(wpkh)`, `wpkh` or `tr`. The way in which the key was written (xpub or
   * zpub, depth, parent) is no part of it.
   */
  readonly descriptor: string;
  readonly scriptType: ScriptType;
  readonly network: NetworkName;
  /** The key as it was given, which is how the merchant's wallet shows it. */
  readonly account: string;
  /** First 4 bytes of the key's HASH160, 8 hex digits: the one part that may be logged. */
  readonly fingerprint: string;
  /** 33 bytes. */
  readonly publicKey: Uint8Array;
  /** 32 bytes. */
  readonly chainCode: Uint8Array;
}

export interface DerivedAddress {
  readonly address: string;
  readonly script: Uint8Array;
  readonly scripthash: Scripthash;
}

export interface WalletKeyOptions {
  readonly network: NetworkName;
  /** Needed for an xpub or tpub, which do not say it themselves. */
  readonly scriptType?: ScriptType;
  /** Takes keys deeper than an account, too. */
  readonly allowDepth?: boolean;
}

/** BIP44: purpose, coin, account. */
const accountDepth = 3;

const descriptorOf: Readonly<Record<ScriptType, (key: string) => string>> = {
  p2pkh: (key) => `pkh(${key})`,
  'p2sh-p2wpkh': (key) => `sh(wpkh(${key}))`,
  p2wpkh: (key) => `wpkh(${key})`,
  p2tr: (key) => `tr(${key})`,
};

const scriptTypes = Object.keys(descriptorOf) as ScriptType[];

/** Refuses by its looks what is not one bare key, secrets before all else. */
function requireBareKey(text: string): void {
  if (containsPrivateMaterial(text)) refusePrivate();
  if (!/^[xyztuv]pub/i.test(text) && resemblesSecret(text)) refusePrivate();
  if (text === '') refuse('no wallet key given: paste an xpub, ypub or zpub');
  if (/[()[\]/*#,]/.test(text)) {
    refuse(
      'output descriptors, key origins and paths are not supported by this version: ' +
        'give the bare xpub, ypub or zpub of the account',
    );
  }
  if (/[\s\p{Cc}\p{Cf}]/u.test(text)) {
    refuse('there is white space inside the wallet key: remove it');
  }
}

/** Refuses a sound key that does not fit this server. */
function requireFit({ kind, depth }: DecodedKey, options: WalletKeyOptions): void {
  const { prefix } = kind;
  if (kind.multisig) {
    refuse(
      `a ${prefix} is the key of one signer of a multisig wallet. Such a wallet needs an output ` +
        'descriptor, which this version does not support',
    );
  }
  if (!kind.networks.includes(options.network)) {
    refuse(`this ${prefix} is of ${kind.networks.join(', ')}; paygate runs on ${options.network}`);
  }
  if (depth > accountDepth && !options.allowDepth) {
    refuse(
      `this ${prefix} is at depth ${depth}, below an account (depth ${accountDepth}): most ` +
        'wallets would not find payments to it. If yours does, allow it with --allow-depth',
    );
  }
}

function makeWalletKey(
  key: ExtendedKey,
  scriptType: ScriptType,
  network: NetworkName,
  account: string,
): WalletKey {
  const { publicKey, chainCode, fingerprint } = key;
  const descriptor = descriptorOf[scriptType](
    `${bytesToHex(publicKey)}:${bytesToHex(chainCode)}/0/*`,
  );
  return { descriptor, scriptType, network, account, fingerprint, publicKey, chainCode };
}

/** Asks for the script type so that a look at the wallet answers it. */
function askScriptType(prefix: string, key: ExtendedKey, network: NetworkName): never {
  const examples = scriptTypes.map((scriptType) => {
    const first = deriveAddress(makeWalletKey(key, scriptType, network, ''), 0, 0);
    return `  ${scriptType.padEnd(12)} ${first?.address ?? 'none'}`;
  });
  refuse(
    `this ${prefix} does not say which kind of address the wallet uses. Give the script type ` +
      `whose address is the first receive address (m/0/0) in your wallet:\n${examples.join('\n')}`,
  );
}

/**
 * The wallet that an extended public key stands for.
 * @param text xpub, tpub, ypub, upub, zpub or vpub; white space around it is dropped
 * @throws PaygateError invalid, saying what is wrong without repeating any key
 */
export function parseWalletKey(text: string, options: WalletKeyOptions): WalletKey {
  const account = text.trim();
  requireBareKey(account);
  const decoded = decodeExtendedKey(account);
  requireFit(decoded, options);

  const { kind, key } = decoded;
  const scriptType = kind.scriptType ?? options.scriptType;
  if (scriptType === undefined) return askScriptType(kind.prefix, key, options.network);
  if (options.scriptType !== undefined && options.scriptType !== scriptType) {
    refuse(
      `a ${kind.prefix} is for ${scriptType} addresses, not for ${options.scriptType}: ` +
        'one of the two is wrong',
    );
  }
  return makeWalletKey(key, scriptType, options.network, account);
}

/** Parents of the addresses, so that each address costs one derivation. */
const branchCache = new WeakMap<WalletKey, ExtendedKey[]>();

function branchKey(wallet: WalletKey, branch: 0 | 1): ExtendedKey {
  const known = branchCache.get(wallet) ?? [];
  branchCache.set(wallet, known);
  known[branch] ??=
    extendedKey(wallet.publicKey, wallet.chainCode).child(branch) ??
    refuse('this wallet key has no valid branch: no wallet can use it');
  return known[branch];
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
  const child = branchKey(wallet, branch).child(index);
  if (child === undefined) return undefined;
  const script = scriptForKey(child.publicKey, wallet.scriptType);
  const address = scriptToAddress(script, networks[wallet.network]);
  return { address, script, scripthash: scripthash(script) };
}
