// Parses and writes output descriptors of six templates, with their checksum. Other templates are
// errors. Keys stay text; keychain.ts decodes them. No message repeats a part of the input.
// Sources: BIP380 (grammar, checksum), BIP381-383, BIP386 (templates), BIP389 (`<0;1>`),
// BIP388 (`/**`).

import { throwInvalid } from '../lib/errors.ts';
import type { ScriptType, WitnessType } from './address.ts';
import { keyAndPath, receivePaths } from './key-expression.ts';
import { maxKeys } from './multisig.ts';

/** The output type of a wallet's addresses. */
export type WalletType = ScriptType | WitnessType;

export interface Descriptor {
  readonly type: WalletType;
  /** How many of the keys must sign; 1 for a single key. */
  readonly threshold: number;
  /** Extended keys in Base58. Their child 0 is the receive branch. */
  readonly keys: readonly string[];
}

/** The text before and after the keys. */
const templates: Readonly<Record<WalletType, readonly [before: string, after: string]>> = {
  p2pkh: ['pkh(', ')'],
  'p2sh-p2wpkh': ['sh(wpkh(', '))'],
  p2wpkh: ['wpkh(', ')'],
  p2tr: ['tr(', ')'],
  p2wsh: ['wsh(sortedmulti(', '))'],
  'p2sh-p2wsh': ['sh(wsh(sortedmulti(', ')))'],
};

const types = Object.keys(templates) as WalletType[];

export const isMultisig = (type: WalletType): type is WitnessType =>
  type === 'p2wsh' || type === 'p2sh-p2wsh';

/** 20 keys with long origins need less than half of it. */
const maxLength = 8192;
const checksumLength = 8;

const inputCharset =
  '0123456789()[],\'/*abcdefgh@:$%{}IJKLMNOPQRSTUVWXYZ&+-.;<=>?!^_|~ijklmnopqrstuvwxyzABCDEFGH`#"\\ ';
const checksumCharset = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';
/** 40 bits each, too many for the bit operators of numbers. */
const generator = [0xf5dee51989n, 0xa9fdca3312n, 0x1bab10e32dn, 0x3706b1677an, 0x644d626ffdn];

function polymod(symbols: readonly number[]): bigint {
  let sum = 1n;
  for (const symbol of symbols) {
    const top = sum >> 35n;
    sum = ((sum & 0x7ffffffffn) << 5n) ^ BigInt(symbol);
    for (const [bit, term] of generator.entries()) if ((top >> BigInt(bit)) & 1n) sum ^= term;
  }
  return sum;
}

/**
 * BIP380: each character's position in its group of 32; every three groups make one more symbol.
 */
function symbolsOf(text: string): number[] {
  const places = Array.from(text, (character) => inputCharset.indexOf(character));
  if (places.includes(-1)) throwInvalid('this output descriptor has characters that none has');
  const symbols: number[] = [];
  for (let at = 0; at < places.length; at += 3) {
    const three = places.slice(at, at + 3);
    symbols.push(...three.map((place) => place & 31));
    symbols.push(three.reduce((groups, place) => groups * 3 + (place >> 5), 0));
  }
  return symbols;
}

/**
 * The checksum of BIP380, 8 characters.
 * @param body the descriptor without `#` and checksum
 * @throws PaygateError invalid for characters outside of BIP380's set
 */
export function descriptorChecksum(body: string): string {
  const padding = new Array<number>(checksumLength).fill(0);
  const sum = polymod([...symbolsOf(body), ...padding]) ^ 1n;
  return padding
    .map((_, at) => checksumCharset[Number((sum >> BigInt(5 * (7 - at))) & 31n)])
    .join('');
}

/**
 * BIP380 allows `h` and `'` for a hardened step. Their checksums differ, their meaning does not.
 */
