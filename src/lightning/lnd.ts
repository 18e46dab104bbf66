// LND by its REST API, with a macaroon for invoices alone.
// https://lightning.engineering/api-docs/api/lnd/rest-endpoints

import { hexToBytes } from '@noble/hashes/utils.js';
import type { SettledInvoice, Settlements } from '../domain/order/lightning-invoice.ts';
import { PaygateError } from '../lib/errors.ts';
import { secondMs } from '../lib/time-units.ts';
import { permissionsOf } from './macaroon.ts';
import type { InvoiceRequest, LightningNode, NodeIdentity } from './node.ts';
import {
  madeInvoice,
  maxTextLength,
  type NodeParts,
  shortText,
  throwSpending,
  trialRequest,
} from './node-answers.ts';
import { type Body, fieldsOf, listOf, parseJson, wholeNumber } from './node-connection.ts';

const advice = 'lncli bakemacaroon --save_to=paygate.macaroon invoices:read invoices:write';
const receiveOnly = 'invoices:read invoices:write';
const spendingPaths = ['/v1/channels/transactions', '/v1/transactions'];

const cancelMs = 2 * secondMs;
/** A stream is opened anew after this time, because a lost connection is silent. */
const streamMs = 50 * secondMs;
const maxLineBytes = 1_000_000;
const maxListed = 500;
/** Newest invoices in which a check looks for the last settlement. */
const maxSearched = 100;

/**
 * All settlements up to an index are known. Before the first one, all invoices up to another index.
 * LND counts both from 1. It streams nothing of the past to who knows no settlement.
 */
interface Position {
  readonly settleIndex: number;
  readonly addIndex: number;
}

type Progress = Settlements & { readonly position: Position };

export class Lnd implements LightningNode {
  readonly #parts: NodeParts;

  constructor(parts: NodeParts) {
    this.#parts = parts;
  }

