// Notifications of the whole app: orders, deliveries and alarms reach a real mail server and a
// webhook, once, also after a stop.

import { type AddressInfo, createServer } from 'node:net';
import { eq } from 'drizzle-orm';
import { Webhook } from 'standardwebhooks';
import { afterEach, expect, test } from 'vitest';
import { freePort } from '../../scripts/ports.mjs';
import { type NotifyTarget, noTarget } from '../../src/domain/delivery/notification-settings.ts';
import { dayMs, hourMs, minuteMs } from '../../src/lib/time-units.ts';
import { notifications } from '../../src/store/schema/notification-schema.ts';
import { closeApps, openApp, type TestApp, untilReady } from '../support/app.ts';
import { makeOrder } from '../support/app-orders.ts';
import {
  headerOf,
  type MailServerOptions,
  mailSettings,
  partsOf,
  startMailServer,
  type TestMailServer,
} from '../support/mail-server.ts';
import { type Receiver, type ReceiverOptions, startReceiver } from '../support/receiver.ts';

const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  await closeApps();
  for (const close of closing.splice(0)) await close();
});

async function openMail(options: MailServerOptions = {}): Promise<TestMailServer> {
  const server = await startMailServer(options);
  closing.push(() => server.close());
  return server;
}

async function openHook(options?: ReceiverOptions): Promise<Receiver> {
  const hook = await startReceiver(options);
  closing.push(() => hook.close());
  return hook;
}

interface Settings {
  readonly port: number;
  readonly operator?: Partial<NotifyTarget>;
  readonly store?: Partial<NotifyTarget>;
}

/** Sets notifications up, as the dashboard and the command do. */
const configure = (app: TestApp, { port, operator, store }: Settings): Promise<void> =>
  app.withStore(({ state, database }) =>
    database.write((tx) => {
      state.mailServer.write(tx, mailSettings(port));
      state.notifyTarget(null).write(tx, { ...noTarget, ...operator });
      state.notifyTarget(1).write(tx, { ...noTarget, ...store });
    }),
  );

const owner = { recipients: ['owner@shop.example'] };

async function openShop(settings: Settings): Promise<TestApp> {
  const app = await openApp({ config: { publicUrl: 'https://pay.shop.example' } });
  await configure(app, settings);
  await untilReady(app);
  return app;
}

const subjectsAt = ({ mails }: TestMailServer): (string | undefined)[] =>
  mails.map((mail) => headerOf(mail, 'Subject'));

const rowsOf = (app: TestApp) =>
  app.withStore(async ({ database }) => database.orm.select().from(notifications).all());

/** An hour of minutes, and what falls due in them. */
async function pass(app: TestApp, minutes: number): Promise<void> {
  for (let minute = 0; minute < minutes; minute += 1) {
    await app.world.advance(minuteMs);
    await app.settle();
  }
}

