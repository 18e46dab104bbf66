// A mention of the service, its verdict, and the properties of its file. Pure.

import type { Edit, FlatText } from './flat-text.ts';

/** The paygate that the plugin shall call. */
export interface PluginTarget {
  /** `https://pay.example.com` */
  readonly origin: string;
  /** `pay.example.com`, with the port where it has one. */
  readonly host: string;
}

export interface Mention {
  readonly at: number;
  readonly end: number;
  /** For a mention that stays: the end of the text that the report shows. */
  readonly shownTo?: number;
  readonly verdict: MentionVerdict;
}

export type MentionVerdict =
  | { readonly edits: readonly Edit[] }
  | { readonly why: string; readonly look?: boolean };

/** Parts of receipt links that occur anywhere in the archive. */
export interface ReceiptParts {
  /** `&addr=` */
  readonly hasAddress: boolean;
  /** `/#/search` without its query. */
  readonly hasPath: boolean;
  /** `?q=` at the beginning of a string. */
  readonly hasQuery: boolean;
  /** The domain of the service occurs. */
  readonly isNamed: boolean;
}

export interface PluginFile {
  readonly text: string;
  readonly name: string;
  readonly target: PluginTarget;
  readonly receipts: ReceiptParts;
  /** Whether a position is in a comment, which needs no change by hand. */
  readonly isComment: (at: number) => boolean;
  /** The file may fill formats by replacing text, not by a format function. */
  readonly replacesFormats: boolean;
  /** The source of the values that a variable is set to. */
  readonly valuesOf: (name: string) => string | undefined;
}

export const reasons = {
  mail: 'an e-mail address',
  host: 'another host of that service, which paygate does not stand for',
  coin: 'the same for another coin, which paygate does not serve',
  page: 'a page or file of that service, for people',
  prose: 'mentioned in text, a comment or a link',
  computed: 'the host is computed while the plugin runs: change it by hand',
  port: 'the host alone, with the port in another place: write host and port of paygate by hand',
  pattern: 'a pattern that the host must match: change it by hand',
  receipt:
    'a link to the receipt: paygate has it at /api/tx?txid=TXID&addr=ADDRESS; change it by hand',
  keyLength: 'the plugin takes API keys of 43 characters only: paygate key show --short prints one',
};

/** A slash of a URL, as it is or escaped. */
export const slash = String.raw`(?:\\?\/|\\(?:u00|x)2f)`;

/** A host has at most 253 characters. This limit bounds the cost of a hostile file. */
export const maxLead = 300;

export function mention(
  flat: FlatText,
  file: PluginFile,
  from: number,
  to: number,
  given: MentionVerdict,
): Mention {
  const own = Math.max(from, flat.from);
  const start = flat.sourceAt(own);
  if ('edits' in given) {
    const at = given.edits.reduce((min, edit) => Math.min(min, edit.start), start);
    const end = given.edits.reduce((max, edit) => Math.max(max, edit.end), start);
    return { at, end: flat.shownEnd(own, to, end), verdict: given };
  }
  const last = flat.sourceBehind(Math.min(to, flat.to) - 1);
  const verdict = file.isComment(start) ? { why: given.why } : given;
  return { at: start, end: flat.shownEnd(own, to, start), shownTo: last, verdict };
}
