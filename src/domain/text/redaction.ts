// Removes secrets from a text of a program that they were sent to. A program may repeat them in
// another encoding, over several lines, or in part: PHP cuts arguments after 15 characters.

import { base64, base64urlnopad, hex } from '@scure/base';

/** As many characters in a row of an unpredictable text are found wherever they stand. */
const runLength = 8;
const uncounted = /[\s\\]/;

/** A query with its names, which are no secrets. Its values are secrets of their own. */
const query = /^[\w.~%[\]-]+=/;

/** `text` with `…` for each secret, in any encoding of it. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  const given = secrets.filter((secret) => secret !== '');
  const forms = given.flatMap((secret) => [...writtenForms(secret), ...encodedForms(secret)]);
  const shown = [...new Set(forms)]
    .sort((one, other) => other.length - one.length)
    .reduce((rest, form) => rest.replaceAll(form, '…'), text);
  const values = given.filter((secret) => !query.test(secret));
  const runs = [...values.flatMap(writtenForms), ...given.flatMap(encodedForms)].flatMap(runsOf);
  return runs.length === 0 ? shown : withoutRuns(shown, new Set(runs));
}

const htmlEntities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#039;',
};

function writtenForms(secret: string): string[] {
  const percent = encodeURIComponent(secret.toWellFormed());
  return [
    secret,
    percent,
    percent.replaceAll('%20', '+'),
    percent.replaceAll('%', '='),
    JSON.stringify(secret).slice(1, -1),
    secret.replaceAll(/[&<>"']/g, (sign) => htmlEntities[sign] ?? sign),
  ];
}

function encodedForms(secret: string): string[] {
  const bytes = new TextEncoder().encode(secret);
  const inHex = hex.encode(bytes);
  return [
    base64.encode(bytes).replace(/=+$/, ''),
    base64urlnopad.encode(bytes),
    inHex,
    inHex.toUpperCase(),
  ];
}

function runsOf(form: string): string[] {
  const { letters } = counted(form);
  const count = Math.max(letters.length - runLength + 1, 0);
  return Array.from({ length: count }, (_, at) => letters.slice(at, at + runLength));
}

/** The characters of a text that count, in small letters, and the place of each. */
function counted(text: string): { readonly letters: string; readonly places: readonly number[] } {
  const places: number[] = [];
  let letters = '';
  for (let place = 0; place < text.length; place += 1) {
    const letter = text.charAt(place);
    if (uncounted.test(letter)) continue;
    const small = letter.toLowerCase();
    letters += small.length === 1 ? small : letter;
    places.push(place);
  }
  return { letters, places };
}

function withoutRuns(text: string, runs: ReadonlySet<string>): string {
  const { letters, places } = counted(text);
  let shown = '';
  /** The end of the text that is shown or left out already. */
  let end = 0;
  for (let at = 0; at + runLength <= letters.length; at += 1) {
    if (!runs.has(letters.slice(at, at + runLength))) continue;
    const from = places[at] ?? 0;
    if (from >= end) shown += `${text.slice(end, from)}…`;
    end = (places[at + runLength - 1] ?? from) + 1;
  }
  return shown + text.slice(end);
}
