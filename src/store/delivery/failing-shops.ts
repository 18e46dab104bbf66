// Since when a shop has received nothing of a channel: a streak from the first failed attempt to
// the next delivery.

import { and, sql } from 'drizzle-orm';
import type { AttemptOutcome } from '../../domain/delivery/retry.ts';
import { type Orm, prepared } from '../db/orm.ts';
import { isOf } from '../schema/delivery-schema.ts';
import { stores, webhooks } from '../schema/schema.ts';
import { prepareStreak, type Streak } from './answer-streak.ts';
import type { ChannelTerms } from './delivery-claims.ts';

export interface FailingShop {
  readonly storeId: number;
  readonly name: string;
  readonly url: string;
  /** The id of a plugin's webhook; null for the URLs of the store. */
  readonly webhookId: string | null;
  readonly since: number;
  readonly attempts: number;
  readonly reason: string;
}

interface AttemptResult {
  readonly startedAt: number;
  readonly outcome: AttemptOutcome;
  readonly httpStatus: number | null;
  readonly reason: string | null;
}

export function createFailingShops(orm: Orm, terms: ChannelTerms) {
  const { streak, waiting } = prepare(orm, terms);
  return {
    note(id: number, tried: AttemptResult): void {
      if (tried.outcome === 'delivered') streak.end.run({ id });
      else streak.extend.run({ id, since: tried.startedAt, text: descriptionOf(tried) });
    },
    /** Receivers of a channel that have pending deliveries, and have received nothing since. */
    list: (): FailingShop[] =>
      waiting.all().map(({ streak, ...store }) => {
        const { since, answers, text } = JSON.parse(streak) as Streak;
        return { ...store, since, attempts: answers, reason: text };
      }),
  };
}

const descriptionOf = ({ outcome, httpStatus, reason }: AttemptResult): string =>
  httpStatus !== null && (outcome === 'status' || outcome === 'redirect')
    ? `answered ${httpStatus}`
    : (reason ?? outcome);

const columns = {
  callback: [stores, 'failingCallbacks'],
  webhook: [webhooks, 'failingEvents'],
} as const;

function prepare(orm: Orm, { channel, url, isReceiving, receivers, receiverId }: ChannelTerms) {
  const column = channel === 'callback' ? 'stores.failing_callbacks' : 'webhooks.failing_events';
  return {
    streak: prepareStreak(orm, columns[channel]),
    waiting: prepared(() =>
      orm
        .select({
          storeId: sql<number>`stores.id`,
          name: sql<string>`stores.name`,
          url,
          webhookId:
            channel === 'callback'
              ? sql<null>`null`
              : sql<string | null>`iif(webhooks.format = 'btcpay', webhooks.public_id, null)`,
          streak: sql<string>`${sql.raw(column)}`,
        })
        .from(receivers)
        .where(
          and(
            sql`${sql.raw(column)} is not null`,
            isReceiving,
            sql`exists (select 1 from deliveries d where ${isOf(channel, 'd')}
            and d.receiver_id = ${receiverId} and d.due_at is not null and d.state = 'owed')`,
          ),
        )
        .orderBy(receiverId),
    ),
  };
}
