// Judges the body of a 200 response: did the shop accept the callback? Shop plugins answer 200 to
// everything, so only the body shows a refusal. The body is untrusted: quotes of it are short, of
// one row, without control characters and without the secrets of the URL.

import { plainText } from '../text/format.ts';
import { withoutSecrets } from '../text/redaction.ts';

/** A stable code; part of `callbacks test --json`. */
export type AnswerVerdict =
  | 'accepted'
  /** Only white space and notices of PHP. */
  | 'empty'
  /** A web page: the request did not reach the plugin, unless its good answer is a page. */
  | 'web-page'
  | 'wrong-secret'
  | 'unknown-order'
  | 'refused';

export interface JudgedAnswer {
  readonly verdict: AnswerVerdict;
  /** The sentence that refuses, or the kind of page; null for an answer without a doubt. */
  readonly says: string | null;
}

/** The doubt about an empty answer of a shop whose earlier answers were not empty. */
export const emptyDoubt = 'an empty answer';
const pageDoubt = 'a web page';

/** A doubt as the end of a sentence that begins with "the answer". */
export const formatDoubt = (doubt: string): string =>
  doubt === emptyDoubt || doubt.startsWith(pageDoubt) ? `is ${doubt}` : `says "${doubt}"`;

/** What to do about a doubt, as the start of a sentence. */
export function doubtAdvice(doubt: string): string {
  if (doubt.startsWith(pageDoubt)) {
    return 'see that the plugin is on, and that the Callback URL is the one that it shows';
  }
  if (doubt === emptyDoubt) return 'see that the Callback URL has its secret';
  if (wrongSecret.test(doubt)) {
    return 'compare the secret in the Callback URL with the one that the plugin shows';
  }
  return unknownOrder.test(doubt)
    ? 'see that this is the Callback URL of the shop that has these orders'
    : 'see why the shop refuses';
}

const maxQuoteLength = 160;
const maxTitleLength = 80;
/** No plugin sends a longer sentence. The limit bounds the time of matching. */
const maxPartLength = 1_000;
const maxNoticeLength = 4_000;

