// Since when a shop has received nothing of a channel: a streak from the first failed attempt to
// the next delivery.

import { and, isNotNull, sql } from 'drizzle-orm';
import type { AttemptOutcome } from '../../domain/delivery/retry.ts';
import type { Orm } from '../db/orm.ts';
import { prepared } from '../db/prepared.ts';
import { isOf } from '../schema/delivery-schema.ts';
import { stores } from '../schema/schema.ts';
import { prepareStreak, type Streak } from './answer-streak.ts';
import type { ChannelTerms } from './delivery-claims.ts';

export interface FailingShop {
  readonly storeId: number;
  readonly name: string;
  readonly url: string;
  /** When the first of them began, epoch milliseconds. */
  readonly since: number;
  readonly attempts: number;
  /** Result of the last attempt, without the URL's secrets. */
  readonly reason: string;
}

/** The part of an attempt that is read here. */
interface AttemptResult {
  readonly startedAt: number;
  readonly outcome: AttemptOutcome;
  readonly httpStatus: number | null;
  readonly reason: string | null;
}

export function createFailingShops(orm: Orm, terms: ChannelTerms) {
  const { streak, waiting } = prepare(orm, terms);
  return {
    /** In the transaction that records it. */
    note(storeId: number, tried: AttemptResult): void {
      if (tried.outcome === 'delivered') streak.end.run({ storeId });
      else streak.extend.run({ storeId, since: tried.startedAt, text: descriptionOf(tried) });
    },
    /** Stores that receive deliveries, have pending ones, and have received nothing since. */
    list: (): FailingShop[] =>
      waiting.all().map(({ streak, ...store }) => {
        const { since, answers, text } = JSON.parse(streak ?? '') as Streak;
        return { ...store, since, attempts: answers, reason: text };
      }),
  };
}

const descriptionOf = ({ outcome, httpStatus, reason }: AttemptResult): string =>
  httpStatus !== null && (outcome === 'status' || outcome === 'redirect')
    ? `answered ${httpStatus}`
    : (reason ?? outcome);

const columns = { callback: 'failingCallbacks', webhook: 'failingEvents' } as const;

function prepare(orm: Orm, { channel, url, isReceiving }: ChannelTerms) {
  const column = stores[columns[channel]];
  return {
    streak: prepareStreak(orm, columns[channel]),
    waiting: prepared(() =>
      orm
        .select({ storeId: stores.id, name: stores.name, url, streak: column })
        .from(stores)
        .where(
          and(
            isNotNull(column),
            isReceiving,
            sql`exists (select 1 from deliveries d
            where ${isOf(channel, 'd')} and d.store_id = stores.id and d.state = 'owed')`,
          ),
        )
        .orderBy(stores.id),
    ),
  };
}
