// The queue of callbacks, as claims, counts and lists see it.

import { and, desc, type SQL, sql } from 'drizzle-orm';
import { equals, type Orm, prepared } from '../db/orm.ts';
import { callbackColumns, deliveries, isOf } from '../schema/delivery-schema.ts';
import { stores } from '../schema/schema.ts';
import type { ChannelTerms } from './delivery-claims.ts';

export const isCallback = isOf('callback');

export const isCalled = sql`${stores.callbacksStopped} = 0 and ${stores.callbackUrl} <> ''`;

/**
 * The callback is still true. One with status 1 or 2 waits while the block of its payment is not on
 * our best chain. A delivered one is not sent again while its payment is dropped.
 */
const stands: ChannelTerms['stands'] = (alias) => {
  const of = sql.raw(alias);
  return sql`(${of}.status < 1 or exists (select 1 from payments p
      join headers h on h.hash = p.block_hash where p.id = ${of}.payment_id and h.on_best = 1))
    and (${of}.state <> 'delivered' or ${of}.status = -1 or exists (select 1 from payments p
      where p.id = ${of}.payment_id and p.state <> 'dropped'))`;
};

/** Compares one callback. An answer that was none (a 503) takes no doubt away. */
export const isAnswerDoubtful = sql`${isCallback} and ${deliveries.state} = 'delivered'
  and (select a.doubt from attempts a where a.channel = 'callback' and a.delivery_id = deliveries.id
    and a.outcome = 'delivered' order by a.id desc limit 1) is not null`;

/** Finds callbacks by the index of doubtful answers. */
export const isDoubtful = sql`${isAnswerDoubtful} and deliveries.id in
  (select delivery_id from attempts where channel = 'callback' and doubt is not null)`;

/** The newest callback of a payment: the only one that is ever sent. */
export const prepareNewest = (orm: Orm) =>
  prepared(() =>
    orm
      .select({
        id: deliveries.id,
        version: callbackColumns.version,
        state: callbackColumns.state,
        confirmAt: deliveries.confirmAt,
      })
      .from(deliveries)
      .where(and(isCallback, equals(deliveries.paymentId, 'paymentId')))
      .orderBy(desc(deliveries.version)),
  );

export const callbackQueue: ChannelTerms = {
  channel: 'callback',
  receivers: sql`${stores}`,
  receiverId: sql.raw('stores.id') as SQL<number>,
  url: sql.raw('stores.callback_url') as SQL<string>,
  isReceiving: isCalled,
  stands,
  isReplaced: sql`exists (select 1 from deliveries n where n.payment_id = deliveries.payment_id
    and n.version > deliveries.version)`,
  lostAttempts: 0,
};
