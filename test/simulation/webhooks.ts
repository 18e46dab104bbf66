// Webhooks of the shops. Each request is checked on arrival. In the end, what the shops know of
// their orders is compared with the file.

import SqliteDatabase from 'better-sqlite3';
import { type OrderJson, paymentLine } from '../../src/domain/order/order-json.ts';
import type { ReceivedRequest } from '../support/receiver.ts';
import { isGenuine, isStopped, settingsOf } from './requests.ts';
import { noteVersion, type Run } from './run.ts';

/** An event that a shop received. */
export interface ReceivedEvent {
  readonly id: string;
  readonly body: string;
  /** Whether it was answered with 2xx. */
  readonly accepted: boolean;
}

/** @returns descriptions of the faults of a request */
export function faultsOfEvent(run: Run, { url, headers, body = '' }: ReceivedRequest): string[] {
  const shop = run.shops.find(({ name }) => url === `/${name}/hook`);
  if (shop === undefined) return [`an event sent to no shop: ${url}`];
  const faults = [
    ...(isStopped(run, shop) ? ['sent to a shop whose callbacks are stopped'] : []),
    ...(isGenuine(run, settingsOf(run, shop), body, headers) ? [] : ['not signed by its secret']),
  ];
  return faults.map((fault) => `${fault}: ${url} ${body}`);
}

/** Records a request to a webhook. */
export function noteEvent(run: Run, event: ReceivedEvent): void {
  run.receivedEvents.push(event);
  const order = orderIn(event.body);
  if (order !== undefined) noteVersion(run, order.id, order.version);
}

interface DeliveredEvent {
  readonly id: string;
  readonly state: string;
  readonly body: string;
}

function readDeliveries(path: string): DeliveredEvent[] {
  const file = new SqliteDatabase(path, { readonly: true });
  try {
    return file
      .prepare<[], DeliveredEvent>(
        `select event_id as id, state, content as body from deliveries
        where channel = 'webhook' and type not like 'Invoice%' order by deliveries.id`,
      )
      .all();
  } finally {
    file.close();
  }
}

/** The ids of events in a state. */
export const eventsIn = (path: string, wanted: 'owed' | 'exhausted'): string[] =>
  readDeliveries(path).flatMap(({ id, state }) => (state === wanted ? [id] : []));

const orderIn = (body: string): OrderJson | undefined => JSON.parse(body).data.order;

/** Holds once no delivery is pending. @returns what does not */
export function wrongWebhooks(run: Run): string[] {
  const received = run.receivedEvents.slice(run.eventsRestoredAt);
  return [...wrongContents(run, received), ...wrongVersions(run), ...wrongKnowledge(run)];
}

/** Whether clocks that jumped let paygate delete events. */
const hasDeleted = ({ steps }: Run): boolean =>
  steps.some((each) => /^(sleepDays|exhaust): /.test(each));

function wrongContents(run: Run, received: readonly ReceivedEvent[]): string[] {
  const rows = readDeliveries(run.app.path);
  const byId = new Map(rows.map((row) => [row.id, row]));
  const accepted = new Set(
    run.receivedEvents.flatMap(({ id, accepted }) => (accepted ? [id] : [])),
  );
  const isGone = (id: string): boolean => !byId.has(id) && hasDeleted(run);
  return [
    ...received
      .filter(({ id, body }) => byId.get(id)?.body !== body && !isGone(id))
      .map(({ id, body }) => `received, and not recorded: ${id} ${body}`),
    ...rows
      .filter(({ id, state }) => state === 'delivered' && !accepted.has(id))
      .map(({ id }) => `recorded as delivered, and not received: ${id}`),
    ...rows
      .filter(({ state }) => !['unsent', 'delivered', 'superseded'].includes(state))
      .map(({ id, state }) => `never delivered: ${id}, ${state}`),
  ];
}

/**
 * No event of an order is first sent after a newer one. A retry may come later, also of an event
 * that was sent before a restore.
 */
function wrongVersions({ receivedEvents, eventsRestoredAt }: Run): string[] {
  const newest = new Map<string, number>();
  const sent = new Set(receivedEvents.slice(0, eventsRestoredAt).map(({ id }) => id));
  return receivedEvents.slice(eventsRestoredAt).flatMap(({ id, body }) => {
    const order = orderIn(body);
    if (order === undefined || sent.has(id)) return [];
    sent.add(id);
    const before = newest.get(order.id) ?? 0;
    newest.set(order.id, Math.max(before, order.version));
    return order.version < before ? [`out of order: ${id}, version ${order.version}`] : [];
  });
}

/** What a shop acts on. */
const knowledge = ({ status, late, payments, ...order }: OrderJson): string =>
  JSON.stringify({
    ...{ status, late, received_sat: order.received_sat, confirmed_sat: order.confirmed_sat },
    ...{ excess_sat: order.excess_sat, accepted_at: order.accepted_at },
    payments: payments
      .map(paymentLine)
      .flatMap(({ txid, gone }) => (gone ? [] : [txid]))
      .sort(),
  });

/**
 * A shop knows each order as its newest event shows it, also if that event was left out because
 * nothing changed. In a restored file this holds for orders that changed since.
 */
function wrongKnowledge(run: Run): string[] {
  if (run.steps.some((each) => /^toggleCallbacks: /.test(each))) return [];
  const known = new Map<string, OrderJson>();
  for (const { accepted, body } of run.receivedEvents) {
    const order = orderIn(body);
    // As docs/orders.md advises receivers.
    if (!accepted || order === undefined) continue;
    if (order.version > (known.get(order.id)?.version ?? 0)) known.set(order.id, order);
  }
  const newest = new Map<string, { readonly event: string; readonly order: OrderJson }>();
  for (const { id, body } of readDeliveries(run.app.path)) {
    const order = orderIn(body);
    if (order !== undefined) newest.set(order.id, { event: id, order });
  }
  return [...newest].flatMap(([id, { event, order }]) => {
    const found = known.get(id) ?? asMade(order);
    if (run.restoredEvents.has(event) || knowledge(found) === knowledge(order)) return [];
    return [`the order ${id} is ${knowledge(order)}\n  its shop knows ${knowledge(found)}`];
  });
}

const asMade = (order: OrderJson): OrderJson => ({
  ...order,
  ...{ status: 'open', late: false, received_sat: 0, confirmed_sat: 0, excess_sat: 0 },
  ...{ accepted_at: null, payments: [] },
});
