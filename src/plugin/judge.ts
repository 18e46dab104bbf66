// Decides for each mention of the service in a text how it is edited, or why it stays. Pure. A
// mention is the API, the live socket, the receipt link, another page, another host, or a computed
// host.

import { isAboutPlugin, isConstant, isForPeople } from './bare-host.ts';
import { type Edit, type FlatText, hole } from './flat-text.ts';
import {
  type Mention,
  type MentionVerdict,
  maxLead,
  mention,
  type PluginFile,
  reasons,
  slash,
} from './mention.ts';
import { isCredit, merchantPage, storesPathLike } from './merchant-link.ts';
import {
  isReceiptPath,
  looseQuery,
  looseReceipt,
  receiptEdits,
  receiptEnd,
} from './receipt-link.ts';

/** The service that these plugins call; not domains that only begin or end with its name. */
const domain = String.raw`blockonomics\.co(?![a-z0-9-]|\.[a-z0-9])`;
/** The host and what may follow it in a URL, up to the end of the string or tag. */
const mentions = new RegExp(
  String.raw`(?<![a-z0-9-])${domain}(?::\d{1,5})?(?<path>(?:${slash}|[?#])[\w\-.~%!$&*+,;=:@/?#\\[\]{}${hole}]*)?`,
  'gi',
);
/** A host whose end is an inserted value. */
const openHost = new RegExp(
  String.raw`${slash}{2}(?:[\w.${hole}-]{0,100}\.)?blockonomics\.?${hole}`,
  'gi',
);
/** A host whose domain is an inserted value. */
const loneHost = new RegExp(`${slash}{2}(?<sub>[a-z0-9.${hole}-]{0,100}\\.)(?=${hole})`, 'gi');
const subdomain = new RegExp(`[a-z0-9.*${hole}-]*$`, 'i');
const slashes = new RegExp(`${slash}{2}$`, 'i');
const scheme = new RegExp(`(?:(?<![a-z${hole}])(?:https?|wss?)${hole}?|${hole}):?$`, 'i');
/** The index of the dot of the domain. */
export const domainDot = 'blockonomics'.length;

const receiptPath = /#\\?\/search(?![\w.-])/gi;
const isServed = (path: string): boolean => /^\/(?:api|payment)(?![\w.-])/.test(path);
const isSocket = (text: string): boolean => /^ws/i.test(text);
/** A path without escaped slashes. */
const plain = (path: string): string => path.replaceAll(/\\\/|\\(?:u00|x)2f/gi, '/');

/** The parts of one mention. Positions are those in the flat text. */
interface MentionParts {
  readonly start: number;
  readonly scheme: string;
  readonly slashesAt: number;
  readonly slashes: string;
  readonly hostAt: number;
  /** `www.`, or another text before the domain. */
  readonly sub: string;
  /** The end of domain and port. */
  readonly hostEnd: number;
  readonly path: string;
  readonly end: number;
}

function partsOf({ text }: FlatText, match: RegExpExecArray): MentionParts {
  const { index } = match;
  const { path = '' } = match.groups ?? {};
  const lead = (pattern: RegExp, to: number): string =>
    pattern.exec(text.slice(Math.max(0, to - maxLead), to))?.[0] ?? '';
  const found = lead(subdomain, index);
  // The end of an escaped slash: `\\u002fwww.`
  const isEscape = text[index - found.length - 1] === '\\';
  const sub = isEscape ? found.replace(/^(?:u00|x)2f/i, '') : found;
  const hostAt = index - sub.length;
  const slashed = lead(slashes, hostAt);
  const slashesAt = hostAt - slashed.length;
  const schemed = slashed === '' ? '' : lead(scheme, slashesAt);
  const end = index + match[0].length;
  const start = slashesAt - schemed.length;
  return {
    start,
    scheme: schemed,
    slashesAt,
    slashes: slashed,
    hostAt,
    sub,
    hostEnd: end - path.length,
    path,
    end,
  };
}

/**
 * Finds and decides the mentions in a text. New positions are added to `claimed`, the decided ones.
 * @param only the position of one mention, for a text that is no expression
 */
