// What the customer's page shows of an order. `stage` says which of its texts the page has; it
// follows from the order's status, its quote and the time alone.

import { newQuoteRefusal } from '../domain/order.ts';
import { type OrderJson, orderJson } from '../domain/order-json.ts';
import { paymentUri } from '../domain/payment-uri.ts';
import type { OrderRecord, OrderView } from '../store/views/order-view.ts';

/**
 * `payable`: an amount is promised. `lapsed`: the customer may ask for a new quote. `over`: the
 * time of the order is over, but no server was asked since whether a payment came in time.
 */
export type Stage = 'payable' | 'lapsed' | 'over' | 'processing' | 'paid' | 'expired' | 'canceled';

export interface ShownOrder {
  readonly order: OrderJson;
  readonly storeName: string;
  readonly stage: Stage;
  /** Opens a wallet with the amount; null unless the order is payable. */
  readonly walletUri: string | null;
  /** When the amount ends, epoch milliseconds; null if there is none, and if it never ends. */
  readonly validUntil: number | null;
  /** A quote ends then. */
  readonly isQuoted: boolean;
}

export function shownOrder(view: OrderView, record: OrderRecord, now: number): ShownOrder {
  const { details, facts } = record;
  const standing = view.standing(record, now);
  const { status, missingSat, quote } = standing;
  const { address, storeName, reference } = details;
  // After it was accepted, an order counts in satoshis, and its quotes do not matter.
  const promised = facts.acceptedSat === null ? quote : null;
  const isPayable = status === 'open' && missingSat !== null;
  const mayBeQuoted = newQuoteRefusal(facts, standing, now) === undefined;
  return {
    order: orderJson(details, standing, ''),
    storeName,
    stage: status === 'open' ? (isPayable ? 'payable' : mayBeQuoted ? 'lapsed' : 'over') : status,
    walletUri: isPayable
      ? paymentUri(address, {
          amountSat: missingSat,
          label: storeName,
          message: reference ?? undefined,
        })
      : null,
    validUntil: isPayable ? (promised ?? facts).expiresAt : null,
    isQuoted: isPayable && promised !== null,
  };
}
