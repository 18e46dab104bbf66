// Recognises private key material before it is logged, stored or echoed: extended and single
// private keys, codex32, recovery words, secret fields of wallet files. It goes by shape, because a
// mistyped secret is still a secret. It never repeats what it found.
// Sources: BIP32, SLIP-132, BIP38, BIP93, https://en.bitcoin.it/wiki/Wallet_import_format

import { sha256 } from '@noble/hashes/sha2.js';
import { hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import { createBase58check } from '@scure/base';
import { throwInvalid } from '../lib/errors.ts';
import { isUnspacedPhrase, recoveryWordsIn, type SecretMatch } from './recovery-words.ts';

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
const wif = new RegExp(token(`[59KLc]${base58}{49,52}`));
/** BIP38: an encrypted private key. */
const encryptedKey = new RegExp(token(`6P${base58}{56}`));
/** BIP93 (codex32): a seed or a share of it, in the letters of bech32. */
const codex32 = /ms1[02-9][02-9ac-hj-np-z]{16}/i;
/** A complete codex32 string in groups. */
const groupedCodex32 = /(?<![0-9a-z])ms1[\s-]*[02-9](?:[\s-]*[02-9ac-hj-np-z]){43}/i;
const pemKey = /-\s*BEGIN[\w\s]*PRIVATE\s+KEY/i;
/** Fields of wallet files that hold a secret, plain or encrypted. */
const secretField =
  /"(?:seed|(?:seed|recovery|mnemonic)[_ ]?(?:words?|phrase|string|code)|mnemonic|[xyzt]pri?v|(?:master_?|extended_?)?priv(?:ate)?_?keys?|privkey|master_?seed|hdseed|wif|encrypted_?(?:seed|secret|mnemonic))"\s*:\s*(?:"[^"]{8,}"|[[{]\s*["\d])/i;
/** 16 to 64 bytes in hex behind a telling name. */
const namedHex =
  /(?<![a-z])(?:priv(?:ate)?[\s_-]?key|seed|entropy)(?:["'\s:=]|\([^()]{0,30}\)|is\b|hex\b){1,12}(?:0x)?[0-9a-f]{32}(?:[0-9a-f]{32}){0,3}(?![0-9a-z])/i;
/** BCR-2020-006 and related: QR codes of seeds, shares and single keys. */
const privateUr = /(?<![a-z])ur:(?:crypto-)?(?:seed|sskr|bip39|slip39|eckey|codex32-share)\//i;
/** The length of an extended key, of any coin. */
const maxTokenLength = 120;
const longToken = new RegExp(token(`${base58}{100,${maxTokenLength}}`), 'g');

/** The shortest text that has one of the shapes: `ur:seed/`. */
const minLength = 8;
/** Longer text is not searched for single keys by their checksum. */
const maxGluedLength = 2 * maxTokenLength;
/** Longer text is not searched for a key in pieces. */
const maxPiecedLength = 4096;

const extendedKey = { size: 78, keyOffset: 45 };
const wifKey = { sizes: [33, 34], versions: [0x80, 0xef] };
const bip38Key = { size: 39, version: 0x01 };

/** The text in NFKC, each invisible character as a space. */
function readable(text: string): string {
  return text.normalize('NFKC').replace(/[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, ' ');
}

/** A minikey of Casascius coins: with `?` appended, its SHA-256 begins with 00. */
const isMinikey = (text: string): boolean =>
  /^S[1-9A-HJ-NP-Za-km-z]{21,29}$/.test(text) && sha256(utf8ToBytes(`${text}?`))[0] === 0;

/** Tags of HTML, and escapes of white space. */
const markup = /<[^<>]*>|\\[nrt]/g;
/** Between `legal` and `Winner` in `legalWinner`. */
const camelCase = /(?<=\p{Ll})(?=\p{Lu})/gu;

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
 * Whether any part of a text is private key material, also with odd spaces, quotes, line breaks or
 * percent-encoding. It suits any text, such as a log. A bare 32-byte key in hex is not found,
 * because it looks like a transaction id: see `resemblesSecret`.
 */
export const containsPrivateMaterial = (text: string): boolean => secretMatchIn(text) !== undefined;

/** The stronger match of the text itself and of its percent-decoded form. */
function secretMatchIn(text: string): SecretMatch | undefined {
  if (text.length < minLength) return undefined;
  const found = secretMatchInPlain(text);
  if (found === 'checksum' || !text.includes('%')) return found;
  const hidden = secretMatchInPlain(unescaped(text));
  return hidden === 'checksum' ? hidden : (found ?? hidden);
}

function secretMatchInPlain(text: string): SecretMatch | undefined {
  const plain = readable(text);
  if (holdsKey(plain)) return 'checksum';
  const found = recoveryWordsIn(plain);
  // Invisible characters may be inside of words as well as between them.
  const whole = text.normalize('NFKC').replace(/\p{Default_Ignorable_Code_Point}/gu, '');
  const hidden =
    found === 'checksum' || whole.length === text.length ? found : recoveryWordsIn(whole);
  if (found === 'checksum' || hidden === 'checksum') return 'checksum';
  const parted = plain.replace(markup, ' ').replace(camelCase, ' ');
  if (parted !== plain && recoveryWordsIn(parted) === 'checksum') return 'checksum';
  return found ?? hidden;
}

function holdsKey(plain: string): boolean {
  const shapes = [extendedPrivateKey, wif, encryptedKey, groupedCodex32, pemKey, secretField];
  if ([...shapes, namedHex, privateUr].some((shape) => shape.test(plain))) return true;
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

/**
 * Whether a text that should be one public key may be a secret of a common shape. Such shapes are a
 * key or seed in hex, a minikey, and a Chinese phrase without spaces.
 */
export function resemblesSecret(text: string): boolean {
  const plain = joined(readable(text)).replaceAll(':', '');
  if (isMinikey(plain)) return true;
  if (/^(0x)?([0-9a-f]{32}|[0-9a-f]{64}|[0-9a-f]{128})$/i.test(plain)) return true;
  return isUnspacedPhrase(plain);
}

const publicKeysOnly =
  'paygate only takes the public key of an account (xpub, ypub or zpub) and has kept nothing of this';

/**
 * @param texts the private texts, to choose the message; none if the material is certain
 * @throws PaygateError invalid, always, with nothing of the texts
 */
export function rejectPrivateMaterial(...texts: readonly string[]): never {
  const findings = texts.map(secretMatchIn).filter((found) => found !== undefined);
  if (findings.length > 0 && !findings.includes('checksum')) {
    throwInvalid(
      'this looks like recovery words, one of them wrong or not in its place: as many words of their list ' +
        `stand in a row. Recovery words can spend your money; ${publicKeysOnly}. If they are those of a wallet, ` +
        'move its money to a new one: this machine may remember what was typed. If they are not, leave them out',
    );
  }
  throwInvalid(
    `this looks like a private key or recovery words, which can spend your money. ${publicKeysOnly}. If ` +
      'it was real, move the money to a new wallet: this machine may remember what was typed',
  );
}
