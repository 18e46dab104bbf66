// The history of a script as an Electrum server reports it, and the status hash over it.
// https://electrum-protocol.readthedocs.io/en/latest/protocol-basics.html#status

import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import type { Txid } from '../../bitcoin/ids.ts';

/** SHA-256 over a history, lower-case hex; the empty history has null instead. */
export type StatusHash = string & { readonly brand: 'StatusHash' };

/** The position of a transaction as a server claims it, before any proof. */
export type Position =
  | { readonly kind: 'mempool'; readonly unconfirmedParents: boolean }
  | { readonly kind: 'mined'; readonly height: number };

export interface HistoryItem {
  readonly txid: Txid;
  readonly position: Position;
}

/** In the mempool, Electrum's height is 0, or -1 with unconfirmed parents. */
function heightText(position: Position): string {
  if (position.kind === 'mined') return String(position.height);
  return position.unconfirmedParents ? '-1' : '0';
}

/** Electrum's status of a history in the server's order; null for an empty history. */
export function statusHash(history: readonly HistoryItem[]): StatusHash | null {
  if (history.length === 0) return null;
  const items = history.map((item) => `${item.txid}:${heightText(item.position)}:`);
  return bytesToHex(sha256(utf8ToBytes(items.join('')))) as StatusHash;
}
