// The sandbox from the side of a customer and a shop, on the app that `serve` runs. It tests the
// demo shop's pages, its webhooks and callbacks, and the Chain page.

import { type AddressInfo, createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { afterEach, describe, expect, test } from 'vitest';
import { type SandboxOptions, startSandbox } from '../../src/sandbox/sandbox.ts';
import { runProcess } from '../support/cli.ts';
import { cleanUp, contentOf, tempFolder, whenOver } from '../support/files.ts';
import { startReceiver } from '../support/receiver.ts';
import { ask, openSandbox, type Placed, sandboxOptions, type Visit } from '../support/sandbox.ts';
import { password, visitorOf } from '../support/visitor.ts';
import { createTestWorld } from '../support/world.ts';

afterEach(cleanUp);

const totalSat = 8_000;
/** A wallet of another shop. */
const tpub =
  'tpubDC8msFGeGuwnKG9Upg7DM2b4DaRqg3CUZa5g8v2SRQ6K4NSkxUgd7HsL2XVWbVm39yBA4LAxysQAm397zwQSQoQgewGiYZqrA9DsP4zbQ1M';

async function pays(how = 'exact'): Promise<{ visit: Visit; order: Placed }> {
  const visit = await openSandbox();
  const order = await visit.order();
  await visit.pay(order, how);
  await visit.settle();
  return { visit, order };
}

/** Presses a button below the order. */
const press = (visit: Visit, { path }: Placed, form: string, fields: Record<string, string> = {}) =>
  visit.post(`${path}/${form}`, fields);

test('has invented rates, which are marked as such', async () => {
  const visit = await openSandbox();
  const { apiOrigin, apiKey } = visit.sandbox;
  const price = await ask(`${apiOrigin}/api/price?currency=EUR`);
  expect([price.status, price.text]).toEqual([200, '{"price":50000}']);
  const listed = await ask(`${apiOrigin}/api/currencies`, {
    headers: { Authorization: `Bearer ${apiKey}` },
  });
  const codes = JSON.parse(listed.text).map(({ code }: { code: string }) => code);
  expect(codes).toEqual(expect.arrayContaining(['EUR', 'USD', 'JPY']));
  const merchant = await visit.merchant();
  const { text } = await merchant.get('/dashboard/settings/rates');
  expect(text).toContain('the sandbox, whose rates are made up');
});

test('has a till that sells in the currency of its shop', async () => {
  const visit = await openSandbox();
  const merchant = await visit.merchant();
  const { text } = await merchant.get('/dashboard/stores/1/general');
  expect(text).toMatch(/<option[^>]* value="EUR"[^>]* selected|<option value="EUR" selected/);
});

describe('an order', () => {
  test('has a price in EUR, and its satoshis at a rate that is marked as simulated', async () => {
    const visit = await openSandbox();
    const order = await visit.order();
    expect(order).toMatchObject({ totalSat, address: expect.stringMatching(/^bcrt1q/) });
    const { status, amounts, received } = await visit.shown(order);
    expect([status, received]).toEqual(['open', []]);
    expect(amounts).toEqual({
      Price: '4.00 EUR = 8,000 sat',
      'Simulated rate': '50,000 EUR for a bitcoin',
      Received: '0 sat',
      Missing: '8,000 sat',
      'Goods sent': 'no',
    });
  });

  test('leads to the page on which the customer pays, which leads back', async () => {
    const { visit, order } = await pays();
    const { text } = await visit.reaches(order, 'processing');
    const [, path = ''] = /href="http:[^"]*(\/o\/ord_\w+)"/.exec(text) ?? [];
    const page = await ask(visit.sandbox.apiOrigin + path);
    expect([page.status, page.text]).toEqual([200, expect.stringContaining('2 × Espresso')]);
    expect(page.text).toContain(`href="${visit.sandbox.shopOrigin}${order.path}"`);
  });

  test('is made while paygate has several stores', async () => {
    const visit = await openSandbox();
    await visit.order();
    const added = await runProcess([
      ...['store', 'add', '--db', visit.db, '--name', 'Another', '--xpub', tpub],
      ...['--callback-url', 'https://shop.example/', '--script', 'p2wpkh'],
    ]);
    expect(added).toMatchObject({ code: 0 });
    expect(await visit.order()).toMatchObject({ totalSat });
  });
});

