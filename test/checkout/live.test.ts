// The event stream of an order's page.

import { afterEach, describe, expect, test } from 'vitest';
import { parseProxyNetwork } from '../../src/domain/access/client-address.ts';
import { closeApps } from '../support/app.ts';
import { openTill, quoteMs } from '../support/checkout.ts';
import { listenTo } from '../support/event-stream.ts';
import { cleanUp } from '../support/files.ts';

afterEach(closeApps);
afterEach(cleanUp);

const changes = ({ text }: { readonly text: string }): number => text.split('changed').length - 1;

test('reports a change of its own order, and no other', async () => {
  const till = await openTill();
  const other = await till.app.order({ amount_sat: 10_000 });
  const own = await listenTo(till.app, `${till.path}/live`);
  const others = await listenTo(till.app, `/o/${other.id}/live`);
  expect(own.response.headers.get('Content-Type')).toBe('text/event-stream');
  expect(own.response.headers.get('Cache-Control')).toBe('no-store');
  expect(own.response.headers.get('X-Robots-Tag')).toBe('noindex');
  await till.pay(25_000);
  await till.app.world.until(() => changes(own.heard) > 0, 'the change');
  await till.app.world.turn();
  expect(others.heard.text).toBe(': beat\n\n');
  await own.close();
  await others.close();
});

test('reports the end of each quote, and a new quote', async () => {
  const till = await openTill();
  const { heard, close } = await listenTo(till.app, `${till.path}/live`);
  await till.app.world.advance(quoteMs - 1);
  expect(changes(heard)).toBe(0);
  await till.app.world.advance(1);
  await till.app.world.until(() => changes(heard) === 1, 'the end of the quote');
  expect((await till.app.post(`/orders/${till.id}/quote`)).status).toBe(200);
  await till.app.world.until(() => changes(heard) === 2, 'the new quote');
  await till.app.world.advance(quoteMs);
  await till.app.world.until(() => changes(heard) === 3, 'the end of the new quote');
  await close();
});

test('ends when paygate stops', async () => {
  const till = await openTill();
  const { heard } = await listenTo(till.app, `${till.path}/live`);
  await till.app.stop();
  await till.app.world.until(() => heard.over, 'its end');
});

test('is open for twenty pages of one client, and for the next one when one is closed', async () => {
  const till = await openTill();
  const open = [];
  for (let count = 0; count < 20; count += 1)
    open.push(await listenTo(till.app, `${till.path}/live`));
  const refused = await fetch(`http://127.0.0.1:${till.app.port}${till.path}/live`);
  expect([refused.status, refused.headers.get('Retry-After')]).toEqual([429, '30']);
  await open[0]?.close();
  await till.app.world.turn();
  const { response } = await listenTo(till.app, `${till.path}/live`);
  expect(response.status).toBe(200);
});

type Stream = Awaited<ReturnType<typeof listenTo>>;

const behindProxy = { trustedProxy: [parseProxyNetwork('127.0.0.1')] };
const from = (client: string) => ({ 'X-Forwarded-For': client });

test('one subscriber of IPv6 has twenty, with any number of /64 prefixes', async () => {
  const till = await openTill({}, behindProxy);
  const listen = (client: string) => listenTo(till.app, `${till.path}/live`, from(client));
  for (let index = 0; index < 20; index += 1) {
    const { response } = await listen(`2001:db8:7:${index.toString(16)}::1`);
    expect(response.status).toBe(200);
  }
  expect((await listen('2001:db8:7:ffff::1')).response.status).toBe(429);
  expect((await listen('2001:db8:8:1::1')).response.status).toBe(200);
});

describe('when all streams are in use', () => {
  test.each([
    ['a /44 of IPv6', (index: number) => `2001:db8:${index.toString(16)}::1`],
    ['a few addresses of IPv4', (index: number) => `192.0.2.${index}`],
  ])('S-83 by %s, a customer of another network replaces the newest', async (_name, client) => {
    const till = await openTill({}, behindProxy);
    const listen = (address: string) => listenTo(till.app, `${till.path}/live`, from(address));
    const greedy: Stream[] = [];
    for (let index = 0; index < 15; index += 1) {
      greedy.push(...(await Promise.all(Array.from({ length: 20 }, () => listen(client(index))))));
    }
    const customers: Stream[] = [];
    for (const customer of ['203.0.113.9', '198.51.100.7', '2001:db8:8888:1::1']) {
      customers.push(await listen(customer));
    }
    expect(customers.map(({ response }) => response.status)).toEqual([200, 200, 200]);
    const ended = () => greedy.filter(({ heard }) => heard.over);
    await till.app.world.until(() => ended().length === 3, 'the newest to give way');
    // One of each network that had the most, the last one first.
    expect(ended().every((each) => greedy.indexOf(each) >= 240)).toBe(true);
    await till.pay(25_000);
    await till.app.world.until(() => customers.every(({ heard }) => changes(heard) > 0), 'news');
    expect((await listen(client(0))).response.status).toBe(429);
  });

  test('by as many customers, one more gets 429', async () => {
    const till = await openTill({}, behindProxy);
    const listen = (index: number) =>
      listenTo(till.app, `${till.path}/live`, from(`198.18.${index >> 8}.${index & 255}`));
    const open = await Promise.all(Array.from({ length: 300 }, (_, index) => listen(index)));
    expect((await listen(300)).response.status).toBe(429);
    expect(open.some(({ heard }) => heard.over)).toBe(false);
  });
});
