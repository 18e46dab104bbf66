// Webhooks of the shops. Each request is checked on arrival. In the end, what the shops know of
// their orders is compared with the file.

import SqliteDatabase from 'better-sqlite3';
import type { ReceivedRequest } from '../support/receiver.ts';
import { readOrders } from './orders.ts';
import { isGenuine, isStopped, settingsOf } from './requests.ts';
import type { Run } from './run.ts';

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
        'select public_id as id, state, body from events order by events.id',
      )
      .all();
  } finally {
    file.close();
  }
}

/** The ids of events in a state. */
export const eventsIn = (path: string, wanted: 'owed' | 'exhausted'): string[] =>
  readDeliveries(path).flatMap(({ id, state }) => (state === wanted ? [id] : []));

const orderIn = (body: string): { id: string; version: number; status: string } | undefined =>
  JSON.parse(body).data.order;

/** Holds once no delivery is pending. @returns what does not */
export function wrongWebhooks(run: Run): string[] {
  const received = run.receivedEvents.slice(run.eventsRestoredAt);
  return [...wrongContents(run, received), ...wrongVersions(received), ...wrongKnowledge(run)];
}

/** Whether clocks that jumped let paygate delete events. */
const hasDeleted = ({ steps }: Run): boolean =>
  steps.some((each) => /^(jumpDays|exhaust): /.test(each));

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

/** No event of an order is first sent after a newer one. A retry may come later. */
function wrongVersions(received: readonly ReceivedEvent[]): string[] {
  const newest = new Map<string, number>();
  const sent = new Set<string>();
  return received.flatMap(({ id, body }) => {
    const order = orderIn(body);
    if (order === undefined || sent.has(id)) return [];
    sent.add(id);
    const before = newest.get(order.id) ?? 0;
    newest.set(order.id, Math.max(before, order.version));
    return order.version < before ? [`out of order: ${id}, version ${order.version}`] : [];
  });
}

/** A shop that was sent every event knows the status of each order. */
function wrongKnowledge(run: Run): string[] {
  const isUnsure = run.steps.some((each) => /^(toggleCallbacks|restore): /.test(each));
  if (isUnsure || hasDeleted(run)) return [];
  const known = new Map<string, NonNullable<ReturnType<typeof orderIn>>>();
  for (const { accepted, body } of run.receivedEvents) {
    const order = orderIn(body);
    // As docs/orders.md advises receivers.
    if (!accepted || order === undefined) continue;
    if (order.version > (known.get(order.id)?.version ?? 0)) known.set(order.id, order);
  }
  return readOrders(run.app.path)
    .orders.filter(({ id, status }) => (known.get(id)?.status ?? 'open') !== status)
    .map(
      ({ id, status }) => `the order ${id} is ${status}, its shop knows ${known.get(id)?.status}`,
    );
}