function hardenedSpellings(body: string): string[] {
  const written = (mark: string) =>
    body.replace(/\[[^\]]*\]/g, (origin) => origin.replace(/['hH](?=[/\]])/g, mark));
  return [body, written('h'), written("'")];
}

interface CheckedDescriptor {
  /** Spelled so that the checksum fits. */
  readonly body: string;
  readonly hasChecksum: boolean;
}

/** The error never names the right checksum, because a wrong one is the sign of a wrong text. */
function checkDescriptor(text: string): CheckedDescriptor {
  if (text.length > maxLength) throwInvalid('this output descriptor is too long');
  if (/\s/.test(text)) {
    throwInvalid('there is white space or a line break inside the output descriptor: remove it');
  }
  const [body = '', checksum, ...more] = text.split('#');
  if (!body.endsWith(')')) {
    throwInvalid(
      'this output descriptor is cut or changed: a ) is expected before the # and at the end',
    );
  }
  if (checksum === undefined) return { body, hasChecksum: false };
  const fits = hardenedSpellings(body).find((writing) => descriptorChecksum(writing) === checksum);
  if (more.length === 0 && fits !== undefined) return { body: fits, hasChecksum: true };
  return throwInvalid(
    'the checksum of this output descriptor is wrong: it was mistyped or cut; copy it again, ' +
      'whole, up to the 8 characters after the #',
  );
}

/**
 * The descriptor with the checksum of its body, with or without one in the input.
 * @throws PaygateError invalid
 */
export function withChecksum(text: string): string {
  const { body } = checkDescriptor(text);
  return `${body}#${descriptorChecksum(body)}`;
}

/**
 * The last of all checks, because its message offers a checksum for exactly this text.
 * @throws PaygateError invalid without a checksum
 */
export function requireChecksum(text: string): void {
  const { body, hasChecksum } = checkDescriptor(text);
  if (hasChecksum) return;
  throwInvalid(
    'this output descriptor has no checksum. Copy it whole, with the # and the 8 characters ' +
      `after it; for exactly this text they are #${descriptorChecksum(body)}`,
  );
}

/** The template of a descriptor and the text inside of it. */
function openTemplate(body: string): { type: WalletType; inside: string } {
  if (/^tr\(.*[,{]/.test(body)) {
    throwInvalid('of tr(…) only the key path is supported: one key and no script tree');
  }
  for (const type of types) {
    const [before, after] = templates[type];
    const inside = body.slice(before.length, -after.length);
    if (!body.startsWith(before) || !body.endsWith(after) || /[()]/.test(inside)) continue;
    return { type, inside };
  }
  const known = types.map((type) => templates[type].join('…')).join(', ');
  return throwInvalid(`not an output descriptor that paygate knows, which are ${known}`);
}

/** The extended key of a key expression and its path. */
function keyOf(expression: string): { key: string; path: string } {
  const [key, path] = keyAndPath(expression);
  if (key === undefined) {
    throwInvalid(
      'a key in this output descriptor is malformed: [fingerprint/path]xpub…/0/* is expected, ' +
        'where the part in brackets may be missing',
    );
  }
  if (/^0[234][0-9a-f]{64}/i.test(key)) {
    throwInvalid(
      'a single public key makes one address only: an output descriptor needs an xpub in it',
    );
  }
  if (path === '') {
    throwInvalid(
      'a key in this output descriptor has no path, which makes a single address of it; /0/* or ' +
        '/<0;1>/* is expected behind each key. Copy the descriptor anew from your wallet',
    );
  }
  if (!receivePaths.has(path)) {
    throwInvalid(
      'a key in this output descriptor has another path than /0/* or /<0;1>/*: paygate gives ' +
        'out addresses of the receive branch of an account, m/0',
    );
  }
  return { key, path };
}

/** All keys must have one path, because a node derives each key by its own path. */
function keysOf(expressions: readonly string[]): string[] {
  const found = expressions.map(keyOf);
  if (new Set(found.map(({ path }) => path)).size > 1) {
    throwInvalid(
      'the keys in this output descriptor have different paths behind them: the same one is ' +
        'expected behind each, /0/* or /<0;1>/*',
    );
  }
  return found.map(({ key }) => key);
}

function thresholdOf(text: string, keyCount: number): number {
  if (keyCount < 1 || keyCount > maxKeys) throwInvalid(`sortedmulti needs 1 to ${maxKeys} keys`);
  const threshold = Number(text);
  if (/^[1-9]\d?$/.test(text) && threshold <= keyCount) return threshold;
  return throwInvalid(
    `sortedmulti begins with the number of keys that must sign, here from 1 to ${keyCount}`,
  );
}

/** Whether a text is meant as a descriptor. */
export const resemblesDescriptor = (text: string): boolean => /^[a-z]+\(/i.test(text);

/**
 * @param text a descriptor alone; `requireChecksum` says whether it must have a checksum
 * @throws PaygateError invalid
 */
export function parseDescriptor(text: string): Descriptor {
  if (/@\d/.test(text)) {
    throwInvalid(
      'this is a wallet policy (BIP388), whose keys stand apart from it: @0 is the first of them. Give ' +
        'the keys too, each on a line of its own, or the output descriptor of the wallet',
    );
  }
  const { type, inside } = openTemplate(checkDescriptor(text).body);
  if (!isMultisig(type)) return { type, threshold: 1, keys: keysOf([inside]) };
  const [threshold = '', ...keys] = inside.split(',');
  return { type, threshold: thresholdOf(threshold, keys.length), keys: keysOf(keys) };
}

/** The descriptor of key expressions, without checksum. */
export function writeDescriptor({ type, threshold, keys }: Descriptor): string {
  const inside = isMultisig(type) ? [threshold, ...keys] : keys;
  return templates[type].join(inside.join(','));
}
