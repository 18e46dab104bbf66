// The Lightning node of a merchant. paygate asks it for invoices and for what came in. lnd.ts and
// phoenixd.ts speak to the two kinds. Nothing here can spend.

import type { SettledInvoice } from '../domain/order/lightning-invoice.ts';
import type { TlsIdentity } from '../domain/payment/server-record.ts';

export type NodeKind = 'lnd' | 'phoenixd';

/** What a merchant enters. `parseNodeSettings` reads it. */
export interface NodeSettings {
  readonly kind: NodeKind;
  /** Origin of its HTTP API, without a user: `https://umbrel.local:8080`. */
  readonly url: string;
  /** A secret: the macaroon of an LND in hex, or a password of a phoenixd. */
  readonly credential: string;
}

/** What `check` found out. It is stored with the settings, and every later answer must agree. */
export interface NodeIdentity {
  /** The compressed key that signs its invoices: 66 hex digits. */
  readonly publicKey: string;
  /** The certificate of its first use; null without TLS. */
  readonly certificate: TlsIdentity | null;
  /** The first cursor: `settlements` yields what is settled after the check. */
  readonly cursor: string;
}

/** The node of a store, as it is stored. */
export interface KnownNode extends NodeSettings, Omit<NodeIdentity, 'cursor'> {}

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

export interface MadeInvoice {
  /** BOLT 11, lower case. It is what was asked for, and this node signed it. */
  readonly invoice: string;
  /** 64 hex digits. */
  readonly paymentHash: string;
  /** Epoch milliseconds, by the node's clock. */
  readonly expiresAt: number;
}

export interface Settlements {
  /** As the node says it, also what other programs received. */
  readonly settled: readonly SettledInvoice[];
  /** Everything before it was yielded. To be stored in one transaction with `settled`. */
  readonly cursor: string;
}

/**
 * Every method rejects with a PaygateError that repeats no credential. `unavailable`: the node
 * cannot be reached, is late or fails. `forbidden`: it refuses the credential, or its certificate
 * is another one. `invalid`: it answered something else than it was asked for.
 */
export interface LightningNode {
  /** Rejects after 2 s: a customer waits. */
  createInvoice(request: InvoiceRequest): Promise<MadeInvoice>;
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
