// What a customer is answered who says that they paid.

import { afterEach, describe, expect, test } from 'vitest';
import type { Txid } from '../../src/bitcoin/ids.ts';
import { formatsOf } from '../../src/checkout/words/language-formats.ts';
import { parseProxyNetwork } from '../../src/domain/access/client-address.ts';
import { dayMs, hourMs, minuteMs } from '../../src/lib/time-units.ts';
import { closeApps } from '../support/app.ts';
import { writeInvoice } from '../support/bolt11.ts';
import { inSatoshis, openTill, type Till } from '../support/checkout.ts';
import { cleanUp } from '../support/files.ts';
import { giveNode, PlayedNode } from '../support/played-node.ts';
import { openPriced } from '../support/priced.ts';
import { visitorOf } from '../support/visitor.ts';
import { createTestWorld } from '../support/world.ts';

afterEach(closeApps);
afterEach(cleanUp);

const behindProxy = { trustedProxy: [parseProxyNetwork('127.0.0.1')] };
const theirs = 'bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080';
const unknown = 'ab'.repeat(32);
const later = 'It cannot be looked up right now. Ask again in a minute.';
const unseen =
  'Our servers have not seen your payment yet. If your wallet shows it as sent, ask again in some minutes.';
const elsewhere =
  'This transaction pays another address. Compare the address in your wallet with the one on this page.';

function asking({ app, path }: Pick<Till, 'app' | 'path'>, headers = {}) {
  const customer = visitorOf(app, { headers });
  return async (txid: string): Promise<string> => {
    const { status, text } = await customer.post(path, String(new URLSearchParams({ txid })));
    expect(status).toBe(200);
    return (/<p role="status">(.*?)<\/p>/.exec(text)?.[1] ?? '').replaceAll(/<[^>]*>/g, '');
  };
}

const open = () => openTill({ ...inSatoshis, expires_in: 86_400 });

describe('a customer who says that they paid', () => {
  test('hears how far their payment is, from its transaction or from nothing', async () => {
    const till = await open();
    const ask = asking(till);
    expect(await ask('')).toBe(unseen);
    const txid = await till.pay(24_000);
    expect(await ask('')).toContain('Your payment was seen just now. It is in 0 of 2 blocks');
    await till.app.world.advance(minuteMs);
    expect(await ask('')).toContain('Your payment was seen 1 minute ago.');
    await till.app.world.advance(2 * minuteMs);
    const seen = 'Your payment was seen 3 minutes ago. It is in';
    const first = `${seen} 0 of 2 blocks: about 20 minutes more. It is 1,000 sat too little.`;
    expect(await ask('')).toBe(first);
    expect(await ask(`\u200b${txid.toUpperCase()} `)).toBe(first);
    await till.pay(1_000);
    await till.mine(1);
    expect(await ask(txid)).toContain('1 of 2 blocks: about 10 minutes more.');
    await till.mine(1);
    expect(await ask(txid)).toBe('Your payment is confirmed. This page is your receipt.');
    const page = await visitorOf(till.app).get(till.path);
    expect(page.text).not.toContain('I have paid');
  });

  test('hears that it is confirmed and too little', async () => {
    const till = await open();
    await till.pay(24_000);
    await till.mine(2);
    expect(await asking(till)('')).toBe(
      'Your payment is confirmed. This page is your receipt. It is 1,000 sat too little.',
    );
  });

  test('hears that a transaction pays another address, also one of the same shop', async () => {
    const till = await open();
    const { app } = till;
    const other = await app.order({ amount_sat: 9_000 });
    const ofOther = app.pay(other.address, 9_000);
    await app.settle();
    const foreign = app.chain.pay([{ address: theirs, valueSat: 25_000 }]);
    const ask = asking(till);
    expect([await ask(ofOther), await ask(foreign)]).toEqual([elsewhere, elsewhere]);
  });

  test('hears that it was not seen, that it is no id, and when servers do not answer', async () => {
    const till = await open();
    const ask = asking(till);
    expect(await ask(unknown)).toBe(unseen);
    expect(await ask('nonsense')).toBe(
      'This is no transaction id. It has 64 digits and letters from a to f.',
    );
    till.app.server.pause();
    till.app.server.disconnectAll();
    await till.app.settle();
    expect(await ask(unknown)).toBe(later);
  });

  test('hears of a payment that the servers have and the file does not, yet', async () => {
    const till = await open();
    const { app, address } = till;
    app.server.inject({ kind: 'stopNotifications' });
    const txid = app.chain.pay([{ address, valueSat: 24_000 }]);
    expect(await asking(till)(txid)).toBe(
      'This transaction pays this order. It was seen just now, and this page shows it in a moment. It is 1,000 sat too little.',
    );
  });

  test('hears that their payment fell away', async () => {
    const till = await open();
    const txid = (await till.pay(25_000)) as Txid;
    till.app.chain.evict(txid);
    await till.app.world.advance(2 * minuteMs);
    await till.app.settle();
    expect(await asking(till)(txid)).toContain('Your payment fell away');
  });

  test('sends the form of our own page alone', async () => {
    const { app, path } = await open();
    const headers = { Origin: 'https://elsewhere.example' };
    expect((await visitorOf(app).post(path, 'txid=', headers)).status).toBe(403);
  });
});