describe('a payment', () => {
  test('of exactly the price goes from 0 to 2, and the shop sends the goods at paid', async () => {
    const { visit, order } = await pays();
    const changes = await visit.changes();
    expect((await visit.reaches(order, 'processing')).amounts).toMatchObject({
      Received: '8,000 sat',
      'Goods sent': 'no',
    });
    await visit.mine();
    await visit.settle();
    expect(await visit.shown(order)).toMatchObject({ status: 'processing' });
    await visit.mine();
    const { amounts, received, text } = await visit.reaches(order, 'paid');
    expect(amounts).toMatchObject({ Received: '8,000 sat', 'Goods sent': 'yes' });
    expect(amounts).not.toHaveProperty('Missing');
    expect(amounts).not.toHaveProperty('Too much');
    expect(text).toContain('Thank you!');
    expect([...received].sort()).toEqual([
      ...['callback 0', 'callback 1', 'callback 2', 'order.paid', 'order.processing'],
    ]);
    expect(await changes.next()).toBe('changed');
    changes.close();
  });

  test('of too little leaves the order open until the rest arrives', async () => {
    const { visit, order } = await pays('short');
    await visit.mine(2);
    const short = await visit.until(order, ({ received }) => received.includes('order.updated'));
    expect(short).toMatchObject({
      status: 'open',
      amounts: { Received: '4,000 sat', Missing: '4,000 sat' },
    });
    expect(short.text).toContain('<h2>Open, short by 4,000 sat</h2>');
    expect(short.text).toContain('amount=4000"');
    await visit.pay(order);
    await visit.mine(2);
    const { amounts } = await visit.reaches(order, 'paid');
    expect(amounts).toMatchObject({ Received: '8,000 sat', 'Goods sent': 'yes' });
    expect(amounts).not.toHaveProperty('Too much');
  });

  test.each([
    ['of too much', 'over', '4,000 sat'],
    ['that comes twice', 'twice', '8,000 sat'],
  ])('%s pays the order, and the page shows the overpayment', async (_, how, tooMuch) => {
    const { visit, order } = await pays(how);
    await visit.reaches(order, 'processing');
    await visit.mine(2);
    const { amounts } = await visit.reaches(order, 'paid');
    expect(amounts).toMatchObject({ 'Too much': tooMuch });
  });

  test('after the order expired is late, and pays it at the rate of then', async () => {
    const visit = await openSandbox();
    const order = await visit.order();
    await press(visit, order, 'expire');
    // The jump of the clock begins an interruption: paygate connects anew, and asks the server.
    await visit.world.advance(5_000);
    const { amounts, text } = await visit.reaches(order, 'expired');
    expect(amounts).not.toHaveProperty('Missing');
    expect(text).toContain('Do not pay any more');
    await visit.pay(order);
    const late = await visit.reaches(order, 'processing');
    expect(late.text).toContain('<h2>Processing, late</h2>');
    await visit.mine(2);
    const paid = await visit.reaches(order, 'paid');
    expect(paid.text).toContain('<h2>Paid, late</h2>');
    expect(paid.amounts).toMatchObject({ Received: '8,000 sat', 'Goods sent': 'yes' });
    // The clock is set forward once: the next order is on time.
    const next = await visit.order();
    expect(await visit.shown(next)).toMatchObject({ status: 'open' });
  });

  test('after the clock was moved is signed so that the published library verifies it', async () => {
    const receiver = await startReceiver();
    whenOver(() => receiver.close());
    const visit = await openSandbox();
    // The library reads the clock of this machine.
    visit.world.jumpWallClock(Date.now() - visit.world.now());
    const own = ['--webhook-url', `${receiver.origin}/hook`, '--callback-url', receiver.origin];
    expect(await runProcess(['store', 'set', '1', ...own, '--db', visit.db])).toMatchObject({
      code: 0,
    });
    const shown = await runProcess(['store', 'show', '1', '--json', '--db', visit.db]);
    const webhook = new Webhook(JSON.parse(shown.stdout).webhook_secret);
    const order = await visit.order();
    await press(visit, order, 'expire');
    await visit.world.advance(5_000);
    await visit.pay(order);
    await visit.settle();
    const events = receiver.requests.filter(({ method }) => method === 'POST');
    const callbacks = receiver.requests.filter(({ method }) => method === 'GET');
    expect(events.length).toBeGreaterThan(1);
    for (const { body = '', headers } of events) {
      webhook.verify(body, headers as Record<string, string>);
    }
    expect(callbacks.length).toBeGreaterThan(0);
    for (const { url, headers } of callbacks) {
      const at = new Date(Number(headers['webhook-timestamp']) * 1000);
      expect(Math.abs(at.getTime() - Date.now())).toBeLessThan(120_000);
      const signed = webhook.sign(String(headers['webhook-id']), at, url.replace(/^.*\?/, ''));
      expect(headers['webhook-signature']).toBe(signed);
    }
  });

  test('to an address of no order sends a callback, which the shop takes as not its own', async () => {
    const visit = await openSandbox();
    const { apiOrigin, apiKey, app } = visit.sandbox;
    const order = await visit.order();
    const headers = { Authorization: `Bearer ${apiKey}` };
    const { text } = await ask(`${apiOrigin}/api/new_address`, { headers });
    const { address } = JSON.parse(text);
    const paid = await visit.pull('pay', { address, amount: '5', how: 'exact' });
    expect(paid).toMatchObject({ status: 303, to: `/dashboard/chain?address=${address}&amount=5` });
    await visit.settle();
    expect(app.health().callbacks).toMatchObject({ owed: 0 });
    expect(visit.world.logs.filter(({ level }) => level === 'warn')).toEqual([]);
    expect((await visit.shown(order)).received).toEqual([]);
  });
});

