// Counts of payments for /healthz, the alarms and the metrics. Counts that read all rows of a kind
// are cached for a minute, or until one more comes, because /healthz is public.

import { count, min, sql } from 'drizzle-orm';
import type { PaymentState } from '../../domain/payment/payment.ts';
import { type Orm, placeholder, prepared } from '../db/orm.ts';
import type { PaymentMove } from '../db/store-events.ts';
import { addresses, isReversedSince, payments, wallets } from '../schema/schema.ts';

export interface Counted {
  readonly count: number;
  /** Epoch milliseconds; undefined where there is none. */
  readonly firstAt: number | undefined;
}

export type PaymentCounts = ReturnType<typeof createPaymentCounts>;

const cacheMs = 60_000;

export function createPaymentCounts(orm: Orm) {
  const statements = prepare(orm);
  const reversals = cached((since) => counted(statements.reversals.get({ since })));
  const unclaimed = cached((since) => counted(statements.unclaimed.get({ since })));
  return {
    /** Payments that were taken back since a time, after the shop received 1 or 2. */
    reversals: reversals.find,
    /** Payments that wait for a block again, after the shop received 1 or 2. */
    fallen: (): Counted => counted(statements.fallen.get()),
    /**
     * Payments since a time to skipped addresses of an unknown store: no shop received a callback.
     */
    unclaimed: unclaimed.find,
    /** How many payments are in each state that has any. Goes through an index of all of them. */
    byState: (): [PaymentState, number][] =>
      statements.byState.all().map(({ state, count }) => [state, count]),
    moved({ before, after }: PaymentMove): void {
      const isOfDropped = before === 'dropped' || after === 'dropped';
      if (isOfDropped) reversals.forget();
      if (isOfDropped || before === undefined) unclaimed.forget();
    },
  };
}

/** What was counted since a time stands for the times soon after it. */
function cached(count: (since: number) => Counted) {
  let known: { readonly since: number; readonly found: Counted } | undefined;
  return {
    find(since: number): Counted {
      const isFresh = known !== undefined && since >= known.since && since < known.since + cacheMs;
      if (known === undefined || !isFresh) known = { since, found: count(since) };
      return known.found;
    },
    forget(): void {
      known = undefined;
    },
  };
}

const counted = (row?: { count: number; firstAt: number | null }): Counted => ({
  count: row?.count ?? 0,
  firstAt: row?.firstAt ?? undefined,
});

function prepare(orm: Orm) {
  return {
    byState: prepared(() =>
      orm.select({ state: payments.state, count: count() }).from(payments).groupBy(payments.state),
    ),
    reversals: prepared(() =>
      orm
        .select({ count: count(), firstAt: min(payments.changedAt) })
        .from(payments)
        .where(isReversedSince(placeholder('since'))),
    ),
    unclaimed: prepared(() =>
      orm
        .select({ count: count(), firstAt: min(payments.firstSeenAt) })
        .from(wallets)
        // In this order, by an index: of a file that was never a copy there is none.
        .crossJoin(addresses)
        .crossJoin(payments)
        .where(
          sql`${addresses.walletId} = ${wallets.id} and ${addresses.origin} = 'skipped'
          and ${addresses.storeId} is null and ${addresses.statusHash} is not null
          and ${payments.addressId} = ${addresses.id} and ${payments.state} <> 'dropped'
          and ${payments.firstSeenAt} > ${placeholder('since')}`,
        ),
    ),
    fallen: prepared(() =>
      orm
        .select({ count: count(), firstAt: min(payments.changedAt) })
        .from(payments)
        // Nothing but 1 or 2 is taken back by a 0.
        .where(sql`${payments.state} = 'unconfirmed' and ${payments.cycle} > 0`),
    ),
  };
}
