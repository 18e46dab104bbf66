// What was received in a span of time, for the first page of the dashboard. It counts confirmed
// payments only, by the time that each was first seen.

import { eq, type SQL, sql } from 'drizzle-orm';
import { minorDivisor, minorWorthOf } from '../../domain/payment/currency.ts';
import { steppedValues } from '../../lib/stepped-values.ts';
import { type Orm, satSum } from '../db/orm.ts';
import { payments } from '../schema/schema.ts';

export interface ReceivedWorth {
  readonly currency: string;
  /**
   * In the smallest unit of the currency; the sum of the rounded worth of each payment, see
   * `boundedMinor`.
   */
  readonly minor: number;
  readonly valueSat: number;
}

export interface Received {
  readonly count: number;
  readonly valueSat: number;
  /** In the order of the query; without currencies that no payment has. */
  readonly worths: readonly ReceivedWorth[];
}

export interface ReceivedQuery {
  /** Epoch milliseconds: first seen at this time or later, and before the other. */
  readonly since: number;
  readonly until: number;
  readonly currencies: readonly string[];
}

export interface ReceivedPayment {
  readonly firstSeenAt: number;
  readonly currency: string | null;
}

export interface Unconfirmed {
  /** At most `maxUnconfirmed`. */
  readonly count: number;
  readonly valueSat: number;
}

/** A sum of worths, at most the largest whole number that is exact: 90 trillion euros. */
export const boundedMinor = (sum: number): number => Math.min(sum, Number.MAX_SAFE_INTEGER);

/** Counting more would block the event loop. */
export const maxUnconfirmed = 5_000;

export type ReceivedView = ReturnType<typeof createReceivedView>;

export function createReceivedView(orm: Orm) {
  return {
    received({ since, until, currencies }: ReceivedQuery): Received {
      const columns = Object.fromEntries(
        currencies.flatMap((currency, place) => [
          [`minor${place}`, ofCurrency(currency, minorOf(currency))],
          [`large${place}`, ofCurrency(currency, isLarge(currency))],
          [`sat${place}`, satSum(payments.valueSat, isPricedIn(currency))],
        ]),
      );
      const inSpan = sql`${payments.firstSeenAt} >= ${since} and ${payments.firstSeenAt} < ${until}
        and ${payments.state} in ('confirmed', 'settled')`;
      const row = orm
        .select({
          count: sql<number>`count(*)`,
          valueSat: satSum(payments.valueSat),
          ...columns,
        })
        .from(payments)
        .where(inSpan)
        .get() as Readonly<Record<string, number>>;
      const worths = currencies.map((currency, place) => ({
        currency,
        minor: boundedMinor(
          Number(row[`minor${place}`]) +
            (row[`large${place}`] ? Number(largeMinor(orm, inSpan, currency)) : 0),
        ),
        valueSat: Number(row[`sat${place}`]),
      }));
      return {
        count: row.count ?? 0,
        valueSat: row.valueSat ?? 0,
        worths: worths.filter(({ valueSat }) => valueSat > 0),
      };
    },
    unconfirmed: (): Unconfirmed =>
      orm.get<Unconfirmed>(sql`select count(*) as count, ${satSum(sql`value_sat`)} as valueSat
        from (select value_sat from payments where state in ('unconfirmed', 'confirming')
          limit ${maxUnconfirmed})`),
    /** The currencies of all payments that were first seen at a time or later. */
    currencies: (since: number): string[] =>
      usedCurrencies(orm).filter((currency) => isSeen(orm, currency, since)),
    payment: (paymentId: number): ReceivedPayment | undefined =>
      orm
        .select({ firstSeenAt: payments.firstSeenAt, currency: payments.currency })
        .from(payments)
        .where(eq(payments.id, paymentId))
        .get(),
  };
}

/** Steps from one currency to the next by their index, which has many payments of each. */
const usedCurrencies = (orm: Orm): string[] =>
  steppedValues(
    (last) =>
      orm.get<{ currency: string } | undefined>(
        sql`select currency from payments where currency > ${last} order by currency limit 1`,
      )?.currency,
  );

const isSeen = (orm: Orm, currency: string, since: number): boolean =>
  orm.get(sql`select 1 from payments where currency = ${currency} and first_seen_at >= ${since}
    limit 1`) !== undefined;

const isPricedIn = (currency: string): SQL =>
  sql`${payments.currency} = ${currency} and ${payments.priceCents} is not null`;

/** `total`, because `sum` fails beyond 64 bits. */
const ofCurrency = (currency: string, value: SQL): SQL<number> =>
  sql<number>`total(${value}) filter (where ${isPricedIn(currency)})`;

/** The worth of one payment, rounded as `worthOf` rounds; null for a large one. */
const minorOf = (currency: string): SQL =>
  sql`case when not ${isLarge(currency)} then ${product(currency)} / ${divisorOf(currency)} end`;

/** SQLite makes a float of a result beyond 64 bits, which would round the worth wrongly. */
const isLarge = (currency: string): SQL => sql`(typeof(${product(currency)}) = 'real')`;

const product = (currency: string): SQL =>
  sql`(${payments.valueSat} * ${payments.priceCents} + ${divisorOf(currency)} / 2)`;

const divisorOf = (currency: string): SQL => sql.raw(String(minorDivisor(currency)));

/** The worth of the large payments, which are few: 100 BTC in yen. */
function largeMinor(orm: Orm, inSpan: SQL, currency: string): bigint {
  const large = orm
    .select({ valueSat: payments.valueSat, priceCents: payments.priceCents })
    .from(payments)
    .where(sql`${inSpan} and ${payments.currency} = ${currency} and ${isLarge(currency)}`)
    .all();
  return large.reduce(
    (sum, { valueSat, priceCents }) => sum + minorWorthOf(valueSat, priceCents ?? 0, currency),
    0n,
  );
}
