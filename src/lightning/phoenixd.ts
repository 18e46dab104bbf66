// phoenixd by its HTTP API, with the password of limited access.
// https://phoenix.acinq.co/server/api

import type { SettledInvoice, Settlements } from '../domain/order/lightning-invoice.ts';
import { pause } from '../lib/deadline.ts';
import { hourMs, minuteMs } from '../lib/time-units.ts';
import type { InvoiceRequest, LightningNode, NodeIdentity } from './node.ts';
import {
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
/** The newest known payments, of the hour that is listed again. */
const maxKnown = 1_000;
/** A clock that is set back by less hides no payment. */
const overlapMs = hourMs;

export class Phoenixd implements LightningNode {
  readonly #parts: NodeParts;

  constructor(parts: NodeParts) {
    this.#parts = parts;
  }

  async createInvoice(request: InvoiceRequest, signal?: AbortSignal) {
    return (await this.#add(request, signal)).made;
  }

  async *settlements(cursor: string, signal: AbortSignal): AsyncGenerator<Settlements> {
    const { world } = this.#parts;
    let known: ReadonlySet<string> = new Set();
    let lastAt = wholeNumber(cursor);
    let yieldedAt = Number.NEGATIVE_INFINITY;
    for (;;) {
      const listed: string[] = [];
      let newestAt = lastAt;
      // Pages from the newest payment to the first that is known. The cursor waits for the oldest.
      for (let offset = 0, isLast = false; !isLast; offset += pageSize) {
        const page = await this.#page(Math.max(0, lastAt - overlapMs), offset, signal);
        const settled = page.filter(({ paymentHash }) => !known.has(paymentHash));
        isLast = page.length < pageSize || settled.length < page.length;
        newestAt = Math.max(newestAt, ...settled.map(({ settledAt }) => settledAt));
        listed.push(...settled.map(({ paymentHash }) => paymentHash));
        listed.splice(maxKnown);
        if (settled.length === 0 && world.monotonic() - yieldedAt < minuteMs / 2) continue;
        yieldedAt = world.monotonic();
        yield { settled, cursor: String(isLast ? newestAt : lastAt) };
      }
      lastAt = newestAt;
      known = new Set([...listed, ...known].slice(0, maxKnown));
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

  async #add(request: InvoiceRequest, signal?: AbortSignal) {
    const body = new URLSearchParams({
      amountSat: String(request.valueSat),
      expirySeconds: String(request.seconds),
      description: shortText(request.text),
      externalId: request.externalId,
    });
    const answer = await this.#parts.connection.json({
      path: '/createinvoice',
      body: String(body),
      signal,
    });
    const { serialized, paymentHash } = fieldsOf(answer);
    return madeInvoice(this.#parts, request, {
      invoice: String(serialized),
      paymentHash: String(paymentHash),
    });
  }

  async #page(from: number, offset: number, signal: AbortSignal): Promise<SettledInvoice[]> {
    const path = `/payments/incoming?from=${from}&limit=${pageSize}&offset=${offset}`;
    return listOf(await this.#parts.connection.json({ path, signal })).map(receivedPayment);
  }
}

/**
 * What phoenixd took for a channel was paid by the customer as well. It may be a fraction of a
 * satoshi, which is then missing in what was received: people pay whole ones.
 */
function receivedPayment(payment: unknown): SettledInvoice {
  const { paymentHash, preimage, receivedSat, fees, completedAt, externalId } = fieldsOf(payment);
  return {
    paymentHash: String(paymentHash),
    preimage: String(preimage),
    valueSat: wholeNumber(receivedSat) + Math.ceil(wholeNumber(fees) / 1000),
    settledAt: wholeNumber(completedAt),
    externalId: String(externalId),
  };
}
