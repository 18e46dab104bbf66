// The sandbox from the side of a customer and a shop, on the app that `serve` runs. It tests the
// demo shop's pages, its callbacks and the Chain page.

import { type AddressInfo, createServer } from 'node:net';
import { dirname, join } from 'node:path';
import encodeQR from 'qr';
import { afterEach, describe, expect, test } from 'vitest';
import { type SandboxOptions, startSandbox } from '../../src/sandbox/sandbox.ts';
import { cleanUp, contentOf, tempFolder, whenOver } from '../support/files.ts';
import { ask, openSandbox, type Placed, sandboxOptions, type Visit } from '../support/sandbox.ts';
import { password, visitorOf } from '../support/visitor.ts';
import { createTestWorld } from '../support/world.ts';

afterEach(cleanUp);

const totalSat = 8_000;

/** Each page that the stream of changes led to, without repeats, until the order is as wanted. */
async function follow(
  visit: Visit,
  order: Placed,
  wanted: string,
): Promise<(string | undefined)[]> {
  const states: (string | undefined)[] = [];
  const changes = await visit.changes();
  for (;;) {
    const { state } = await visit.shown(order);
    if (state !== states.at(-1)) {
      states.push(state);
      if (state === 'seen' || state === 'confirming') await visit.mine();
    }
    if (state === wanted) break;
    await changes.next();
  }
  changes.close();
  return states;
}

async function seen(how = 'exact'): Promise<{ visit: Visit; order: Placed }> {
  const visit = await openSandbox();
  const order = await visit.order();
  await visit.pay(order, how);
  await visit.settle();
  return { visit, order };
}

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

describe('a payment', () => {
  test('goes from 0 to 2 on the page of its order, which is notified of each change', async () => {
    const visit = await openSandbox();
    const order = await visit.order();
    expect(order).toMatchObject({ totalSat, address: expect.stringMatching(/^bcrt1q/) });
    expect(await visit.shown(order)).toMatchObject({ state: 'waiting', payments: [] });
    const paid = await visit.pay(order);
    expect(paid).toMatchObject({ status: 303, headers: { location: order.path } });
    const states = await follow(visit, order, 'paid');
    expect(states.filter((state) => state !== 'waiting')).toEqual(['seen', 'confirming', 'paid']);
    const { payments, text } = await visit.shown(order);
    expect(payments).toEqual(['2: confirmed, 8,000 sat']);
    expect(text).toContain('Thank you!');
    expect(text).not.toContain('too much');
  });

  test('of too little leaves the order unpaid until the rest arrives', async () => {
    const { visit, order } = await seen('short');
    await visit.mine(2);
    await visit.settle();
    const short = await visit.shown(order);
    expect(short).toMatchObject({ state: 'short', payments: ['2: confirmed, 4,000 sat'] });
    expect(short.text).toContain('4,000 sat are missing');
    // The text, the link and the QR code request the missing sum only.
    expect(short.text).toContain('<strong>0.00004000 BTC</strong> (4,000 sat)');
    const uri = `bitcoin:${order.address}?amount=0.00004`;
    expect(short.text).toContain(`href="${uri}"`);
    expect(short.text).toContain(encodeQR(uri, 'svg'));
    expect(short.text).toContain('amount=4000"');
    await visit.pay(order);
    await visit.mine(2);
    await visit.settle();
    const paid = await visit.shown(order);
    expect(paid).toMatchObject({
      state: 'paid',
      payments: ['2: confirmed, 4,000 sat', '2: confirmed, 4,000 sat'],
    });
    expect(paid.text).not.toContain('too much');
  });

  test('is not requested once it is unconfirmed, and is requested again once dropped', async () => {
    const { visit, order } = await seen();
    const asks = async () => (await visit.shown(order)).text.includes(`bitcoin:${order.address}`);
    expect(await asks()).toBe(false);
    await visit.mine(2);
    await visit.settle();
    expect(await visit.shown(order)).toMatchObject({ state: 'paid' });
    expect(await asks()).toBe(false);
    visit.sandbox.chain.reorganise(2, { transactions: 'drop' });
    await visit.outlastAbsence();
    expect(await visit.shown(order)).toMatchObject({ state: 'waiting' });
    expect(await asks()).toBe(true);
  });

  test('of too much pays the order, and the page shows the overpayment', async () => {
    const { visit, order } = await seen('over');
    await visit.mine(2);
    await visit.settle();
    const { state, text } = await visit.shown(order);
    expect(state).toBe('paid');
    expect(text).toContain('You paid 4,000 sat too much');
  });

  test('that comes twice is two payments', async () => {
    const { visit, order } = await seen('twice');
    const { state, payments } = await visit.shown(order);
    expect([state, payments]).toEqual([
      'seen',
      ['0: unconfirmed, 8,000 sat', '0: unconfirmed, 8,000 sat'],
    ]);
    await visit.mine(6);
    await visit.settle();
    expect(await visit.shown(order)).toMatchObject({
      state: 'paid',
      payments: ['2: confirmed, 8,000 sat', '2: confirmed, 8,000 sat'],
    });
  });

  test('to an address of no order sends a callback, which the shop rejects', async () => {
    const visit = await openSandbox();
    const { apiOrigin, apiKey, app } = visit.sandbox;
    const headers = { Authorization: `Bearer ${apiKey}` };
    const { text } = await ask(`${apiOrigin}/api/new_address`, { headers });
    const { address } = JSON.parse(text);
    const paid = await visit.pull('pay', { address, amount: '5', how: 'exact' });
    expect(paid).toMatchObject({ status: 303, to: `/dashboard/chain?address=${address}&amount=5` });
    await visit.settle();
    expect(app.health().callbacks).toMatchObject({ owed: 1 });
  });
});

