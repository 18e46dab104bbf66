// The Lightning node of a store.

import type { TlsIdentity } from '../payment/server-record.ts';

export type NodeKind = 'lnd' | 'phoenixd';

/** What a merchant enters. src/lightning/node-settings.ts reads it. */
export interface NodeSettings {
  readonly kind: NodeKind;
  /** Origin of its HTTP API, without a user: `https://umbrel.local:8080`. */
  readonly url: string;
  /** A secret: the macaroon of an LND in hex, or a password of a phoenixd. */
  readonly credential: string;
}

/** The node of a store, as it is stored. Every later answer of it must agree. */
export interface KnownNode extends NodeSettings {
  /** The compressed key that signs its invoices: 66 hex digits. */
  readonly publicKey: string;
  /** The certificate of its first use; null without TLS. */
  readonly certificate: TlsIdentity | null;
}