export function judge(
  flat: FlatText,
  file: PluginFile,
  claimed: Set<number>,
  only?: number,
): Mention[] {
  const found: Mention[] = [];
  const claim = (at: number): boolean => {
    const place = flat.sourceAt(at);
    if (at < flat.from || at >= flat.to || claimed.has(place)) return false;
    if (only !== undefined && place !== only) return false;
    claimed.add(place);
    return true;
  };
  for (const match of flat.text.matchAll(mentions)) {
    if (!claim(match.index + domainDot)) continue;
    const parts = partsOf(flat, match);
    const hash = parts.path.indexOf('#');
    if (hash !== -1) claimed.add(flat.sourceAt(parts.hostEnd + hash));
    const judged = new MentionJudge(flat, file, parts, only === undefined);
    found.push(mention(flat, file, parts.start, parts.end, judged.verdict()));
    const { around } = judged;
    if (around !== undefined)
      found.push({ ...around, at: around.start, verdict: { edits: [around] } });
  }
  for (const { index } of flat.text.matchAll(receiptPath)) {
    const verdict = claim(index) ? looseReceipt(flat, file, index) : undefined;
    if (verdict !== undefined) {
      found.push(mention(flat, file, index, receiptEnd(flat, index), verdict));
    }
  }
  return only === undefined
    ? [...found, ...openHosts(flat, file), ...looseHosts(flat, file), ...looseQuery(flat, file)]
    : found;
}

function openHosts(flat: FlatText, file: PluginFile): Mention[] {
  return Array.from(flat.text.matchAll(openHost))
    .filter(({ index, 0: { length } }) => index + length > flat.from && index < flat.to)
    .map(({ index, 0: { length } }) =>
      mention(flat, file, index, index + length, { why: reasons.computed, look: true }),
    );
}

/** `'https://www.' + domain`: if `domain` is the bare domain, it becomes paygate's whole host. */
function looseHosts(flat: FlatText, file: PluginFile): Mention[] {
  return Array.from(flat.text.matchAll(loneHost)).flatMap((match) => {
    const { index, 0: text, groups } = match;
    const [at, end] = [index + text.length - (groups?.sub?.length ?? 0), index + text.length];
    const part = end < flat.to ? flat.within(end, end + 1)[0]?.part : undefined;
    const name = part && /(\w+)\}*$/.exec(file.text.slice(part.start, part.end))?.[1];
    const isDomain = /["'`]blockonomics\.co["'`]/i.test((name && file.valuesOf(name)) ?? '');
    const edits = isDomain ? flat.edit(at, end, '') : undefined;
    return edits === undefined ? [] : [mention(flat, file, at, end, { edits })];
  });
}

