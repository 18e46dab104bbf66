// Recognises private key material before it is logged, stored or echoed: extended and single
// private keys, recovery words, secret fields of wallet files. Keys go by shape, because a mistyped
// key is still a secret; words go by checksum. It never repeats what it found.
// Sources: BIP32, SLIP-132, BIP38, BIP93, https://en.bitcoin.it/wiki/Wallet_import_format

import { secp256k1 } from '@noble/curves/secp256k1.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { hexToBytes } from '@noble/hashes/utils.js';
import { createBase58check } from '@scure/base';
import { throwInvalid } from '../lib/errors.ts';
import { holdsRecoveryWords, isUnspacedPhrase } from './recovery-words.ts';

const base58check = createBase58check(sha256);

const base58 = '[1-9A-HJ-NP-Za-km-z]';
/** A token that is no part of a longer word. */
const token = (shape: string) => `(?<![0-9A-Za-z])${shape}(?![0-9A-Za-z])`;

/** The start of an extended private key, even if cut, mistyped or in the wrong case. */
const extendedPrivateKey = /(?<![0-9A-Za-z])[xyztuv]prv[0-9A-Za-z]{16}/i;
/** An extended private key next to other letters. The fifth letter is one of these. */
const gluedPrivateKey = /(?:[xyztuv]prv[89A]|[YZUV]prv[1-9A])[0-9A-Za-z]{16}/;
/**
 * An extended private key in text without its white space. A mention of an xprv before an xpub is
 * no private key.
 */
const joinedExtendedKey = new RegExp(
  `[xyztuvYZUV]prv(?!${base58}{0,60}[xyztuvYZUV]pub)[1-9A]${base58}{89}`,
);
const recasedExtendedKey = /[xyztuv]prv[1-9a][0-9a-z]{100}/i;
/** WIF has 51 or 52 characters. It stays a secret with one character too few or too many. */
const wif = new RegExp(
  token(`(?:(?:5[HJK]|9[1-3])${base58}{48,50}|(?:K[w-z]|L[1-5]|c[M-V])${base58}{49,51})`),
);
/** BIP38: an encrypted private key. */
const encryptedKey = new RegExp(token(`6P${base58}{56}`));
/** BIP93 (codex32): a seed or a share of it, in the letters of bech32. */
const codex32 = /ms1[02-9][02-9ac-hj-np-z]{16}/i;
const pemKey = /-\s*BEGIN[\w\s]*PRIVATE\s+KEY/i;
/** Fields of wallet files that hold a secret, plain or encrypted. */
const secretField =
  /"(?:(?:seed|recovery|mnemonic)[_ ]?(?:words?|phrase|string|code)|mnemonic|[xyzt]pri?v|(?:master_?|extended_?)?priv(?:ate)?_?keys?|privkey|master_?seed|hdseed|wif|encrypted_?(?:seed|secret|mnemonic))"\s*:\s*(?:"[^"]{8,}"|[[{]\s*["\d])/i;
