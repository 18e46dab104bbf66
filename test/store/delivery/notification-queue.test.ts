// The queue of notifications in the file: lanes, retries, rows that are too old, and failures that
// a later success ends.

import { afterEach, expect, test } from 'vitest';
import { type NotifyTarget, noTarget } from '../../../src/domain/delivery/notification-settings.ts';
import type { OrderJson } from '../../../src/domain/order/order-json.ts';
import { dayMs, hourMs, minuteMs } from '../../../src/lib/time-units.ts';
import {
  createNotifications,
  type NotificationLane,
} from '../../../src/store/delivery/notification-queue.ts';
import { cleanUp } from '../../support/files.ts';
import { mailSettings } from '../../support/mail-server.ts';
import { plansOf, statementsOf } from '../../support/plans.ts';
import { now, openTestStore } from '../../support/store.ts';

afterEach(cleanUp);

const mails: NotificationLane = { channel: 'mail', owner: 0 };

async function open(target: Partial<NotifyTarget> = {}, hasMailServer = true) {
  const records = await openTestStore();
  await records.addWallet();
  await records.addStore();
  const { notifications: queue, state, write } = records;
  await write((tx) => {
    if (hasMailServer) state.mailServer.write(tx, mailSettings(25));
    state.notifyTarget(1).write(tx, { ...noTarget, ...target });
  });
  return {
    queue,
    write,
    fail: (at = now, noun: 'callback' | 'webhook' = 'callback') =>
      write((tx) =>
        queue.deliveryFailed(tx, at, {
          storeId: 1,
          noun,
          eventId: 'msg_1',
          reason: 'answered 500',
        }),
      ),
  };
}

const two = { recipients: ['a@shop.example', 'b@shop.example'] };

test('a failed delivery has one notification a day for each channel and recipient', async () => {
  const { queue, fail } = await open(two);
  await fail();
  await fail(now + hourMs);
  expect(queue.waiting().count).toBe(2);
  await fail(now, 'webhook');
  await fail(now + dayMs);
  expect(queue.waiting().count).toBe(6);
});

test('nothing is written for a kind that is off, or for mail without a server', async () => {
  const off = await open({ ...two, kinds: ['order.paid'] });
  await off.fail();
  const unset = await open(two, false);
  await unset.fail();
  expect([off.queue.waiting().count, unset.queue.waiting().count]).toEqual([0, 0]);
});

test('webhooks have lanes of their own', async () => {
  const { queue, fail } = await open({ ...two, webhookUrl: 'https://ntfy.example/t' });
  await fail();
  expect(queue.lanesDue(now)).toEqual(
    expect.arrayContaining([mails, { channel: 'webhook', owner: 1 }]),
  );
  expect(queue.next({ channel: 'webhook', owner: 1 }, now)[0]).toMatchObject({ storeId: 1 });
  expect(queue.next({ channel: 'webhook', owner: 0 }, now)[0]).toBeUndefined();
});

test('a failed attempt waits, and an old row ends as failed until its recipient gets another', async () => {
  const { queue, fail, write } = await open(two);
  await fail();
  const first = queue.next(mails, now)[0];
  if (first === undefined) throw new Error('nothing is due');
  const later = { state: 'owed', at: now + hourMs, reason: 'away' } as const;
  await write((tx) => queue.record(tx, now, first.id, later));
  expect(queue.next(mails, now)[0]?.recipient).toBe('b@shop.example');
  expect(queue.waiting()).toEqual({ count: 2, reason: 'away' });
  const end = now + 4 * dayMs + 1;
  await write((tx) => queue.tidy(tx, end));
  expect(queue.missed(end)).toEqual([
    expect.objectContaining({ recipient: 'b@shop.example', count: 1, reason: null }),
    expect.objectContaining({ recipient: 'a@shop.example', count: 1, reason: 'away' }),
  ]);
  await fail(end);
  for (let row = queue.next(mails, end)[0]; row !== undefined; row = queue.next(mails, end)[0]) {
    const { id, recipient } = row;
    const state = recipient.startsWith('a') ? 'sent' : 'dropped';
    await write((tx) => queue.record(tx, end, id, { state, reason: null }));
  }
  expect(queue.missed(end).map(({ recipient }) => recipient)).toEqual(['b@shop.example']);
  expect(queue.missed(end + 8 * dayMs)).toEqual([]);
  await write((tx) => queue.tidy(tx, end + 40 * dayMs));
  expect(queue.missed(end)).toEqual([]);
});

