// The columns of an address that are read where it is issued or paid, and what is common to the
// statements on them.

import { and, eq } from 'drizzle-orm';
import type { StatusHash } from '../../domain/payment/script-history.ts';
import { columnsOf, equals } from '../db/orm.ts';
import { addresses } from '../schema/schema.ts';
import type { WalletRow } from './catalog.ts';

type AddressRow = typeof addresses.$inferSelect;

export const addressPlace = {
  ...columnsOf(addresses, 'id', 'walletId', 'derivationIndex', 'address', 'scripthash', 'origin'),
  ...columnsOf(addresses, 'storeId', 'issuedAt', 'statusHash', 'orderId'),
};

export type AddressPlace = Pick<AddressRow, keyof typeof addressPlace>;

/**
 * Stored as the status of a history that was processed in part. It equals no real status, so the
 * script is processed again, even if its history returns to the status before.
 */
export const incompleteStatus = 'unfinished' as StatusHash;

/** The branch of receiving addresses (BIP44). */
export const external = 0;
export const issuedOf = (row: AddressPlace, { account }: WalletRow) => ({
  id: row.id,
  walletId: row.walletId,
  /** The wallet's key as the merchant gave it. */
  account,
  address: row.address,
  scripthash: row.scripthash,
  derivationIndex: row.derivationIndex,
  issuedAt: row.issuedAt ?? 0,
});
export type IssuedAddress = ReturnType<typeof issuedOf>;

export const onBranch = () =>
  and(equals(addresses.walletId, 'walletId'), eq(addresses.branch, external).inlineParams());