const unprintable = /(?![\r\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;

/**
 * Whether the plugin of a Callback URL answers a good callback with a page of the shop. The one of
 * Easy Digital Downloads does. A shop without the plugin answers the same page.
 */
export const answersWithPage = (callbackUrl: string): boolean =>
  /\?(?:[^#]*&)?edd-listener=blockonomics(?:[&#]|$)/i.test(callbackUrl);

/**
 * @param secrets texts that the answer may echo and that must not be shown
 * @param isPageGood whether a page that refuses nothing is no doubt
 */
export function judgeAnswer(
  body: Uint8Array,
  secrets: () => readonly string[],
  isPageGood = false,
): JudgedAnswer {
  const decoded = new TextDecoder().decode(body, { stream: true }).replace(unprintable, ' ');
  const text = withoutNotices(redact(decoded, secrets)).trim();
  const { words, page, isThemed } = splitPage(text);
  const refusal = refusalIn(words);
  if (refusal !== undefined) {
    const says = redact(plainText(refusal.sentence), secrets);
    return { verdict: refusal.verdict, says: plainText(says, maxQuoteLength) };
  }
  if (page !== undefined) {
    const isGood = isPageGood && isThemed && !otherRefusal.test(page);
    return { verdict: 'web-page', says: isGood ? null : page };
  }
  const isEmpty = text.replaceAll(/<br ?\/?>/gi, '').trim() === '';
  return { verdict: isEmpty ? 'empty' : 'accepted', says: null };
}

const redact = (text: string, secrets: () => readonly string[]): string =>
  text === '' ? '' : withoutSecrets(text, secrets());

interface NoticeForm {
  readonly opening: RegExp;
  readonly closing: RegExp;
}

/**
 * How PHP prints notices into an answer (`display_errors`): as HTML, as text and by Xdebug.
 * OpenCart prints its own and calls a deprecation "Unknown". Fatal errors are not removed: they end
 * the answer.
 * https://www.php.net/manual/en/errorfunc.configuration.php#ini.html-errors
 */
const noticeForms: readonly NoticeForm[] = [
  {
    opening:
      /(?:<br ?\/?>\s*)?<(?:b|strong)>(?:Notice|Warning|Deprecated|Strict Standards|Unknown)<\/(?:b|strong)>:\s/gi,
    closing:
      / in <(?:b|strong)>[^<]{0,1000}<\/(?:b|strong)> on line <(?:b|strong)>\d+<\/(?:b|strong)>(?:\s*<br ?\/?>)?/gi,
  },
  {
    opening:
      /(?:<br ?\/?>\s*)?<font size='1'><table class='xdebug-error xe-(?:notice|warning|deprecated|strict)/gi,
    closing: /<\/table><\/font>/gi,
  },
  {
    opening:
      /^(?:<[a-z][^<>\n]{0,60}>){0,3}(?:\[[^\]\n]{1,60}\] )?(?:PHP |User )?(?:Notice|Warning|Deprecated|Strict Standards):\s/gim,
    closing: / in [^\n]{1,1000}? on line \d+/gi,
  },
];

/** Stack traces below a notice, and the message of Xdebug without a debugger. */
const belowNotice =
  /^(?:PHP )?(?:Call Stack|Stack trace):[ \t]*\r?\n(?:(?:PHP)?[ \t]*[#\d][^\n]*(?:\n|$))*|^Xdebug: \[[^\n]*/gim;

const withoutNotices = (text: string): string =>
  noticeForms.reduce(withoutForm, text).replace(belowNotice, '');

/** Removes one form in a single pass, which ends when no notice has an end any more. */
function withoutForm(text: string, { opening, closing }: NoticeForm): string {
  let rest = '';
  let from = 0;
  opening.lastIndex = 0;
  let close: RegExpExecArray | null | undefined;
  for (let open = opening.exec(text); open !== null; open = opening.exec(text)) {
    if (close === undefined || (close && close.index < opening.lastIndex)) {
      closing.lastIndex = opening.lastIndex - 1;
      close = closing.exec(text);
    }
    if (close === null) break;
    if (close.index - open.index > maxNoticeLength) continue;
    rest += `${text.slice(from, open.index)}\n`;
    from = close.index + close[0].length;
    opening.lastIndex = from;
  }
  return rest + text.slice(from);
}

const pageBegins = /<!doctype\s+html\b|<html\b/i;
/** Pages of bot protection begin like this. */
const pageAtOnce =
  /^(?:<!--[^>]{0,500}-->\s*)?<(?:head|body|title|meta|script|noscript|style|link|iframe)\b/i;

interface SplitAnswer {
  readonly words: string;
  readonly page?: string;
  readonly isThemed: boolean;
}

function splitPage(text: string): SplitAnswer {
  const isThemed = !pageAtOnce.test(text);
  const begins = isThemed ? text.search(pageBegins) : 0;
  if (begins === -1) return { words: text, isThemed };
  const end = text.toLowerCase().lastIndexOf('</html>');
  const after = end === -1 ? '' : text.slice(end + '</html>'.length);
  const [, title = ''] = /<title[^>]{0,200}>([^<]{1,500})</i.exec(text.slice(begins)) ?? [];
  const shown = plainText(title, maxTitleLength);
  return {
    words: `${text.slice(0, begins)}\n${after}`,
    page: shown === '' ? pageDoubt : `${pageDoubt} titled "${shown}"`,
    isThemed,
  };
}

const errorWords =
  '(?:errors?|exceptions?|failed|failures?|invalid|rejected|refused|denied|forbidden|missing|unknown|wrong|incorrect|mismatch(?:es|ed)?|disabled|unauthori[sz]ed)';
const nothing = '(?:null|none|nil|false|no|0|ok|success)';
/** "No errors" is no refusal. */
const noError =
  /\b(?:no|0|zero|without(?: any)?|not(?: an?)?|nothing) (?:errors?|exceptions?|failures?|failed|missing)\b/gi;
/** An empty error field in JSON, XML and plain text. */
const emptyError = new RegExp(
  String.raw`["']?\b${errorWords}\b["']?\s*[:=>]\s*(?:(?:"\s*"|''|"${nothing}"|'${nothing}'|\[\s*\]|\{\s*\})|${nothing}(?=\s*(?:[,;.&<}\]]|$))|\{\s*"code"\s*:\s*"?0"?\s*[,}])`,
  'gim',
);
const rightSecret =
  /(?<!\b(?:not|no|without)(?: an?| any| the)? )\b(?:valid|correct|matching) secrets?\b|\bsecrets?\b["']?(?:\s*[:=]\s*["']?| is | was | has been | )(?:okay|ok|valid|match(?:es|ed)?|verified|accepted|correct|true)\b/gi;
/** Page caches and optimizers add comments, scripts and styles to every answer. */
const hiddenMarkup = /<!--[\s\S]{0,2000}?-->|<(script|style)\b[\s\S]{0,2000}?<\/\1>/gi;

const secretWords = '(?:secrets?|signatures?|tokens?|hmac|auth(?:entication|ori[sz]ation)?)';
const orderWords =
  '(?:orders?|invoices?|payments?|donations?|address(?:es)?|addr|transactions?|carts?|purchases?)';
const negated = String.raw`(?:not|\w+n['’]t)`;
const notThere = String.raw`(?:${negated} (?:be )?(?:found|exist\w*|known)|unknown|no such|no match\w*)`;
const isWrong = String.raw`(?:${negated} (?:match\w*|set|valid|correct|given|provided|found|accepted)|mismatch\w*|invalid|incorrect|wrong|bad|fail\w*|missing|required|denied|empty|error|differs?|unknown|expired)`;

const wrongSecret = new RegExp(
  String.raw`\b${secretWords}\b.{0,80}?\b${isWrong}\b|\b(?:invalid|incorrect|wrong|bad|missing|no|unknown|mismatch\w*|empty|not(?: an?| the)? (?:valid|correct|matching))\b.{0,40}?\b${secretWords}\b|\bunauthori[sz]ed\b|\bnot authori[sz]ed\b`,
  'i',
);
const unknownOrder = new RegExp(
  String.raw`\b${orderWords}\b.{0,80}?\b${notThere}\b|\b(?:unknown|invalid|no such|no matching|(?:cannot|${negated}) find)\b.{0,40}?\b${orderWords}\b|\bno\b.{0,30}?\b${orderWords}\b.{0,40}?\b(?:found|exists?|match\w*)\b`,
  'i',
);
const otherRefusal = new RegExp(
  [
    String.raw`\b(?:errors?|invalid|secrets?|not found|mismatch(?:ed)?|denied|forbidden|refused|rejected|unknown|undefined|fail(?:ed|ure)?|unsuccessful|exception|missing|incorrect|wrong|no such|disabled|inactive|blocked|insufficient|unavailable|maintenance|bad (?:request|gateway)|too many requests|no input file|uncaught|could not|cannot|unable to|captcha)\b`,
    String.raw`\bnot (?:allowed|permitted|activated|active|enabled|supported|authenticated|logged in|acceptable|available|configured|installed)\b`,
    String.raw`\b(?:log ?in required|please (?:log|sign) ?in|checking your browser)\b`,
    String.raw`\b(?:fehler|erreur|errore|erro|ung(?:ü|ue)ltig\w*|nicht gefunden|introuvable|no encontrad[oa]|non trovato|n[ãa]o encontrad[oa]|inv[áa]lid[oa]|invalide|non valid[oa]|incorrect[oa]|ongeldig|hata)\b`,
    'ошибка|неверн|błąd|エラー|错误|錯誤|失败|失敗',
  ].join('|'),
  'i',
);
/** A refusal only if it is the whole answer. */
const bareRefusal = /^\W*(?:false|no|nope|ko|nok|nack)\W*$/i;
const saysFalse =
  /["']?\b(?:success|ok|valid|accepted)\b["']?\s*[:=>]\s*["']?(?:false\b|0(?![\d.]))|["']?\b(?:received|processed|result|status)\b["']?\s*[:=>]\s*["']?false\b|"(?:status|code|statusCode|status_code)"\s*:\s*"?[45]\d\d\b/i;

interface ShopRefusal {
  readonly verdict: AnswerVerdict;
  readonly sentence: string;
}

function refusalIn(text: string): ShopRefusal | undefined {
  const words = [hiddenMarkup, noError, emptyError, rightSecret]
    .reduce((rest, harmless) => rest.replace(harmless, ' '), text)
    .trim();
  const isJson = /^[{[]/.test(words);
  const parts = isJson ? stringsOf(words) : sentencesOf(words);
  const find = (pattern: RegExp): AnswerPart | undefined =>
    parts.find(({ text: part }) => pattern.test(part));
  const secret = find(wrongSecret);
  if (secret !== undefined) return { verdict: 'wrong-secret', sentence: secret.text };
  const order = find(unknownOrder);
  if (order !== undefined) return { verdict: 'unknown-order', sentence: order.text };
  const other = find(otherRefusal);
  if (other !== undefined) {
    return { verdict: 'refused', sentence: isJson ? (other.value ?? words) : other.text };
  }
  const isBare = parts.length === 1 && bareRefusal.test(parts[0]?.text ?? '');
  return isBare || saysFalse.test(words) ? { verdict: 'refused', sentence: words } : undefined;
}

interface AnswerPart {
  readonly text: string;
  /** The value of a name in JSON. */
  readonly value?: string;
}

/** Names and strings of JSON, which may be truncated. */
const stringsOf = (json: string): AnswerPart[] =>
  [...json.matchAll(/"((?:[^"\\]|\\.){1,1000})"(?:\s*:\s*"((?:[^"\\]|\\.){1,1000})")?/g)].flatMap(
    ([, name = '', value]) =>
      value === undefined ? [{ text: name }] : [{ text: value }, { text: name, value }],
  );

/** The sentences of a text, each cut to `maxPartLength`. */
const sentencesOf = (text: string): AnswerPart[] =>
  text
    .split(/[\r\n]+|<[^<>]{1,300}>|(?<=[.!?])\s+/)
    .map((part) => ({ text: part.trim().slice(0, maxPartLength) }))
    .filter(({ text: part }) => part !== '');
