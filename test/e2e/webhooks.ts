// The merchant's webhook: receives events on loopback, keeps each with its answer, and checks what
// a careful shop checks. The published library computes the expected signatures.

import { Webhook } from 'standardwebhooks';
import { expect } from 'vitest';
import type { OrderJson } from '../../src/domain/order/order-json.ts';
import { type ReceivedRequest, startReceiver } from '../support/receiver.ts';

const path = '/webhook?of=posters';
/** The deadline of an attempt. The signature's timestamp is the beginning of the attempt. */
const deadlineSeconds = 20;

/** The body of a request: an event of an order or of a payment. */
export interface EventBody {
  readonly type: string;
  readonly timestamp: string;
  readonly data: {
    readonly was?: string;
    readonly order?: OrderJson;
    readonly payment?: { readonly txid: string };
  };
}

export interface ReceivedEvent extends EventBody {
  /** The same in every attempt. */
  readonly id: string;
  readonly isAccepted: boolean;
  /** Epoch milliseconds, by paygate's clock. */
  readonly at: number;
  readonly request: ReceivedRequest;
}

export interface WebhookReceiver {
  readonly url: string;
  /** While it is down, it resets each connection. */
  isDown: boolean;
  hasAccepted(eventId: string): boolean;
  /** The types of an order's events whose attempts failed, without repetitions. */
  failedOf(orderId: string): string[];
  /** What the shop knows of an order: the events that it accepted, without repetitions. */
  acceptedOf(orderId: string): ReceivedEvent[];
  /** The events of a payment, without repetitions. */
  paymentEvents(txid: string): string[];
  /** Checks each request and its signature, and that each event has one id and one body. */
  verify(webhookSecret: string): void;
  close(): Promise<void>;
}

/** @param now paygate's clock */
export async function openWebhookReceiver(now: () => number): Promise<WebhookReceiver> {
  const received: ReceivedEvent[] = [];
  const receiver = await startReceiver({
    answer(request) {
      const { isDown } = webhooks;
      received.push(read(request, !isDown, now()));
      return isDown ? 'reset' : { status: 204 };
    },
  });

  const firstOf = (events: readonly ReceivedEvent[]): ReceivedEvent[] => {
    const byId = new Map(events.toReversed().map((event) => [event.id, event]));
    return events.filter((event) => byId.get(event.id) === event);
  };

  const ofOrder = (orderId: string, isAccepted: boolean): ReceivedEvent[] =>
    firstOf(
      received.filter(
        (event) => event.isAccepted === isAccepted && event.data.order?.id === orderId,
      ),
    );

  const webhooks: WebhookReceiver = {
    url: `${receiver.origin}${path}`,
    isDown: false,
    hasAccepted: (eventId) => received.some(({ id, isAccepted }) => isAccepted && id === eventId),
    failedOf: (orderId) => ofOrder(orderId, false).map(({ type }) => type),
    acceptedOf: (orderId) => ofOrder(orderId, true),
    paymentEvents: (txid) =>
      firstOf(received.filter(({ data }) => data.payment?.txid === txid)).map(({ type }) => type),
    verify(webhookSecret) {
      const webhook = new Webhook(webhookSecret);
      for (const event of received) verifyOne(event, webhook);
      const ids = new Set(received.map(({ id }) => id)).size;
      const bodies = received.map(({ request }) => request.body);
      expect(new Set(bodies).size).toBe(ids);
      expect(new Set(received.map(({ id }, index) => `${id} ${bodies[index]}`)).size).toBe(ids);
      // A repetition comes before the next event of its order.
      const orders = received.flatMap(({ data }) => data.order ?? []);
      for (const sent of Map.groupBy(orders, ({ id }) => id).values()) {
        const versions = sent.map(({ version }) => version);
        expect(versions).toEqual(versions.toSorted((one, other) => one - other));
      }
    },
    close: () => receiver.close(),
  };
  return webhooks;
}

function read(request: ReceivedRequest, isAccepted: boolean, at: number): ReceivedEvent {
  const body: EventBody = JSON.parse(request.body ?? '');
  return { ...body, id: request.headers['webhook-id'] ?? '', isAccepted, at, request };
}

function verifyOne({ request, id, at }: ReceivedEvent, webhook: Webhook): void {
  const { method, url, headers, body = '' } = request;
  expect({ method, url }).toEqual({ method: 'POST', url: path });
  expect(headers['content-type']).toMatch(/^application\/json\b/);
  expect(id).toMatch(/^evt_/);
  const timestamp = Number(headers['webhook-timestamp']);
  const signature = webhook.sign(id, new Date(timestamp * 1000), body);
  expect(headers['webhook-signature']).toBe(signature);
  expect(Math.abs(timestamp - at / 1000)).toBeLessThan(deadlineSeconds);
}
