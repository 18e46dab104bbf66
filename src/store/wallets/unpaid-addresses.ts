// Which of a wallet's newest addresses are unpaid or were left out: reads alone.

import { and, count, desc, eq, lt, sql } from 'drizzle-orm';
import { equals, type Orm, placeholder, prepared } from '../db/orm.ts';
import { addresses, payments, wallets } from '../schema/schema.ts';
import {
  type AddressPlace,
  addressPlace,
  external,
  type IssuedAddress,
  issuedOf,
  onBranch,
} from './address-row.ts';
import type { Catalog } from './catalog.ts';

export type UnpaidAddresses = ReturnType<typeof createUnpaidAddresses>;

/** How far back a store's last address is looked for: other stores may share its wallet. */
const reusedWithin = 100;

/**
 * How far back gaps are looked for: anybody may ask for them, and a million would hold us up. See
 * docs/decisions/027.
 */
const gapsWithin = 5_000;

export function createUnpaidAddresses(orm: Orm, catalog: Catalog) {
  const statements = prepare(orm);
  return {
    /**
     * The last address issued to the store, if that was after `since`, and no payment to it was
     * ever recorded, not even a dropped one.
     */
    unpaidSince(walletId: number, storeId: number, since: number): IssuedAddress | undefined {
      const last = statements.newest
        .all({ walletId, limit: reusedWithin })
        // The address of an order is never issued for anything else.
        .find((row) => row.origin === 'issued' && row.storeId === storeId && row.orderId === null);
      const isFresh = last?.statusHash === null && (last.issuedAt ?? 0) > since;
      if (!isFresh || statements.anyPayment.get({ id: last.id }) !== undefined) return undefined;
      return issuedOf(last, catalog.wallet(walletId));
    },
    isUnpaidFor(walletId: number, count: number): boolean {
      const rows = statements.newest.all({ walletId, limit: count });
      const isUnpaid = ({ origin, statusHash }: AddressPlace) =>
        origin === 'ahead' || statusHash === null;
      return rows.length === count && rows.every(isUnpaid);
    },
    /**
     * How many addresses are unpaid behind the last one that a block paid. An unconfirmed payment
     * can be taken back, so one of them may not end a count that guards against strangers.
     */
    unpaidSinceBlock: (walletId: number): number =>
      statements.unpaidSinceBlock.get({ walletId })?.count ?? 0,
    /**
     * How many of the wallet's newest addresses were given out since the last one that was paid.
     */
    unpaidRun: (walletId: number): number => statements.unpaidRun.get({ walletId })?.count ?? 0,
    /** The longest way from a paid one of them to the next. */
    widestStep: (walletId: number): number => statements.widestStep.get({ walletId })?.widest ?? 0,
    /**
     * How many indexes below the wallet's counter were left out: never given out, neither by us nor
     * before us.
     */
    countLeftOut: (walletId: number): number =>
      statements.leftOut.get({ walletId, nextIndex: catalog.wallet(walletId).nextIndex })?.count ??
      0,
  };
}

const prepare = (orm: Orm) => ({
  newest: prepareNewest(orm),
  anyPayment: prepareAnyPayment(orm),
  leftOut: prepareLeftOut(orm),
  ...prepareGaps(orm),
});

const prepareNewest = (orm: Orm) =>
  prepared(() =>
    orm
      .select(addressPlace)
      .from(addresses)
      .where(
        and(
          onBranch(),
          sql`${addresses.derivationIndex} < (select ${wallets.nextIndex} from ${wallets}
            where ${wallets.id} = ${placeholder('walletId')})`,
        ),
      )
      .orderBy(desc(addresses.derivationIndex))
      .limit(sql.placeholder('limit')),
  );

const prepareLeftOut = (orm: Orm) =>
  prepared(() =>
    orm
      .select({ count: count() })
      .from(addresses)
      .where(
        and(
          equals(addresses.walletId, 'walletId'),
          sql`${addresses.origin} in ('ahead', 'foreign')`,
          lt(addresses.derivationIndex, placeholder('nextIndex')),
        ),
      ),
  );

/** Also one that is gone: it may come back. */
const prepareAnyPayment = (orm: Orm) =>
  prepared(() =>
    orm.select({ id: payments.id }).from(payments).where(equals(payments.addressId, 'id')).limit(1),
  );

/**
 * Gaps among the newest addresses of the external branch. Only a payment of ours makes an address
 * paid. A history that a single server reports must not end a warning.
 */
function prepareGaps(orm: Orm) {
  const walletId = placeholder('walletId');
  const next = sql`(select next_index from wallets where id = ${walletId})`;
  const isGiven = sql`wallet_id = ${walletId} and branch = ${external}
    and derivation_index >= ${next} - ${gapsWithin} and derivation_index < ${next}`;
  const start = sql`(select min(derivation_index) - 1 from addresses where ${isGiven})`;
  const paid = sql`select derivation_index as place from addresses
    where ${isGiven} and status_hash is not null and exists (
      select 1 from payments where address_id = addresses.id and state <> 'dropped')`;
  const mined = sql`select derivation_index from addresses
    where ${isGiven} and status_hash is not null and (origin = 'foreign' or exists (
      select 1 from payments where address_id = addresses.id
        and state in ('confirming', 'confirmed', 'settled')))`;
  return {
    unpaidSinceBlock: prepared(() =>
      orm
        .select({ count: count() })
        .from(addresses)
        .where(
          sql`${isGiven} and (status_hash is null or origin = 'ahead')
          and derivation_index > coalesce((${mined} order by derivation_index desc limit 1), -1)`,
        ),
    ),
    unpaidRun: prepared(() =>
      orm
        .select({
          count: sql<number>`${wallets.nextIndex} - 1 - coalesce(
          (${paid} order by derivation_index desc limit 1), ${start}, ${wallets.nextIndex} - 1)`,
        })
        .from(wallets)
        .where(eq(wallets.id, walletId)),
    ),
    widestStep: prepared(() =>
      orm
        .select({
          widest: sql<number | null>`(select max(place - before) from
          (select place, lag(place, 1, ${start}) over (order by place) as before from (${paid})))`,
        })
        .from(wallets)
        .where(eq(wallets.id, walletId)),
    ),
  };
}
