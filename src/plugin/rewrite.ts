// Rewrites one file of a shop plugin for this paygate: API, live socket, links to receipts and for
// merchants. Pure. It knows the forms that published plugins have, and no language. Other mentions
// stay, with a reason. Text is read byte by byte (latin1) and edits are ASCII: encodings survive.

import { PaygateError } from '../lib/errors.ts';
import { isAboutPlugin, isComment, isForPeople, isLoaded, isValue } from './line-kinds.ts';

/** The paygate that the plugin shall call. */
export interface PluginTarget {
  /** `https://pay.example.com` */
  readonly origin: string;
  /** `pay.example.com`, with the port where it has one. */
  readonly host: string;
}

export interface MentionChange {
  /** From 1. */
  readonly line: number;
  readonly before: string;
  readonly after: string;
}

export interface LeftMention {
  /** From 1. */
  readonly line: number;
  readonly text: string;
  readonly why: string;
  /** The plugin may not work before a person has looked at it. */
  readonly look: boolean;
}

export interface RewriteResult {
  readonly text: string;
  readonly changes: readonly MentionChange[];
  readonly left: readonly LeftMention[];
}

/** What occurs anywhere in the archive. */
export interface ReceiptParts {
  /** `&addr=` */
  readonly hasAddress: boolean;
  /** The domain of the service. */
  readonly isNamed: boolean;
}

export const receiptPartsOf = (texts: readonly string[]): ReceiptParts => ({
  hasAddress: texts.some((text) => /(?:[?&]|&amp;|\\u0026)addr=/i.test(text)),
  isNamed: texts.some((text) => /blockonomics\.co/i.test(text)),
});

/** @throws PaygateError invalid unless it is the bare origin of an HTTP server */
export function parseTarget(text: string): PluginTarget {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isBare =
    url !== undefined && `${url.origin}/` === url.href && /^https?:$/.test(url.protocol);
  if (isBare) return { origin: url.origin, host: url.host };
  throw new PaygateError(
    'invalid',
    'the URL of a paygate without a path is expected, such as https://pay.example.com: plugins ' +
      'put /api and /payment directly after its host',
  );
}

