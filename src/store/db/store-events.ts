// Events about the file inside one process. `Tx.afterCommit` emits the events of a write, so that
// none can precede its commit. `callbacksDue` alone is also emitted before it (address-sync.ts), so
// that the claim is a write of the same group.

import type { Txid } from '../../bitcoin/ids.ts';
import type { AttemptOutcome } from '../../domain/delivery/retry.ts';
import type { OrderEventType, OrderStatus } from '../../domain/order/order.ts';
import type { DeliveryState } from '../../domain/order/state-words.ts';
import type { CallbackStatus, PaymentState } from '../../domain/payment/payment.ts';
import type { Events } from '../../lib/events.ts';
import type { Channel } from '../schema/delivery-schema.ts';

/** A payment's state before and after a commit; before is undefined for a new one. */
export interface PaymentMove {
  readonly before: PaymentState | undefined;
  readonly after: PaymentState;
}

export interface AttemptReport {
  readonly noun: Channel;
  readonly outcome: AttemptOutcome;
  readonly durationMs: number;
  readonly state: DeliveryState;
  /** From the creation of the delivery to this attempt, if this attempt delivered it. */
  readonly deliveredAfterMs: number | undefined;
}

export interface ChangedPaymentFacts {
  readonly storeId: number | null;
  readonly address: string;
  readonly valueSat: number;
  readonly txid: Txid;
  readonly status: CallbackStatus | null;
}

export interface ChangedOrderFacts {
  readonly type: OrderEventType;
  readonly storeId: number;
  readonly publicId: string;
  readonly address: string;
  readonly amountSat: number;
  readonly receivedSat: number;
  readonly status: OrderStatus;
}

export interface StoreEventMap {
  /** Without facts if only the transaction that replaced it changed. */
  paymentChanged: [paymentId: number, move: PaymentMove, facts?: ChangedPaymentFacts];
  tipChanged: [];
  pricesStored: [];
  /** Callbacks became due, or deliveries may go on after a backlog. */
  callbacksDue: [];
  /** An order, its payments or its quotes changed. With facts if that made an event. */
  orderChanged: [orderId: number, facts?: ChangedOrderFacts];
  webhooksDue: [];
  attemptRecorded: [report: AttemptReport];
  catalogChanged: [];
  serversChanged: [];
  /** Every address was compared with the Electrum server in use. */
  caughtUp: [];
  retryRequested: [];
}

export type StoreEvents = Events<StoreEventMap>;
