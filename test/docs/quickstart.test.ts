// The quickstart page teaches orders and webhooks: its examples work exactly as they are printed.

import { readFileSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { orderReceivers } from '../../src/api/reference/quickstart.tsx';
import { closeApps, type TestApp } from '../support/app.ts';
import { cleanUp } from '../support/files.ts';
import { openPriced } from '../support/priced.ts';
import { ask } from '../support/sandbox.ts';

afterEach(closeApps);
afterEach(cleanUp);

const pageOf = async ({ port }: TestApp): Promise<string> => {
  const { status, text } = await ask(`http://127.0.0.1:${port}/docs/quickstart`);
  expect(status).toBe(200);
  return text
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
};

test('its receivers are those of docs/receivers.md, which are run', async () => {
  expect(orderReceivers.map(({ name }) => name)).toEqual(['Node', 'Python', 'PHP']);
  const documented = readFileSync('docs/receivers.md', 'utf8');
  const page = await pageOf(await openPriced());
  for (const { code } of orderReceivers) {
    expect(code).toMatch(/WEBHOOK_SECRET/);
    expect(documented).toContain(`\n${code}\n`);
    expect(page).toContain(`<pre><code>${code}</code></pre>`);
  }
});

test('its order is made as it is printed, once, and then listed', async () => {
  const app = await openPriced();
  const page = await pageOf(app);
  const origin = `http://127.0.0.1:${app.port}`;
  const printed = /-H "Idempotency-Key: (\S+)" -d '([^']+)' (\S+)<\/code>/.exec(page);
  const [, key = '', body = '', url = ''] = printed ?? [];
  expect(url).toBe(`${origin}/api/v3/orders`);
  const make = () => app.post('/orders', body, { 'Idempotency-Key': key });
  const made = await make();
  expect(made.body).toMatchObject({ status: 'open', page_url: expect.stringContaining('/o/ord_') });
  expect((await make()).body.id).toBe(made.body.id);
  app.pay(made.body.address, made.body.amount_sat);
  await app.settle();
  const [, events = ''] = /"\S+(\/api\/v3\/events\S+)"/.exec(page) ?? [];
  expect((await app.ask(events)).body.data[0].data.order.id).toBe(made.body.id);
  const [, order = ''] = /(\/api\/v3\/orders\/)ID/.exec(page) ?? [];
  expect((await app.ask(`${order}${made.body.id}`)).body.status).toBe('processing');
});

test('it teaches each status of an order, and new_address has a page of its own', async () => {
  const app = await openPriced();
  const page = await pageOf(app);
  for (const status of ['open', 'processing', 'paid', 'expired', 'canceled']) {
    expect(page).toContain(`<tr><td>${status}</td>`);
  }
  expect(page).not.toContain('/api/new_address');
  const { status, text } = await ask(`http://127.0.0.1:${app.port}/docs/new-address`);
  expect([status, text]).toEqual([200, expect.stringContaining('/api/new_address')]);
  expect(page).toContain('href="/docs/new-address"');
});