/** The seed in an Electrum file. In other JSON, a field of this name may hold seeds of tomatoes. */
const keystoreSeed = /"keystores?"[^}]{0,400}"seed"\s*:\s*(?:"[^"]{8,}"|[[{]\s*["\d])/;
/** 32 bytes in hex behind a telling name. Bare hex may be a transaction id or a public key. */
const namedHex =
  /(?<![a-z])priv(?:ate)?[\s_-]?key(?:["'\s:=]|\([^()]{0,30}\)|is\b|hex\b){1,12}(?:0x)?[0-9a-f]{64}(?![0-9a-z])/i;

/** The length of an extended key, of any coin. */
const maxTokenLength = 120;
const longToken = new RegExp(token(`${base58}{100,${maxTokenLength}}`), 'g');

/** Longer text is not searched for single keys by their checksum. */
const maxGluedLength = 2 * maxTokenLength;
/** Longer text is not searched for a key in pieces. */
const maxPiecedLength = 4096;

const extendedKey = { size: 78, keyOffset: 45 };
const wifKey = { sizes: [33, 34], versions: [0x80, 0xef] };
const bip38Key = { size: 39, version: 0x01 };

/** The text in NFKC with one kind of line break, each other invisible character as a space. */
function readable(text: string): string {
  return text
    .normalize('NFKC')
    .replace(/\r\n?|[\u2028\u2029]/g, '\n')
    .replace(/(?!\n)[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, ' ');
}

/** The text without percent-encoding, whose digits would join the next word. */
function unescaped(text: string): string {
  const decoder = new TextDecoder();
  return text.replace(/(?:%[0-9a-f]{2})+/gi, (run) =>
    decoder.decode(hexToBytes(run.replaceAll('%', ''))),
  );
}

/** The text without its white space and quotes. */
function joined(text: string): string {
  return text.replace(/[\s"'`‘’“”«»]+/gu, '');
}

/** The text's letters and digits alone. */
const letters = (text: string): string => text.replace(/[^0-9A-Za-z]+/g, '');

/** Whether Base58Check text holds a private key, with any version bytes. */
function holdsPrivateKey(text: string): boolean {
  let payload: Uint8Array;
  try {
    payload = base58check.decode(text);
  } catch {
    return false;
  }
  const [version = -1] = payload;
  if (payload.length === extendedKey.size) return payload[extendedKey.keyOffset] === 0;
  if (payload.length === bip38Key.size) return version === bip38Key.version;
  return wifKey.sizes.includes(payload.length) && wifKey.versions.includes(version);
}

/** Whether a part of a token is a key by its checksum. */
function holdsGluedKey(token: string): boolean {
  const starts = [...token.matchAll(/[59KLc]|6P/g)].map(({ index }) => index);
  return starts.some((at) =>
    [51, 52, 58].some((length) => {
      const part = token.slice(at, at + length);
      return part.length === length && holdsPrivateKey(part);
    }),
  );
}

/** Whether a token is a valid public key. Its letters may contain other shapes by chance. */
function isPublicKey(token: string): boolean {
  if (!/^[xyztuvYZUV]pub/.test(token) || token.length > maxTokenLength) return false;
  try {
    return base58check.decode(token).length === extendedKey.size && !holdsPrivateKey(token);
  } catch {
    return false;
  }
}

/**
 * Whether any part of a text is a private key, also with odd spaces, quotes, line breaks or
 * percent-encoding, or the text holds recovery words. It suits any text, such as a log. A bare
 * 32-byte key in hex is not found, because it looks like a transaction id: see `resemblesSecret`.
 */
export const containsPrivateMaterial = (text: string): boolean =>
  isPrivate(text) || (text.includes('%') && isPrivate(unescaped(text)));

function isPrivate(text: string): boolean {
  const plain = readable(text);
  if (holdsKey(plain) || holdsRecoveryWords(plain)) return true;
  // Invisible characters may be inside of words as well as between them.
  const whole = text.replace(/\p{Default_Ignorable_Code_Point}/gu, '');
  return whole !== text && holdsRecoveryWords(readable(whole));
}

function holdsKey(plain: string): boolean {
  const shapes = [
    extendedPrivateKey,
    wif,
    encryptedKey,
    pemKey,
    secretField,
    keystoreSeed,
    namedHex,
  ];
  if (shapes.some((shape) => shape.test(plain))) return true;
  if (plain.match(longToken)?.some(holdsPrivateKey)) return true;
  const tokens = plain.match(/[0-9A-Za-z]{20,}/g) ?? [];
  if (tokens.some(holdsKeyWithin)) return true;
  // Text without gaps is one token, which is already checked.
  const whole = joined(plain);
  if (whole !== plain) {
    if (joinedExtendedKey.test(whole)) return true;
    if (whole.length <= maxTokenLength && holdsPrivateKey(whole)) return true;
  }
  const bare = letters(plain);
  if (bare === plain || bare.length > maxPiecedLength) return false;
  return joinedExtendedKey.test(bare) || (bare.length <= maxGluedLength && holdsGluedKey(bare));
}

function holdsKeyWithin(token: string): boolean {
  if (isPublicKey(token)) return false;
  if (gluedPrivateKey.test(token) || recasedExtendedKey.test(token)) return true;
  if (codex32.test(token)) return true;
  return token.length > 52 && token.length <= maxGluedLength && holdsGluedKey(token);
}

/** The point of BIP341 that has no private key. */
const unspendableKey = '50929b74c1a04954b78b4b6035e97a5e078a5a0f28ec96d547bfee9ace803ac0';

/** The master public key of Electrum 1.x: both coordinates of a point, without a prefix. */
export function isOldElectrumKey(text: string): boolean {
  if (!/^[0-9a-f]{128}$/i.test(text)) return false;
  try {
    secp256k1.Point.fromHex(`04${text}`).assertValidity();
    return true;
  } catch {
    return false;
  }
}

/**
 * Whether a text that should be one public key may be a secret of a common shape. Such shapes are a
 * key or seed in hex, and a Chinese phrase without spaces.
 */
export function resemblesSecret(text: string): boolean {
  const plain = joined(readable(text)).replaceAll(':', '');
  if (plain.toLowerCase() === unspendableKey || isOldElectrumKey(plain)) return false;
  return /^(0x)?([0-9a-f]{32}|[0-9a-f]{64}|[0-9a-f]{128})$/i.test(plain) || isUnspacedPhrase(plain);
}

/** @throws PaygateError invalid, always, with nothing of the private text */
export function rejectPrivateMaterial(): never {
  throwInvalid(
    'this looks like a private key or recovery words, which can spend your money. paygate only takes the ' +
      'public key of an account (xpub, ypub or zpub) and has kept nothing of this. If it was real, move ' +
      'the money to a new wallet: this machine may remember what was typed',
  );
}

/** @throws PaygateError invalid if a text contains private material, with nothing of it */
export function refusePrivateMaterial(texts: readonly string[]): void {
  if (texts.some(containsPrivateMaterial)) rejectPrivateMaterial();
}
