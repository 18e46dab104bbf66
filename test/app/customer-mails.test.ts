// Mails to the customers of orders, through the whole app and a real mail server.

import { afterEach, describe, expect, test } from 'vitest';
import { noTarget } from '../../src/domain/delivery/notification-settings.ts';
import { customerMailWords } from '../../src/domain/text/customer-mail-words.ts';
import { languageTags } from '../../src/domain/text/language.ts';
import { minuteMs } from '../../src/lib/time-units.ts';
import { notifications } from '../../src/store/schema/notification-schema.ts';
import { orders as orderTable } from '../../src/store/schema/order-schema.ts';
import { closeApps, type TestApp, type TestAppOptions } from '../support/app.ts';
import { cleanUp } from '../support/files.ts';
import {
  headerOf,
  type MailServerOptions,
  mailSettings,
  partsOf,
  type ReceivedMail,
  startMailServer,
} from '../support/mail-server.ts';
import { giveNode, PlayedNode } from '../support/played-node.ts';
import { openPriced } from '../support/priced.ts';
import { visitorOf } from '../support/visitor.ts';
import { createTestWorld } from '../support/world.ts';

const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  await closeApps();
  for (const close of closing.splice(0)) await close();
});
afterEach(cleanUp);

const eur = { amount: '12.50', currency: 'EUR' };
const anna = 'anna@customer.example';

interface Setting {
  readonly server?: MailServerOptions;
  readonly hasServer?: boolean;
  readonly app?: TestAppOptions;
}

async function open({ server, hasServer = true, app: options }: Setting = {}) {
  const mail = await startMailServer(server);
  closing.push(() => mail.close());
  const config = { publicUrl: 'https://pay.shop.example' };
  const app = await openPriced({ config, ...options });
  await app.withStore(({ state, database }) =>
    database.write((tx) => {
      if (hasServer) state.mailServer.write(tx, mailSettings(mail.port));
    }),
  );
  const rows = () =>
    app.withStore(async ({ database }) => database.orm.select().from(notifications).all());
  return { app, rows, mails: mail.mails };
}

const subjectsOf = (mails: readonly ReceivedMail[]) =>
  mails.map((mail) => headerOf(mail, 'Subject'));

async function pass(app: TestApp, minutes: number): Promise<void> {
  for (let minute = 0; minute < minutes; minute += 1) {
    await app.world.advance(minuteMs);
    await app.settle();
  }
}

