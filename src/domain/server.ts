// What is kept of an Electrum server from one run to the next. Pure.

/** Its TLS identity: a certificate that validated once must validate from then on; else it is the pinned one. */
export type Trust =
  | { readonly kind: 'valid' }
  | { readonly kind: 'pinned'; readonly sha256: string };

/** It lied, and is left alone for a while. */
export interface Ban {
  /** Epoch milliseconds. */
  readonly until: number;
  readonly reason: string;
}