/** A slash, as it is or escaped. */
const slash = String.raw`(?:\\?/|\\(?:u00|x)2f)`;
const quote = String.raw`\\?["'\x60]`;
/** One operand of a sum: a name, a call, or anything in brackets. */
const operand = String.raw`(?:[^"'\x60;(){},\n]{1,100}(?:\([^()"'\x60;]{0,100}\))?|\((?:[^();]|\([^();]{0,200}\)){1,300}\))`;
/** The same as an argument: `"btc" === code ? "www" : code`. */
const argument = String.raw`(?:[^;(){},]|\([^();]{0,200}\)){1,200}`;
/** A value that a template, PHP or a template language inserts in a string. */
const inserted = String.raw`(?:[$#]?\{{1,2}[^{}]{1,100}\}{1,2}|\$[\w>-]{1,60}|<\?[^\n]{1,200}?\?>)`;
/** The text before the domain: `https://`, and at most one value between that and the domain. */
const lead = new RegExp(
  `(?:(?:(?<scheme>https?|wss?):)?(?<slashes>${slash}{2})(?:` +
    String.raw`(?<join>${quote}\s*[+.~]\s*)(?:${operand}\s*[+.~]\s*)?(?<open>${quote})|` +
    String.raw`(?<join>${quote}\.concat\(\s*)${argument},\s*(?<open>${quote})|` +
    `(?<value>${inserted}))?)?(?<sub>[a-z0-9.*-]{0,100})$`,
  'i',
);
const maxLead = 800;
/** The service; not a domain that only begins or ends with its name. */
const mention = new RegExp(
  String.raw`(?<![a-z0-9-])blockonomics\.co(?![a-z0-9-]|\.[a-z0-9])(?::\d{1,5})?` +
    String.raw`(?<path>(?:${slash}|[?#])(?:[\w\-.~%!$&*+,;=:@/?#[\]{}]|\\(?!["'\x60]))*)?`,
  'gi',
);
/** Pages on which a merchant registers, and manages stores, wallets and keys. */
const account = 'register|sign-?up|log-?in|dashboard|merchants|blockonomics';
const merchantPage = new RegExp(
  `^${slash}(?:(?:${account})|#${slash}?(?:${account}|stores?|wallets?|settings))` +
    String.raw`(?![\w-]|\.\w)(?:(?:${slash}|[#?])(?:[\w=&/#?-]|\\/)*)?`,
  'i',
);
const credit = /^\\?["'][^<>]*>\s*(?:www\.)?blockonomics(?:\.co)?\s*<\\?\/a>/i;
/** `'…/dashboard#/store/' + id` */
const continued = /^["'`]\s*[+.]/;
const shortId = new RegExp(String.raw`^(${quote})\s*[+.]\s*${operand}(?=\s*[),;])`);
const receipt = String.raw`#${slash}search(?![\w.-])(?:\?q=)?`;
/** A receipt link whose host is a value before it, or is in another place. */
const looseReceipt = new RegExp(
  String.raw`(?<=(?<own>[+.~,]\s*${quote}|[}>]|%s|\$[\w>-]{1,60})${slash}|${quote}${slash})${receipt}`,
  'gi',
);
/** Routes of that service which paygate has not, and programs beside them. */
const unserved =
  /^\/api\/(?:(?:merchant_orders?|create_\w+|temp_\w+|monitor_tx)(?!\w)|[\w/.-]+\.(?:m?js|css)(?!\w))/;

const reasons = {
  mail: 'an e-mail address',
  host: 'another host of that service, which paygate does not stand for',
  coin: 'the same for another coin, which paygate does not serve',
  page: 'a page or file of that service, for people',
  prose: 'mentioned in text, a comment or a link',
  loaded: "a customer's browser loads this from that service: remove it, or what needs it",
  computed: 'the host is computed while the plugin runs: change it by hand',
  port: 'the host alone, with the port in another place: write host and port of paygate by hand',
  pattern: 'a pattern that the host must match: change it by hand',
  receipt:
    'a link to the receipt: paygate has it at /api/tx?txid=TXID&addr=ADDRESS; change it by hand',
  route: 'paygate has no such route: remove what needs it',
  reset: 'reset=1 gives the last unpaid address again, so two carts get one: remove it at checkout',
  keyLength: 'the plugin takes API keys of 43 characters only: paygate key show --short prints one',
};
/** Places that a person must look at, wherever they are. */
const marks: readonly (readonly [pattern: RegExp, why: string])[] = [
  [/key\.length\s*[!=]==?\s*43\b/gi, reasons.keyLength],
  [/blockonomics(?:\\{1,2}\.|\[\.\])co(?![a-z0-9-])/gi, reasons.pattern],
  [/(?<![a-z0-9-])(?:[a-z0-9-]{1,63}\.){0,4}testblockonomics\.com(?![a-z0-9-])/gi, reasons.host],
  // 'https://www.blockonomics.' + domain
  [/\/\/(?:[a-z-]{1,20}\.)?blockonomics\.?(?:[{$#<]|["'`]\s*[+.,])/gi, reasons.computed],
  // ['www', 'blockonomics', 'co']
  [/["'`]blockonomics\.?["'`]\s*[+.,]\s*["'`](?:\.?co["'`/]|\.["'`])/gi, reasons.computed],
];
const reset = /(?:\bnew_address\b[^;\n]{0,200}?)?[?&;"']reset=1\b/gi;

interface Spot {
  readonly at: number;
  readonly end: number;
  /** The text that replaces it. */
  readonly after?: string;
  readonly why?: string;
  readonly look?: boolean;
}

/**
 * @param text a file's bytes as latin1
 * @param name the file's name
 */
export function rewriteText(
  text: string,
  name: string,
  target: PluginTarget,
  receipts: ReceiptParts = receiptPartsOf([text]),
): RewriteResult {
  const file = { text, name, target, receipts };
  const spots: Spot[] = [];
  let from = 0;
  for (const match of text.matchAll(mention)) {
    spots.push(...judge(file, match, from));
    from = match.index + match[0].length;
  }
  for (const match of text.matchAll(looseReceipt)) spots.push(...judgeReceipt(file, match));
  for (const [pattern, why] of marks) {
    for (const { index: at, 0: found } of text.matchAll(pattern)) {
      spots.push({ at, end: at + found.length, why, look: !isComment(text, at) });
    }
  }
  for (const { index: at, 0: found } of text.matchAll(reset)) {
    const end = at + found.length;
    if (isCheckout(text, end))
      spots.push({ at, end, why: reasons.reset, look: !isComment(text, at) });
  }
  return apply(
    text,
    spots.toSorted((one, other) => one.at - other.at),
  );
}

interface PluginFile {
  readonly text: string;
  readonly name: string;
  readonly target: PluginTarget;
  readonly receipts: ReceiptParts;
}

/** Whether `reset=1` ends here in a request for an address that is no test of the settings. */
function isCheckout(text: string, end: number): boolean {
  const before = text.slice(Math.max(0, end - 250), end - 'reset=1'.length);
  const isChosen =
    /\bif\b[^;]{0,60}(?:reset|test)/i.test(before) || /\?\s*["'`][?&;]?$/.test(before);
  return !isChosen && /new_?address/i.test(text.slice(Math.max(0, end - 400), end + 200));
}

/**
 * Decides one mention of the service.
 * @param from the end of the mention before this one
 */
function judge(
  file: PluginFile,
  { index, 0: { length }, groups }: RegExpExecArray,
  from: number,
): Spot[] {
  const { text, name, target } = file;
  const { path: written = '' } = groups ?? {};
  const found = lead.exec(text.slice(Math.max(from, index - maxLead), index));
  const { scheme = '', slashes = '', join = '', open = '', ...rest } = found?.groups ?? {};
  const { value = join, sub = '' } = rest;
  const at = index - (found?.[0].length ?? 0);
  const end = index + length;
  const hostEnd = end - written.length;
  const path = written.replaceAll(/\\\/|\\(?:u00|x)2f/gi, '/');
  const before = text.slice(Math.max(0, at - 20), at);
  const left = (why: string, look = false): Spot[] => {
    if (isComment(text, at)) return [{ at, end, why, look: false }];
    const loaded = !look && isLoaded(text, at, name);
    return [{ at, end, why: loaded ? reasons.loaded : why, look: look || loaded }];
  };
  const changed = (until: number, own: string): Spot[] => {
    const kind = /^ws/i.test(scheme) ? 'ws' : 'http';
    const protocol = scheme && `${kind}${target.origin.startsWith('https:') ? 's:' : ':'}`;
    return [{ at, end: until, after: protocol + slashes + join + open + target.host + own }];
  };

  if (slashes === '' && before.endsWith('@')) return left(reasons.mail);
  if (/^(?:bch|ltc)\.$/i.test(sub)) return left(reasons.coin);
  const isBare = /^\/?(?:$|[$#]?\{|\$\w)/.test(path);
  const rootEnd = hostEnd + (path.startsWith('/') ? written.length - path.length + 1 : 0);
  const isReceipt =
    /^\/?#\/search(?:\?|$)/i.test(path) && (path.includes('?') || !isForPeople(text, at, name));
  const isUsed =
    /^\/(?:api|payment)(?![\w.-])/.test(path) ||
    /^ws/i.test(scheme) ||
    isReceipt ||
    (isBare && isValue(text, at, rootEnd, name));
  const other = isBare ? reasons.prose : reasons.page;

  if (scheme === '' && isPiece(before, slashes + sub, path)) {
    const isWhole = isBare && /[%}$)]$/.test(before) && /["'`]/.test(text[end] ?? '');
    return isUsed || isWhole ? left(reasons.computed, true) : left(other);
  }
  const isOwn = (value === '' ? /^(?:www\.|\*\.)?$/i : /^\.?(?:www\.)?$/i).test(sub);
  if (!isOwn) return left(reasons.host, isUsed);
  if (isReceipt) {
    const hash = text.indexOf('#', hostEnd);
    const link = receiptAt(file, hash);
    if (link === undefined) return left(reasons.receipt, true);
    return changed(link.end, text.slice(hostEnd, hash) + link.after);
  }
  if (!isUsed) {
    const link = slashes === '' ? undefined : merchantLink(file, at, hostEnd, written);
    return link === undefined ? left(other) : changed(link.end, link.after);
  }
  if (scheme === '' && target.host.includes(':') && isHostOnly(text, before, end)) {
    return left(reasons.port, true);
  }
  const spots = changed(end, written);
  return unserved.test(path) ? [...spots, ...left(reasons.route, true)] : spots;
}

/** Whether it is the end of a URL that begins in another value. */
const isPiece = (before: string, sub: string, path: string): boolean =>
  sub.startsWith('.') ||
  /(?:[%}$):]|\?>|[+.~]\s*\\?["'`])$/.test(before) ||
  (sub === '' && (path === '' ? /["'`]$/ : /,\s*\\?["'`]$/).test(before));

/** `{ hostname: 'www.blockonomics.co', port: 443 }` */
const isHostOnly = (text: string, before: string, end: number): boolean =>
  /\bhost_?name["']?\s*(?:=>|[:=])\s*["'`]?$/i.test(before) ||
  /^["'`]\s*,\s*["']?port["']?\s*(?:=>|:)/i.test(text.slice(end, end + 40));

interface LinkEdit {
  readonly end: number;
  readonly after: string;
}

/** The Stores page in place of a merchant's page, unless the link is about plugin or service. */
function merchantLink(
  { text, name }: PluginFile,
  at: number,
  start: number,
  path: string,
): LinkEdit | undefined {
  const page = merchantPage.exec(path)?.[0] ?? '';
  const end = start + page.length;
  const behind = text.slice(end, end + maxLead);
  // `by <a href="https://…/merchants">Blockonomics</a>`
  const isCredit = /^\W*merchants\W*$/i.test(page) && credit.test(behind);
  if (page === '' || isCredit || isComment(text, at) || isAboutPlugin(text, at, name)) return;
  const after = page.includes('\\') ? '\\/dashboard\\/stores' : '/dashboard/stores';
  if (!/[/=]$/.test(page) || !continued.test(behind)) return { end, after };
  const [id, closing] = shortId.exec(behind) ?? [];
  return id === undefined ? undefined : { end: end + id.length, after: after + closing };
}

/** The receipt link of paygate in place of `#/search?q=`; undefined unless an address follows. */
function receiptAt({ text, receipts }: PluginFile, hash: number): LinkEdit | undefined {
  const found = new RegExp(`^${receipt}`, 'i').exec(text.slice(hash, hash + 20))?.[0] ?? '';
  const end = hash + found.length;
  const behind = text.slice(end, end + 400);
  const isCut = receipts.hasAddress && /^["'`]/.test(behind);
  const hasAddress = isCut || /^(?:[^;]|&amp;)*?(?:[?&;]|u0026)addr=/i.test(behind);
  if (!found.endsWith('?q=') || !hasAddress) return undefined;
  return { end, after: `api${found.includes('\\') ? '\\/' : '/'}tx?txid=` };
}

function judgeReceipt(file: PluginFile, { index: at, 0: found, groups }: RegExpExecArray): Spot[] {
  const link = receiptAt(file, at);
  if (link !== undefined) return [{ at, ...link }];
  const isOurs =
    (groups?.own !== undefined || !found.includes('?')) &&
    file.receipts.isNamed &&
    !isComment(file.text, at);
  return isOurs ? [{ at, end: at + found.length, why: reasons.receipt, look: true }] : [];
}

function apply(text: string, spots: readonly Spot[]): RewriteResult {
  const changes: MentionChange[] = [];
  const left: LeftMention[] = [];
  const pieces: string[] = [];
  let [copied, counted, line] = [0, 0, 1];
  for (const { at, end, after, why, look = false } of spots) {
    for (; counted < at; counted += 1) if (text[counted] === '\n') line += 1;
    const before = text.slice(at, end);
    if (why !== undefined) left.push({ line, text: before, why, look });
    if (after === undefined || at < copied) continue;
    pieces.push(text.slice(copied, at), after);
    copied = end;
    changes.push({ line, before, after });
  }
  return { text: pieces.join('') + text.slice(copied), changes, left };
}
