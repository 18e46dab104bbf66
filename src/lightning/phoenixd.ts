// phoenixd by its HTTP API, with the password of limited access.
// https://phoenix.acinq.co/server/api

import type { SettledInvoice, Settlements } from '../domain/order/lightning-invoice.ts';
import { pause } from '../lib/deadline.ts';
import { hourMs, minuteMs } from '../lib/time-units.ts';
import type { InvoiceRequest, LightningNode, NodeIdentity } from './node.ts';
import {
  invoiceDeadlineMs,
  madeInvoice,
  type NodeParts,
  shortText,
  throwSpending,
  trialRequest,
} from './node-answers.ts';
import { fieldsOf, listOf, wholeNumber } from './node-connection.ts';

const advice = 'http-password-limited-access in ~/.phoenix/phoenix.conf';
/** A customer sees within a second that it is paid. */
const pollMs = 500;
const pageSize = 20;
/** A clock that is set back by less hides no payment. */
const overlapMs = hourMs;

export class Phoenixd implements LightningNode {
  readonly #parts: NodeParts;

  constructor(parts: NodeParts) {
    this.#parts = parts;
  }

  async createInvoice(request: InvoiceRequest) {
    return (await this.#add(request)).made;
  }

  async *settlements(cursor: string, signal: AbortSignal): AsyncGenerator<Settlements> {
    const { world } = this.#parts;
    const known = new Set<string>();
    let lastAt = wholeNumber(cursor);
    let yieldedAt = Number.NEGATIVE_INFINITY;
    for (;;) {
      const found = await this.#receivedSince(Math.max(0, lastAt - overlapMs), known, signal);
      lastAt = Math.max(lastAt, ...found.map(({ settledAt }) => settledAt));
      if (found.length > 0 || world.monotonic() - yieldedAt >= minuteMs / 2) {
        yieldedAt = world.monotonic();
        yield { settled: found, cursor: String(lastAt) };
      }
      for (const { paymentHash } of found) known.add(paymentHash);
      await pause(world, pollMs, signal);
      signal.throwIfAborted();
    }
  }

  /** phoenixd cannot do that: the invoice is payable until it expires. */
  async cancel(): Promise<void> {}

  async check(): Promise<NodeIdentity> {
    const { connection } = this.#parts;
    const { publicKey, createdAt } = await this.#add(trialRequest);
    const path = '/payinvoice';
    if ((await connection.ask({ path, body: '' })).status !== 401) {
      throwSpending(`the node does not deny POST ${path} to the password`, advice);
    }
    return { publicKey, certificate: connection.certificate, cursor: `${createdAt * 1000}` };
  }

  async #add(request: InvoiceRequest) {
    const body = new URLSearchParams({
      amountSat: String(request.valueSat),
      expirySeconds: String(request.seconds),
      description: shortText(request.text),
      externalId: request.externalId,
    });
    const answer = await this.#parts.connection.json({
      path: '/createinvoice',
      body: String(body),
      deadlineMs: invoiceDeadlineMs,
    });
    const { serialized, paymentHash } = fieldsOf(answer);
    return madeInvoice(this.#parts, request, {
      invoice: String(serialized),
      paymentHash: String(paymentHash),
    });
  }

  /** Pages from the newest payment to the first that is known. */
  async #receivedSince(
    from: number,
    known: ReadonlySet<string>,
    signal: AbortSignal,
  ): Promise<SettledInvoice[]> {
    const found: SettledInvoice[] = [];
    for (let offset = 0; ; offset += pageSize) {
      const path = `/payments/incoming?from=${from}&limit=${pageSize}&offset=${offset}`;
      const page = listOf(await this.#parts.connection.json({ path, signal })).map(receivedPayment);
      const fresh = page.filter(({ paymentHash }) => !known.has(paymentHash));
      found.push(...fresh);
      if (page.length < pageSize || fresh.length < page.length) return found;
    }
  }
}

/** What phoenixd took for a channel was paid by the customer as well. */
function receivedPayment(payment: unknown): SettledInvoice {
  const { paymentHash, preimage, receivedSat, fees, completedAt, externalId } = fieldsOf(payment);
  return {
    paymentHash: String(paymentHash),
    preimage: String(preimage),
    valueSat: wholeNumber(receivedSat) + Math.floor(wholeNumber(fees) / 1000),
    settledAt: wholeNumber(completedAt),
    externalId: String(externalId),
  };
}
