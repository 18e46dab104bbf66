// What paygate stores about an Electrum server, and texts about servers.

/**
 * TLS identity. A certificate that validated once must always validate; any other one is pinned.
 */
export type TlsIdentity =
  | { readonly kind: 'valid' }
  | { readonly kind: 'pinned'; readonly sha256: string };

/** A server that lied is not used until then. */
export interface Ban {
  /** Epoch milliseconds. */
  readonly until: number;
  readonly reason: string;
}

/** Advice for a request that a server refuses or does not answer, by its method. */
export function requestAdvice(request: string | undefined): string {
  switch (request) {
    case 'blockchain.transaction.get':
      return 'set txindex=1 at the node behind it, or name another server with --electrum';
    case 'blockchain.transaction.id_from_pos':
      return 'name another server with --electrum, or raise --prove-depth-above';
    case 'blockchain.scripthash.get_history':
      return 'raise the limits of the server, or name another one with --electrum';
    default:
      return 'update or repair the server, or name another one with --electrum';
  }
}

/** The text for several servers whose names do not resolve. */
export const offlineText = (tried: number): string =>
  `No Electrum server can be reached: names do not resolve. Is this machine online? (${tried} tried)`;
