// What is said of one mention of the service, and what is known of the file that it stands in. Pure.

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
  /** For a mention that stays: the end of what is shown of it. */
  readonly shownTo?: number;
  readonly verdict: MentionVerdict;
}

export type MentionVerdict =
  | { readonly edits: readonly Edit[] }
  | { readonly why: string; readonly look?: boolean };

/** Parts of receipt links that stand in other expressions, anywhere in the archive. */
export interface ReceiptParts {
  /** `&addr=` */
  readonly hasAddress: boolean;
  /** `/#/search` without its query. */
  readonly hasPath: boolean;
  /** `?q=` at the beginning of a string. */
  readonly hasQuery: boolean;
  /** The service is named at all. */
  readonly isNamed: boolean;
}

export interface PluginFile {
  readonly text: string;
  readonly name: string;
  readonly target: PluginTarget;
  readonly receipts: ReceiptParts;
  /** Whether it is a comment: what stands there needs no look. */
  readonly isComment: (at: number) => boolean;
  /** Formats may be filled in by a replacement, and not by a function for formats. */
  readonly replacesFormats: boolean;
  /** What a variable is set to, as it is written. */
  readonly valuesOf: (name: string) => string | undefined;
}

export const reasons = {
  mail: 'an e-mail address',
  host: 'another host of that service, which paygate does not stand for',
  coin: 'the same for another coin, which paygate does not serve',
  page: 'a page or file of that service, for people',
  prose: 'mentioned in text, a comment or a link',
  computed: 'the host is put together while the plugin runs: change it by hand',
  port: 'the host alone, whose port stands elsewhere: write host and port of paygate by hand',
  pattern: 'a pattern that the host must match: change it by hand',
  receipt:
    'a link to the receipt: paygate has it at /api/tx?txid=TXID&addr=ADDRESS; change it by hand',
  keyLength: 'the plugin takes API keys of 43 characters only: paygate key show --short prints one',
};

/** A host has at most 253 characters. So bounded, a hostile file costs no more than its length. */
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