const isHostname = /\bhost_?name["']?\s*(?:=>|[:=])\s*["'`]?$/i;
const isBeforePort = /^["'`]\s*,\s*["']?port["']?\s*(?:=>|:)/i;

class MentionJudge {
  private readonly flat: FlatText;
  private readonly file: PluginFile;
  private readonly parts: MentionParts;
  private readonly isExpression: boolean;
  /** An edit of the scheme, which is in the expression around this one. */
  around: Edit | undefined;

  constructor(flat: FlatText, file: PluginFile, parts: MentionParts, isExpression: boolean) {
    this.flat = flat;
    this.file = file;
    this.parts = parts;
    this.isExpression = isExpression;
  }

  verdict(): MentionVerdict {
    const { flat, parts } = this;
    const { sub, slashes: slashed, start } = parts;
    const before = flat.text[start - 1] ?? '';
    if (slashed === '' && before === '@' && !sub.includes(hole)) return { why: reasons.mail };
    const path = plain(parts.path);
    const isReceipt =
      isReceiptPath(path) && (path.includes('?') || (parts.end === flat.to && !this.isLink()));
    const isUsed = isServed(path) || isReceipt || isSocket(parts.scheme);
    const isBare = path === '' || path === '/';
    const isValue = isUsed || (isBare && this.isConstant()) || this.isBase(path);
    if (/^(?:bch|ltc)\.$/i.test(sub)) return { why: reasons.coin };
    if (isUnclear(sub, slashed) || (slashed === '' && before === '%')) {
      return this.unclear(isValue, path, isBare ? reasons.prose : reasons.page);
    }
    const isOwn = /^(?:www\.|\*\.)?$/i.test(sub) || sub.includes(hole);
    if (!isOwn) return { why: reasons.host, look: isValue };
    const page = isValue ? undefined : this.merchantPage();
    if (page !== undefined) return this.merchantLink(page);
    if (!isValue) return { why: isBare ? reasons.prose : reasons.page };
    if (isBare && this.wantsBareHost()) return { why: reasons.port, look: true };
    return this.changed(path, isReceipt);
  }

  /** The merchants' page that it leads to, unless it describes the plugin or the service. */
  private merchantPage(): string | undefined {
    const { flat, file, parts } = this;
    const page = merchantPage(parts.path);
    if (page === undefined) return undefined;
    const start = flat.sourceAt(Math.max(flat.from, parts.start));
    const end = flat.sourceBehind(Math.min(parts.end, flat.to) - 1);
    const before = file.text.slice(Math.max(0, start - maxLead), start);
    const isAbout =
      file.isComment(start) ||
      isAboutPlugin(before, file.name) ||
      isCredit(page, file.text.slice(end, end + maxLead));
    return isAbout ? undefined : page;
  }

  private merchantLink(page: string): MentionVerdict {
    const { flat, parts } = this;
    const path = flat.edit(parts.hostEnd, parts.hostEnd + page.length, storesPathLike(page));
    const host = this.changed('', false);
    const isPossible = path !== undefined && 'edits' in host;
    return isPossible ? { edits: [...host.edits, ...path] } : { why: reasons.page };
  }

  /** Whether the plugin wants a host without a port, but paygate's host has one. */
  private wantsBareHost(): boolean {
    const { flat, file, parts } = this;
    if (parts.slashes !== '' || !file.target.host.includes(':')) return false;
    const start = flat.sourceAt(Math.max(flat.from, parts.start));
    const end = flat.sourceAt(parts.end - 1) + 1;
    const before = file.text.slice(Math.max(0, start - maxLead), start);
    return isHostname.test(before) || isBeforePort.test(file.text.slice(end, end + maxLead));
  }

  /** A host that begins with a value, or with a dot. */
  private unclear(isValue: boolean, path: string, why: string): MentionVerdict {
    const { sub, hostAt } = this.parts;
    if (!isValue) return { why };
    const behind = sub.replace(new RegExp(`^${hole}+`), '');
    const values = Array.from(sub.slice(0, sub.length - behind.length), (_, at) =>
      this.sourceOf(hostAt + at),
    );
    // If a value contains the scheme, the text between it and the domain is replaced too.
    const at = values.findLastIndex(hasScheme);
    const protocol = this.protocol(path) ?? this.secured(protocolIn(values[at] ?? ''));
    const isReceipt = isReceiptPath(path);
    if (at !== -1 && protocol !== undefined) {
      return this.changed(path, isReceipt, hostAt + at, `${protocol}//`);
    }
    if (/^www\.$/i.test(behind)) return this.changed(path, isReceipt, hostAt + values.length);
    const [first = ''] = values;
    if (values.length === 1 && isLabel(first)) return this.changed(path, isReceipt);
    return { why: reasons.computed, look: true };
  }

  /** The source of a value; for a variable, the values assigned to it. */
  private sourceOf(at: number): string {
    const { text } = this.file;
    const part = this.flat.within(at, at + 1)[0]?.part;
    if (part === undefined) return '';
    const source = text.slice(part.start, Math.min(part.end, part.start + maxLead));
    const name = /^[{$#]*(?:[\w$]+(?:\.|->|::))*\$?(\w+)\}*$/.exec(source)?.[1];
    return (name === undefined ? undefined : this.file.valuesOf(name)) ?? source;
  }

  /** Whether it is the value of something for people, such as `href`. */
  private isLink(): boolean {
    const { flat, file, parts } = this;
    const start = flat.sourceAt(Math.max(flat.from, parts.start));
    return isForPeople(file.text.slice(Math.max(0, start - maxLead), start - 1), file.name);
  }

  private isConstant(): boolean {
    const { flat, file, parts } = this;
    const start = flat.sourceAt(Math.max(flat.from, parts.start));
    const end = flat.sourceAt(parts.end - 1) + 1;
    const isWhole = this.isExpression && flat.from === parts.start && flat.to === parts.end;
    const { text, name } = file;
    if (!this.isExpression && file.isComment(start)) return false;
    if (isWhole)
      return !isForPeople(text.slice(Math.max(0, flat.start - maxLead), flat.start), name);
    return isConstant({ text, name, start, end });
  }

  /** Whether an inserted path follows in the same string. */
  private isBase(path: string): boolean {
    const { flat, file, parts } = this;
    if (!new RegExp(`^/?${hole}`).test(path) && !(path === '' && flat.text[parts.end] === hole))
      return false;
    const start = flat.sourceAt(parts.start);
    if (!/["'`]/.test(file.text[start - 1] ?? '')) return false;
    return !isForPeople(file.text.slice(Math.max(0, start - maxLead), start - 1), file.name);
  }

  /** @param hasLostScheme the value before the host holds the scheme too, and goes with it */
  private changed(
    path: string,
    isReceipt: boolean,
    hostAt = this.parts.hostAt,
    own = '',
  ): MentionVerdict {
    const { flat, file, parts } = this;
    const protocol = this.protocol(path);
    const edits = [
      this.schemeEdits(protocol),
      flat.edit(hostAt, parts.hostEnd, own + file.target.host),
      isReceipt ? receiptEdits(flat, file, parts.hostEnd + parts.path.indexOf('#')) : [],
    ];
    if (edits[0] === undefined || edits[1] === undefined)
      return { why: reasons.computed, look: true };
    if (file.replacesFormats && edits.some((each) => each?.some(({ text }) => /\.0/.test(text)))) {
      return { why: reasons.computed, look: true };
    }
    if (edits[2] === undefined) return { why: reasons.receipt, look: true };
    return { edits: edits.flatMap((each) => each ?? []) };
  }

  /** `wss:`, `https:`, or undefined if only the running plugin knows. */
  private protocol(path: string): string | undefined {
    const { scheme: written } = this.parts;
    const own = isSocket(written) ? 'ws' : /^http/i.test(written) ? 'http' : undefined;
    if (own !== undefined) return this.secured(own);
    if (/^\/payment/.test(path)) return this.secured('ws');
    return this.secured(isServed(path) || isReceiptPath(path) ? 'http' : undefined);
  }

  private secured(protocol: string | undefined): string | undefined {
    const isSecure = this.file.target.origin.startsWith('https:');
    return protocol && `${protocol}${isSecure ? 's:' : ':'}`;
  }

  private schemeEdits(protocol: string | undefined): Edit[] | undefined {
    const { flat, parts } = this;
    const { scheme: written, start, slashesAt, hostAt } = parts;
    if (written === '' || written === protocol || protocol === undefined) return [];
    if (!written.includes(hole)) {
      this.around = flat.editContext(start, slashesAt, protocol);
      return this.around === undefined ? flat.edit(start, slashesAt, protocol) : [];
    }
    const isScheme = written.endsWith(':') || hasScheme(this.sourceOf(start));
    return isScheme ? flat.edit(start, hostAt, protocol + parts.slashes) : [];
  }
}

/** Without the slashes of a URL, an inserted value before the domain may be anything. */
const isUnclear = (sub: string, slashed: string): boolean =>
  slashed === '' && (sub.startsWith('.') || sub.includes(hole));
const hasScheme = (source: string): boolean =>
  /(?:https?|wss?):|:\/\/|scheme|proto/i.test(source) && !/<[a-z/]/i.test(source);
/** The scheme in a source text, if there is exactly one. */
function protocolIn(source: string): string | undefined {
  const found = new Set(Array.from(source.matchAll(/\b(http|ws)s?:/gi), ([, name = '']) => name));
  return found.size === 1 ? [...found][0]?.toLowerCase() : undefined;
}
/** `'www'`, `c == 'btc' ? 'www.' : c` */
const isLabel = (source: string): boolean =>
  /["'`](?:www|bch)\.?["'`]/i.test(source) && !source.includes('/');
