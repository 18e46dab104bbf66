// The merchant's server: receives callbacks on loopback, stores each with its answer, and checks
// what a careful shop checks.

import { createHmac } from 'node:crypto';
import { expect } from 'vitest';
import { type Answer, type ReceivedRequest, startReceiver } from '../support/receiver.ts';

/** The callback URL has a query of its own, which paygate must not change. */
const path = '/callback';
const ownQuery = 'order=a%2Fb+c&secret=s3cr3t';
/** The deadline of an attempt. The signature's timestamp is the beginning of the attempt. */
const deadlineSeconds = 20;

export interface ReceivedCallback {
  readonly status: string;
  readonly addr: string;
  readonly value: number;
  readonly txid: string;
  /** The same in every attempt. */
  readonly eventId: string;
  /** Epoch milliseconds, by paygate's clock. */
  readonly at: number;
  readonly request: ReceivedRequest;
}

export interface Shop {
  readonly callbackUrl: string;
  readonly received: readonly ReceivedCallback[];
  /** The callbacks for an address in the order of arrival, as `status:answer`. */
  attempts(address: string): string[];
  /** The statuses of each payment, such as `0 1 2`, in the order of arrival, by `paymentKey`. */
  payments(): Record<string, string>;
  /**
   * Checks method, URL, signature and headers of every request, and that each event has one id.
   * @param events the expected number of events; by default, one for each status of a payment
   */
  verify(webhookSecret: string, events?: number): void;
  close(): Promise<void>;
}

export const paymentKey = (address: string, valueSat: number, txid: string): string =>
  `${address} ${valueSat} ${txid}`;

/**
 * @param answer returns the HTTP status for a callback; `before` counts the earlier attempts of the
 * same event
 * @param now paygate's clock
 */
export async function openShop(
  answer: (callback: ReceivedCallback, before: number) => number | 'hang' = () => 200,
  now = Date.now,
): Promise<Shop> {
  const received: ReceivedCallback[] = [];
  const answers: (number | 'hang')[] = [];

  function take(request: ReceivedRequest): Answer {
    const callback = read(request, now());
    const before = received.filter(({ eventId }) => eventId === callback.eventId).length;
    const given = answer(callback, before);
    received.push(callback);
    answers.push(given);
    return given === 'hang' ? given : { status: given };
  }

  const receiver = await startReceiver({ answer: take });
  return {
    callbackUrl: `${receiver.origin}${path}?${ownQuery}`,
    received,
    attempts: (address) =>
      received.flatMap(({ addr, status }, index) =>
        addr === address ? [`${status}:${answers[index]}`] : [],
      ),
    payments() {
      const statuses: Record<string, string> = {};
      for (const { addr, value, txid, status } of received) {
        const key = paymentKey(addr, value, txid);
        statuses[key] = statuses[key] === undefined ? status : `${statuses[key]} ${status}`;
      }
      return statuses;
    },
    verify(webhookSecret, events) {
      for (const callback of received) verifyOne(callback, webhookSecret);
      const ids = new Set(received.map(({ eventId }) => eventId)).size;
      const queries = received.map(({ request }) => request.url);
      const pairs = received.map(({ eventId, request }) => `${eventId} ${request.url}`);
      expect(new Set(pairs).size).toBe(ids);
      expect(ids).toBe(events ?? new Set(queries).size);
    },
    close: () => receiver.close(),
  };
}

function read(request: ReceivedRequest, at: number): ReceivedCallback {
  const query = new URL(request.url, 'http://shop.invalid').searchParams;
  const field = (name: string): string => query.get(name) ?? '';
  return {
    status: field('status'),
    addr: field('addr'),
    value: Number(field('value')),
    txid: field('txid'),
    eventId: request.headers['webhook-id'] ?? '',
    at,
    request,
  };
}

function verifyOne(
  { request, status, addr, value, txid, at }: ReceivedCallback,
  webhookSecret: string,
): void {
  const { method, url, headers } = request;
  const facts = `status=${status}&addr=${addr}&value=${value}&txid=${txid}`;
  const rbf = status === '0' ? '&rbf=1' : ''; // the node's wallet signals replaceability
  const query = `${ownQuery}&${facts}${rbf}`;
  expect(method).toBe('GET');
  expect(url).toBe(`${path}?${query}`);

  const { 'webhook-id': id, 'webhook-timestamp': timestamp = '' } = headers;
  const key = Buffer.from(webhookSecret.replace(/^whsec_/, ''), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${query}`);
  expect(headers['webhook-signature']).toBe(`v1,${signature.digest('base64')}`);
  expect(Math.abs(Number(timestamp) - at / 1000)).toBeLessThan(deadlineSeconds);
  expect(headers['user-agent']).toMatch(/^paygate\/\d+\.\d+$/);
}