describe('an unconfirmed payment', () => {
  test('that is replaced by fee is dropped, and its replacement counts', async () => {
    const { visit, order } = await seen();
    await visit.pull('replace', { txid: onlyWaiting(visit), by: 'fee' });
    await visit.settle();
    await visit.world.advance(2_000);
    await untilShown(visit, order, ['dropped', '0: unconfirmed']);
    await visit.mine(2);
    await visit.settle();
    const { state, payments } = await visit.shown(order);
    expect(state).toBe('paid');
    expect(payments.map((each) => each.slice(0, 4))).toEqual(['drop', '2: c']);
  });

  test('that is double-spent is dropped, and the order waits again', async () => {
    const { visit, order } = await seen();
    await visit.pull('replace', { txid: onlyWaiting(visit), by: 'spend' });
    await visit.outlastAbsence();
    await visit.world.advance(2_000);
    await untilShown(visit, order, ['dropped']);
    expect(await visit.shown(order)).toMatchObject({ state: 'waiting' });
    await visit.mine(6);
    await visit.settle();
    expect(await visit.shown(order)).toMatchObject({ state: 'waiting' });
  });

  test('that is mined meanwhile can no longer be replaced', async () => {
    const { visit } = await seen();
    const txid = onlyWaiting(visit);
    await visit.mine();
    const refused = await visit.pull('replace', { txid, by: 'fee' });
    expect(refused).toMatchObject({ status: 404, text: expect.stringContaining('role="alert"') });
  });
});

describe('a reorganisation', () => {
  const reorganise = (visit: Visit, depth: number, fate: string) =>
    visit.pull('reorganise', { depth: String(depth), fate });

  test.each([
    ['puts a confirmed payment back among those that wait', 'wait', 'seen', '0: unconfirmed'],
    ['that has the payment too changes nothing', 'stay', 'paid', '2: confirmed'],
    ['that double-spends it takes the payment back', 'drop', 'waiting', 'dropped'],
  ])('%s', async (_, fate, state, status) => {
    const { visit, order } = await seen();
    await visit.mine(2);
    await visit.settle();
    expect(await visit.shown(order)).toMatchObject({ state: 'paid' });
    expect(await reorganise(visit, 2, fate)).toMatchObject({ status: 303 });
    await visit.outlastAbsence();
    const shown = await visit.shown(order);
    expect(shown.state).toBe(state);
    expect(shown.payments).toEqual([expect.stringContaining(status)]);
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
    expect(await visit.shown(order)).toMatchObject({ state: 'waiting' });
    await visit.world.advance(70_000);
    expect((await (await visit.merchant()).get('/dashboard/chain')).text).toContain(
      'It is running',
    );
    await visit.settle();
    expect(await visit.shown(order)).toMatchObject({ state: 'confirming' });
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
    const tried = await visitor.submit('/dashboard/stores/1', 'send-test');
    expect(tried.text).toContain('the callback is delivered');
  }
});

test('a visitor from an order signs in by password, and reaches the Chain page with the amount to pay', async () => {
  const { visit, order } = await seen();
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
  const { visit, order } = await seen();
  const next = await visit.order({ espresso: '0', poster: '1', postcard: '1' });
  expect(next).toMatchObject({ totalSat: 26_500 });
  const { text } = await visit.get('/');
  const listed = [...text.matchAll(/href="(\/orders\/\w+)"/g)].map(([, path]) => path);
  expect(listed).toEqual([next.path, order.path]);
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

/** The shop asks paygate over HTTP, which takes as long as it takes. */
async function untilShown(visit: Visit, order: Placed, starts: readonly string[]): Promise<void> {
  const changes = await visit.changes();
  for (;;) {
    const { payments } = await visit.shown(order);
    if (
      payments.length === starts.length &&
      payments.every((each, at) => each.startsWith(starts[at] ?? ''))
    )
      break;
    await changes.next();
  }
  changes.close();
}