test('a paid order is told once by mail, with a link and no remote content', async () => {
  const mail = await openMail();
  const app = await openShop({ port: mail.port, store: owner });
  const order = await makeOrder(app, await app.newAddress(), { reference: '1007' });
  app.pay(order.address, 25_000);
  await app.settle();
  expect(mail.mails).toEqual([]);
  app.chain.mine(2);
  await app.settle();
  expect(subjectsAt(mail)).toEqual(['Paid: 12.50 EUR, order 1007 (Shop)']);
  const [sent] = mail.mails;
  if (sent === undefined) throw new Error('no mail');
  expect(sent.to).toEqual(['owner@shop.example']);
  const [text = '', html = ''] = partsOf(sent);
  for (const part of [text, html]) {
    expect(part).toContain('Received: 25,000 sat, confirmed: 25,000 sat');
    expect(part).toContain(`https://pay.shop.example/dashboard/orders/${order.publicId}`);
  }
  expect(html).not.toMatch(/<(img|script|link|style|iframe)|src=|url\(/i);
  const [row] = await rowsOf(app);
  expect(headerOf(sent, 'Message-ID')).toBe(`<${row?.publicId}@shop.example>`);
  await pass(app, 5);
  expect(mail.mails).toHaveLength(1);
});

test('a mail has its time in the zone of the merchant, and says nothing of dashboards', async () => {
  const mail = await openMail();
  const app = await openShop({ port: mail.port, store: owner });
  await app.withStore(({ state, database }) =>
    database.write((tx) => state.timeZone.write(tx, 'Asia/Kathmandu')),
  );
  const order = await makeOrder(app, await app.newAddress());
  app.pay(order.address, 25_000);
  await app.settle();
  app.chain.mine(2);
  await app.settle();
  const [sent] = mail.mails;
  if (sent === undefined) throw new Error('no mail');
  for (const part of partsOf(sent)) {
    expect(part).toMatch(/Time: 2025-11-20 20:3\d Asia\/Kathmandu/);
    expect(part).toMatch(/Sent by your paygate\.(<|\n|\r)/);
    expect(part).not.toContain('who receives which');
  }
});

test('texts of strangers add no header field and no markup', async () => {
  const mail = await openMail();
  const app = await openShop({ port: mail.port, store: owner });
  const reference = '7\r\nBcc: thief@evil.example\r\n\r\n<img src=x>"&';
  const order = await makeOrder(app, await app.newAddress(), { reference });
  app.pay(order.address, 25_000);
  app.chain.mine(2);
  await app.settle();
  const [sent] = mail.mails;
  if (sent === undefined) throw new Error('no mail');
  expect(sent.to).toEqual(['owner@shop.example']);
  expect(headerOf(sent, 'Bcc')).toBeUndefined();
  expect(headerOf(sent, 'Subject')).toContain('order 7 Bcc: thief@evil.example');
  expect(partsOf(sent)[1]).toContain('&lt;img src=x&gt;&quot;&amp;');
  expect(partsOf(sent)[1]).not.toContain('<img');
});

test('an order that expires with money, one that is paid late, and one that is reversed', async () => {
  const mail = await openMail();
  const app = await openShop({ port: mail.port, store: owner });
  const short = await makeOrder(app, await app.newAddress(), { reference: 'short' });
  const unpaid = await makeOrder(app, await app.newAddress(), { reference: 'unpaid' });
  app.pay(short.address, 10_000);
  await app.settle();
  await pass(app, 62);
  expect([(await short.json()).status, (await unpaid.json()).status]).toEqual([
    'expired',
    'expired',
  ]);
  expect(subjectsAt(mail)).toEqual(['Too little: 12.50 EUR, order short (Shop)']);

  const late = await makeOrder(app, await app.newAddress(), {
    reference: 'late',
    price: { kind: 'sat', amountSat: 25_000 },
    rateCents: null,
  });
  await pass(app, 65);
  app.pay(late.address, 25_000);
  app.chain.mine(2);
  await app.settle();
  expect(subjectsAt(mail)).toContain('Paid late: 0.00025000 BTC, order late (Shop)');

  app.chain.reorganise(2, { blocks: 3, transactions: 'drop' });
  await app.settle();
  await app.outlastAbsence();
  expect(subjectsAt(mail)).toContain('Reversed: 0.00025000 BTC, order late (Shop)');
});

test('money for an order that is paid, and a rest that wallets do not send, are mails', async () => {
  const mail = await openMail();
  const app = await openShop({ port: mail.port, store: owner });
  const sat = { price: { kind: 'sat', amountSat: 25_000 }, rateCents: null } as const;
  const paid = await makeOrder(app, await app.newAddress(), { ...sat, reference: 'paid' });
  const rest = await makeOrder(app, await app.newAddress(), { ...sat, reference: 'rest' });
  const part = await makeOrder(app, await app.newAddress(), { ...sat, reference: 'part' });
  app.pay(paid.address, 25_000);
  app.pay(part.address, 24_000);
  app.pay(rest.address, 24_001);
  app.chain.mine(2);
  await app.settle();
  expect(subjectsAt(mail).sort()).toEqual([
    'A little short: 0.00025000 BTC, order rest (Shop)',
    'Paid: 0.00025000 BTC, order paid (Shop)',
  ]);
  await pass(app, 45);
  app.pay(paid.address, 5_000);
  await app.settle();
  expect(subjectsAt(mail)).toContain('Paid again: 0.00025000 BTC, order paid (Shop)');
  expect((await paid.json()).late).toBe(false);
  expect(mail.mails).toHaveLength(3);
  // In a currency, its worth is not known at first.
  const euros = await makeOrder(app, await app.newAddress(), { reference: 'euros' });
  app.pay(euros.address, 25_000);
  await app.settle();
  await pass(app, 45);
  app.pay(euros.address, 5_000);
  await app.settle();
  expect(subjectsAt(mail).at(-1)).toBe('Paid again: 12.50 EUR, order euros (Shop)');
});

test('money for an order that has ended is told as what it is', async () => {
  const mail = await openMail();
  const app = await openShop({ port: mail.port, store: owner });
  const sat = { price: { kind: 'sat', amountSat: 25_000 }, rateCents: null } as const;
  const asking = { ...sat, reference: 'asks', latePolicy: 'ask' } as const;
  const asks = await makeOrder(app, await app.newAddress(), asking);
  const canceled = await makeOrder(app, await app.newAddress(), { ...sat, reference: 'canceled' });
  await app.withStore(({ database, orders, orderView }) =>
    database.write((tx) => {
      const row = orderView.byPublicId(canceled.publicId);
      if (row !== undefined) orders.cancel(tx, app.world.now(), row.id);
    }),
  );
  await pass(app, 65);
  for (const { address } of [asks, canceled]) app.pay(address, 25_000);
  await app.settle();
  // Both within 15 minutes are one mail.
  const title = 'Order expired with too little money: 2 orders, 0.00050000 BTC';
  expect(subjectsAt(mail)).toEqual([title]);
  for (const part of partsOf(mail.mails[0] as (typeof mail.mails)[0])) {
    expect(part).toContain('After its end: 0.00025000 BTC, order asks (Shop)');
    expect(part).toContain('After its end: 0.00025000 BTC, order canceled (Shop)');
  }
  const texts = mail.mails.map((each) => partsOf(each)[0]).join();
  expect(texts).toContain('the order is expired, and its payments changed after that.');
  expect(texts).toContain('the order is canceled, and its payments changed after that.');
  expect(texts).not.toContain('less than its price');
});

test('a webhook receives the same as signed JSON, and one recipient of two targets one mail', async () => {
  const mail = await openMail();
  const hook = await openHook();
  hook.script({ status: 503 });
  const secret = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
  const webhook = {
    ...{ webhookUrl: `${hook.origin}/topic?tpl=1&t={{.title}}&m={{.text}}`, webhookSecret: secret },
    ...{ allowPrivateCallback: true, allowHttpCallback: true },
  };
  const app = await openShop({ port: mail.port, store: owner, operator: { ...owner, ...webhook } });
  const order = await makeOrder(app, await app.newAddress(), { reference: '1007' });
  app.pay(order.address, 25_000);
  app.chain.mine(2);
  await app.settle();
  expect(hook.requests).toHaveLength(1);
  expect(mail.mails).toHaveLength(1);
  await pass(app, 2);
  expect(hook.requests.map(({ url, method }) => [method, url])).toEqual([
    ['POST', '/topic?tpl=1&t={{.title}}&m={{.text}}'],
    ['POST', '/topic?tpl=1&t={{.title}}&m={{.text}}'],
  ]);
  const [first, second] = hook.requests;
  expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
  const { body = '', headers = {} } = second ?? {};
  // The library compares the time with its own clock.
  const signature = new Webhook(secret).sign(
    headers['webhook-id'] ?? '',
    new Date(1000 * Number(headers['webhook-timestamp'])),
    body,
  );
  expect(headers['webhook-signature']).toBe(signature);
  expect(JSON.parse(body)).toMatchObject({
    type: 'order.paid',
    title: 'Paid: 12.50 EUR, order 1007 (Shop)',
    text: expect.stringContaining('Received: 25,000 sat'),
    url: `https://pay.shop.example/dashboard/orders/${order.publicId}`,
    data: { store_id: 1, order: { id: order.publicId, reference: '1007', status: 'paid' } },
  });
});

test('a mail waits for a server that is away, through a stop of paygate', async () => {
  const port = await freePort();
  const app = await openShop({ port, store: owner });
  const order = await makeOrder(app, await app.newAddress(), { reference: '1007' });
  app.pay(order.address, 25_000);
  app.chain.mine(2);
  await app.settle();
  expect(await rowsOf(app)).toMatchObject([{ state: 'owed', attemptCount: 1 }]);
  await app.stop();
  const mail = await openMail({ port });
  await app.start();
  await app.world.advance(5_000);
  await app.settle();
  expect(subjectsAt(mail)).toEqual(['Paid: 12.50 EUR, order 1007 (Shop)']);
  expect(await rowsOf(app)).toMatchObject([{ state: 'sent', attemptCount: 2 }]);
});

test('a mail that a stop cuts off is sent after the next start', async () => {
  const silent = createServer((socket) => void socket.on('error', () => {}));
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const { port } = silent.address() as AddressInfo;
  let isReached = false;
  silent.on('connection', () => {
    isReached = true;
  });
  const app = await openShop({ port, store: owner });
  const order = await makeOrder(app, await app.newAddress(), { reference: '1007' });
  app.pay(order.address, 25_000);
  app.chain.mine(2);
  // The mail hangs, so the app does not become idle.
  for (let second = 0; second < 20 && !isReached; second += 1) await app.world.advance(1_000);
  expect(isReached).toBe(true);
  const stopped = app.stop();
  await app.world.advance(5_000);
  await stopped;
  expect(await rowsOf(app)).toMatchObject([{ state: 'owed', attemptCount: 0 }]);
  await new Promise((resolve) => silent.close(resolve));
  const mail = await openMail({ port });
  await app.start();
  await app.settle();
  expect(subjectsAt(mail)).toEqual(['Paid: 12.50 EUR, order 1007 (Shop)']);
});

test('what a killed process had committed is sent by the next one', async () => {
  const mail = await openMail();
  const app = await openShop({ port: mail.port, store: owner });
  const order = await makeOrder(app, await app.newAddress(), { reference: '1007' });
  app.pay(order.address, 25_000);
  app.chain.mine(2);
  await app.settle();
  await app.stop();
  // As a kill after the commit of the order, or after the mail and before its record, leaves it.
  await app.withStore(({ database }) =>
    database.write(() => {
      database.orm
        .update(notifications)
        .set({ state: 'owed', attemptCount: 0, settledAt: null })
        .where(eq(notifications.state, 'sent'))
        .run();
    }),
  );
  await app.start();
  await app.settle();
  const [first, second] = mail.mails.map((each) => headerOf(each, 'Message-ID'));
  expect(mail.mails).toHaveLength(2);
  expect(second).toBe(first);
});

test('a refused recipient is an alarm until that recipient receives a mail', async () => {
  let isRefused = true;
  const refuse = (address: string) =>
    isRefused && address.startsWith('nobody') ? { code: 550, text: '5.1.1 unknown' } : undefined;
  const mail = await openMail({ refuse });
  const recipients = ['nobody@shop.example', 'owner@shop.example'];
  const app = await openShop({ port: mail.port, store: { recipients } });
  async function payOne(reference: string): Promise<void> {
    const order = await makeOrder(app, await app.newAddress(), { reference });
    app.pay(order.address, 25_000);
    app.chain.mine(2);
    await app.settle();
  }
  await payOne('1');
  expect(mail.mails.map(({ to }) => to)).toEqual([['owner@shop.example']]);
  const alarms = () => app.running.health().warnings.filter((text) => /\d mails? to/.test(text));
  expect(alarms()).toEqual([
    expect.stringMatching(/^1 mail to nobody@shop\.example failed .*5\.1\.1 unknown/),
  ]);
  isRefused = false;
  await payOne('2');
  expect(alarms()).toEqual([]);
});

test('a delivery that failed for the last time is told once a day', async () => {
  const mail = await openMail();
  const app = await openApp({ receiver: { answer: () => ({ status: 500 }) } });
  await configure(app, { port: mail.port, store: owner });
  await untilReady(app);
  for (let count = 0; count < 3; count += 1) app.pay(await app.newAddress(), 5_000);
  await app.settle();
  for (let day = 0; day < 16; day += 1) {
    app.world.jumpWallClock(dayMs + hourMs);
    // One attempt a second goes to a shop that fails.
    for (let second = 0; second < 5; second += 1) {
      await app.world.advance(1_000);
      await app.settle();
    }
  }
  expect(new Set(subjectsAt(mail))).toEqual(new Set(['Failed: a callback to the shop (Shop)']));
  const days = (await rowsOf(app)).map(({ createdAt }) => Math.floor(createdAt / dayMs));
  expect(mail.mails).toHaveLength(new Set(days).size);
  const [sent] = mail.mails;
  expect(sent && partsOf(sent)[0]).toMatch(/Reason: .* answered 500/);
  const states = await app.withStore(async ({ outbox }) => outbox.counts());
  expect(states).toEqual({ owed: 0, exhausted: 3 });
});

test('a lost server is told when it is lost and when it is back, once each', async () => {
  const mail = await openMail();
  const app = await openShop({ port: mail.port, operator: owner });
  await pass(app, 5);
  expect(mail.mails).toEqual([]);
  const recover = app.server.inject({ kind: 'refuse' });
  app.server.disconnectAll();
  await pass(app, 5);
  expect(subjectsAt(mail)).toEqual([expect.stringMatching(/^Alarm: no Electrum server/)]);
  recover();
  await pass(app, 4);
  // It comes and goes within ten minutes.
  const recoverAgain = app.server.inject({ kind: 'refuse' });
  app.server.disconnectAll();
  await pass(app, 4);
  recoverAgain();
  await app.stop();
  await app.start();
  await untilReady(app);
  await pass(app, 5);
  expect(mail.mails).toHaveLength(1);
  await pass(app, 15);
  expect(subjectsAt(mail).slice(1)).toEqual([expect.stringMatching(/^Ended: no Electrum server/)]);
});

test('S-88 a mail says that links stopped, and what to do', async () => {
  const mail = await openMail();
  const app = await openShop({ port: mail.port, operator: owner });
  const body = JSON.stringify({ title: 'Tips', amount_sat: 5_000 });
  expect((await app.ask('/api/v3/links', { method: 'POST', body })).status).toBe(200);
  for (let count = 0; count < 15; count += 1) await app.newAddress();
  await pass(app, 5);
  expect(subjectsAt(mail)).toEqual([
    expect.stringMatching(
      /^Alarm: wallet 1: its links make no order, because 15 addresses in a row are unpaid/,
    ),
  ]);
  const [sent] = mail.mails;
  if (sent === undefined) throw new Error('no mail');
  expect(partsOf(sent)[0]).toContain(
    "Either raise the gap limit of the merchant's wallet, and start serve with the same --wallet-gap, or switch the link off",
  );
});
