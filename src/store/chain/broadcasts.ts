// Raw transactions of payments by the time of their last broadcast: which to broadcast again, and
// which to delete. A transaction is deleted if its payment was dropped long ago. The ledger stores
// them, and deletes those of settled payments.

import { asc, eq, lte, sql } from 'drizzle-orm';
import type { Txid } from '../../bitcoin/ids.ts';
import { equals, type Orm, placeholder, placeholders, prepared } from '../db/orm.ts';
import type { Tx } from '../db/writer.ts';
import { payments, transactions } from '../schema/schema.ts';

export type Broadcasts = ReturnType<typeof createBroadcasts>;

export function createBroadcasts(orm: Orm) {
  const statements = prepare(orm);
  return {
    /**
     * Transactions of unconfirmed payments, first seen after one time, and last broadcast before
     * another. Those with a broadcast in the future come first, because a clock was ahead then. The
     * others follow, the oldest broadcast first.
     */
    due(now: number, seenAfter: number, broadcastBefore: number, limit: number): Txid[] {
      const rows = statements.due.all({ now, seenAfter, broadcastBefore, limit });
      return rows.map(({ txid }) => txid);
    },
    note: (_tx: Tx, now: number, txid: Txid): void => void statements.note.run({ txid, now }),
    keep: (_tx: Tx, txid: Txid, raw: Uint8Array): void =>
      void statements.keep.run({ txid, raw: Buffer.from(raw) }),
    /** What was not seen to since a time, the oldest first. */
    idle: (since: number, limit: number): Txid[] =>
      statements.idle.all({ since, limit }).map(({ txid }) => txid),
    /**
     * Forgets those of which every payment was dropped before a time; the others are idle anew from
     * now on.
     */
    forget(_tx: Tx, now: number, droppedBefore: number, txids: readonly Txid[]): void {
      for (const txid of txids) {
        statements.forget.run({ txid, droppedBefore });
        statements.note.run({ txid, now });
      }
    },
  };
}

function prepare(orm: Orm) {
  const byTxid = equals(transactions.txid, 'txid');
  return {
    due: prepared(() =>
      orm
        .selectDistinct({ txid: transactions.txid })
        .from(transactions)
        .innerJoin(payments, eq(payments.txid, transactions.txid))
        .where(
          sql`(${transactions.broadcastAt} < ${placeholder('broadcastBefore')}
            or ${transactions.broadcastAt} > ${placeholder('now')})
          and ${transactions.firstSeenAt} > ${placeholder('seenAfter')}
          and ${payments.state} = 'unconfirmed'`,
        )
        .orderBy(
          sql`${transactions.broadcastAt} <= ${placeholder('now')}, ${transactions.broadcastAt}`,
        )
        .limit(sql.placeholder('limit')),
    ),
    note: prepared(() =>
      orm
        .update(transactions)
        // It was not first seen later than that.
        .set({
          broadcastAt: placeholder('now'),
          firstSeenAt: sql`min(first_seen_at, ${placeholder('now')})`,
        })
        .where(byTxid),
    ),
    keep: prepared(() => orm.update(transactions).set(placeholders('raw')).where(byTxid)),
    idle: prepared(() =>
      orm
        .select({ txid: transactions.txid })
        .from(transactions)
        .where(lte(transactions.broadcastAt, placeholder('since')))
        .orderBy(asc(transactions.broadcastAt))
        .limit(sql.placeholder('limit')),
    ),
    forget: prepared(() =>
      orm.delete(transactions).where(
        sql`${byTxid} and not exists (select 1 from payments where txid = ${placeholder('txid')}
          and (state <> 'dropped' or changed_at > ${placeholder('droppedBefore')}))`,
      ),
    ),
  };
}
