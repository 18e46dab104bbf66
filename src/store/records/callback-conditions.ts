// Conditions on callbacks that several statements share.

import { desc, eq, type SQL, sql } from 'drizzle-orm';
import type { Orm } from '../db/orm.ts';
import { placeholder } from '../db/placeholder.ts';
import { callbacks, stores } from '../db/schema.ts';

// SQLite uses a partial index only if the condition is the same as in the index, without a
// parameter.
export const isOwed = sql`${callbacks.state} = 'owed'`;
export const isExhausted = sql`${callbacks.state} = 'exhausted'`;

export const isCalled = sql`${stores.callbacksStopped} = 0 and ${stores.callbackUrl} <> ''`;

/**
 * The callback is still true. One with status 1 or 2 waits while the block of its payment is not on
 * our best chain. A delivered one is not sent again while its payment is dropped.
 */
export const stands = (callback: 'callbacks' | 'c' | 'd'): SQL => {
  const of = sql.raw(callback);
  return sql`(${of}.status < 1 or exists (select 1 from payments p
      join headers h on h.hash = p.block_hash where p.id = ${of}.payment_id and h.on_best = 1))
    and (${of}.state <> 'delivered' or ${of}.status = -1 or exists (select 1 from payments p
      where p.id = ${of}.payment_id and p.state <> 'dropped'))`;
};

/** Compares one callback. An answer that was none (a 503) takes no doubt away. */
export const isAnswerDoubtful = sql`${callbacks.state} = 'delivered'
  and (select a.doubt from attempts a where a.callback_id = ${callbacks.id} and a.outcome = 'delivered'
    order by a.id desc limit 1) is not null`;

/** Finds callbacks by the index of doubtful answers. */
export const isDoubtful = sql`${isAnswerDoubtful}
  and ${callbacks.id} in (select callback_id from attempts where doubt is not null)`;

/** The newest callback of a payment: the only one that is ever sent. */
export const prepareNewest = (orm: Orm) =>
  orm
    .select({
      id: callbacks.id,
      version: callbacks.version,
      state: callbacks.state,
      confirmAt: callbacks.confirmAt,
    })
    .from(callbacks)
    .where(eq(callbacks.paymentId, placeholder('paymentId')))
    .orderBy(desc(callbacks.version))
    .prepare();
