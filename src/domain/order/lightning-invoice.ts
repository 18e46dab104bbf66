// Lightning invoices of an order: for what one is made, and what a paid one counts. A paid invoice
// is one more payment of the order. It is final at once, and counts by the rules of all payments.

import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js';
import { maxMoneySat } from '../../bitcoin/transaction.ts';
import { secondMs } from '../../lib/time-units.ts';
import type { OrderFacts, Standing } from './order.ts';

/** Times are epoch milliseconds. */
export interface OrderInvoice {
  /** 64 hex digits. */
  readonly paymentHash: string;
  /** BOLT 11, lower case. */
  readonly invoice: string;
  readonly amountSat: number;
  readonly expiresAt: number;
}

/** What a node reports of a paid invoice, which may be another program's. */
export interface SettledInvoice {
  readonly paymentHash: string;
  /** 64 hex digits. */
  readonly preimage: string;
  /** What was received, which may be more than the invoice asks for; a fraction does not count. */
  readonly valueSat: number;
  /** Epoch milliseconds, by the clock of the node. */
  readonly settledAt: number;
  /** The public id of an order if paygate made the invoice, else any text. */
  readonly externalId: string;
}

/** What a node reports, also of invoices of other programs. */
export interface Settlements {
  readonly settled: readonly SettledInvoice[];
  /** Everything before it was reported. It is stored in one transaction with `settled`. */
  readonly cursor: string;
}

export interface WantedInvoice {
  readonly amountSat: number;
  /** How long it is to be valid, in whole seconds. */
  readonly seconds: number;
}

/** The least time in which a customer pays. */
const minSeconds = 10;

/**
 * The invoice that an order should have now: for what is missing, until its quote ends. Undefined
 * while nothing is missing or promised, while received money is undecided, and for a price in
 * satoshis that never ends.
 */
export function wantedInvoice(
  { expiresAt }: Pick<OrderFacts, 'expiresAt'>,
  { missingSat, quote, payments, status, now }: Standing,
): WantedInvoice | undefined {
  const endsAt = quote === null ? expiresAt : quote.expiresAt;
  if (status !== 'open' || !missingSat || endsAt === null) return undefined;
  if (payments.some(({ undecidedSat }) => undecidedSat > 0)) return undefined;
  const seconds = Math.floor((endsAt - now) / secondMs);
  return seconds < minSeconds ? undefined : { amountSat: missingSat, seconds };
}

/** The open invoice of an order if a customer can pay it now: for what is missing, and not over. */
export const shownInvoice = (
  open: OrderInvoice | null,
  { missingSat, now }: Pick<Standing, 'missingSat' | 'now'>,
): OrderInvoice | undefined =>
  open !== null && open.amountSat === missingSat && open.expiresAt > now ? open : undefined;

/** @param preimage 64 hex digits */
export const paymentHashOf = (preimage: string): string => bytesToHex(sha256(hexToBytes(preimage)));

/** Why a node cannot be right about a paid invoice; undefined if it can. */
export function settlementFault(
  amountSat: number,
  { paymentHash, preimage, valueSat }: SettledInvoice,
): string | undefined {
  const isHex = /^[0-9a-f]{64}$/.test(preimage);
  if (!isHex || paymentHashOf(preimage) !== paymentHash) {
    return 'its preimage does not hash to the payment hash';
  }
  if (!Number.isSafeInteger(valueSat) || valueSat < amountSat || valueSat > maxMoneySat) {
    return `its amount is ${valueSat} sat where ${amountSat} sat were asked for`;
  }
  return undefined;
}

/** When an invoice was paid: not before it was made, and not after its node reported it. */
export const paidAtOf = (createdAt: number, settledAt: number, now: number): number =>
  Math.max(createdAt, Math.min(settledAt, now));
