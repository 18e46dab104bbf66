// Judges invoices of both kinds of nodes, by the request and by the key of the node. The domain
// judges a settlement with its order (domain/order/lightning-invoice.ts).

import type { NetworkName } from '../bitcoin/network.ts';
import type { KnownNode, NodeSettings } from '../domain/store/lightning-node.ts';
import { PaygateError, throwInvalid } from '../lib/errors.ts';
import { secondMs } from '../lib/time-units.ts';
import type { World } from '../world/world.ts';
import { checkInvoice } from './bolt11.ts';
import type { InvoiceRequest, MadeInvoice } from './node.ts';
import type { NodeConnection } from './node-connection.ts';

export interface NodeParts {
  readonly world: Pick<World, 'after' | 'monotonic' | 'now'>;
  /** Without a key before the first check. */
  readonly node: NodeSettings & Partial<KnownNode>;
  readonly network: NetworkName;
  readonly connection: NodeConnection;
}

/** The invoice of a check. */
export const trialRequest: InvoiceRequest = {
  valueSat: 1,
  seconds: 60,
  text: 'paygate: a check of this node, not to be paid',
  externalId: 'paygate-check',
};

/** As much as a phoenixd takes, and LND. */
export const maxTextLength = 128;

export const shortText = (text: string, length = maxTextLength): string =>
  text.slice(0, length).toWellFormed();

/** @throws PaygateError invalid unless the answer is what was asked for */
export function madeInvoice(
  { world, node, network }: NodeParts,
  { valueSat, seconds }: InvoiceRequest,
  answer: { readonly invoice: string; readonly paymentHash: string },
): { readonly made: MadeInvoice; readonly publicKey: string; readonly createdAt: number } {
  const read = checkInvoice(answer, { valueSat, seconds, network }, world.now());
  const { publicKey, paymentHash, createdAt } = read;
  if (publicKey !== (node.publicKey ?? publicKey)) {
    throwInvalid(
      `the node signed an invoice with the key ${publicKey} instead of ${node.publicKey}; if it is ` +
        'another node now, set it up again',
    );
  }
  const expiresAt = (createdAt + seconds) * secondMs;
  return { made: { invoice: answer.invoice, paymentHash, expiresAt }, publicKey, createdAt };
}

/** @throws PaygateError forbidden */
export function throwSpending(why: string, advice: string): never {
  throw new PaygateError('forbidden', `${why}; give paygate one that can only receive: ${advice}`);
}
