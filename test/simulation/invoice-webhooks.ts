// Webhooks in the format of BTCPay Server. Each request is checked on
// arrival. In the end, the order of the events of each invoice is compared with the rules of
// the format, and with the file.

import { createHmac } from 'node:crypto';
import SqliteDatabase from 'better-sqlite3';
import type { ReceivedRequest } from '../support/receiver.ts';
import type { Run } from './run.ts';

export const invoiceSecret = 'secret of a plugin';

/** An event that a shop received. */
export interface ReceivedInvoice {
  readonly invoiceId: string;
  readonly type: string;
  /** The transaction of its payment; undefined without one. */
  readonly txid: string | undefined;
  /** The first delivery has its own id. */
  readonly originalDeliveryId: string;
  readonly accepted: boolean;
}

/** @returns descriptions of the faults of a request */
export function faultsOfInvoice({ headers, body = '' }: ReceivedRequest): string[] {
  const digest = createHmac('sha256', invoiceSecret).update(body).digest('hex');
  const isGenuine = headers['btcpay-sig'] === `sha256=${digest}`;
  return isGenuine ? [] : [`not signed by the secret of its webhook: ${body}`];
}

/** Records a request. */
export function noteInvoice(run: Run, body: string, accepted: boolean): void {
  const { invoiceId, type, payment, originalDeliveryId } = JSON.parse(body);
  const txid = payment?.id.split('-')[0];
  run.receivedInvoices.push({ invoiceId, type, txid, originalDeliveryId, accepted });
}

/** Holds once no delivery is pending. @returns what does not */
export function wrongInvoices(run: Run): string[] {
  const pending = read<{ id: string }>(
    run,
    "select event_id as id from deliveries where type like 'Invoice%' and state = 'owed'",
  ).map(({ id }) => `never delivered: ${id}`);
  const isUnknown = run.steps.some((each) => /^(toggleCallbacks|sleepDays|exhaust): /.test(each));
  // A copy sends again what the file before it sent.
  if (run.isRestored || isUnknown) return pending;
  const invoices = Map.groupBy(run.receivedInvoices, ({ invoiceId }) => invoiceId);
  const wrong = [...invoices].flatMap(([id, received]) =>
    wrongOrder(received).map((fault) => `${id}: ${fault}`),
  );
  return [...pending, ...wrong, ...wrongStates(run, invoices)];
}

const read = <Row>(run: Run, query: string): Row[] => {
  const file = new SqliteDatabase(run.app.path, { readonly: true });
  try {
    return file.prepare<[], Row>(query).all();
  } finally {
    file.close();
  }
};

function wrongOrder(received: readonly ReceivedInvoice[]): string[] {
  const faults: string[] = [];
  const sent = new Set<string>();
  const ofPayments = new Set<string>();
  let isProcessing = false;
  let wasSettled = false;
  for (const { type, txid, originalDeliveryId } of received) {
    if (sent.has(originalDeliveryId)) continue;
    sent.add(originalDeliveryId);
    const name = `${type} ${txid}`;
    if (txid !== undefined && ofPayments.has(name)) faults.push(`twice: ${name}`);
    ofPayments.add(name);
    if (type === 'InvoiceProcessing') isProcessing = true;
    if (type === 'InvoiceSettled' && !isProcessing) faults.push('settled before it was processing');
    if (type === 'InvoicePaymentSettled' && !isProcessing) faults.push('a payment settled early');
    if (wasSettled && /ReceivedPayment|Expired/.test(type)) faults.push(`${type} after settled`);
    if (type === 'InvoiceSettled') wasSettled = true;
    if (type === 'InvoiceSettled' || type === 'InvoiceInvalid') isProcessing = false;
  }
  return faults;
}

/** What a shop makes of the last event about the state of an order. */
const stateEvents: Readonly<Record<string, readonly string[]>> = {
  processing: ['InvoiceProcessing'],
  paid: ['InvoiceSettled'],
  canceled: ['InvoiceInvalid'],
};

function wrongStates(run: Run, invoices: ReadonlyMap<string, readonly ReceivedInvoice[]>) {
  const orders = read<{ id: string; status: string }>(
    run,
    'select public_id as id, status from orders',
  );
  return orders.flatMap(({ id, status }) => {
    const wanted = stateEvents[status];
    const last = invoices
      .get(id)
      ?.findLast(({ type, accepted }) => accepted && !/Created|Payment/.test(type));
    if (wanted === undefined || wanted.includes(last?.type ?? '')) return [];
    return [`the order ${id} is ${status}, and its last event was ${last?.type}`];
  });
}
