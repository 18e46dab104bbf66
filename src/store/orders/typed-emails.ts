// Mail addresses that strangers gave to orders by links: how many came from a network within a day.
// The address is in the order. A row has a hash of the network, and is deleted after that day.

import { count, sql } from 'drizzle-orm';
import { dayMs } from '../../lib/time-units.ts';
import { type Orm, placeholder, placeholders, prepared } from '../db/orm.ts';
import type { Tx } from '../db/writer.ts';
import { typedEmails } from '../schema/order-schema.ts';

export type TypedEmails = ReturnType<typeof createTypedEmails>;

export function createTypedEmails(orm: Orm) {
  const statements = prepare(orm);
  return {
    /**
     * The orders that have an address from this network, without one order.
     * @param since epoch milliseconds; a row of a clock that was ahead does not count
     */
    countOf: (now: number, network: string, since: number, orderId: number): number =>
      statements.countOf.get({ network, since, now, orderId })?.count ?? 0,
    note: (_tx: Tx, now: number, network: string, orderId: number) =>
      void statements.note.run({ orderId, network, now }),
    /** @param passed the latest time that has certainly passed */
    tidy: (_tx: Tx, passed: number) => void statements.forget.run({ before: passed - dayMs }),
  };
}

const prepare = (orm: Orm) => ({
  countOf: prepared(() =>
    orm
      .select({ count: count() })
      .from(typedEmails)
      .where(
        sql`${typedEmails.network} = ${placeholder('network')}
        and ${typedEmails.typedAt} > ${placeholder('since')}
        and ${typedEmails.typedAt} <= ${placeholder('now')}
        and ${typedEmails.orderId} <> ${placeholder('orderId')}`,
      ),
  ),
  note: prepared(() =>
    orm
      .insert(typedEmails)
      .values({ ...placeholders('orderId', 'network'), typedAt: placeholder('now') })
      .onConflictDoUpdate({
        target: typedEmails.orderId,
        set: { network: sql`excluded.network`, typedAt: sql`excluded.typed_at` },
      }),
  ),
  forget: prepared(() =>
    orm.delete(typedEmails).where(sql`${typedEmails.typedAt} <= ${placeholder('before')}`),
  ),
});
