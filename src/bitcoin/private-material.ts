// Recognises what can spend money, so that it is refused before it is logged, stored or echoed:
// extended private keys, single ones (WIF, BIP38), recovery words. By shape where that is possible,
// so that a mistyped secret is still one. It never says what it found, only that it did.
// Sources: BIP32, SLIP-132, BIP38, BIP39, https://en.bitcoin.it/wiki/Wallet_import_format

import { sha256 } from '@noble/hashes/sha2.js';
import { hexToBytes } from '@noble/hashes/utils.js';
import { createBase58check } from '@scure/base';
import { refuse } from './refuse.ts';

const base58check = createBase58check(sha256);

const base58 = '[1-9A-HJ-NP-Za-km-z]';
/** A token on its own: not the middle of a longer word. */
const token = (shape: string) => `(?<![0-9A-Za-z])${shape}(?![0-9A-Za-z])`;

/** The start of an extended private key, also cut short, mistyped or in the wrong case. */
const extendedPrivateKey = /(?<![0-9A-Za-z])[xyztuv]prv[0-9A-Za-z]{16}/i;
/** The same somewhere in text that was pulled together, where words are joined by accident. */
const joinedExtendedKey = new RegExp(`[xyztuvYZUV]prv${base58}{90}`);
/** WIF has 51 or 52 characters; one lost or doubled does not make it public. */
const wif = new RegExp(token(`[59KLc]${base58}{49,52}`));
/** BIP38: a private key behind a passphrase. */
const encryptedKey = new RegExp(token(`6P${base58}{56}`));
/** Whatever is long enough to be an extended key, whichever coin's letters it starts with. */
const maxTokenLength = 120;
const longToken = new RegExp(token(`${base58}{100,${maxTokenLength}}`), 'g');

const extendedKey = { size: 78, keyOffset: 45 };
const wifKey = { sizes: [33, 34], versions: [0x80, 0xef] };
const bip38Key = { size: 39, version: 0x01 };

/** BIP39 has at least 12 words; those of its Latin-script lists have 3 to 8 letters, in Italian up to 9. */
const minWords = 12;
const listWord = /^(?:\p{Script=Latin}{3,9}|(?:(?!\p{Script=Latin})[\p{L}\p{M}]){1,12})$/u;
const anyWord = /^[\p{L}\p{M}]+$/u;

/** Unicode's look-alikes made one, and what does not show made a space. */
function readable(text: string): string {
  return text.normalize('NFKC').replace(/[\p{Cc}\p{Cf}]/gu, ' ');
}

/** What a URL means by `%20`, which else is taken for a part of the word behind it. */
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

/** Base58Check text that holds a private key, whatever its version bytes say. */
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

/** Words of a text, without the numbers that a list of them may have. */
function words(text: string): string[] {
  const found = text.match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  return found.filter((word) => !/^\p{N}{1,2}$/u.test(word));
}

/** Whether enough words in a row could be of a BIP39 list; prose has shorter and longer ones. */
function hasRecoveryWords(text: string): boolean {
  // A letter each, and what lies between them.
  if (text.length < 2 * minWords - 1) return false;
  const unnumbered = text.replace(/(?<!\p{N})\p{N}{1,2}[.:)]/gu, ' ');
  return unnumbered.split(/[:=<>@()[\]{}]/).some((clause) => {
    let run = 0;
    return words(clause).some((word) => {
      run = listWord.test(word) ? run + 1 : 0;
      return run >= minWords;
    });
  });
}

/**
 * Whether any part of a text is private key material, also with odd spaces, quotes or line breaks, or
 * written as in a URL. Fit for text of every kind, such as lines of a log. A bare 32-byte key in hex is not
 * found here, because nothing tells it from a transaction id: see `resemblesSecret`.
 */
export const containsPrivateMaterial = (text: string): boolean =>
  isPrivate(text) || (text.includes('%') && isPrivate(unescaped(text)));

function isPrivate(text: string): boolean {
  const plain = readable(text);
  if ([extendedPrivateKey, wif, encryptedKey].some((shape) => shape.test(plain))) return true;
  if (plain.match(longToken)?.some(holdsPrivateKey)) return true;
  // Only of broken text: in one piece, every token was looked at already.
  const whole = joined(plain);
  if (whole !== plain) {
    if (joinedExtendedKey.test(whole)) return true;
    if (whole.length <= maxTokenLength && holdsPrivateKey(whole)) return true;
  }
  return hasRecoveryWords(plain);
}

/**
 * Whether a text that should have been one public key may be a secret of a shape too common to look
 * for elsewhere: a key or seed in hex, or twelve words of any kind.
 */
export function resemblesSecret(text: string): boolean {
  const plain = readable(text);
  if (/^(0x)?([0-9a-f]{32}|[0-9a-f]{64}|[0-9a-f]{128})$/i.test(joined(plain))) return true;
  if (/\p{Script=Han}{12}/u.test(plain)) return true;
  return words(plain).filter((word) => anyWord.test(word)).length >= minWords;
}

/** @throws PaygateError invalid: the same words wherever a secret was given, and nothing of it */
export function refusePrivate(): never {
  refuse(
    'this looks like a private key or recovery words, which can spend your money. paygate only ' +
      'takes the public key of an account (xpub, ypub or zpub) and has kept nothing of this. If ' +
      'it was real, move the money to a new wallet: this machine may remember what was typed',
  );
}