describe('an unconfirmed payment', () => {
  test('that is replaced by fee is gone, and its replacement counts', async () => {
    const { visit, order } = await pays();
    await visit.reaches(order, 'processing');
    await press(visit, order, 'replace', { by: 'fee' });
    await visit.until(order, ({ received }) => received.includes('order.updated'));
    expect(await visit.shown(order)).toMatchObject({
      status: 'processing',
      amounts: { Received: '8,000 sat' },
    });
    await visit.mine(2);
    const { amounts } = await visit.reaches(order, 'paid');
    expect(amounts).toMatchObject({ Received: '8,000 sat' });
    expect(amounts).not.toHaveProperty('Too much');
  });

  test('that is double-spent is gone, and the order is open again', async () => {
    const { visit, order } = await pays();
    await visit.reaches(order, 'processing');
    await press(visit, order, 'replace', { by: 'spend' });
    await visit.outlastAbsence();
    const { amounts, received } = await visit.reaches(order, 'open');
    expect(amounts).toMatchObject({ Received: '0 sat', Missing: '8,000 sat', 'Goods sent': 'no' });
    expect(received).toContain('order.reversed');
    await visit.mine(6);
    await visit.settle();
    expect(await visit.shown(order)).toMatchObject({ status: 'open' });
  });

  test('is what the buttons below an order replace, and no other', async () => {
    const { visit, order } = await pays();
    const other = await visit.order();
    const refused = await press(visit, other, 'replace', { by: 'fee' });
    expect(refused).toMatchObject({
      status: 404,
      text: expect.stringContaining('No payment is unconfirmed'),
    });
    expect(await press(visit, order, 'replace', { by: 'fee' })).toMatchObject({ status: 303 });
  });

  test('that is mined meanwhile can no longer be replaced', async () => {
    const { visit } = await pays();
    const txid = onlyWaiting(visit);
    await visit.mine();
    const refused = await visit.pull('replace', { txid, by: 'fee' });
    expect(refused).toMatchObject({ status: 404, text: expect.stringContaining('role="alert"') });
  });
});

describe('a reorganisation', () => {
  test('below the order takes its block back, and the next blocks pay it again', async () => {
    const { visit, order } = await pays();
    await visit.mine(2);
    await visit.reaches(order, 'paid');
    await press(visit, order, 'reorganise', { depth: '6' });
    const { received, amounts } = await visit.reaches(order, 'processing');
    expect(received).toContain('order.reversed');
    expect(amounts).toMatchObject({ Received: '8,000 sat', 'Goods sent': 'yes' });
    await visit.mine(2);
    const again = await visit.reaches(order, 'paid');
    expect(again.received.filter((type) => type === 'order.paid')).toHaveLength(2);
  });

  test.each([
    ['puts a confirmed payment back among those that wait', 'wait', 'processing', '8,000 sat'],
    ['that has the payment too changes nothing', 'stay', 'paid', '8,000 sat'],
    ['that double-spends it takes the payment back', 'drop', 'open', '0 sat'],
  ])('on the Chain page %s', async (_, fate, status, received) => {
    const { visit, order } = await pays();
    await visit.mine(2);
    await visit.reaches(order, 'paid');
    expect(await visit.pull('reorganise', { depth: '2', fate })).toMatchObject({ status: 303 });
    await visit.outlastAbsence();
    const shown = await visit.reaches(order, status);
    expect(shown.amounts).toMatchObject({ Received: received });
  });
});

describe('the server', () => {
  test('is stopped for a while: a payment meanwhile sends its callback when it runs again', async () => {
    const visit = await openSandbox();
    const order = await visit.order();
    await visit.pull('stop', { seconds: '10' });
    expect((await (await visit.merchant()).get('/dashboard/chain')).text).toContain(
      'It is stopped until',
    );
    await visit.pay(order);
    await visit.mine();
    await visit.world.advance(9_000);
    expect(visit.sandbox.app.health().electrum.server).toBeNull();
    expect(await visit.shown(order)).toMatchObject({ status: 'open', received: [] });
    await visit.world.advance(70_000);
    expect((await (await visit.merchant()).get('/dashboard/chain')).text).toContain(
      'It is running',
    );
    const { received } = await visit.reaches(order, 'processing');
    expect(received).toContain('callback 1');
  });

  test('can be started again early', async () => {
    const visit = await openSandbox();
    await visit.pull('stop', { seconds: '60' });
    await visit.pull('stop', { seconds: '10' });
    await visit.pull('start');
    await visit.pull('start');
    expect((await (await visit.merchant()).get('/dashboard/chain')).text).toContain(
      'It is running',
    );
    await visit.world.advance(5_000);
    await visit.world.until(() => visit.sandbox.app.health().electrum.caught_up, 'the server');
  });
});

