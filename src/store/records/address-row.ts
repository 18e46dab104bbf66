// The columns of an address that are read where it is issued or paid, and what is common to the
// statements on them.

import { and, eq } from 'drizzle-orm';
import type { Scripthash } from '../../bitcoin/ids.ts';
import type { StatusHash } from '../../domain/script-history.ts';
import { placeholder } from '../db/placeholder.ts';
import { addresses } from '../db/schema.ts';
import type { WalletRow } from './catalog.ts';

type AddressRow = typeof addresses.$inferSelect;

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
export const incompleteStatus = 'unfinished' as StatusHash;

/** The branch that BIP44 gives to addresses which are shown to others. */
export const external = 0;
export interface IssuedAddress {
  readonly id: number;
  readonly walletId: number;
  /** The wallet's key as the merchant gave it. */
  readonly account: string;
  readonly address: string;
  readonly scripthash: Scripthash;
  readonly derivationIndex: number;
  /** Epoch milliseconds. */
  readonly issuedAt: number;
}

export const issuedOf = (row: AddressPlace, { account }: WalletRow): IssuedAddress => ({
  id: row.id,
  walletId: row.walletId,
  account,
  address: row.address,
  scripthash: row.scripthash,
  derivationIndex: row.derivationIndex,
  issuedAt: row.issuedAt ?? 0,
});

/** On a wallet's external branch. */
export const onBranch = () =>
  and(
    eq(addresses.walletId, placeholder('walletId')),
    eq(addresses.branch, external).inlineParams(),
  );
