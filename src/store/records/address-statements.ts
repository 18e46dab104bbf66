// The statements on addresses, prepared once. What they mean stands in addresses.ts.

import { and, count, desc, eq, gte, lt, max, sql } from 'drizzle-orm';
import type { StatusHash } from '../../domain/script-history.ts';
import type { Orm } from '../db/orm.ts';
import { given } from '../db/placeholder.ts';
import { type AddressOrigin, addresses, isGivenOut, payments, wallets } from '../db/schema.ts';

type AddressRow = typeof addresses.$inferSelect;

/** What is asked of a row where an address is handed out or paid, which is often. */
export const addressPlace = {
  id: addresses.id,
  walletId: addresses.walletId,
  derivationIndex: addresses.derivationIndex,
  address: addresses.address,
  scripthash: addresses.scripthash,
  origin: addresses.origin,
  storeId: addresses.storeId,
  issuedAt: addresses.issuedAt,
  statusHash: addresses.statusHash,
};

export type AddressPlace = Pick<AddressRow, keyof typeof addressPlace>;

/**
 * Stands for the status of a history that was worked up in part. No history has it: rows were written
 * by what it said, so even a return to the status from before must be looked at.
 */
export const unfinished = 'unfinished' as StatusHash;

/** The branch that BIP44 gives to addresses which are shown to others. */
export const external = 0;
/** How far back gaps are looked for: anybody may ask for them, and a million would hold us up. */
const gapsWithin = 5_000;

export function prepareAddressStatements(orm: Orm) {
  return {
    atIndex: orm
      .select(addressPlace)
      .from(addresses)
      .where(and(onBranch(), eq(addresses.derivationIndex, given('index'))))
      .prepare(),
    between: orm
      .select(addressPlace)
      .from(addresses)
      .where(
        and(
          onBranch(),
          gte(addresses.derivationIndex, given('from')),
          lt(addresses.derivationIndex, given('until')),
        ),
      )
      .prepare(),
    ...prepareRow(orm),
    lastIndex: orm
      .select({ last: max(addresses.derivationIndex) })
      .from(addresses)
      .where(onBranch())
      .prepare(),
    firstUsed: orm
      .select({ id: addresses.id })
      .from(addresses)
      .where(and(ofWallet(), isGivenOut))
      .limit(1)
      .prepare(),
    insert: orm
      .insert(addresses)
      .values({
        walletId: given('walletId'),
        branch: external,
        derivationIndex: given('index'),
        address: given('address'),
        script: given('script'),
        scripthash: given('scripthash'),
        origin: 'ahead',
      })
      // A request may have needed the index before what was derived in advance came here.
      .onConflictDoNothing({
        target: [addresses.walletId, addresses.branch, addresses.derivationIndex],
      })
      .prepare(),
    ahead: orm
      .select({ scripthash: addresses.scripthash })
      .from(addresses)
      .where(
        and(
          ofWallet(),
          eq(addresses.origin, 'ahead'),
          gte(addresses.derivationIndex, given('from')),
          lt(addresses.derivationIndex, given('until')),
        ),
      )
      .prepare(),
    newest: prepareNewest(orm),
    anyPayment: prepareAnyPayment(orm),
    ...prepareGaps(orm),
    leftOut: prepareLeftOut(orm),
    issue: orm.update(addresses).set(takenAs('issued')).where(rowId()).prepare(),
    skip: orm.update(addresses).set(takenAs('skipped')).where(rowId()).prepare(),
    setNextIndex: orm
      .update(wallets)
      .set({ nextIndex: given('nextIndex') })
      .where(eq(wallets.id, given('walletId')))
      .prepare(),
  };
}

export type AddressStatements = ReturnType<typeof prepareAddressStatements>;

const prepareRow = (orm: Orm) => ({
  byId: orm.select(addressPlace).from(addresses).where(rowId()).prepare(),
  byScripthash: orm
    .select(addressPlace)
    .from(addresses)
    .where(eq(addresses.scripthash, given('scripthash')))
    .prepare(),
  script: orm.select({ script: addresses.script }).from(addresses).where(rowId()).prepare(),
});

/** A wallet's addresses below its counter, the newest first. */
const prepareNewest = (orm: Orm) =>
  orm
    .select(addressPlace)
    .from(addresses)
    .where(
      and(
        onBranch(),
        sql`${addresses.derivationIndex} < (select ${wallets.nextIndex} from ${wallets}
            where ${wallets.id} = ${given('walletId')})`,
      ),
    )
    .orderBy(desc(addresses.derivationIndex))
    .limit(sql.placeholder('limit'))
    .prepare();

/** Below the counter, and never given out. */
const prepareLeftOut = (orm: Orm) =>
  orm
    .select({ count: count() })
    .from(addresses)
    .where(
      and(
        ofWallet(),
        sql`${addresses.origin} in ('ahead', 'foreign')`,
        lt(addresses.derivationIndex, given('nextIndex')),
      ),
    )
    .prepare();

/** Also one that is gone: it may come back. */
const prepareAnyPayment = (orm: Orm) =>
  orm
    .select({ id: payments.id })
    .from(payments)
    .where(eq(payments.addressId, given('id')))
    .limit(1)
    .prepare();

/**
 * Along the newest of the external branch. An address counts as paid by a payment of ours: that it has a history,
 * also what makes it foreign, is one server's word, and must not silence a warning.
 */
function prepareGaps(orm: Orm) {
  const walletId = given('walletId');
  const next = sql`(select next_index from wallets where id = ${walletId})`;
  const isGiven = sql`wallet_id = ${walletId} and branch = ${external}
    and derivation_index >= ${next} - ${gapsWithin} and derivation_index < ${next}`;
  const start = sql`(select min(derivation_index) - 1 from addresses where ${isGiven})`;
  const paid = sql`select derivation_index as place from addresses
    where ${isGiven} and status_hash is not null and exists (
      select 1 from payments where address_id = addresses.id and state <> 'dropped')`;
  return {
    unpaidRun: orm
      .select({
        count: sql<number>`${wallets.nextIndex} - 1 - coalesce(
          (${paid} order by derivation_index desc limit 1), ${start}, ${wallets.nextIndex} - 1)`,
      })
      .from(wallets)
      .where(eq(wallets.id, walletId))
      .prepare(),
    widestStep: orm
      .select({
        widest: sql<number | null>`(select max(place - before) from
          (select place, lag(place, 1, ${start}) over (order by place) as before from (${paid})))`,
      })
      .from(wallets)
      .where(eq(wallets.id, walletId))
      .prepare(),
  };
}

const ofWallet = () => eq(addresses.walletId, given('walletId'));

/** On its external branch. */
const onBranch = () => and(ofWallet(), eq(addresses.branch, external).inlineParams());

const rowId = () => eq(addresses.id, given('id'));

/** A history that one server alone named, while nobody held the address, is looked at anew. */
const takenAs = (origin: AddressOrigin) => ({
  origin,
  statusHash: sql`case when ${addresses.statusHash} is null then null else ${unfinished} end`,
  storeId: given('storeId'),
  issuedAt: given('now'),
});
