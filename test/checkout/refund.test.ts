// A refund by the customer's hand: the merchant offers it, the customer types an address, and both
// see what becomes of it.

import { afterEach, describe, expect, test } from 'vitest';
import { addressToScript, scripthash } from '../../src/bitcoin/address.ts';
import type { BlockHash, Txid } from '../../src/bitcoin/ids.ts';
import { networks } from '../../src/bitcoin/network.ts';
import { noTarget } from '../../src/domain/delivery/notification-settings.ts';
import { hourMs, minuteMs } from '../../src/lib/time-units.ts';
import { closeApps } from '../support/app.ts';
import { openTill, type Till } from '../support/checkout.ts';
import { cleanUp, whenOver } from '../support/files.ts';
import {
  headerOf,
  mailSettings,
  partsOf,
  type ReceivedMail,
  startMailServer,
} from '../support/mail-server.ts';
import { type Seen, signedIn, type Visitor, visitorOf } from '../support/visitor.ts';

afterEach(closeApps);
afterEach(cleanUp);

/** Wallets that are not ours have them. */
const theirs = 'bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080';
const other = 'bcrt1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3qzf4jry';
const taproot = 'bcrt1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqc8gma6';
const onMainnet = 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4';
/** BIP 350: witness programs that have no rules yet. */
const version16 = 'bcrt1sw50qpvnxy8';
const anchor = 'bcrt1pfeesnyr2tx';

interface Offered extends Till {
  readonly merchant: Visitor;
  readonly refundPage: string;
  send(refund: string, headers?: Record<string, string>): Promise<Seen>;
  see(): Promise<string>;
  json(): Promise<Record<string, unknown>[]>;
}

async function offer(choice = 'excess', valueSat = 30_000): Promise<Offered> {
  const till = await openTill({ expires_in: 86_400 });
  const merchant = await signedIn(till.app);
  const customer = visitorOf(till.app);
  await till.pay(valueSat);
  await till.mine(2);
  const refundPage = `/dashboard/orders/${till.id}/refund`;
  const offered = await merchant.submit(refundPage, 'prepare', { address: '', choice, fee: '0' });
  expect(offered.status).toBe(303);
  return {
    ...till,
    merchant,
    refundPage,
    send: (refund, headers) =>
      customer.post(till.path, String(new URLSearchParams({ refund })), headers),
    see: async () => (await customer.get(till.path)).text,
    json: async () => (await till.app.ask(`/api/v3/orders/${till.id}`)).body.refunds,
  };
}

const errorOf = ({ text }: Seen): string | undefined =>
  /id="refund-error">([^<]*)</.exec(text)?.[1];

