// Links to receipts: `/#/search?q=TXID&addr=ADDRESS` of the service is
// `/api/tx?txid=TXID&addr=ADDRESS` at paygate. Pure.

import { type Edit, type FlatText, hole } from './flat-text.ts';
import {
  type Mention,
  type MentionVerdict,
  maxLead,
  mention,
  type PluginFile,
  reasons,
} from './mention.ts';

export const isReceiptPath = (path: string): boolean => /^\/?#\/search(?![\w.-])/i.test(path);

/** The query after a receipt's path, as far as the text contains it. */
function queryOf(
  { text }: FlatText,
  hash: number,
): { readonly at: number; readonly text: string; readonly isOpen: boolean } {
  const path = /^#\\?\/search/i.exec(text.slice(hash, hash + 10))?.[0] ?? '';
  const at = hash + path.length;
  const query = /^[^"'<>\s]{0,1000}/.exec(text.slice(at, at + 1000))?.[0] ?? '';
  return { at, text: query, isOpen: at + query.length === text.length };
}

/** @returns undefined if the result may not be a receipt link of paygate */
export function receiptEdits(flat: FlatText, file: PluginFile, hash: number): Edit[] | undefined {
  const { at, text, isOpen } = queryOf(flat, hash);
  const { receipts } = file;
  const path = flat.edit(
    hash,
    at,
    flat.text.slice(hash, at).includes('\\') ? 'api\\/tx' : 'api/tx',
  );
  const q = /^\?(?:[^"'<>\s]*?(?:&|;|u0026))?q=/i.exec(text)?.[0];
  if (q === undefined)
    return isOpen && receipts.hasQuery && /^[^?]*$/.test(text) ? path : undefined;
  const isCut = isOpen && text.length === q.length && receipts.hasAddress;
  const behind = file.text.slice(flat.end, flat.end + maxLead);
  const continued = /^[\s;]*[$\w.>-]+\s*[.+]=\s*["'`](?:&|&amp;)addr=/.exec(behind)?.[0] ?? '';
  const seen = isOpen ? text + file.text.slice(flat.sourceAt(at), flat.end) + continued : text;
  const hasAddress = isCut || /(?:[?&;]|u0026)addr=/i.test(seen);
  const name = flat.edit(at + q.length - 2, at + q.length - 1, 'txid');
  return hasAddress && path && name ? [...path, ...name] : undefined;
}

export const receiptEnd = (flat: FlatText, hash: number): number => {
  const { at, text } = queryOf(flat, hash);
  return at + text.length;
};

/** A receipt link whose host is a constant of the plugin. */
export function looseReceipt(
  flat: FlatText,
  file: PluginFile,
  hash: number,
): MentionVerdict | undefined {
  const before = flat.text.slice(Math.max(0, hash - maxLead), hash).replace(/\\?\/$/, '');
  if (/[\w.\]-](?::\d{1,5})?$/.test(before)) return undefined;
  const edits = receiptEdits(flat, file, hash);
  if (edits !== undefined) return { edits };
  // A router of the shop itself may have such a path too.
  const isPath = before === '' && !queryOf(flat, hash).text.includes('q=');
  const isOurs = file.receipts.isNamed && (before.endsWith(hole) || isPath);
  return isOurs ? { why: reasons.receipt, look: true } : undefined;
}

/** `?q=TXID&addr=ADDRESS` behind a receipt's path that is a constant. */
export function looseQuery(flat: FlatText, file: PluginFile): Mention[] {
  if (!file.receipts.hasPath) return [];
  const match = new RegExp(String.raw`^${hole}*\?q=${hole}+(?:&|&amp;)addr=`).exec(
    flat.text.slice(flat.from),
  );
  if (match === null) return [];
  const at = flat.from + match[0].indexOf('?q=') + 1;
  const edits = flat.edit(at, at + 1, 'txid');
  return edits === undefined ? [] : [mention(flat, file, at - 1, at + 2, { edits })];
}
