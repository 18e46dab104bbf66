// The shops' idempotency keys: which address a request with this key got, and with which body it
// made an order (wire §2).

import { and, asc, sql } from 'drizzle-orm';
import { type AgeJudge, trustedClock } from '../../world/clock-watch.ts';
import { equals, type Orm, placeholder, placeholders, prepared } from '../db/orm.ts';
import type { Tx } from '../db/writer.ts';
import { idempotencyKeys } from '../schema/schema.ts';

/** How long two requests with the same key are one. */
const maxIdempotencyMs = 24 * 3_600_000;
/** Old keys that go with each new one: a shop waits for it. */
const forgottenAtOnce = 100;

export interface IdempotentAnswer {
  readonly addressId: number;
  /** SHA-256 of the body that made an order; null for `new_address`. */
  readonly bodyHash: Buffer | null;
}

export type Idempotency = ReturnType<typeof createIdempotency>;

export function createIdempotency(orm: Orm) {
  const statements = prepare(orm);
  /** Before it no key is old: it is looked for then, and not with each new one. */
  let nextOldAt = 0;
  let clock = trustedClock;
  const since = (now: number): number => clock.passed(now) - maxIdempotencyMs;
  return {
    /** Ages go by this clock from now on: while it may be wrong, no key is too old. */
    judgeBy(judge: AgeJudge): void {
      clock = judge;
    },
    since,
    find: (now: number, storeId: number, key: string): IdempotentAnswer | undefined =>
      statements.find.get({ storeId, key, since: since(now) }),
    keep(tx: Tx, now: number, storeId: number, key: string, answer: IdempotentAnswer): void {
      // Further off than that it was found under a clock that was ahead.
      if (now >= nextOldAt || nextOldAt - now > maxIdempotencyMs) {
        statements.forget.run({ before: since(now) });
        const oldest = statements.oldest.get()?.createdAt ?? now;
        tx.afterCommit(() => {
          nextOldAt = oldest + maxIdempotencyMs;
        });
      }
      statements.insert.run({ storeId, key, ...answer, now });
    },
  };
}

const prepare = (orm: Orm) => ({
  find: prepared(() =>
    orm
      .select({ addressId: idempotencyKeys.addressId, bodyHash: idempotencyKeys.bodyHash })
      .from(idempotencyKeys)
      .where(
        and(
          equals(idempotencyKeys.storeId, 'storeId'),
          equals(idempotencyKeys.key, 'key'),
          sql`${idempotencyKeys.createdAt} > ${placeholder('since')}`,
        ),
      ),
  ),
  forget: prepared(() =>
    orm.delete(idempotencyKeys).where(
      sql`${idempotencyKeys.id} in (select id from idempotency_keys
        where created_at <= ${placeholder('before')} order by created_at limit ${forgottenAtOnce})`,
    ),
  ),
  oldest: prepared(() =>
    orm
      .select({ createdAt: idempotencyKeys.createdAt })
      .from(idempotencyKeys)
      .orderBy(asc(idempotencyKeys.createdAt))
      .limit(1),
  ),
  insert: prepared(() =>
    orm
      .insert(idempotencyKeys)
      .values({
        ...placeholders('storeId', 'key', 'addressId', 'bodyHash'),
        createdAt: placeholder('now'),
      })
      // One that is too old to count, and has not gone yet.
      .onConflictDoUpdate({
        target: [idempotencyKeys.storeId, idempotencyKeys.key],
        set: {
          addressId: sql`excluded.address_id`,
          bodyHash: sql`excluded.body_hash`,
          createdAt: sql`excluded.created_at`,
        },
      }),
  ),
});
