// Bytes of transactions as a node would take them. A witness is no part of a transaction's id: a server may leave it out, or
// pad it, and still show the transaction. What one server shows so is asked of another.

import type { Txid } from '../bitcoin/ids.ts';
import { isWhole, parseTransaction } from '../bitcoin/transaction.ts';
import { ServerError } from '../electrum/requests.ts';
import type { Session } from '../electrum/session.ts';
import { PaygateError } from '../lib/errors.ts';
import { nextTurn } from '../lib/next-turn.ts';
import type { Store } from '../store/open-store.ts';
import type { Seen } from '../store/records/ledger.ts';
import type { Elsewhere } from './elsewhere.ts';

export function isWholeOf(raw: Uint8Array, txid?: Txid): boolean {
  try {
    const transaction = parseTransaction(raw);
    return isWhole(transaction) && (txid === undefined || transaction.txid === txid);
  } catch (error) {
    if (error instanceof PaygateError) return false;
    throw error;
  }
}

/** Asks another server for the bytes of what was just recorded in no block without what a node asks for, and keeps them. */
export async function seekWhole(
  { database, broadcasts }: Pick<Store, 'database' | 'broadcasts'>,
  elsewhere: Elsewhere,
  session: Session,
  seen: readonly Seen[],
): Promise<void> {
  for (const { txid, block, raw } of seen) {
    if (block !== null || raw === undefined) continue;
    // A flood brings thousands, which are read once more here.
    await nextTurn();
    if (isWholeOf(raw)) continue;
    const shown = await elsewhere.askOther(session, (another) => another.transaction(txid));
    if (shown === undefined || !isWholeOf(shown, txid)) continue;
    await database.write((tx) => broadcasts.keep(tx, txid, shown));
  }
}

interface Answers {
  /** They did not answer once, and are not asked again. */
  readonly mute: WeakSet<Session>;
  readonly refused: (session: Session) => void;
}

/** The bytes that other servers show of a transaction, where they are others than ours: each once. */
export async function shownOf(
  sessions: readonly Session[],
  txid: Txid,
  ours: Uint8Array,
  { mute, refused }: Answers,
): Promise<Uint8Array[]> {
  const shown: Uint8Array[] = [ours];
  for (const session of sessions) {
    if (mute.has(session)) continue;
    const raw = await session.transaction(txid, { bulk: true }).catch((error: unknown) => {
      if (!(error instanceof PaygateError)) throw error;
      if (error instanceof ServerError) refused(session);
      else mute.add(session);
      return undefined;
    });
    if (raw === undefined || !isWholeOf(raw, txid)) continue;
    if (!shown.some((each) => Buffer.compare(each, raw) === 0)) shown.push(raw);
  }
  return shown.slice(1);
}
