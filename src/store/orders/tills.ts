// Tills: devices of the merchant at a counter. A device holds a token, of which only the hash is
// stored. Times are epoch milliseconds.

import { and, desc, eq, gt, gte, isNull, lte, sql } from 'drizzle-orm';
import { maxSetBackMs } from '../../domain/payment/clock-check.ts';
import { tokenHash } from '../access/second-factors.ts';
import { type Orm, placeholder, prepared } from '../db/orm.ts';
import type { Tx } from '../db/writer.ts';
import { orders, tills } from '../schema/order-schema.ts';
import type { OrderRow } from './order-view.ts';

export type TillRow = typeof tills.$inferSelect;
export type NewTill = Pick<TillRow, 'storeId' | 'name' | 'seenUpTo'>;

/** How long a code pairs a device. */
export const codeMs = 15 * 60_000;
/** How often it is written down that a device is used. */
const seenEveryMs = 60_000;
/** The newest sales of a day that a list shows. */
const maxSales = 500;

export type Tills = ReturnType<typeof createTills>;

export function createTills(orm: Orm) {
  const statements = prepare(orm);
  const present = isNull(tills.removedAt);
  return {
    list: (): TillRow[] => orm.select().from(tills).where(present).orderBy(desc(tills.id)).all(),
    byId: (id: number): TillRow | undefined => statements.byId.get({ id }),
    add: (_tx: Tx, now: number, till: NewTill): TillRow =>
      orm
        .insert(tills)
        .values({ ...till, createdAt: now })
        .returning()
        .get(),
    change(_tx: Tx, id: number, change: Pick<TillRow, 'name' | 'seenUpTo'>): void {
      orm.update(tills).set(change).where(eq(tills.id, id)).run();
    },
    /** A new code replaces the one before. The device of the till stays until the code is used. */
    setCode(_tx: Tx, now: number, id: number, code: string): void {
      const set = { codeHash: tokenHash(code), codeUntil: now + codeMs };
      orm
        .update(tills)
        .set(set)
        .where(and(eq(tills.id, id), present))
        .run();
    },
    /** The till that a device with this code becomes; undefined if the code is used or too old. */
    byCode: (now: number, code: string): TillRow | undefined =>
      orm
        .select()
        .from(tills)
        .where(
          and(
            eq(tills.codeHash, tokenHash(code)),
            gt(tills.codeUntil, now),
            // Not by a clock that was ahead.
            lte(tills.codeUntil, now + codeMs + maxSetBackMs),
            present,
          ),
        )
        .get(),
    /** Uses up the code of a till. The device that was this till before is it no more. */
    pair(_tx: Tx, now: number, id: number, token: string): void {
      const set = { codeHash: null, codeUntil: null, tokenHash: tokenHash(token), seenAt: now };
      orm.update(tills).set(set).where(eq(tills.id, id)).run();
    },
    byToken: (token: string): TillRow | undefined =>
      statements.byToken.get({ hash: tokenHash(token) }),
    isDueToBeSeen: ({ seenAt }: TillRow, now: number): boolean =>
      Math.abs(now - (seenAt ?? 0)) >= seenEveryMs,
    seen(_tx: Tx, now: number, id: number): void {
      orm.update(tills).set({ seenAt: now }).where(eq(tills.id, id)).run();
    },
    /** Its device can do nothing more. */
    remove(_tx: Tx, now: number, id: number): void {
      const set = { removedAt: now, codeHash: null, codeUntil: null, tokenHash: null };
      orm.update(tills).set(set).where(eq(tills.id, id)).run();
    },
    /** Orders of a till that were created since then, the newest first. */
    salesSince: (id: number, since: number): OrderRow[] => statements.sales.all({ id, since }),
  };
}

const prepare = (orm: Orm) => ({
  byId: prepared(() =>
    orm
      .select()
      .from(tills)
      .where(eq(tills.id, placeholder('id'))),
  ),
  byToken: prepared(() =>
    orm
      .select()
      .from(tills)
      .where(eq(tills.tokenHash, sql.placeholder('hash'))),
  ),
  sales: prepared(() =>
    orm
      .select()
      .from(orders)
      .where(and(eq(orders.tillId, placeholder('id')), gte(orders.createdAt, placeholder('since'))))
      .orderBy(desc(orders.createdAt))
      .limit(maxSales),
  ),
});
