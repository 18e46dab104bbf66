// Decides whether the bare host of the service is a value for a program, or a link or text for
// people. Pure.

export interface HostPlace {
  readonly text: string;
  /** The name of the file. */
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

/** Files that describe a plugin and its author. */
const manifest =
  /(?:^|\/)(?:(?:package(?:-lock)?|composer|install|manifest|info|module|plugin|bower|block|whmcs|addon|extension|setup|pyproject|cargo|pubspec)\.(?:json|xml|ya?ml|toml|py|cfg)|[^/]+\.(?:info(?:\.ya?ml)?|gemspec))$/i;
const forPeopleName =
  'link|web_?site|web|home_?page\\w*|author\\w*|vendor\\w*|provider\\w*|developer\\w*|maintainer\\w*|contributor\\w*|creator|company\\w*|copyright|licen[cs]e\\w*|support\\w*|help\\w*|docs?(?:_?ur[li])?|documentation\\w*|manual|bugs?(?:_?ur[li])?|issues?|forum|wiki|source|repository|funding|contact\\w*|e?mail|name|title|description|plugin_?ur[li]|project_?ur[li]s?|module_?ur[li]|demo\\w*|readme|keywords|icon\\w*|logo\\w*';
/** Names whose values lead people to a page, before the quote of the value. */
const peopleKey = new RegExp(String.raw`["'](?:${forPeopleName})["']\s*(?:=>|:)\s*$`, 'i');
const peopleElement = new RegExp(String.raw`<(?:\w+:)?(?:${forPeopleName})(?:\s[^<>]*)?>$`, 'i');
/** In settings, which programs read, a plain `url` is not for people. */
const peopleSetting =
  /(?:^|[-_.])(?:link|web_?site|home_?page|author|vendor|company|support|help|docs?|documentation|contact|e?mail|name|title|description)(?:[-_.]?(?:ur[li]|link))?$/i;
/** Names whose values a program connects to. */
const machineName =
  /api|base|host|server|socket|(?<![a-z])wss?(?![a-z])|endpoint|domain|origin|gateway|blockonomics_?ur[li]/i;
/** The same in code, where a plain `url` may be for programs or for people. */
const peopleVariable =
  /\b_{0,2}(?:href|src|homepage\w*|author\w*|website|(?:plugin|author|theme|module)[\s_]?ur[li]|support_?ur[li]|docs?_?ur[li]|documentation\w*)["']?\s*[=:>]+\s*$/i;
/** Names that describe the plugin or its author, before a value. */
const aboutName =
  /\b_{0,2}(?:homepage\w*|author\w*|web_?site\w*|(?:plugin|author|theme|module)[\s_]?ur[li])["']?\s*[=:>]+\s*["'`]?$/i;
const settings =
  /(?:^|\/)(?:\.env(?:\.[\w.-]+)?|[^/]+\.(?:env|ini|conf|cfg|properties|ya?ml|neon|toml|sh|bash)|(?:[^/]+\.)?Dockerfile|Makefile)$/i;
const policy = /\b(?:connect|default|frame|child|script|img)-src\b[^;<>\n]*$/i;
const maxLine = 300;

/**
 * Whether it is a whole string of code, content of an XML element, or value of a setting. False if
 * its name is for people.
 */
export function isConstant({ text, start, end, name }: HostPlace): boolean {
  const before = text.slice(Math.max(0, start - maxLine), start);
  if (policy.test(before)) return true;
  const [previous = '', next = ''] = [text[start - 1], text[end]];
  if (/\.(?:xml|xsd|config|plist)$/i.test(name) && /[>[]/.test(previous) && /[<\]]/.test(next)) {
    return isElement(before, name);
  }
  if (/["'`]/.test(previous) && next === previous) return !isForPeople(before.slice(0, -1), name);
  return settings.test(name) && isSetting(before, text.slice(end, end + maxLine), name);
}

/** @param before the text before the quote of a string */
export function isForPeople(before: string, name: string): boolean {
  const line = before.slice(before.lastIndexOf('\n') + 1);
  if (peopleVariable.test(before)) return true;
  if (manifest.test(name)) return !machineName.test(keyOf(line));
  return /\.(?:json|xml|ya?ml|toml)$/i.test(name)
    ? peopleKey.test(before)
    : /["']link["']\s*(?:=>|:)\s*$/i.test(before);
}

/** Whether the value behind this text describes the plugin or its author. */
export const isAboutPlugin = (before: string, name: string): boolean =>
  manifest.test(name) || aboutName.test(before);

/** The last name before a value. */
const keyOf = (line: string): string => /([\w.-]+)["']?\s*(?:=>|[=:])\s*$/.exec(line)?.[1] ?? '';

function isElement(before: string, name: string): boolean {
  const element = before.replace(/<!\[CDATA\[$/, '');
  if (!/<[\w:.-]+(?:\s[^<>]*)?>$/.test(element)) return false;
  if (manifest.test(name)) return machineName.test(/<([\w:.-]+)[^<>]*>$/.exec(element)?.[1] ?? '');
  return !peopleElement.test(element);
}

/** `KEY=https://…` on a line of its own, without quotes. */
function isSetting(before: string, after: string, name: string): boolean {
  const line = before.slice(before.lastIndexOf('\n') + 1);
  const [, own] = /^\s*(?:(?:export|ENV|ARG|-)\s+)?([\w.-]+)\s*[=:]\s*$/.exec(line) ?? [];
  const [, ofList] =
    /([\w.-]+):[ \t]*(?:\r?\n[ \t]*-[^\n]*)*?\r?\n[ \t]*-[ \t]+$/.exec(before) ?? [];
  // `proxy_pass https://…;`
  const [, directive] = (after.startsWith(';') && /^\s*([\w-]+)\s[^#]*$/.exec(line)) || [];
  const key = own ?? ofList ?? directive;
  if (key === undefined || !/^[ \t]*(?:[#;\r\n]|$)/.test(after)) return false;
  if (machineName.test(key)) return true;
  return !manifest.test(name) && !peopleSetting.test(key);
}
