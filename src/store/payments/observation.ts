// An observation: the evidence about one script that the ledger applies in one commit.

import type { Txid } from '../../bitcoin/ids.ts';
import type { Block } from '../../domain/payment/payment.ts';
import type { StatusHash } from '../../domain/payment/script-history.ts';
import type { AddressOrigin } from '../schema/schema.ts';

export interface Output {
  /** Sum of its outputs to the script, satoshis, above 0. */
  readonly valueSat: number;
  readonly signalsRbf: boolean;
  readonly coinbase: boolean;
}

export interface SeenPayment {
  readonly txid: Txid;
  /** Null in a mempool; else the block of our best chain that it was proven to be in. */
  readonly block: Block | null;
  readonly output: Output;
  /** The transaction itself; absent when we have it already. */
  readonly raw?: Uint8Array;
  /** The last look before an interruption, epoch milliseconds, if the next look found it. */
  readonly interruptedAt?: number | null;
}

/** A payment that two servers agree is gone. */
export interface GonePayment {
  readonly txid: Txid;
  /** A transaction known to have taken its inputs. */
  readonly replacedBy: Txid | null;
}

export interface Observation {
  readonly addressId: number;
  /** Origin of the address when its history was gathered. */
  readonly origin: AddressOrigin;
  readonly seen: readonly SeenPayment[];
  readonly gone: readonly GonePayment[];
  /** Status of the history; undefined while evidence for one of its items is missing. */
  readonly statusHash: StatusHash | null | undefined;
  /** The address is not issued, and only one server reports a history. */
  readonly isUnproven?: true;
}

interface IndexOfWallet {
  readonly walletId: number;
  readonly derivationIndex: number;
}

export interface Applied {
  readonly callbacks: number;
  /** Payments that fell out of the chain after the shop received status 1 or 2. */
  readonly reversed: readonly Txid[];
  /** The address was issued, or the chain moved, meanwhile: gather its history again. */
  readonly again?: true;
  /** Set when an address that we have not issued is used, with proof. */
  readonly foreignUse?: IndexOfWallet;
  /** Set when only one server reports such a use. */
  readonly claimedUse?: IndexOfWallet;
}