describe('a refund that is offered', () => {
  test('asks the customer for an address, shows it to the merchant, and follows the chain', async () => {
    const scene = await offer();
    const { app, merchant, refundPage, send, see, json, id } = scene;
    expect(await json()).toMatchObject([{ state: 'asked', address: null, amount_sat: 5_000 }]);
    const asked = await see();
    expect(asked).toContain('pays <bdi dir="ltr">5,000 sat</bdi> back');
    expect(asked).toContain('Your bitcoin address');
    expect(asked).not.toContain('ask the shop about it');
    const waiting = (await merchant.get(refundPage)).text;
    expect(waiting).toContain(`/o/${id}</code>`);
    expect(waiting).not.toContain('It is sent');
    const done = await merchant.submit(refundPage, 'done', { txid: 'ab'.repeat(32) });
    expect(done.status).toBe(409);

    expect(await send(` bitcoin:${theirs}?amount=1 `)).toMatchObject({ status: 303, to: id });
    expect(await json()).toMatchObject([{ state: 'prepared', address: theirs }]);
    const given = await see();
    expect(given).toContain('has your address, and sends <bdi dir="ltr">5,000 sat</bdi> to it');
    expect(given).not.toContain('name="refund"');
    expect(given).toContain('In preparation');
    const toSend = (await merchant.get(refundPage)).text;
    expect(toSend).toContain(`href="bitcoin:${theirs}?amount=0.00005&amp;message=Refund%201007"`);

    const txid = app.chain.pay([{ address: theirs, valueSat: 5_000 }]);
    expect((await merchant.submit(refundPage, 'done', { txid })).status).toBe(303);
    expect(await json()).toMatchObject([{ state: 'sent', txid }]);
    const sent = await see();
    expect(sent).toContain('paid <bdi dir="ltr">5,000 sat</bdi> back');
    expect(sent).toMatch(/<dt>State<\/dt><dd>Sent<\/dd>/);
    expect(sent).toContain(txid);
    const file = async () =>
      (await merchant.get('/dashboard/payments/export?format=paygate')).text
        .split('\r\n')
        .filter((line) => line.includes(',refund,'));
    expect(await file()).toEqual([expect.stringContaining(',sent,')]);

    await scene.mine(1);
    await app.world.advance(minuteMs);
    await app.settle();
    expect(await json()).toMatchObject([{ state: 'confirmed', txid }]);
    expect(await see()).toMatch(/<dt>State<\/dt><dd>Confirmed<\/dd>/);
    expect((await merchant.get(`/dashboard/orders/${id}`)).text).toContain('Confirmed');
    expect(await file()).toEqual([expect.stringContaining(',confirmed,')]);

    app.chain.reorganise(1, { blocks: 2, transactions: 'mempool' });
    await app.settle();
    expect(await json()).toMatchObject([{ state: 'sent', txid }]);
    expect(await file()).toEqual([expect.stringContaining(',sent,')]);
    await scene.mine(1);
    await app.world.advance(minuteMs);
    await app.settle();
    expect(await json()).toMatchObject([{ state: 'confirmed', txid }]);
  });

  test('is a mail to the merchant once the customer typed an address, and once alone', async () => {
    const server = await startMailServer();
    whenOver(() => server.close());
    const { app, merchant, refundPage, send } = await offer();
    await app.withStore(({ state, database }) =>
      database.write((tx) => {
        state.mailServer.write(tx, mailSettings(server.port));
        state.notifyTarget(null).write(tx, { ...noTarget, recipients: ['owner@shop.example'] });
      }),
    );
    await send('nonsense');
    await app.settle();
    expect(server.mails).toEqual([]);
    await send(theirs);
    await send(other);
    await app.settle();
    expect(server.mails.map((mail) => headerOf(mail, 'Subject'))).toEqual([
      'Refund to send: 5,000 sat, order 1007 (Shop)',
    ]);
    const [text = ''] = partsOf(server.mails[0] as ReceivedMail);
    expect(text).not.toContain(theirs);
    // The merchant who types an address has nothing to learn; a customer who is asked again has.
    for (const address of [theirs, '']) {
      expect((await merchant.submit(refundPage, 'discard')).status).toBe(303);
      const again = { address, choice: 'excess', fee: '0' };
      expect((await merchant.submit(refundPage, 'prepare', again)).status).toBe(303);
    }
    await app.world.advance(minuteMs);
    await send(other);
    // To the very moment: a mail on its way would wait in real time, which the clock outruns.
    await app.world.advance(14 * minuteMs);
    await app.settle();
    expect(server.mails).toHaveLength(2);
  });

  test('takes one address, of this network, that is not the shop’s and that wallets spend from', async () => {
    const { app, send, json, address, see } = await offer();
    const refused = async (text: string) => {
      const seen = await send(text);
      return [seen.status, errorOf(seen)];
    };
    const wrong = 'This is no address that can be paid. Copy it from your wallet again.';
    for (const text of ['', 'nonsense', onMainnet, version16, anchor]) {
      expect([text, ...(await refused(text))]).toEqual([text, 400, wrong]);
    }
    const own = 'This is an address of the shop. Copy one from your own wallet.';
    expect(await refused(address)).toEqual([400, own]);
    expect(await refused(await app.newAddress())).toEqual([400, own]);
    const key = 'KwDiBf89QgGbjEhKnhXJuH7LrciVrZi3qYjgd9M7rFU73sVHnoWn';
    const secret = await send(key);
    expect([secret.status, errorOf(secret)?.includes('private key')]).toEqual([400, true]);
    expect(secret.text).not.toContain(key);
    expect((await send(theirs, { Origin: 'https://elsewhere.example' })).status).toBe(403);
    expect(await json()).toMatchObject([{ state: 'asked', address: null }]);

    expect((await send(taproot)).status).toBe(303);
    expect((await send(other)).status).toBe(303);
    expect(await json()).toMatchObject([{ state: 'prepared', address: taproot }]);
    expect(await see()).not.toContain(other);
  });

  test('is withdrawn by the merchant, and its form takes nothing', async () => {
    const { merchant, refundPage, send, json, see } = await offer();
    expect((await merchant.submit(refundPage, 'discard')).status).toBe(303);
    expect(await see()).not.toContain('name="refund"');
    expect((await send(theirs)).status).toBe(303);
    expect(await json()).toEqual([]);
  });

  test('does not ask for an address before, and takes none', async () => {
    const till = await openTill();
    const customer = visitorOf(till.app);
    expect((await customer.get(till.path)).text).not.toContain('name="refund"');
    expect((await customer.post(till.path, `refund=${theirs}`)).status).toBe(303);
    expect((await till.app.ask(`/api/v3/orders/${till.id}`)).body.refunds).toEqual([]);
  });

  test('of an open order cancels it, so that its customer no longer pays', async () => {
    const { see, app, id } = await offer('all', 10_000);
    expect((await app.ask(`/api/v3/orders/${id}`)).body.status).toBe('canceled');
    const page = await see();
    expect(page).toContain('The shop canceled this order. Do not pay. The shop pays');
    expect(page).not.toContain('ask the shop to pay it back');
  });
});

