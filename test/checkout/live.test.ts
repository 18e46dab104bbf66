// The event stream of an order's page.

import { afterEach, expect, test } from 'vitest';
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
  expect(refused.status).toBe(429);
  await open[0]?.close();
  await till.app.world.turn();
  const { response } = await listenTo(till.app, `${till.path}/live`);
  expect(response.status).toBe(200);
});
