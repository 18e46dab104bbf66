// The merchant's server: takes callbacks on loopback, keeps each with the answer it got, and checks
// what a careful shop checks. A payment's story is all that was said of it, with the answers given.

import { createHmac } from 'node:crypto';
import { expect } from 'vitest';
import { type Answer, type ReceivedRequest, startReceiver } from '../support/receiver.ts';

/** Its own query, which paygate must leave as it is. */
const path = '/callback';
const ownQuery = 'order=a%2Fb+c&secret=s3cr3t';
/** Of one attempt: it is signed when it begins. */
const deadlineSeconds = 20;

/** A callback that came in. */
export interface Told {
  readonly status: string;
  readonly addr: string;
  readonly value: number;
  readonly txid: string;
  /** What stays the same when it is said again. */
  readonly eventId: string;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly request: ReceivedRequest;
}

export interface Shop {
  readonly callbackUrl: string;
  readonly told: readonly Told[];
  /** What was said of an address: `status:answer`, in the order of arrival. */
  story(address: string): string[];
  /** What was said of each payment: its statuses, `0 1 2`, in the order of arrival, by `paymentKey`. */
  payments(): Record<string, string>;
  /**
   * Checks of every request what does not depend on the payment, and that each event has one id.
   * @param events how many of them there must be; without it, one for each status of a payment
   */
  verify(webhookSecret: string, events?: number): void;
  close(): Promise<void>;
}

export const paymentKey = (address: string, valueSat: number, txid: string): string =>
  `${address} ${valueSat} ${txid}`;

/** @param answer what it answers, by what it is told and how often it has been told that before */
export async function openShop(
  answer: (told: Told, before: number) => number | 'hang' = () => 200,
): Promise<Shop> {
  const told: Told[] = [];
  const answers: (number | 'hang')[] = [];

  function take(request: ReceivedRequest): Answer {
    const callback = read(request);
    const before = told.filter(({ eventId }) => eventId === callback.eventId).length;
    const given = answer(callback, before);
    told.push(callback);
    answers.push(given);
    return given === 'hang' ? given : { status: given };
  }

  const receiver = await startReceiver({ answer: take });
  return {
    callbackUrl: `${receiver.origin}${path}?${ownQuery}`,
    told,
    story: (address) =>
      told.flatMap(({ addr, status }, index) =>
        addr === address ? [`${status}:${answers[index]}`] : [],
      ),
    payments() {
      const statuses: Record<string, string> = {};
      for (const { addr, value, txid, status } of told) {
        const key = paymentKey(addr, value, txid);
        statuses[key] = statuses[key] === undefined ? status : `${statuses[key]} ${status}`;
      }
      return statuses;
    },
    verify(webhookSecret, events) {
      for (const callback of told) verifyOne(callback, webhookSecret);
      const ids = new Set(told.map(({ eventId }) => eventId)).size;
      const queries = told.map(({ request }) => request.url);
      const pairs = told.map(({ eventId, request }) => `${eventId} ${request.url}`);
      expect(new Set(pairs).size).toBe(ids);
      expect(ids).toBe(events ?? new Set(queries).size);
    },
    close: () => receiver.close(),
  };
}

function read(request: ReceivedRequest): Told {
  const query = new URL(request.url, 'http://shop.invalid').searchParams;
  const field = (name: string): string => query.get(name) ?? '';
  return {
    status: field('status'),
    addr: field('addr'),
    value: Number(field('value')),
    txid: field('txid'),
    eventId: request.headers['webhook-id'] ?? '',
    at: Date.now(),
    request,
  };
}

function verifyOne({ request, status, addr, value, txid, at }: Told, webhookSecret: string): void {
  const { method, url, headers } = request;
  const facts = `status=${status}&addr=${addr}&value=${value}&txid=${txid}`;
  const rbf = status === '0' ? '&rbf=1' : ''; // the node's wallet signals it
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
