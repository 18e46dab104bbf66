// Finds the keys and descriptors in pasted text. The text is a key, a descriptor, several of them,
// or a text file that a wallet exports. keychain.ts parses them; wallet-json.ts reads JSON.
// Sources: BIP129 (BSMS), BIP388 (wallet policies), https://coldcard.com/docs/multisig (setup file)

import { throwInvalid } from '../lib/errors.ts';
import { resemblesDescriptor, withChecksum } from './descriptor.ts';
import {
  isDescriptor,
  isKeyExpression,
  type NamedWallet,
  rejectSigner,
  walletOfExpression,
} from './key-expression.ts';
import {
  isPolicy,
  type MultisigSigner,
  multisigOf,
  rejectUnsorted,
  walletOfPolicy,
  withoutChange,
} from './wallet-descriptors.ts';
import { walletsInJson } from './wallet-json.ts';

/** Most wallet files with a history are smaller. */
const maxTextLength = 1_000_000;
const maxLabelLength = 80;

const invisible = '\\s\\p{Cc}\\p{Cf}\\p{Default_Ignorable_Code_Point}\\u2800';
const around = new RegExp(`^[${invisible}]+|[${invisible}]+$`, 'gu');
const inside = /(?!\s)[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/u;
const quotes = '"\'`‘’‚“”„«»‹›';
const quotesAround = new RegExp(`^[${quotes}]+|[${quotes}]+[,;.]?$|[,;.]$`, 'gu');

/** Restores apostrophes that word processors changed, and removes a space behind the origin. */
const plain = (text: string): string =>
  text.replace(/(?<=\d)[’‘′ʼ´`](?=[/\]])/g, "'").replace(/\][ \t]+(?=[xyztuvYZUV]pub)/g, ']');

/** The text without invisible characters and quotes around it. */
function trimmed(text: string): string {
  return text.replace(around, '').replace(quotesAround, '').replace(around, '');
}

/** The key or descriptor in one row of text, with or without a label such as `Receive:`. */
function expressionIn(line: string): string | undefined {
  const text = trimmed(line);
  if (isKeyExpression(text) || isDescriptor(text)) return text;
  const [, label = '', rest = ''] = /^([^[\]]*?)(?:[:=-]>|[:=])\s*(\S+)$/u.exec(text) ?? [];
  const [path = ''] = /\bm(\/\d+['hH]?)+/.exec(label) ?? [];
  const isBare = /^[xyztuvYZUV]pub/.test(trimmed(rest));
  const expression = `${isBare && path !== '' ? `[00000000${path.slice(1)}]` : ''}${trimmed(rest)}`;
  const isNamed =
    label !== '' && label.length <= maxLabelLength && !/[xyztuv]pub\w{20}/i.test(label);
  return isNamed && (isKeyExpression(expression) || isDescriptor(expression))
    ? expression
    : undefined;
}

const walletOf = (expression: string): NamedWallet =>
  isDescriptor(expression) ? { text: expression } : walletOfExpression(expression);

/** BIP129: version, descriptor, paths, first address. */
function walletInBsms(lines: readonly string[]): NamedWallet {
  const [, text = '', paths = '', firstAddress = ''] = lines;
  if (!resemblesDescriptor(text)) {
    if (lines.some((line) => isKeyExpression(line))) rejectSigner();
    throwInvalid('this BSMS file has no output descriptor in its second line');
  }
  if (/^\//.test(paths) && paths !== '/0/*,/1/*') {
    throwInvalid('this BSMS file restricts its wallet to other paths than /0/*,/1/*');
  }
  return { text: withChecksum(text), ...(firstAddress !== '' && { firstAddress }) };
}

/** Coldcard's multisig setup file, which other wallets write too. */
function walletInSetupFile(lines: readonly string[]): NamedWallet {
  const signers: MultisigSigner[] = [];
  const fields = new Map<string, string>();
  for (const line of lines) {
    const [, name = '', value = ''] = /^([^:]+?)\s*:\s*(.+)$/.exec(line) ?? [];
    fields.set(name.toLowerCase(), value);
    if (!/^[0-9a-f]{8}$/i.test(name)) continue;
    signers.push({ key: value, fingerprint: name, path: fields.get('derivation') ?? '' });
  }
  const [, threshold = '', count = ''] =
    /^(\d+)\s*(?:of|\/)\s*(\d+)$/i.exec(fields.get('policy') ?? '') ?? [];
  const format = fields.get('format') ?? '';
  const sorts = ['bip-67', 'bip67', 'sorted'].map((name) => fields.get(name) ?? '');
  if (sorts.some((value) => /^(no|false|0)$/i.test(value))) rejectUnsorted();
  return multisigOf({ threshold: Number(threshold), count: Number(count), format, signers });
}

const isSetupFile = (lines: readonly string[]): boolean =>
  lines.some((line) => /^policy\s*:/i.test(line)) ||
  lines.filter((line) => /^(name|derivation|format)\s*:/i.test(line)).length > 1;

function walletsInLines(lines: readonly string[], whole: string): readonly NamedWallet[] {
  const [first = ''] = lines;
  if (/^BSMS\s/i.test(first)) return [walletInBsms(lines)];
  if (lines.length > 1 && isSetupFile(lines)) return [walletInSetupFile(lines)];
  const templates = lines.filter(isPolicy);
  const parts = lines.map((line) => expressionIn(line));
  const found = parts.filter((part) => part !== undefined);
  if (templates.length > 0 && found.length > 0) {
    return templates.map((template) => walletOfPolicy(template, found));
  }
  if (found.length === 0) return walletsInWords(whole);
  // A descriptor with line breaks: the caller rejects it.
  if (found.length < lines.length && resemblesDescriptor(whole) && !isDescriptor(first)) return [];
  if (found.length < lines.length) rejectOtherText();
  return walletsOf(found);
}

/** Several expressions between spaces, because an input field turns line breaks into spaces. */
function walletsInWords(text: string): readonly NamedWallet[] {
  const words = text.split(/\s+/).map(trimmed);
  if (words.length < 2) return [];
  const found = words.filter((word) => isKeyExpression(word) || isDescriptor(word));
  if (found.length === words.length) return walletsOf(found);
  // parseDescriptor rejects a descriptor with spaces and says so.
  if (found.length > 0 && !resemblesDescriptor(text)) rejectOtherText();
  return [];
}

function walletsOf(expressions: readonly string[]): readonly NamedWallet[] {
  const descriptors = withoutChange(expressions.filter(isDescriptor));
  const keys = expressions.filter((text) => !isDescriptor(text));
  return [...descriptors, ...keys].map(walletOf);
}

function rejectOtherText(): never {
  throwInvalid(
    'there is other text beside the wallet key or output descriptor: paste it alone, or the whole file ' +
      'that your wallet exports',
  );
}

function rejectInvisible(text: string): void {
  const [character] = inside.exec(text) ?? [];
  if (character === undefined) return;
  const code = character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0');
  throwInvalid(
    `there is a character inside the wallet key that does not show (U+${code}): copy the key again, from ` +
      'the wallet itself, or delete that character',
  );
}

/** Completes a single property that was copied out of a JSON object. */
function asObject(text: string): string {
  const property = /^\s*"[^"]{1,64}"\s*:/.test(text);
  return property ? `{${text.replace(/[\s,]+$/, '')}}` : text;
}

const isJson = (text: string): boolean =>
  /^\s*(\{|\[\s*[[{"\]])/.test(text) || /^\s*"[^"]{1,64}"\s*:/.test(text);

/** JSON inside of other text, as in Coldcard's file for Bitcoin Core. */
function jsonWithin(text: string): string | undefined {
  const starts = ['[{', '{"'].map((mark) => text.indexOf(mark)).filter((at) => at >= 0);
  const ends = ['}]', '}'].map((mark) => text.lastIndexOf(mark) + mark.length);
  const inside = text.slice(Math.min(...starts), Math.max(...ends));
  if (starts.length === 0 || inside === '') return undefined;
  try {
    JSON.parse(inside);
    return inside;
  } catch {
    return undefined;
  }
}

/**
 * The wallets in a text; several if a file has several accounts. A text of no known form is
 * returned as it is, for the parser of keys to judge.
 * @throws PaygateError invalid for a known form that cannot be used, with the reason
 */
export function walletsInText(given: string): readonly NamedWallet[] {
  if (given.length > maxTextLength)
    throwInvalid('this is too long for the key of a wallet, or its file');
  const text = plain(given.replace(around, ''));
  const json = isJson(text) ? asObject(text) : jsonWithin(text);
  if (json !== undefined) return walletsInJson(json);
  const lines = text.split(/\r\n|\r|\n/).map((line) => line.replace(around, ''));
  const filled = lines.filter((line) => line !== '' && !/^(#|`{3})/.test(line));
  const found = walletsInLines(filled, text);
  if (found.length > 0) return found;
  const alone = trimmed(filled.length === 1 ? (filled[0] ?? '') : text);
  rejectInvisible(alone);
  return [{ text: alone }];
}