  async createInvoice(request: InvoiceRequest, signal?: AbortSignal) {
    return (await this.#add(request, signal)).made;
  }

  async *settlements(cursor: string, signal: AbortSignal): AsyncGenerator<Settlements> {
    const [settleIndex, addIndex] = cursor.split('.').map(wholeNumber);
    let position: Position = { settleIndex: settleIndex ?? 0, addIndex: addIndex ?? 0 };
    for (;;) {
      // The list shows that the node answers: a stream is silent before the first settlement.
      for await (const { settled, cursor, position: next } of this.#list(position, signal)) {
        position = next;
        yield { settled, cursor };
      }
      for (;;) {
        const progress = await this.#stream(position, signal);
        if (progress === undefined) break;
        ({ position } = progress);
        yield { settled: progress.settled, cursor: progress.cursor };
      }
    }
  }

  async cancel(paymentHash: string): Promise<void> {
    const hash = Buffer.from(paymentHash, 'hex').toString('base64');
    const body = JSON.stringify({ payment_hash: hash });
    const path = '/v2/invoices/cancel';
    await this.#parts.connection.json({ path, body, deadlineMs: cancelMs });
  }

  async check(): Promise<NodeIdentity> {
    const { node, connection } = this.#parts;
    const permissions = permissionsOf(hexToBytes(node.credential)).join(' ');
    if (permissions !== receiveOnly) {
      throwSpending(`the macaroon permits ${permissions || 'what paygate cannot read'}`, advice);
    }
    const { made, publicKey, addIndex } = await this.#add(trialRequest);
    await this.cancel(made.paymentHash);
    for (const path of spendingPaths) {
      const { code, message } = fieldsOf((await connection.ask({ path, body: '{}' })).body);
      if (code !== 2 || message !== 'permission denied') {
        throwSpending(`the node does not deny POST ${path} to the macaroon`, advice);
      }
    }
    const path = `/v1/invoices?reversed=true&num_max_invoices=${maxSearched}`;
    const newest = listOf(fieldsOf(await connection.json({ path })).invoices);
    const settleIndex = Math.max(...newest.map(settleIndexOf), 0);
    const { certificate } = connection;
    return { publicKey, certificate, cursor: cursorOf({ settleIndex, addIndex }) };
  }

  async #add(request: InvoiceRequest, signal?: AbortSignal) {
    const id = ` ${request.externalId}`;
    const body = JSON.stringify({
      value: String(request.valueSat),
      expiry: String(request.seconds),
      memo: `${shortText(request.text, maxTextLength - id.length)}${id}`,
      // With hints for channels that are not announced. Some nodes have no others.
      private: true,
    });
    const path = '/v1/invoices';
    const answer = fieldsOf(await this.#parts.connection.json({ path, body, signal }));
    const invoice = String(answer.payment_request);
    const read = madeInvoice(this.#parts, request, { invoice, paymentHash: hexOf(answer.r_hash) });
    return { ...read, addIndex: wholeNumber(answer.add_index) };
  }

  /**
   * Before the first settlement, it searches the invoices that were added since the check. The
   * cursor waits for the last page, because settlements have another order.
   */
  async *#list(position: Position, signal: AbortSignal): AsyncGenerator<Progress> {
    const isFirst = position.settleIndex === 0;
    const limit = isFirst ? maxListed : 1;
    let reached = position;
    for (let offset = position.addIndex; ; ) {
      const path = `/v1/invoices?index_offset=${offset}&num_max_invoices=${limit}`;
      const answer = fieldsOf(await this.#parts.connection.json({ path, signal }));
      const page = listOf(answer.invoices);
      const progress = progressOf(reached, isFirst ? page : []);
      reached = progress.position;
      const next = wholeNumber(answer.last_index_offset);
      if (!isFirst || page.length < limit || next <= offset) return yield progress;
      if (progress.settled.length > 0) yield { ...progress, cursor: cursorOf(position) };
      offset = next;
    }
  }

  /** The next settlements; undefined if there are none for a while. */
  async #stream(position: Position, signal: AbortSignal): Promise<Progress | undefined> {
    const { connection } = this.#parts;
    const path = `/v1/invoices/subscribe?settle_index=${position.settleIndex}`;
    const isOver = new PaygateError('unavailable', 'the time of the stream is over');
    const request = { path, signal, deadlineMs: streamMs, timeoutError: isOver };
    try {
      const { status, body } = await connection.exchange(request, readStream);
      if (body.invoices.length > 0) return progressOf(position, body.invoices);
      throw connection.refusal({ status, body: body.rest });
    } catch (error) {
      if (error === isOver) return undefined;
      throw error;
    }
  }
}

function progressOf(before: Position, invoices: readonly unknown[]): Progress {
  const settled = invoices.filter((each) => settleIndexOf(each) > 0);
  const settleIndex = Math.max(...settled.map(settleIndexOf), before.settleIndex);
  const position = { ...before, settleIndex };
  return { settled: settled.map(settledInvoice), cursor: cursorOf(position), position };
}

const cursorOf = ({ settleIndex, addIndex }: Position): string => `${settleIndex}.${addIndex}`;

const hexOf = (bytes: unknown): string => Buffer.from(String(bytes), 'base64').toString('hex');

/** 0 for an invoice that is not settled. */
function settleIndexOf(invoice: unknown): number {
  const { state, settle_index: index } = fieldsOf(invoice);
  return state === 'SETTLED' ? wholeNumber(index) : 0;
}

function settledInvoice(invoice: unknown): SettledInvoice {
  const fields = fieldsOf(invoice);
  return {
    paymentHash: hexOf(fields.r_hash),
    preimage: hexOf(fields.r_preimage),
    valueSat: wholeNumber(fields.amt_paid_sat),
    settledAt: wholeNumber(fields.settle_date) * secondMs,
    externalId: String(fields.memo).split(' ').at(-1) ?? '',
  };
}

/** The settled invoices of the first part that has some, else how the stream ended. */
async function readStream(body: Body): Promise<{ invoices: unknown[]; rest: unknown }> {
  let rest = '';
  for await (const chunk of body) {
    // Only texts of people have other characters than ASCII.
    const lines = (rest + chunk.toString('latin1')).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > maxLineBytes) throw new PaygateError('invalid', 'the node sent a long line');
    const answers = lines.map((line) => fieldsOf(parseJson(line)));
    const invoices = answers.map(({ result }) => result).filter((each) => settleIndexOf(each) > 0);
    const fault = answers.find(({ error }) => error !== undefined);
    if (invoices.length > 0 || fault !== undefined) return { invoices, rest: fault };
  }
  return { invoices: [], rest: parseJson(rest) ?? 'the stream ended' };
}
