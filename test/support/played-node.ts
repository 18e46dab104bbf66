// A Lightning node that a test plays: it makes invoices, takes payments, and can be slow, down or
// wrong. It has the interface of a node, without its HTTP API.

import { createHash } from 'node:crypto';
import type { SettledInvoice, Settlements } from '../../src/domain/order/lightning-invoice.ts';
import { PaygateError } from '../../src/lib/errors.ts';
import type {
  InvoiceRequest,
  LightningNode,
  MadeInvoice,
  NodeIdentity,
} from '../../src/lightning/node.ts';
import type { TestApp } from './app.ts';

interface PlayedInvoice extends InvoiceRequest {
  readonly paymentHash: string;
  readonly preimage: string;
  isCanceled: boolean;
}

export class PlayedNode implements LightningNode {
  readonly #now: () => number;
  readonly #settled: SettledInvoice[] = [];
  #wake = Promise.withResolvers<void>();
  readonly invoices: PlayedInvoice[] = [];
  /** The cursors from which it was asked. */
  readonly asked: string[] = [];
  state: 'up' | 'down' | 'slow' = 'up';
  /** How far its clock is ahead of ours. */
  aheadMs = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  async createInvoice(request: InvoiceRequest): Promise<MadeInvoice> {
    if (this.state === 'slow') await this.#untilUp();
    this.#checkUp();
    const number = Buffer.alloc(32, this.invoices.length + 1);
    const paymentHash = createHash('sha256').update(number).digest('hex');
    const preimage = number.toString('hex');
    this.invoices.push({ ...request, paymentHash, preimage, isCanceled: false });
    const expiresAt = this.#now() + this.aheadMs + request.seconds * 1000;
    return { invoice: `lnbcrt${this.invoices.length}`, paymentHash, expiresAt };
  }

  async *settlements(cursor: string, signal: AbortSignal): AsyncGenerator<Settlements> {
    this.asked.push(cursor);
    signal.addEventListener('abort', () => this.#changed());
    for (let from = Number(cursor); !signal.aborted; ) {
      this.#checkUp();
      const settled = this.#settled.slice(from);
      from = this.#settled.length;
      const { promise } = this.#wake;
      yield { settled, cursor: String(from) };
      await promise;
    }
    throw signal.reason;
  }

  async cancel(paymentHash: string): Promise<void> {
    this.#checkUp();
    for (const each of this.invoices) if (each.paymentHash === paymentHash) each.isCanceled = true;
  }

  async check(): Promise<NodeIdentity> {
    return { publicKey: '02aa', certificate: null, cursor: '0' };
  }

  /** A customer pays the invoice of this number, the first is 1. */
  pay(number: number, changes: Partial<SettledInvoice> = {}): void {
    const invoice = this.invoices[number - 1];
    if (invoice === undefined) throw new Error(`no invoice ${number}`);
    const { paymentHash, preimage, valueSat, externalId } = invoice;
    const settledAt = this.#now();
    this.#settled.push({ paymentHash, preimage, valueSat, settledAt, externalId, ...changes });
    this.#changed();
  }

  set(state: 'up' | 'down' | 'slow'): void {
    this.state = state;
    this.#changed();
  }

  #changed(): void {
    const before = this.#wake;
    this.#wake = Promise.withResolvers<void>();
    before.resolve();
  }

  async #untilUp(): Promise<void> {
    while (this.state === 'slow') await this.#wake.promise;
  }

  #checkUp(): void {
    if (this.state === 'down') throw new PaygateError('unavailable', 'it refuses connections');
  }
}

/** Gives store 1 a node, and waits until paygate follows it. */
export async function giveNode({ world, withStore }: TestApp, node: PlayedNode): Promise<void> {
  const known = {
    ...{ url: 'https://node.example:8080', credential: '00', publicKey: '02aa' },
    kind: 'lnd',
    certificate: null,
  } as const;
  await withStore(({ lightningInvoices, database }) =>
    database.write((tx) => lightningInvoices.setNode(tx, world.now(), 1, known, '0')),
  );
  await world.advance(1_000);
  await world.until(() => node.asked.length > 0, 'the node to be asked');
}
