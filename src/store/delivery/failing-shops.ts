// Since when a shop has received nothing of a channel: a streak from the first failed attempt to
// the next delivery.

import { eq, sql } from 'drizzle-orm';
import type { AttemptOutcome } from '../../domain/delivery/retry.ts';
import type { Orm } from '../db/orm.ts';
import { prepared } from '../db/prepared.ts';
import { isOf } from '../schema/delivery-schema.ts';
import { settings, stores } from '../schema/schema.ts';
import { prepareStreak } from './answer-streak.ts';
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
      const name = `${streakNames[terms.channel]} ${storeId}`;
      if (tried.outcome === 'delivered') streak.end.run({ name });
      else streak.extend.run({ name, since: tried.startedAt, text: descriptionOf(tried) });
    },
    /** Stores that receive deliveries, have pending ones, and have received nothing since. */
    list: (): FailingShop[] =>
      waiting
        .all()
        .map(({ kept, ...store }) => ({ ...store, ...(JSON.parse(kept) as FailingRecord) })),
  };
}

type FailingRecord = Pick<FailingShop, 'since' | 'attempts' | 'reason'>;

const descriptionOf = ({ outcome, httpStatus, reason }: AttemptResult): string =>
  httpStatus !== null && (outcome === 'status' || outcome === 'redirect')
    ? `answered ${httpStatus}`
    : (reason ?? outcome);

/** Begins the names of the rows in the settings. */
const streakNames = { callback: 'unreceived', webhook: 'unreceived-events' } as const;

function prepare(orm: Orm, { channel, url, isReceiving }: ChannelTerms) {
  const prefix = sql.raw(`'${streakNames[channel]} '`);
  return {
    streak: prepareStreak(orm, { count: 'attempts', text: 'reason' }),
    waiting: prepared(() =>
      orm
        .select({
          storeId: stores.id,
          name: stores.name,
          url,
          kept: settings.value,
        })
        .from(stores)
        .innerJoin(settings, eq(settings.name, sql`${prefix} || ${stores.id}`))
        .where(
          sql`${isReceiving} and exists (select 1 from deliveries d
          where ${isOf(channel, 'd')} and d.store_id = stores.id and d.state = 'owed')`,
        )
        .orderBy(stores.id),
    ),
  };
}