test('the printed links sign in repeatedly, and lead to the shop', async () => {
  const { sandbox } = await openSandbox();
  const { links, apiOrigin } = sandbox;
  const visitors = [visitorAt(apiOrigin), visitorAt(apiOrigin)];
  for (const visitor of visitors) {
    expect(await visitor.get(pathOf(links.dashboard))).toMatchObject({ to: '/dashboard' });
    const { text } = await visitor.get('/dashboard');
    expect(text).toContain('<a href="/dashboard/chain">Chain</a>');
    expect(await visitor.get(pathOf(links.chain))).toMatchObject({ to: '/dashboard/chain' });
    expect((await visitor.get('/dashboard/chain')).text).toContain(`href="${sandbox.shopOrigin}/"`);
    const tried = await visitor.submit('/dashboard/stores/1/callbacks', 'send-test');
    expect(tried.text).toContain('the callback is delivered');
  }
});

test('a visitor from an order signs in by password, and reaches the Chain page with the amount to pay', async () => {
  const { visit, order } = await pays();
  const [, link = ''] = /href="([^"]+\/chain[^"]*)"/.exec((await visit.shown(order)).text) ?? [];
  const { apiOrigin } = visit.sandbox;
  expect(link.startsWith(`${apiOrigin}/dashboard/chain?`)).toBe(true);
  const visitor = visitorAt(apiOrigin);
  const { to = '' } = await visitor.get(pathOf(link.replace('&amp;', '&')));
  const entered = await visitor.submit(to, 'sign-in', { password });
  expect(entered).toMatchObject({
    status: 303,
    to: `/dashboard/chain?address=${order.address}&amount=${totalSat}`,
  });
  const { text } = await visitor.get(entered.to ?? '');
  expect(text).toContain(`value="${order.address}"`);
  expect(text).toContain(`value="${totalSat}"`);
});

test('the shop lists its orders, newest first, and no others exist', async () => {
  const { visit, order } = await pays();
  const next = await visit.order({ espresso: '0', poster: '1', postcard: '1' });
  expect(next).toMatchObject({ totalSat: 26_500 });
  const { text } = await visit.get('/');
  const listed = [...text.matchAll(/href="(\/orders\/\w+)"/g)].map(([, path]) => path);
  expect(listed).toEqual([next.path, order.path]);
  expect(text).toContain('<td>Open</td>');
  // One button to pay, while there is something to pay.
  const pay = (page: string) => /<a class="main" href="[^"]+">Pay with Bitcoin<\/a>/.test(page);
  expect(pay((await visit.get(next.path)).text)).toBe(true);
  expect(pay((await visit.get(order.path)).text)).toBe(false);
  expect((await visit.get(order.path)).text).toContain('The page of the order, as the customer');
  expect(await visit.get('/orders/0123456789abcdef')).toMatchObject({ status: 404 });
});

describe('a start that fails', () => {
  test('an existing file stays unchanged', async () => {
    const { sandbox, world, db } = await openSandbox();
    await sandbox.stop();
    const before = contentOf(dirname(db));
    const again = startSandbox(sandboxOptions(db), world);
    await expect(again).rejects.toThrow('is there already');
    expect(contentOf(dirname(db))).toEqual(before);
  });

  test('a taken port, even one taken by the shop itself, leaves nothing running', async () => {
    const world = createTestWorld();
    const { port } = await listening();
    const taken = { host: '127.0.0.1', port };
    const start = (where: Partial<SandboxOptions>) =>
      startSandbox({ ...sandboxOptions(join(tempFolder(), 'paygate.db')), ...where }, world);
    await expect(start({ api: taken })).rejects.toThrow('the port is taken');
    await expect(start({ shop: taken })).rejects.toThrow('the port is taken');
  });
});

const pathOf = (url: string): string => url.slice(new URL(url).origin.length);

const visitorAt = (origin: string) => visitorOf({ port: Number(new URL(origin).port) });

/** A port that somebody listens on. */
const listening = (): Promise<AddressInfo> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      resolve(server.address() as AddressInfo);
    });
    whenOver(() => void server.close());
  });

function onlyWaiting({ sandbox }: Visit): string {
  const [waiting, ...others] = sandbox.chain.mempool();
  expect(others).toEqual([]);
  return waiting?.txid ?? '';
}
