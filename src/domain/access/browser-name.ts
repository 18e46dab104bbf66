// A short name of a browser, such as "Firefox on Windows", from the text that it sends.
// Source: RFC 9110 (User-Agent). The text is a claim: anybody may send any text.

/** The first match counts, because browsers repeat the names of their ancestors. */
const browsers: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/\bEdgi?A?(?:OS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|HeadlessChrome|Chromium|CriOS)\//, 'Chrome'],
  [/\bVersion\/\S+ (?:Mobile\/\S+ )?Safari\//, 'Safari'],
];

const systems: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
];

const maxUnknownLength = 40;

/** @param agent the header User-Agent */
export function browserName(agent: string): string {
  const nameIn = (list: typeof browsers) => list.find(([pattern]) => pattern.test(agent))?.[1];
  const browser = nameIn(browsers);
  const system = nameIn(systems);
  if (browser !== undefined) return system === undefined ? browser : `${browser} on ${system}`;
  return agent.slice(0, maxUnknownLength) || 'Unknown browser';
}