test('a row ends by the time that has certainly passed, and is deleted by it', async () => {
  const { queue, fail, write } = await open({ recipients: ['a@shop.example'] });
  await fail();
  const later = now + 400 * dayMs;
  await write((tx) => queue.tidy(tx, later, now + hourMs));
  expect(queue.waiting().count).toBe(1);
  await write((tx) => queue.tidy(tx, later, now + 5 * dayMs));
  expect(queue.waiting().count).toBe(0);
  await write((tx) => queue.tidy(tx, later, now + 29 * dayMs));
  expect(queue.missed(later)).toHaveLength(1);
  await write((tx) => queue.tidy(tx, later, now + 31 * dayMs));
  expect(queue.missed(later)).toHaveLength(0);
});

test('a due time of a clock that was ahead is corrected', async () => {
  const { queue, fail, write } = await open(two);
  await fail(now + 400 * dayMs);
  expect(queue.lanesDue(now)).toEqual([]);
  await write((tx) => queue.tidy(tx, now));
  expect(queue.lanesDue(now)).toEqual([mails]);
});

test('the longest wait of the schedule is left, a longer one is corrected', async () => {
  const { queue, fail, write } = await open(two);
  await fail();
  const wait = async (ms: number) => {
    const row = queue.next(mails, now)[0];
    const result = { state: 'owed', at: now + ms, reason: 'away' } as const;
    await write((tx) => queue.record(tx, now, row?.id ?? 0, result));
  };
  await wait(2 * dayMs);
  await wait(2 * dayMs + 1);
  expect(queue.next(mails, now)[0]).toBeUndefined();
  await write((tx) => queue.tidy(tx, now));
  expect(queue.next(mails, now)[0]?.recipient).toBe('b@shop.example');
});

test('what the webhook of one store received does not end what that of another missed', async () => {
  const records = await openTestStore();
  const { notifications: queue, state, write } = records;
  await records.addWallet();
  for (const storeId of [1, 2]) {
    await records.addStore({ name: `Shop ${storeId}` });
    const webhookUrl = `https://ntfy.example/${storeId}`;
    const failed = { storeId, noun: 'callback', eventId: 'msg_1', reason: 'answered 500' } as const;
    await write((tx) => {
      state.notifyTarget(storeId).write(tx, { ...noTarget, webhookUrl });
      queue.deliveryFailed(tx, now, failed);
    });
  }
  for (const [owner, state] of [
    [1, 'failed'],
    [2, 'sent'],
  ] as const) {
    const row = queue.next({ channel: 'webhook', owner }, now)[0];
    await write((tx) => queue.record(tx, now + owner, row?.id ?? 0, { state, reason: null }));
  }
  expect(queue.missed(now + hourMs)).toMatchObject([{ channel: 'webhook', count: 1 }]);
});

test('the queue does not cost more with the notifications that were sent', async () => {
  const { database, catalog, state } = await openTestStore();
  const statements = await statementsOf(() => createNotifications(database.orm, catalog, state));
  const ofOwed = statements.filter((text) => /^(select|update).*"state" = 'owed'/s.test(text));
  expect(ofOwed).toHaveLength(7);
  for (const steps of plansOf(database.path, ofOwed)) {
    expect(steps.join('; ')).toMatch(
      /^(SEARCH|SCAN) notifications USING .*INDEX notifications_due/,
    );
  }
});

/** The notice of an order that was paid, in a mail to each of `two`. */
const paidOrder = (at: number, id: number, storeId = 1) => ({
  type: 'order.paid' as const,
  was: 'processing' as const,
  order: {
    ...{ id: `ord_${id}`, store_id: storeId, status: 'paid', late: false, reference: null },
    ...{ amount: '3.50', currency: 'EUR', amount_sat: 7_000, received_sat: 7_000, version: 2 },
    ...{ confirmed_sat: 7_000, excess_sat: 0, created_at: at, customer_email: null },
    payments: [],
  } as unknown as OrderJson,
  linkTitle: 'Counter',
  before: { fingerprint: 'some', firstPaidAt: null },
});

test('57 payments within a minute are two mails to each recipient, and nothing is lost', async () => {
  const { queue, write } = await open({ ...two, kinds: ['order.paid', 'order.late'] });
  const lane = { channel: 'mail', owner: 0 } as const;
  const pay = (at: number, id: number) =>
    write((tx) => queue.orderChanged(tx, at, paidOrder(at, id), `evt_${id}`));
  const sendDue = async (at: number) => {
    const sent: [string, number][] = [];
    for (let rows = queue.next(lane, at); rows[0] !== undefined; rows = queue.next(lane, at)) {
      sent.push([rows[0].recipient, rows.length]);
      await write((tx) => {
        for (const { id } of rows) queue.record(tx, at, id, { state: 'sent', reason: null });
      });
    }
    return sent;
  };
  const [a, b] = two.recipients;
  await pay(now, 0);
  expect(await sendDue(now)).toEqual([
    [a, 1],
    [b, 1],
  ]);
  for (let id = 1; id < 57; id += 1) await pay(now + id * 1_000, id);
  expect(await sendDue(now + 15 * minuteMs - 1)).toEqual([]);
  // Another kind does not wait.
  const late = paidOrder(now, 99);
  const order = Object.assign({}, late.order, { late: true });
  await write((tx) => queue.orderChanged(tx, now, Object.assign(late, { order }), 'evt_99'));
  expect(await sendDue(now + 1)).toEqual([
    [a, 1],
    [b, 1],
  ]);
  expect(await sendDue(now + 15 * minuteMs)).toEqual([
    [a, 56],
    [b, 56],
  ]);
  await pay(now + 15 * minuteMs + 1, 57);
  expect(await sendDue(now + 30 * minuteMs - 1)).toEqual([]);
  expect(await sendDue(now + 30 * minuteMs)).toHaveLength(2);
  await pay(now + 60 * minuteMs, 58);
  expect(await sendDue(now + 60 * minuteMs)).toHaveLength(2);
});