describe('a refund that was sent', () => {
  const sent = async () => {
    const scene = await offer();
    await scene.send(theirs);
    const txid = scene.app.chain.pay([{ address: theirs, valueSat: 5_000 }]);
    await scene.merchant.submit(scene.refundPage, 'done', { txid });
    const pass = async () => {
      await scene.mine(1);
      await scene.app.world.advance(minuteMs);
      await scene.app.settle();
    };
    return { ...scene, txid, pass };
  };

  test('is found by its transaction', async () => {
    const { merchant, txid, id } = await sent();
    for (const q of [txid, txid.slice(0, 12).toUpperCase()]) {
      const orders = (await merchant.get(`/dashboard/orders?q=${q}`)).text;
      expect(orders).toContain(`/dashboard/orders/${id}`);
    }
    const last = txid.endsWith('0') ? '1' : '0';
    const wrong = (await merchant.get(`/dashboard/orders?q=${txid.slice(0, -1)}${last}`)).text;
    expect(wrong).not.toContain(`/dashboard/orders/${id}`);
  });

  test('follows the transaction that replaced it, once that is in a block', async () => {
    const { app, txid, json, pass } = await sent();
    const dearer = app.chain.replace(txid, [{ address: theirs, valueSat: 5_000 }]);
    expect(await json()).toMatchObject([{ state: 'sent', txid }]);
    await pass();
    expect(await json()).toMatchObject([{ state: 'confirmed', txid: dearer }]);
  });

  /** Another order with an excess of 5,000 sat, whose refund has an address. */
  async function prepareAnother({ app, merchant, mine }: Offered, address: string) {
    const order = await app.order({ amount_sat: 20_000, currency: undefined, amount: undefined });
    app.pay(order.address, 25_000);
    await app.settle();
    await mine(2);
    const page = `/dashboard/orders/${order.id}/refund`;
    await merchant.submit(page, 'prepare', { address, choice: 'excess', fee: '0' });
    const json = async () => (await app.ask(`/api/v3/orders/${order.id}`)).body.refunds;
    return { page, json };
  }

  test.each([
    ['at another address', other, [5_000, 5_000], ['confirmed', 'confirmed']],
    ['at its own address', theirs, [5_000, 5_000], ['confirmed', 'confirmed']],
    ['at its own address no more', theirs, [5_000], ['confirmed', 'sent']],
  ])('follows what replaced a transaction for two, one %s', async (_name, to, paid, states) => {
    const first = await offer();
    await first.send(theirs);
    const second = await prepareAnother(first, to);
    const outputsOf = (values: readonly number[]) =>
      values.map((valueSat, at) => ({ address: at === 0 ? theirs : to, valueSat }));
    const txid = first.app.chain.pay(outputsOf([5_000, 5_000]));
    for (const page of [first.refundPage, second.page]) {
      expect((await first.merchant.submit(page, 'done', { txid })).status).toBe(303);
    }
    first.app.chain.replace(txid, outputsOf(paid));
    await first.mine(1);
    await first.app.world.advance(minuteMs);
    await first.app.settle();
    const both = [...(await first.json()), ...(await second.json())];
    expect(both.map(({ state }) => state).sort()).toEqual(states);
  });

  test('is confirmed beside one whose address no server looks up', async () => {
    const first = await sent();
    const { app, merchant, json, pass, txid } = first;
    const second = await prepareAnother(first, other);
    const late = app.chain.pay([{ address: other, valueSat: 5_000 }]);
    await merchant.submit(second.page, 'done', { txid: late });
    const hash = scripthash(addressToScript(other, networks.regtest));
    app.server.inject({
      ...{ kind: 'error', code: 1, message: 'history too large' },
      when: (_method, [subject]) => subject === hash,
    });
    await pass();
    expect(await second.json()).toMatchObject([{ state: 'sent', txid: late }]);
    expect(await json()).toMatchObject([{ state: 'confirmed', txid }]);
  });

  test('is looked for, however many are confirmed since', async () => {
    const { app, json, pass, txid, id } = await sent();
    await app.withStore(async ({ database, refunds, orderView, headers }) => {
      const { id: orderId = 0 } = orderView.byPublicId(id) ?? {};
      const { height = 0, header } = headers.tip() ?? {};
      const block = { height, hash: header?.hash as BlockHash };
      const amounts = { choice: 'excess', address: other, amountSat: 600, feeSat: 0 } as const;
      await database.write((tx) => {
        for (let count = 0; count < 50; count += 1) {
          const paid = count.toString(16).padStart(64, '0') as Txid;
          refunds.prepare(tx, app.world.now(), { orderId, ...amounts });
          const noted = { txid: paid, currency: null, priceCents: null };
          const row = refunds.finish(tx, app.world.now() + 1, orderId, noted);
          refunds.mined(tx, row.id, paid, block);
        }
      });
    });
    await pass();
    expect((await json()).at(-1)).toMatchObject({ state: 'confirmed', txid });
  });

  test('is not confirmed by what its address received long before', async () => {
    const { app } = await openTill();
    app.chain.pay([{ address: theirs, valueSat: 9_000 }]);
    app.chain.mine(1);
    await app.settle();
    app.world.jumpWallClock(4 * hourMs);
    await app.world.advance(minuteMs);
    await app.settle();
    const { id, address } = await app.order({ amount_sat: 25_000 });
    app.pay(address, 30_000);
    await app.settle();
    app.chain.mine(2);
    await app.settle();
    const merchant = await signedIn(app);
    const page = `/dashboard/orders/${id}/refund`;
    await merchant.submit(page, 'prepare', { address: theirs, choice: 'excess', fee: '0' });
    const txid = app.chain.pay([{ address: theirs, valueSat: 5_000 }]);
    expect((await merchant.submit(page, 'done', { txid })).status).toBe(303);
    app.chain.replace(txid, [{ address: other, valueSat: 5_000 }]);
    app.chain.mine(1);
    await app.settle();
    await app.world.advance(minuteMs);
    await app.settle();
    const { refunds } = (await app.ask(`/api/v3/orders/${id}`)).body;
    expect(refunds).toMatchObject([{ state: 'sent', txid }]);
  });

  test('is not confirmed by one that pays less', async () => {
    const { app, txid, json, pass } = await sent();
    app.chain.replace(txid, [{ address: theirs, valueSat: 4_999 }]);
    await pass();
    expect(await json()).toMatchObject([{ state: 'sent', txid }]);
  });

  test('has a transaction that pays no other refund', async () => {
    const first = await sent();
    const { app, merchant, txid } = first;
    const { page, json } = await prepareAnother(first, theirs);
    const refused = await merchant.submit(page, 'done', { txid });
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('It pays another refund; the refund has 5,000 sat.');
    // Nor does it confirm the other one, whose own transaction was replaced.
    const own = app.chain.pay([{ address: theirs, valueSat: 5_000 }]);
    expect((await merchant.submit(page, 'done', { txid: own })).status).toBe(303);
    app.chain.replace(own, [{ address: other, valueSat: 5_000 }]);
    await first.pass();
    expect(await first.json()).toMatchObject([{ state: 'confirmed', txid }]);
    expect(await json()).toMatchObject([{ state: 'sent', txid: own }]);
  });
});
