// The addresses that browsers get from plugins lead to the order, and the script for a frame opens
// its page there if the store lets the shop have it, else in the whole window.

import { afterEach, expect, test } from 'vitest';
import { closeApps } from '../support/app.ts';
import { cleanUp } from '../support/files.ts';
import { openGreenfield } from '../support/greenfield.ts';

afterEach(closeApps);
afterEach(cleanUp);

test('each address of an invoice leads to its page, and others to nothing', async () => {
  const { app, invoice } = await openGreenfield();
  const { id } = await invoice();
  const at = `http://127.0.0.1:${app.port}`;
  const target = async (path: string) => {
    const response = await fetch(`${at}${path}`, { redirect: 'manual' });
    const location = response.headers.get('Location');
    return location === null ? response.status : new URL(location, `${at}${path}`).pathname;
  };
  for (const path of [`/i/${id}`, `/i/${id}/BTC-CHAIN`, `/invoice?id=${id}&view=modal`]) {
    expect([path, await target(path)]).toEqual([path, `/o/${id}`]);
  }
  expect((await fetch(`${at}/i/${id}`)).status).toBe(200);
  expect(await target(`/invoices/${id}`)).toBe(`/dashboard/orders/${id}`);
  for (const path of ['/i/x', '/invoice', '/invoices/..%2f', '/i/ord_%0d%0aX']) {
    expect([path, await target(path)]).toEqual([path, 404]);
  }
});

test('the page of an order says in a frame what it shows', async () => {
  const { app, invoice, ask, addressOf } = await openGreenfield();
  const page = async (id: string) => (await fetch(`http://127.0.0.1:${app.port}/o/${id}`)).text();
  const { id } = await invoice();
  expect(await page(id)).toContain('data-status="open"');
  app.pay(await addressOf(id), 40_000);
  await app.settle();
  const paid = await page(id);
  expect(paid).toContain('data-status="processing"');
  const [, name = ''] = /src="(assets\/frame-[0-9a-f]+\.js)"/.exec(paid) ?? [];
  const script = await fetch(`http://127.0.0.1:${app.port}/o/${name}`);
  expect([script.status, await script.text()]).toEqual([200, expect.stringContaining('loaded')]);
  expect((await ask('GET', `/invoices/${id}`)).body.checkoutLink).toContain(`/i/${id}`);
});

test('the script for shops has all that plugins call', async () => {
  const { app } = await openGreenfield();
  const response = await fetch(`http://127.0.0.1:${app.port}/modal/btcpay.js?ver=2.8.0`);
  expect(response.headers.get('Content-Type')).toBe('text/javascript; charset=utf-8');
  const window: { btcpay?: Record<string, unknown> } = {};
  const document = { currentScript: { src: 'https://pay.example/modal/btcpay.js?ver=2' } };
  const run = new Function('window', 'document', 'addEventListener', await response.text());
  run(window, document, () => {});
  expect(Object.keys(window.btcpay ?? {}).sort()).toEqual([
    ...['appendAndShowInvoiceFrame', 'appendInvoiceFrame', 'hideFrame', 'onModalReceiveMessage'],
    ...['onModalWillEnter', 'onModalWillLeave', 'setApiUrlPrefix', 'showFrame', 'showInvoice'],
  ]);
  expect(Object.isFrozen(window.btcpay)).toBe(false);
});
