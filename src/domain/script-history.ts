// What an Electrum server says of a script: its history, and the status hash over it. Pure.
// https://electrum-protocol.readthedocs.io/en/latest/protocol-basics.html#status

import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import type { Txid } from '../bitcoin/ids.ts';

/** SHA-256 over a history, lower-case hex; null stands for the empty history. */
export type StatusHash = string & { readonly brand: 'StatusHash' };

/** Where a server says a transaction is: its word, until a proof says the same. */
export type Position =
  | { readonly kind: 'mempool'; readonly unconfirmedParents: boolean }
  | { readonly kind: 'mined'; readonly height: number };

export interface HistoryItem {
  readonly txid: Txid;
  readonly position: Position;
}

/** Electrum writes a place in the mempool as height 0, or -1 with unconfirmed parents. */
function heightText(position: Position): string {
  if (position.kind === 'mined') return String(position.height);
  return position.unconfirmedParents ? '-1' : '0';
}

/** Electrum's status of a history in the server's own order; null for an empty one. */
export function statusHash(history: readonly HistoryItem[]): StatusHash | null {
  if (history.length === 0) return null;
  const items = history.map((item) => `${item.txid}:${heightText(item.position)}:`);
  return bytesToHex(sha256(utf8ToBytes(items.join('')))) as StatusHash;
}
