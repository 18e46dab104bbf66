// What is kept of an Electrum server from one run to the next. Pure.

/** Its TLS identity: a certificate that validated once must validate from then on; else it is the pinned one. */
export type TlsIdentity =
  | { readonly kind: 'valid' }
  | { readonly kind: 'pinned'; readonly sha256: string };

/** It lied, and is left alone for a while. */
export interface Ban {
  /** Epoch milliseconds. */
  readonly until: number;
  readonly reason: string;
}

/** What to do about a request that a server refuses or does not answer, by its method. */
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

/** The sentence for several servers of which no name resolves. */
export const offlineText = (tried: number): string =>
  `No Electrum server can be reached: names do not resolve. Is this machine online? (${tried} tried)`;
