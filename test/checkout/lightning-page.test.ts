// The customer's page and the till of a store with a Lightning node. They have two ways to pay, and
// change at once when the invoice is paid. Without a node, there is no trace of it.

import { afterEach, expect, test } from 'vitest';
import { closeApps } from '../support/app.ts';
import { listenTo } from '../support/event-stream.ts';
import { cleanUp } from '../support/files.ts';
import { giveNode, PlayedNode } from '../support/played-node.ts';
import { openPriced } from '../support/priced.ts';
import { openTill } from '../support/tills.ts';
import { createTestWorld } from '../support/world.ts';

afterEach(cleanUp);
afterEach(closeApps);

const eur = { amount: '12.50', currency: 'EUR' };

async function open(hasNode = true) {
  const world = createTestWorld();
  const node = new PlayedNode(() => world.now());
  const app = await openPriced({ world, openLightning: () => node });
  if (hasNode) await giveNode(app, node);
  const page = async (path: string, headers = {}) =>
    (await fetch(`http://127.0.0.1:${app.port}${path}`, { headers })).text();
  return { app, world, node, page };
}

const radios = (html: string): string[] =>
  [...html.matchAll(/<input type="radio" name="way" value="(\w+)"( checked="")?\/>/g)].map(
    ([, way = '', isChecked]) => (isChecked ? `(${way})` : way),
  );

test('an order with an invoice has both ways, each with its code, its link and a copy button', async () => {
  const { app, page } = await open();
  const { id, address } = await app.order(eur);
  const html = await page(`/o/${id}`);
  expect(radios(html)).toEqual(['(chain)', 'lightning']);
  // The choice is outside of what is replaced, and before it.
  expect(html.indexOf('class="ways"')).toBeLessThan(html.indexOf('<div id="pay"'));
  expect(html).toContain('<section class="box chain" aria-label="Bitcoin">');
  expect(html).toContain(`href="bitcoin:${address}?amount=0.00025`);
  expect(html).toContain('<section class="box lightning" aria-label="Lightning">');
  expect(html).toContain('aria-label="QR code of the Lightning invoice"');
  expect(html).toContain('href="lightning:lnbcrt1"');
  expect(html).toContain('<code id="invoice">lnbcrt1</code>');
  expect(html).toMatch(/data-copy="invoice"[^>]*>Copy Lightning invoice</);
  expect(html.match(/The price holds until/g)).toHaveLength(2);
});

test.each([
  ['ar', 'نسخ فاتورة Lightning'],
  ['cs', 'Kopírovat fakturu Lightning'],
  ['de', 'Lightning-Rechnung kopieren'],
  ['es', 'Copiar la factura Lightning'],
  ['fr', 'Copier la facture Lightning'],
  ['it', 'Copia la fattura Lightning'],
  ['ja', 'Lightningインボイスをコピー'],
  ['nl', 'Lightning-factuur kopiëren'],
  ['pl', 'Kopiuj fakturę Lightning'],
  ['pt-BR', 'Copiar a fatura Lightning'],
])('in %s, too', async (language, words) => {
  const { app, page } = await open();
  const { id } = await app.order(eur);
  expect(await page(`/o/${id}?lang=${language}`)).toContain(words);
});

test('the page changes as soon as the invoice is paid, and shows it as a payment', async () => {
  const { app, node, page, world } = await open();
  const { id } = await app.order(eur);
  const { heard, close } = await listenTo(app, `/o/${id}/live`);
  node.pay(1);
  await world.until(() => heard.text.includes('changed'), 'the change');
  await close();
  const html = await page(`/o/${id}`);
  expect(html).toContain('data-status="paid"');
  expect(radios(html)).toEqual([]);
  expect(html).not.toContain('class="box');
  expect(html).toMatch(/<dt>Lightning<\/dt><dd><bdi dir="ltr"><code>[0-9a-f]{64}<\/code>/);
  expect(html).not.toContain('api/tx?');
});

test('a rest that no wallet sends on-chain is asked for by Lightning', async () => {
  const { app, node, page, world } = await open();
  const { id, address } = await app.order(eur);
  node.set('down');
  app.pay(address, 24_100);
  await app.settle();
  expect(await page(`/o/${id}`)).toContain('too little to send');
  node.set('up');
  await world.advance(60_000);
  await world.until(() => node.invoices.length === 2, 'the invoice of the rest');
  const isShown = async () => (await page(`/o/${id}`)).includes('href="lightning:lnbcrt2"');
  for (let turns = 0; turns < 50 && !(await isShown()); turns += 1) await world.turn();
  const html = await page(`/o/${id}`);
  expect(html).toContain('href="lightning:lnbcrt2"');
  expect(html).not.toContain('too little to send');
  expect(radios(html)).toEqual(['(lightning)', 'chain']);
});

test('a store without a node has no trace of it', async () => {
  const { app, page } = await open(false);
  const { id } = await app.order(eur);
  const html = await page(`/o/${id}`);
  expect(html).toContain('<section class="box" aria-label="Payment">');
  expect(html.replace(/<style>.*?<\/style>/gs, '').toLowerCase()).not.toContain('lightning');
  expect(html).not.toContain('class="ways"');
});

test('a till shows Lightning first', async () => {
  const world = createTestWorld();
  const node = new PlayedNode(() => world.now());
  const { app, device, sell } = await openTill({ world, openLightning: () => node });
  await giveNode(app, node);
  const sale = await sell('12.50');
  const { text } = await device.get(sale);
  expect(radios(text)).toEqual(['(lightning)', 'chain']);
  expect(text.indexOf('class="box lightning"')).toBeLessThan(text.indexOf('class="box chain"'));
  node.pay(1);
  const isPaid = async () => (await device.get(sale)).text.includes('data-status="paid"');
  for (let turns = 0; turns < 50 && !(await isPaid()); turns += 1) await world.turn();
  const { text: paid } = await device.get(sale);
  expect(paid).toContain('data-status="paid"');
  expect(radios(paid)).toEqual([]);
});
