// Rewrites one file of a shop plugin so that it talks to this paygate: API and live socket, in every
// way in which such plugins write the host. Pure. It changes nothing but that host, and says of every
// other mention why it was left: a page for people, an e-mail address, another host. Text is taken
// byte by byte (latin1), so that no encoding is harmed; all that is put in is ASCII.

import { PaygateError } from '../errors.ts';

/** Where the plugin shall find paygate. */
export interface Target {
  /** `https://pay.example.com` */
  readonly origin: string;
  /** `pay.example.com`, with the port where it has one. */
  readonly host: string;
}

export interface Change {
  /** From 1. */
  readonly line: number;
  readonly before: string;
  readonly after: string;
}

export interface Left {
  /** From 1. */
  readonly line: number;
  readonly text: string;
  readonly why: string;
  /** The plugin may not work before a person has looked at it. */
  readonly look: boolean;
}

export interface Rewritten {
  readonly text: string;
  readonly changes: readonly Change[];
  readonly left: readonly Left[];
}

/** @throws PaygateError invalid unless it is the bare origin of an HTTP server */
export function parseTarget(text: string): Target {
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

/** The service that these plugins were written for; domains that only begin or end alike are not it. */
const domain = String.raw`blockonomics\.co(?![a-z0-9-]|\.[a-z0-9])`;
const scheme = '(?:https?|wss?):';
const slashes = String.raw`(?:\\?\/){2}`;
/** What may follow a host in a URL; it ends where a string or a tag does. */
const rest = String.raw`(?::\d{1,5})?(?:\\?[/?#][\w\-.~%!$&*+,;=:@/?#\\[\]{}]*)?`;

const written = new RegExp(`(?<![a-z0-9-])${domain}(?<rest>${rest})`, 'gi');
/** What stands before it: `https://www.`, `//bch.`, `wss:\/\/`. */
const lead = new RegExp(
  String.raw`(?<scheme>(?<![a-z])${scheme})?(?<slashes>${slashes})?(?<sub>(?:[a-z0-9-]+\.)*)$`,
  'i',
);
/** A host has at most 253 characters. So bounded, a hostile file costs no more than its length. */
const longestLead = 300;

/** A value that is put between the parts of a URL: a name, a call, a choice in brackets. */
const value = String.raw`(?:\((?:[^()\n]|\([^()\n]{0,100}\)){1,200}\)|[$\w][\w.$>[\]-]{0,80})`;

/** `"wss://" + subdomain + ".blockonomics.co/payment/"`, also in the manner of PHP. */
const joined = new RegExp(
  String.raw`(?<scheme>${scheme})(?<slashes>${slashes})(?<join>["'\x60]\s*[+.]\s*)${value}\s*[+.]\s*(?<quote>["'\x60])\.${domain}(?<rest>${rest})`,
  'gi',
);

/** `wss://${subdomain}.blockonomics.co/payment/` inside a template. */
const filledIn = new RegExp(
  String.raw`(?<scheme>${scheme})(?<slashes>${slashes})\$?\{[^{}\n]{1,200}\}\.${domain}(?<rest>${rest})`,
  'gi',
);

const reasons = {
  mail: 'an e-mail address',
  host: 'another host of that service, which paygate does not stand for',
  coin: 'the same for another coin, which paygate does not serve',
  page: 'a page or file of that service, for people',
  prose: 'mentioned in text, a comment or a link',
  computed: 'the host is put together while the plugin runs: change it by hand',
  keyLength: 'the plugin takes API keys of 43 characters only: paygate key show --short prints one',
};

/** A test that older plugins make before they save a key. */
const keyLength = /key\.length\s*[!=]==?\s*43\b/gi;

interface Parts {
  readonly scheme?: string | undefined;
  readonly slashes?: string | undefined;
  /** `www.`, or what else stands before the domain. */
  readonly sub?: string | undefined;
  readonly rest: string;
}

type Verdict = { readonly after: string } | { readonly why: string; readonly look?: boolean };

/** One mention: where it stands and what becomes of it. */
interface Mention {
  readonly at: number;
  readonly before: string;
  readonly verdict: Verdict;
}

/**
 * @param text a file's bytes as latin1
 * @param name the file's name, whose extension says how to read it
 */
export function rewriteText(text: string, name: string, target: Target): Rewritten {
  const mentions = [
    ...find(joined, text, ({ groups }) => computedVerdict(groups, target)),
    ...find(filledIn, text, ({ groups }) => computedVerdict(groups, target)),
    ...find(keyLength, text, () => ({ why: reasons.keyLength, look: true })),
    ...Array.from(text.matchAll(written), (match) => writtenMention(match, text, name, target)),
  ].sort((one, other) => one.at - other.at);
  return apply(text, withoutOverlaps(mentions));
}

const find = (
  pattern: RegExp,
  text: string,
  judge: (match: RegExpExecArray) => Verdict,
): Mention[] =>
  Array.from(text.matchAll(pattern), (match) => ({
    at: match.index,
    before: match[0],
    verdict: judge(match),
  }));

function writtenMention(
  match: RegExpExecArray,
  text: string,
  name: string,
  target: Target,
): Mention {
  const before = text.slice(Math.max(0, match.index - longestLead), match.index);
  const { groups = {}, 0: found = '' } = lead.exec(before) ?? {};
  const at = match.index - found.length;
  const place = { text, name, start: at, end: match.index + match[0].length };
  const parts = { ...groups, rest: match.groups?.rest ?? '' };
  return { at, before: found + match[0], verdict: writtenVerdict(parts, place, target) };
}

/** Of two mentions that overlap, the one that begins earlier has understood more. */
function withoutOverlaps(mentions: readonly Mention[]): Mention[] {
  let end = 0;
  return mentions.filter(({ at, before }) => {
    if (at < end) return false;
    end = at + before.length;
    return true;
  });
}

function apply(text: string, mentions: readonly Mention[]): Rewritten {
  const changes: Change[] = [];
  const left: Left[] = [];
  const pieces: string[] = [];
  let [copied, counted, line] = [0, 0, 1];
  for (const { at, before, verdict } of mentions) {
    for (; counted < at; counted += 1) if (text[counted] === '\n') line += 1;
    if ('why' in verdict) {
      left.push({ line, text: before, why: verdict.why, look: verdict.look ?? false });
      continue;
    }
    pieces.push(text.slice(copied, at), verdict.after);
    copied = at + before.length;
    changes.push({ line, before, after: verdict.after });
  }
  return { text: pieces.join('') + text.slice(copied), changes, left };
}

interface Place {
  readonly text: string;
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

/** A path without escaped slashes. */
const plain = (path: string): string => path.replaceAll('\\/', '/');
const isServed = (path: string): boolean => /^\/(api|payment)(?![\w.-])/.test(plain(path));
const isSocket = (text = ''): boolean => /^ws/i.test(text);

/** The same URL at paygate, its slashes written in the same way. */
function urlOf({ scheme = '', slashes = '', rest }: Parts, { origin, host }: Target): string {
  const secure = origin.startsWith('https:') ? 's:' : ':';
  const own = scheme === '' ? '' : `${isSocket(scheme) ? 'ws' : 'http'}${secure}`;
  return `${own}${slashes}${host}${rest.replace(/^:\d+/, '')}`;
}

/** Of a host whose first part is put in while the plugin runs: that part is left out. */
function computedVerdict(groups: Record<string, string> | undefined, target: Target): Verdict {
  const { scheme, slashes, rest = '', join = '', quote = '' } = groups ?? {};
  if (!isServed(rest)) return { why: reasons.page };
  return { after: urlOf({ scheme, slashes: `${slashes}${join}${quote}`, rest }, target) };
}

function writtenVerdict(parts: Parts, place: Place, target: Target): Verdict {
  const { scheme, slashes = '', sub = '' } = parts;
  const path = parts.rest.replace(/^:\d+/, '');
  if (slashes === '' && place.text[place.start - 1] === '@') return { why: reasons.mail };
  const isUsed = isServed(path) || isSocket(scheme);
  if (slashes === '' && continuesAHost(place)) {
    return isUsed ? { why: reasons.computed, look: true } : { why: reasons.prose };
  }
  const isBare = plain(path).replace(/\/$/, '') === '';
  const isValue = isUsed || (isBare && isConstant(place));
  if (/^bch\.$/i.test(sub)) return { why: reasons.coin };
  if (!/^(www\.)?$/i.test(sub)) return { why: reasons.host, look: isValue };
  if (isValue) return { after: urlOf(parts, target) };
  return { why: isBare ? reasons.prose : reasons.page };
}

/** Whether a first part of the host is put before it, in a way that was not understood. */
function continuesAHost({ text, start }: Place): boolean {
  return /(?:[.}]|[+.]\s*["'`])$/.test(text.slice(Math.max(0, start - 20), start));
}

/** Attributes and names of settings that lead people to a page, before the quote of their value. */
const forPeople = /\b(?:href|src|homepage|author\w*)["']?\s*[=:>]+\s*$/i;
/** What a manifest (package.json, composer.json) has. */
const inManifest = /"(?:url|homepage|name|authors?|email|support|docs|source|bugs)"\s*:\s*$/i;

/**
 * Whether the bare host is a value that a program reads, and not text or a link: a whole string of
 * code, or the whole content of an XML element.
 */
function isConstant({ text, start, end, name }: Place): boolean {
  const [previous = '', next = ''] = [text[start - 1], text[end]];
  if (/\.xml$/i.test(name) && previous === '>' && next === '<') return true;
  if (!/["'`]/.test(previous) || next !== previous) return false;
  const before = text.slice(Math.max(0, start - 40), start - 1);
  return !forPeople.test(before) && !(/\.json$/i.test(name) && inManifest.test(before));
}