describe('questions to the servers', () => {
  test('are three of a network, and one more a minute', async () => {
    const till = await openTill(inSatoshis, behindProxy);
    const from = (client: string) => asking(till, { 'X-Forwarded-For': client });
    const foreign = till.app.chain.pay([{ address: theirs, valueSat: 1_000 }]);
    const answers = [];
    for (const end of ['1', '2', '3', '4']) {
      answers.push(await from(`2001:db8:1:${end}::1`)(foreign));
    }
    expect(answers).toEqual([elsewhere, elsewhere, elsewhere, later]);
    expect(await from('2001:db8:2::1')(foreign)).toBe(elsewhere);
    // What the file has is no question.
    expect(await from('2001:db8:1::1')('')).toBe(unseen);
    await till.app.world.advance(minuteMs);
    expect(await from('2001:db8:1::1')(foreign)).toBe(elsewhere);
  });

  test('about what no server has are six an hour, of all customers', async () => {
    const till = await openTill(inSatoshis, behindProxy);
    const from = (at: number) => asking(till, { 'X-Forwarded-For': `198.51.100.${at}` });
    const answers = [];
    for (let at = 1; at <= 7; at += 1) {
      answers.push(await from(at)(unknown.slice(0, -1) + at));
    }
    expect(answers).toEqual([...Array(6).fill(unseen), later]);
    await till.app.world.advance(hourMs);
    expect(await from(9)(unknown)).toBe(unseen);
  });
});

test('times are in the largest unit that they fill', () => {
  const { ago, minutes } = formatsOf('de');
  expect([ago(0), ago(minuteMs), ago(hourMs - 1), ago(hourMs), ago(dayMs), minutes(10)]).toEqual([
    ...['vor 0 Minuten', 'vor 1 Minute', 'vor 59 Minuten', 'vor 1 Stunde', 'vor 1 Tag'],
    '10 Minuten',
  ]);
  expect(formatsOf('ar').ago(3 * minuteMs)).toContain('3');
});

describe('a customer who paid by Lightning', () => {
  const arrived = 'Your Lightning payment arrived, and is final.';
  const unpaid =
    'The Lightning node of the shop has not received it yet. If your wallet shows it as paid, ask again in a minute.';
  const foreign = 'This invoice is not one of this order. Compare it with the one on this page.';

  /** An order with an invoice, and what its customer may type: invoice, hash and preimage. */
  async function openPaid() {
    const world = createTestWorld();
    const node = new PlayedNode(() => world.now());
    const app = await openPriced({ world, openLightning: () => node });
    await giveNode(app, node);
    const { id } = await app.order({ amount_sat: 25_000, expires_in: 86_400 });
    const [made] = node.invoices;
    if (made === undefined) throw new Error('no invoice');
    const { paymentHash, preimage } = made;
    const invoice = writeInvoice({ paymentHash });
    const typed = [invoice, `lightning:${invoice.toUpperCase()}`, paymentHash, preimage];
    return { app, node, id, typed, ask: asking({ app, path: `/o/${id}` }) };
  }

  async function untilPaid(app: Till['app'], id: string): Promise<void> {
    const isPaid = async () => (await app.get(`/orders/${id}`)).body.status === 'paid';
    for (let turns = 0; turns < 100 && !(await isPaid()); turns += 1) await app.world.turn();
  }

  test('hears that it arrived, and nothing of blocks', async () => {
    const { app, node, id, typed, ask } = await openPaid();
    for (const each of typed) expect(await ask(each)).toBe(unpaid);
    expect(await ask('')).toBe(unseen);
    node.pay(1);
    await untilPaid(app, id);
    for (const each of ['', ...typed]) expect(await ask(each)).toBe(arrived);
    const page = await visitorOf(app).get(`/o/${id}`);
    expect(page.text).not.toMatch(/confirmed/i);
    expect(page.text).toContain('<dd>Paid</dd>');
  });

  test('hears nothing of an invoice of another order, of another shop, or that is none', async () => {
    const { app, typed } = await openPaid();
    const other = await app.order({ amount_sat: 30_000, expires_in: 86_400 });
    const ask = asking({ app, path: `/o/${other.id}` });
    const [invoice = '', uri = ''] = typed;
    for (const each of [invoice, uri, 'lnbc1', writeInvoice({ paymentHash: unknown })]) {
      expect(await ask(each)).toBe(foreign);
    }
    const { ask: asksOther } = await openPaid();
    expect(await asksOther(unknown)).toBe(unseen);
  });
});
