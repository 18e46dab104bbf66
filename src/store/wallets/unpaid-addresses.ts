// Which of a wallet's newest addresses are unpaid or were left out: reads alone.

import { and, asc, count, countDistinct, desc, eq, isNotNull, lt, sql } from 'drizzle-orm';
import type { Scripthash } from '../../bitcoin/ids.ts';
import { equals, type Orm, placeholder, prepared } from '../db/orm.ts';
import type { Tx } from '../db/writer.ts';
import { orders } from '../schema/order-schema.ts';
import { addresses, isOnChain, payments, wallets } from '../schema/schema.ts';
import {
  type AddressPlace,
  addressPlace,
  external,
  type IssuedAddress,
  issuedOf,
  onBranch,
} from './address-row.ts';
import type { Catalog } from './catalog.ts';

export type IsPending = (scripthash: Scripthash) => boolean;
export type UnpaidAddresses = ReturnType<typeof createUnpaidAddresses>;

/** How far back a store's last address is looked for: other stores may share its wallet. */
const reusedWithin = 100;

/**
 * The widest step is looked for among so many paid addresses, and so many unpaid ones are counted.
 * Anybody may ask, and a million would hold us up (docs/decisions/027).
 */
const maxPaidRead = 5_000;
const maxUnpaidCounted = 100_000;

export function createUnpaidAddresses(orm: Orm, catalog: Catalog) {
  const statements = prepare(orm);
  const isUnseen = ({ id, statusHash }: AddressPlace): boolean =>
    statusHash === null && statements.anyPayment.get({ id }) === undefined;
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
      if (last === undefined || (last.issuedAt ?? 0) <= since || !isUnseen(last)) return undefined;
      return issuedOf(last, catalog.wallet(walletId));
    },
    /**
     * Whether nothing was ever seen of a payment to an address, by the id of its row.
     * @param isPending whether a server announced a history that is not processed yet
     */
    isUntouched(addressId: number, isPending: IsPending): boolean {
      const row = statements.byId.get({ id: addressId });
      return row !== undefined && isUnseen(row) && !isPending(row.scripthash);
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
     * @param max no more are counted
     */
    unpaidSinceBlock: (walletId: number, max = maxUnpaidCounted): number =>
      statements.unpaidSinceBlock.get({ walletId, max })?.count ?? 0,
    /** How many of these are of strangers of a network, who ordered by links. */
    unpaidOfNetwork: (walletId: number, network: string): number =>
      statements.unpaidOfNetwork.get({ walletId, network })?.count ?? 0,
    /** What they are, and when the one after `before` others was given out, epoch milliseconds. */
    strangersSinceBlock(walletId: number, before: number) {
      const { orders = 0, networks = 0 } = statements.unpaidByLinks.get({ walletId }) ?? {};
      const since = statements.unpaidAt.get({ walletId, before })?.issuedAt ?? undefined;
      return { orders, networks, since };
    },
    /** Forgets the networks of strangers whose order is not among these. */
    forgetNetworks: (_tx: Tx, walletId: number) => void statements.forgetNetworks.run({ walletId }),
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
  byId: prepared(() => orm.select(addressPlace).from(addresses).where(equals(addresses.id, 'id'))),
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
    and derivation_index < ${next}`;
  const start = sql`(select min(derivation_index) - 1 from addresses where ${isGiven})`;
  const paid = sql`select derivation_index as place from addresses
    where ${isGiven} and status_hash is not null and exists (
      select 1 from payments where address_id = addresses.id and ${isOnChain}
        and state <> 'dropped')`;
  const newestPaid = sql`${paid} order by derivation_index desc limit ${maxPaidRead}`;
  // Without all of them, what was before the first is unknown.
  const beforeFirst = sql`(select case when count(*) < ${maxPaidRead} then ${start} end
    from (${newestPaid}))`;
  const mined = sql`select derivation_index from addresses
    where ${isGiven} and status_hash is not null and (origin = 'foreign' or exists (
      select 1 from payments where address_id = addresses.id and ${isOnChain}
        and state in ('confirming', 'confirmed', 'settled')))`;
  const lastMined = sql`coalesce((${mined} order by derivation_index desc limit 1), -1)`;
  const isUnpaid = sql`${isGiven} and (status_hash is null or origin = 'ahead')
    and derivation_index > ${lastMined}`;
  // SQLite begins with the orders of a cross join: those of strangers are few.
  const isOfOrder = eq(addresses.id, orders.addressId);
  return {
    unpaidSinceBlock: prepared(() =>
      orm
        .select({ count: count() })
        .from(sql`(select 1 from addresses where ${isUnpaid} limit ${placeholder('max')})`),
    ),
    unpaidOfNetwork: prepared(() =>
      orm
        .select({ count: count() })
        .from(orders)
        .crossJoin(addresses)
        .where(and(equals(orders.payerNetwork, 'network'), isOfOrder, isUnpaid)),
    ),
    unpaidByLinks: prepared(() =>
      orm
        .select({ orders: count(), networks: countDistinct(orders.payerNetwork) })
        .from(orders)
        .crossJoin(addresses)
        .where(and(isNotNull(orders.payerNetwork), isOfOrder, isUnpaid)),
    ),
    unpaidAt: prepared(() =>
      orm
        .select({ issuedAt: addresses.issuedAt })
        .from(addresses)
        .where(isUnpaid)
        .orderBy(asc(addresses.derivationIndex))
        .limit(1)
        .offset(sql.placeholder('before')),
    ),
    forgetNetworks: prepared(() =>
      orm
        .update(orders)
        .set({ payerNetwork: null })
        .where(
          sql`payer_network is not null and exists (select 1 from addresses a
            where a.id = address_id and a.wallet_id = ${walletId} and a.branch = ${external}
              and a.derivation_index <= ${lastMined})`,
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
          (select place, lag(place, 1, ${beforeFirst}) over (order by place) as before
            from (${newestPaid})))`,
        })
        .from(wallets)
        .where(eq(wallets.id, walletId)),
    ),
  };
}