describe('the customer of an order', () => {
  test('has one mail when money is seen, and one when it is paid, with the link', async () => {
    const { app, mails } = await open();
    const order = await app.order({ ...eur, customer_email: anna, reference: '1007' });
    await pass(app, 2);
    expect(mails).toEqual([]);
    app.pay(order.address, 10_000);
    await app.settle();
    expect(subjectsOf(mails)).toEqual(['Payment seen: 12.50 EUR (Shop)']);
    app.pay(order.address, 15_000);
    await app.settle();
    expect(mails).toHaveLength(1);
    app.chain.mine(2);
    await app.settle();
    // Neither waits for the other, nor for 15 minutes.
    expect(subjectsOf(mails)).toEqual(['Payment seen: 12.50 EUR (Shop)', 'Paid: 12.50 EUR (Shop)']);
    for (const each of mails) {
      expect(each.to).toEqual([anna]);
      expect(headerOf(each, 'From')).toBe('Shop <paygate@shop.example>');
      for (const part of partsOf(each)) {
        expect(part).toContain(`https://pay.shop.example/o/${order.id}`);
        expect(part).toContain('This address was given with the order.');
        expect(part).not.toMatch(/1007|Time:|your paygate|dashboard/);
      }
    }
    app.pay(order.address, 5_000);
    app.chain.mine(2);
    await app.settle();
    await pass(app, 20);
    expect(mails).toHaveLength(2);
  });

  test('has no mail without an address, without a mail server, or without money', async () => {
    const { app, mails } = await open();
    const order = await app.order(eur);
    app.pay(order.address, 25_000);
    await app.order({ ...eur, customer_email: anna, expires_in: 300 });
    const canceled = await app.order({ ...eur, customer_email: anna });
    await app.post(`/orders/${canceled.id}/cancel`, {});
    app.chain.mine(2);
    await app.settle();
    await pass(app, 10);
    expect(mails).toEqual([]);
    const off = await open({ hasServer: false });
    const other = await off.app.order({ ...eur, customer_email: anna });
    off.app.pay(other.address, 25_000);
    off.app.chain.mine(2);
    await off.app.settle();
    expect(await off.rows()).toEqual([]);
  });

  test('has no second mail after a reversal, and none about what is paid at once but that', async () => {
    const { app, mails } = await open();
    const order = await app.order({ ...eur, customer_email: anna });
    app.pay(order.address, 25_000);
    app.chain.mine(2);
    await app.settle();
    expect(subjectsOf(mails)).toEqual(['Paid: 12.50 EUR (Shop)']);
    app.chain.reorganise(2, { blocks: 3, transactions: 'drop' });
    await app.settle();
    await app.outlastAbsence();
    app.pay(order.address, 25_000);
    await app.settle();
    app.chain.mine(2);
    await app.settle();
    expect(mails).toHaveLength(1);
  });

  test('has one mail that money was seen, also of money that goes and comes again', async () => {
    const { app, mails } = await open();
    const order = await app.order({ ...eur, customer_email: anna });
    app.pay(order.address, 10_000);
    app.chain.mine(1);
    await app.settle();
    app.chain.reorganise(1, { blocks: 2, transactions: 'drop' });
    await app.settle();
    await app.outlastAbsence();
    expect((await app.get(`/orders/${order.id}`)).body).toMatchObject({ received_sat: 0 });
    app.pay(order.address, 9_000);
    await app.settle();
    expect(mails).toHaveLength(1);
    // Old rows of the queue are deleted.
    await app.withStore(({ database }) =>
      database.write(() => database.orm.delete(notifications).run()),
    );
    app.pay(order.address, 8_000);
    await app.settle();
    expect(subjectsOf(mails)).toEqual(['Payment seen: 12.50 EUR (Shop)']);
  });

  async function openLightning() {
    const world = createTestWorld();
    const node = new PlayedNode(() => world.now());
    const scene = await open({ app: { world, openLightning: () => node } });
    await giveNode(scene.app, node);
    const untilRows = async (count: number) => {
      const rows = async () => (await scene.rows()).length;
      for (let turns = 0; turns < 200 && (await rows()) < count; turns += 1) await world.turn();
      await scene.app.settle();
    };
    return { ...scene, node, untilRows };
  }

  test.each(languageTags)(
    'has one mail in %s of an invoice that is paid by Lightning',
    async (language) => {
      const { app, mails, node, untilRows } = await openLightning();
      await app.order({ ...eur, customer_email: anna, language });
      node.pay(1);
      await untilRows(1);
      const { paidTitle, paidByLightning } = customerMailWords[language];
      expect(subjectsOf(mails)).toEqual([paidTitle('12.50 EUR', 'Shop')]);
      expect(partsOf(mails[0] as ReceivedMail)[0]).toContain(paidByLightning('Shop'));
      expect(paidByLightning('Shop')).toMatch(/Lightning/);
    },
  );

  test.each(languageTags)(
    'hears in %s of Lightning money that is not enough as of final money',
    async (language) => {
      const { app, mails, node, untilRows } = await openLightning();
      const order = await app.order({ ...eur, customer_email: anna, language });
      app.market.rates = { EUR: 40_000 };
      // Longer than the quote and its grace: what comes then counts at the rate of then.
      await pass(app, 20);
      node.pay(1);
      await untilRows(1);
      expect(await app.get(`/orders/${order.id}`)).toMatchObject({
        body: { status: 'open', received_sat: 25_000 },
      });
      const { seenTitle, arrivedByLightning } = customerMailWords[language];
      expect(subjectsOf(mails)).toEqual([seenTitle('12.50 EUR', 'Shop')]);
      expect(partsOf(mails[0] as ReceivedMail)[0]).toContain(arrivedByLightning('Shop'));
    },
  );

  test('hears nothing of Lightning if a part came on-chain', async () => {
    const { app, mails, node, untilRows } = await openLightning();
    const order = await app.order({ ...eur, customer_email: anna });
    app.pay(order.address, 15_000);
    await app.settle();
    await app.world.until(() => node.invoices.length === 2, 'the invoice for the rest');
    node.pay(2);
    app.chain.mine(2);
    await untilRows(2);
    const texts = mails.map((mail) => partsOf(mail)[0] ?? '');
    expect(texts[0]).toContain('It is not final yet.');
    expect(texts[1]).toContain('Your order at Shop is paid.');
    expect(texts.join()).not.toContain('Lightning');
  });

  test.each(languageTags)('reads %s', async (language) => {
    const { app, mails } = await open();
    const order = await app.order({ ...eur, customer_email: anna, language });
    app.pay(order.address, 25_000);
    await app.settle();
    app.chain.mine(2);
    await app.settle();
    const { seenTitle, seen, paidTitle, paid, page, footer } = customerMailWords[language];
    expect(subjectsOf(mails)).toEqual([
      seenTitle('12.50 EUR', 'Shop'),
      paidTitle('12.50 EUR', 'Shop'),
    ]);
    for (const [at, line] of [seen('Shop'), paid('Shop')].entries()) {
      const [text = '', html = ''] = partsOf(mails[at] as ReceivedMail);
      for (const each of [line, page, footer]) {
        expect(text).toContain(each);
        expect(html).toContain(each.replaceAll("'", '&#39;'));
      }
      const direction = language === 'ar' ? ' dir="rtl"' : '';
      expect(html).toContain(`<html lang="${language}"${direction}>`);
    }
  });

  test('reads English if the language of the order is none of ours', async () => {
    const { app, mails } = await open();
    const order = await app.order({ ...eur, customer_email: anna, language: 'sw' });
    app.pay(order.address, 25_000);
    await app.settle();
    expect(subjectsOf(mails)).toEqual(['Payment seen: 12.50 EUR (Shop)']);
  });

  test('sees what is due, with its discount, and a price in bitcoins', async () => {
    const { app, mails } = await open();
    const cheaper = await app.order({ ...eur, adjust_percent: -10, customer_email: anna });
    const satoshis = await app.order({ amount_sat: 25_000, customer_email: anna });
    app.pay(cheaper.address, 1_000);
    await app.settle();
    app.pay(satoshis.address, 1_000);
    await app.settle();
    expect(subjectsOf(mails)).toEqual([
      'Payment seen: 11.25 EUR (Shop)',
      'Payment seen: 0.00025000 BTC (Shop)',
    ]);
  });
});

