// What the source around a URL does with it. It may be a comment, a link for people, a value for a
// program, or a script that a browser loads. Pure. It reads a few hundred characters.

const maxLine = 300;
const before = (text: string, at: number): string => text.slice(Math.max(0, at - maxLine), at);

const manifest =
  /(?:^|\/)(?:(?:package(?:-lock)?|composer|install|manifest|info|module|plugin|bower|block|whmcs|addon|extension|setup|pyproject|cargo|pubspec)\.(?:json|xml|ya?ml|toml|py|cfg)|[^/]+\.(?:info(?:\.ya?ml)?|gemspec))$/i;
const data = /\.(?:json|xml|xsd|config|plist)$/i;
const settings =
  /(?:^|\/)(?:\.env(?:\.[\w.-]+)?|[^/]+\.(?:env|ini|conf|cfg|properties|ya?ml|neon|toml|sh|bash)|(?:[^/]+\.)?Dockerfile|Makefile)$/i;

const about = String.raw`home_?page\w*|author\w*|web_?site\w*|(?:plugin|author|theme|module)[\s_]?ur[li]`;
const people = `href|src|["']link|(?:support|docs?|documentation)_?ur[li]|${about}`;
const peopleInData = String.raw`link|web|vendor\w*|company\w*|copyright|licen[cs]e\w*|support\w*|help\w*|docs?\w*|manual|bugs?|issues?|forum|wiki|source|repository|contact\w*|e?mail|name|title|description|keywords|icon|logo|${people}`;
const machine = String.raw`\w{0,30}(?:api|base|host|server|socket|wss?|endpoint|domain|origin|gateway)\w{0,30}|blockonomics_?ur[li]`;
/** A name that assigns the value behind it: `name: "`, `'name' => '`, `<name id="">`. */
const named = (names: string): RegExp =>
  new RegExp(
    String.raw`(?<![a-z])(?:${names})(?:["']?\]?\s*(?:=>|[=:])+\s*|(?:\s[^<>]{0,100})?>)` +
      String.raw`(?:<!\[CDATA\[)?\\?["'\x60]?$`,
    'i',
  );
const [aboutName, peopleName, dataName] = [named(about), named(people), named(peopleInData)];
const machineName = named(machine);

const policy = /\b(?:connect|default|frame|child|script|img)-src\b[^;<>\n]*$/i;
/** An attribute, a variable, a call or a statement by which a browser loads what follows. */
const loads = new RegExp(
  [
    String.raw`(?:^|[\s"'.[:])(?:data-)?(?:src|srcset|poster|action)["'\]]?\s*(?:=>?|[:,])\s*\{?\\?["'\x60]{0,2}$`,
    String.raw`<link\b[^<>]*$`,
    String.raw`\b\w{0,30}(?:register|enqueue|add|load|get|import|inject)\w{0,20}(?:script|style|js|css)\w{0,10}\s?\([^;]*$`,
    String.raw`\bimport\b[^;()]{0,100}\(?\s?["'\x60]$`,
    String.raw`\burl\(["']?$`,
  ].join('|'),
  'i',
);
/** A script or a style sheet as a whole string: other code loads it. */
const program = /^[^\s"'`<>]*\.(?:m?js|css)(?:\?[^\s"'`<>]*)?\\?["'`]/i;
const comment = /^\s*\*(?!\/)|(?:^|[\s;{}>])(?:\/\/|#(?![\w[])|\/\*|<!--)(?:(?!\*\/|-->).)*$/;

/** Whether a comment begins before it in its row, and does not end. */
export const isComment = (text: string, at: number): boolean =>
  comment.test(before(text, at).split('\n').at(-1) ?? '');

/** Whether the value at a position describes the plugin or its author. */
export const isAboutPlugin = (text: string, at: number, name: string): boolean =>
  manifest.test(name) || aboutName.test(before(text, at));

export function isForPeople(text: string, at: number, name: string): boolean {
  if (manifest.test(name)) return !machineName.test(before(text, at));
  const names = data.test(name) || settings.test(name) ? dataName : peopleName;
  return names.test(before(text, at));
}

/** Whether it is a whole string, the content of an XML element or a setting, for a program. */
export function isValue(text: string, at: number, end: number, name: string): boolean {
  const [own, after] = [before(text, at), text.slice(end, end + maxLine)];
  if (policy.test(own)) return true;
  if (isComment(text, at) || isForPeople(text, at, name)) return false;
  const quote = /["'`]$/.exec(own)?.[0];
  if (quote !== undefined) return after.replace(/^\\/, '').startsWith(quote) || isInserted(after);
  if (data.test(name)) return /[>[]$/.test(own) && /^[<\]]/.test(after);
  const isAssigned = /(?:^|\n)[ \t]*[\w. :=-]+$/.test(own) && /^[ \t]*(?:[#;\r\n]|$)/.test(after);
  return settings.test(name) && isAssigned;
}

/** Whether a value is inserted here in a string: `{$path}`, `${path}`, `$path`, `<?= $path ?>`. */
const isInserted = (text: string): boolean => /^(?:[$#]?\{|\$\w|<\?)/.test(text);

/** Whether a browser loads or runs what is at this position. */
export function isLoaded(text: string, at: number, name: string): boolean {
  const own = before(text, at);
  if (loads.test(own)) return true;
  const isString = /["'`]$/.test(own) && program.test(text.slice(at, at + maxLine));
  return isString && !isForPeople(text, at, name);
}
