// Judges answers of both kinds of nodes. An invoice is compared with the request and with the key
// of the node, a settlement with its preimage.

import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js';
import { isHash } from '../bitcoin/ids.ts';
import type { NetworkName } from '../bitcoin/network.ts';
import type { SettledInvoice } from '../domain/order/lightning-invoice.ts';
import { PaygateError, throwInvalid } from '../lib/errors.ts';
import { secondMs } from '../lib/time-units.ts';
import type { World } from '../world/world.ts';
import { checkInvoice } from './bolt11.ts';
import type { InvoiceRequest, KnownNode, MadeInvoice, NodeSettings } from './node.ts';
import type { NodeConnection } from './node-connection.ts';

export interface NodeParts {
  readonly world: Pick<World, 'after' | 'log' | 'monotonic' | 'now'>;
  /** Without a key before the first check. */
  readonly node: NodeSettings & Partial<KnownNode>;
  readonly network: NetworkName;
  readonly connection: NodeConnection;
}

/** A customer waits for an invoice. */
export const invoiceDeadlineMs = 2 * secondMs;

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
): MadeInvoice & { readonly publicKey: string; readonly createdAt: number } {
  const read = checkInvoice(answer, { valueSat, seconds, network }, world.now());
  const { publicKey, paymentHash, createdAt } = read;
  if (publicKey !== (node.publicKey ?? publicKey)) {
    throwInvalid(
      `the node signed an invoice with the key ${publicKey} instead of ${node.publicKey}; if it is ` +
        'another node now, set it up again',
    );
  }
  const expiresAt = (createdAt + seconds) * secondMs;
  return { invoice: answer.invoice, paymentHash, expiresAt, publicKey, createdAt };
}

/** What is no settlement of an invoice is left out: a payment without one has no such preimage. */
export function provenSettlements(
  { world }: NodeParts,
  claimed: readonly SettledInvoice[],
): SettledInvoice[] {
  return claimed.filter(({ paymentHash, preimage }) => {
    if (!isHash(paymentHash) || !isHash(preimage)) return false;
    const isProven = bytesToHex(sha256(hexToBytes(preimage))) === paymentHash;
    if (!isProven)
      world.log.warn('a node reports a payment with a wrong preimage', { paymentHash });
    return isProven;
  });
}

/** @throws PaygateError forbidden */
export function throwSpending(why: string, advice: string): never {
  throw new PaygateError('forbidden', `${why}; give paygate one that can only receive: ${advice}`);
}
