// The Lightning node of a merchant. paygate asks it for invoices and for what came in. lnd.ts and
// phoenixd.ts speak to the two kinds. Nothing here can spend.

import type { OrderInvoice, Settlements } from '../domain/order/lightning-invoice.ts';
import type { KnownNode, NodeSettings } from '../domain/store/lightning-node.ts';

/** What `check` found out. */
export interface NodeIdentity extends Omit<KnownNode, keyof NodeSettings> {
  /** The first cursor: `settlements` yields what is settled after the check. */
  readonly cursor: string;
}

export interface InvoiceRequest {
  /** In satoshis, above 0. */
  readonly valueSat: number;
  /** Until it expires, in whole seconds. */
  readonly seconds: number;
  /** The customer's wallet shows it. At most 128 characters reach a phoenixd. */
  readonly text: string;
  /** A settlement of the invoice has it. LND has no place for it but the end of the text. */
  readonly externalId: string;
}

/** It is what was asked for, and this node signed it. It ends by the node's clock. */
export type MadeInvoice = Omit<OrderInvoice, 'amountSat'>;

/**
 * Every method rejects with a PaygateError that repeats no credential. `unavailable`: the node
 * cannot be reached, is late or fails. `forbidden`: it refuses the credential, or its certificate
 * is another one. `invalid`: it answered something else than it was asked for.
 */
export interface LightningNode {
  /** Rejects after 10 s, with the wait for others. One that comes late is shown all the same. */
  createInvoice(request: InvoiceRequest, signal?: AbortSignal): Promise<MadeInvoice>;
  /**
   * What was settled since a cursor, then what is settled from now on, within a second. The first
   * element comes as soon as the node answers, and one at least each minute, mostly without
   * settlements. An invoice may come twice. Ends by an error only, with the signal's reason when it
   * aborts; the caller goes on from the cursor that it stored.
   */
  settlements(cursor: string, signal: AbortSignal): AsyncIterable<Settlements>;
  /**
   * LND refuses payments of the invoice from now on. A phoenixd accepts them until it expires.
   * Rejects after 2 s: a stop of paygate waits.
   */
  cancel(paymentHash: string): Promise<void>;
  /**
   * Proves that the credential makes invoices and cannot spend, on our network.
   * @throws PaygateError forbidden, saying how to make a right credential
   */
  check(): Promise<NodeIdentity>;
}