test('57 addresses for refunds within a minute are two mails, and a refund that is made again', async () => {
  const { queue, write } = await open({ recipients: ['a@shop.example'] });
  const { order, linkTitle } = paidOrder(now, 1);
  const give = (id: number, at: number) =>
    write((tx) => queue.refundAddressed(tx, at, id, { order, linkTitle, amountSat: 5_000 }));
  for (let id = 1; id <= 57; id += 1) await give(id, now + id);
  await give(57, now + 57);
  await give(57, now + 58);
  const at = now + 58;
  const rows = queue.next(mails, at);
  expect(rows.map(({ type }) => type)).toEqual(Array.from({ length: 58 }, () => 'order.refund'));
  await write((tx) => {
    for (const { id } of rows) queue.record(tx, at, id, { state: 'sent', reason: null });
  });
  await give(58, at + 1);
  expect(queue.next(mails, at + 15 * minuteMs - 1)).toEqual([]);
  expect(queue.next(mails, at + 15 * minuteMs)).toHaveLength(1);
});

test('an address for a refund is reported to store and operator by their settings', async () => {
  const records = await openTestStore();
  const { notifications: queue, state, write } = records;
  await records.addWallet();
  await records.addStore();
  const { order, linkTitle } = paidOrder(now, 1);
  await write((tx) => {
    state.mailServer.write(tx, mailSettings(25));
    state.notifyTarget(1).write(tx, { ...noTarget, recipients: ['a@shop.example'] });
    state.notifyTarget(null).write(tx, { ...noTarget, recipients: ['b@shop.example'] });
    queue.refundAddressed(tx, now, 1, { order, linkTitle, amountSat: 5_000 });
  });
  expect([queue.next(mails, now), queue.waiting().count]).toMatchObject([
    [{ recipient: 'a@shop.example', storeId: 1 }],
    2,
  ]);
  await write((tx) => {
    for (const owner of [1, null] as const) {
      state.notifyTarget(owner).write(tx, {
        ...noTarget,
        ...{ recipients: ['a@shop.example'], kinds: ['order.paid'] },
      });
    }
    queue.refundAddressed(tx, now, 2, { order, linkTitle, amountSat: 5_000 });
  });
  expect(queue.waiting().count).toBe(2);
});

test('several that are not sent yet go together, also after a failed attempt', async () => {
  const { queue, write } = await open({ recipients: ['a@shop.example'], kinds: ['order.paid'] });
  const lane = { channel: 'mail', owner: 0 } as const;
  const pay = (at: number, id: number) =>
    write((tx) => queue.orderChanged(tx, at, paidOrder(at, id), `evt_${id}`));
  await pay(now, 1);
  await pay(now + 5, 2);
  const rows = queue.next(lane, now + 5);
  expect(rows.map(({ id }) => id)).toEqual([1, 2]);
  const at = now + 5 * minuteMs;
  await write((tx) => {
    for (const { id } of rows) queue.record(tx, now, id, { state: 'owed', at, reason: 'away' });
  });
  await pay(now + 10, 3);
  expect(queue.next(lane, at - 1)).toEqual([]);
  expect(queue.next(lane, at).map(({ id }) => id)).toEqual([1, 2, 3]);
});

test('a mail of the merchant goes out before one of a customer that is older', async () => {
  const { queue, write } = await open({ recipients: ['a@shop.example'], kinds: ['order.paid'] });
  const paid = paidOrder(now, 1);
  const customer = { customer_email: 'anna@customer.example', language: null, amount_due: '3.50' };
  const order = Object.assign({}, paid.order, customer);
  await write((tx) => queue.orderChanged(tx, now, Object.assign(paid, { order }), 'evt_1'));
  const [first] = queue.next(mails, now);
  expect(first).toMatchObject({ id: 2, type: 'order.paid' });
  await write((tx) => queue.record(tx, now, 2, { state: 'sent', reason: null }));
  expect(queue.next(mails, now)).toMatchObject([{ id: 1, type: 'customer.paid', recipient: '' }]);
});