test('S-196 a mail of a customer has one recipient, and a name of a shop adds no field', async () => {
  const { app, mails } = await open();
  await app.withStore(({ catalog, database }) =>
    database.write((tx) =>
      catalog.changeStore(tx, 1, { name: 'A\r\nBcc: thief@evil.example\r\n\r\n<img src=x>, "B"' }),
    ),
  );
  const order = await app.order({ ...eur, customer_email: anna, reference: 'typed by a stranger' });
  app.pay(order.address, 25_000);
  await app.settle();
  const [sent] = mails;
  if (sent === undefined) throw new Error('no mail');
  expect(sent.to).toEqual([anna]);
  expect(headerOf(sent, 'To')).toBe(anna);
  expect(headerOf(sent, 'Bcc')).toBeUndefined();
  expect(headerOf(sent, 'From')).toMatch(/<paygate@shop\.example>$/);
  const [text, html] = partsOf(sent);
  expect(text).toContain('at A Bcc: thief@evil.example <img src=x>');
  expect(html).not.toContain('<img');
  expect(`${text}${html}`).not.toContain('typed by');
});

test('S-197 a mail that waits is not sent once the order forgot the address of its customer', async () => {
  const mixed = 'Anna@Customer.example';
  const away = { code: 450, text: `4.2.1 <${anna}> is full, ${mixed}` };
  let isAway = true;
  const { app, rows, mails } = await open({
    server: { refuse: () => (isAway ? away : undefined) },
  });
  const order = await app.order({ ...eur, customer_email: mixed, expires_in: 300 });
  app.pay(order.address, 10_000);
  await app.settle();
  const owed = await rows();
  expect(owed).toMatchObject([{ type: 'customer.seen', state: 'owed', attemptCount: 1 }]);
  // Neither the queue nor the log names the customer.
  expect(JSON.stringify(owed)).not.toMatch(/anna@/i);
  expect(JSON.stringify(app.world.logs)).not.toMatch(/anna@/i);
  await app.withStore(({ database }) =>
    database.write(() => database.orm.update(orderTable).set({ customerEmail: null }).run()),
  );
  isAway = false;
  await pass(app, 3);
  expect(mails).toEqual([]);
  expect(await rows()).toMatchObject([{ state: 'dropped' }]);
});

test('a wrong address of a customer raises no alarm, and no mail of the shop waits for it', async () => {
  const { app, rows, mails } = await open({
    server: {
      refuse: (address) => (address === anna ? { code: 550, text: '5.1.1 unknown' } : undefined),
    },
  });
  await app.withStore(({ state, database }) =>
    database.write((tx) =>
      state.notifyTarget(1).write(tx, { ...noTarget, recipients: ['owner@shop.example'] }),
    ),
  );
  const order = await app.order({ ...eur, customer_email: anna });
  app.pay(order.address, 25_000);
  app.chain.mine(2);
  await app.settle();
  expect(subjectsOf(mails)).toEqual(['Paid: 12.50 EUR, an order (Shop)']);
  expect(await rows()).toMatchObject([
    { type: 'customer.paid', state: 'failed', recipient: '' },
    { type: 'order.paid', state: 'sent' },
  ]);
  await pass(app, 3);
  expect(app.running.health().warnings.join()).not.toContain('no longer retried');
});

test('no page of a customer has their address', async () => {
  const { app } = await open();
  const order = await app.order({ ...eur, customer_email: anna });
  const page = async (path: string) => (await visitorOf(app).get(path)).text;
  expect(await page(`/o/${order.id}`)).not.toContain('anna');
  app.pay(order.address, 25_000);
  app.chain.mine(2);
  await app.settle();
  for (const path of [`/o/${order.id}`, `/o/${order.id}/receipt`]) {
    expect(await page(path)).not.toContain('anna');
  }
  expect((await app.get(`/orders/${order.id}`)).body).toMatchObject({ customer_email: anna });
});
