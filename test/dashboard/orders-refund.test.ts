// Refunds: who is offered one, its amounts and its address, and when it is sent.

import { afterEach, describe, expect, test } from 'vitest';
import { minuteMs } from '../../src/lib/time-units.ts';
import { closeApps } from '../support/app.ts';
import { openTill } from '../support/checkout.ts';
import { cleanUp } from '../support/files.ts';
import { signedIn, type Visitor } from '../support/visitor.ts';

afterEach(closeApps);
afterEach(cleanUp);

/** A wallet that is not ours has it. */
const theirs = 'bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080';
const onMainnet = 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4';

async function open(valueSat: number, changes: object = {}) {
  const till = await openTill({ expires_in: 86_400, ...changes });
  const visitor = await signedIn(till.app);
  const paying = await till.pay(valueSat);
  await till.mine(2);
  const order = `/dashboard/orders/${till.id}`;
  return { ...till, visitor, paying, order, page: `${order}/refund` };
}

const prepare = (visitor: Visitor, page: string, fields: Record<string, string> = {}) =>
  visitor.submit(page, 'prepare', { address: theirs, choice: 'excess', fee: '0', ...fields });

describe('a refund', () => {
  test('of an excess is prepared, shown as a code, and noted when it is sent', async () => {
    const { app, visitor, order, page, id } = await open(30_000);
    expect((await visitor.get(order)).text).toContain(`href="${page}"`);
    const form = (await visitor.get(page)).text;
    expect(form).toContain('What is too much: 5,000 sat');
    expect(form).toContain('All that is confirmed: 30,000 sat');
    expect(form).toContain('12.50 EUR at the rate of now, at most all');
    // A browser sends the form without an address, too: then the customer types it.
    expect(/<input[^>]*name="address"[^>]*>/.exec(form)?.[0]).not.toContain('required');
    for (let times = 0; times < 2; times += 1) {
      const address = `bitcoin:\u2066${theirs}\u2069\u00a0`;
      const prepared = await prepare(visitor, page, { fee: '200', address });
      expect([prepared.status, prepared.to]).toEqual([303, page]);
    }
    const { text } = await visitor.get(page);
    expect(text).toContain('aria-label="QR code to send 4,800 sat"');
    expect(text).toContain(`href="bitcoin:${theirs}?amount=0.000048&amp;message=Refund%201007"`);
    expect((await visitor.get(order)).text).toContain('Refund of 4,800 sat prepared');
    const txid = app.chain.pay([{ address: theirs, valueSat: 4_800 }]);
    const pastedTxid = `\u200b${txid.slice(0, 32)}\u00ad\u00a0${txid.slice(32)}`;
    const sent = await visitor.submit(page, 'done', { txid: pastedTxid.toUpperCase() });
    expect([sent.status, sent.to]).toEqual([303, `${order}?done=refund-sent`]);
    const shown = (await visitor.get(sent.to ?? '')).text;
    expect(shown).toContain('The refund is noted as sent.');
    expect(shown).toContain(`<code class="selectable">${theirs}</code>`);
    expect(shown).toContain('Refunded: <span class="amount">4,800 sat</span>');
    expect(shown).toContain('Refund of 4,800 sat sent');
    // Nothing is left of the excess; the price is, because goods come back.
    expect(shown).toContain(`href="${page}"`);
    const rest = (await visitor.get(page)).text;
    expect(rest).not.toContain('What is too much');
    expect(rest).toContain('All that is confirmed: 25,000 sat');
    const [refund] = await app.withStore(async ({ refunds }) => refunds.of(1));
    expect(refund).toMatchObject({ currency: 'EUR', priceCents: 5_000_000 });
    const entries = await app.withStore(async ({ audit }) =>
      audit
        .list(10)
        .flatMap(({ action, detail, storeId }) =>
          action.startsWith('order.') ? [[action, storeId, JSON.parse(detail)]] : [],
        ),
    );
    const by = { client: '127.0.0.1', person: 'admin' };
    expect(entries).toEqual([
      ['order.refund-sent', 1, { order: id, txid, amount_sat: 4_800, ...by }],
      ['order.refund', 1, { order: id, address: theirs, amount_sat: 4_800, fee_sat: 200, ...by }],
    ]);
  });

  test('of an order that was canceled can be all of it, or the price of today', async () => {
    const { app, visitor, order, page, id } = await open(20_000);
    expect((await visitor.get(order)).text).toContain(`href="${page}"`);
    expect((await visitor.get(page)).text).toContain('This cancels the order');
    // A page with a form, whose token is that of the session.
    await visitor.get('/dashboard/stores');
    const form = {
      token: visitor.formToken,
      do: 'prepare',
      address: theirs,
      choice: 'all',
      fee: '0',
    };
    await app.post(`/orders/${id}/cancel`);
    expect((await visitor.get(page)).text).not.toContain('This cancels the order');
    // 12.50 EUR are 15,625 sat at 80,000.
    app.market.rates = { EUR: 80_000 };
    await app.world.advance(2 * minuteMs);
    expect((await prepare(visitor, page, { choice: 'price' })).status).toBe(303);
    expect((await visitor.get(page)).text).toContain('QR code to send 15,625 sat');
    await visitor.get('/dashboard/stores');
    const other = await visitor.post(page, String(new URLSearchParams(form)));
    expect([other.status, other.text.includes('is prepared already')]).toEqual([409, true]);
    // One button of the page stands out.
    expect((await visitor.get(page)).text).toMatch(/class="other"[^>]*>\s*Discard it/);
    const discarded = await visitor.submit(page, 'discard');
    expect(discarded.to).toBe(`${order}?done=refund-discarded`);
    expect((await visitor.submit(page, 'discard')).status).toBe(409);
    expect((await visitor.submit(page, 'done', { txid: 'ab'.repeat(32) })).status).toBe(409);
    expect((await app.withStore(async ({ refunds }) => refunds.of(1))).length).toBe(0);
    expect((await prepare(visitor, page, { choice: 'all' })).status).toBe(303);
    expect((await visitor.get(page)).text).toContain('QR code to send 20,000 sat');
  });

  test('has an address of this network that is not our own, and an amount that is relayed', async () => {
    const { app, visitor, page, address, paying } = await open(30_000);
    const unpaid = await app.newAddress();
    const faults = async (fields: Record<string, string>) => {
      const refused = await prepare(visitor, page, fields);
      const [, name = '', text = ''] =
        /<p id="fault-(\w+)" class="fault">([^<]*)</.exec(refused.text) ?? [];
      return [refused.status, name, text];
    };
    for (const own of [address, unpaid]) {
      expect(await faults({ address: own })).toEqual([
        ...[400, 'address'],
        'This is an address of your own wallet; ask the customer for one of theirs.',
      ]);
    }
    expect((await faults({ address: onMainnet })).slice(0, 2)).toEqual([400, 'address']);
    expect((await faults({ address: 'nonsense' })).slice(0, 2)).toEqual([400, 'address']);
    expect(await faults({ fee: '4455' })).toEqual([
      ...[400, 'fee'],
      'After the fee, the refund has 545 sat; it needs at least 546 sat.',
    ]);
    expect((await faults({ fee: '-1' })).slice(0, 2)).toEqual([400, 'fee']);
    expect((await faults({ choice: 'more' })).slice(0, 2)).toEqual([400, 'choice']);
    const key = 'cVt4o7BGAig1UXywgGSmARhxMdzP5qvQsxKkSsc1XEkw3tDTQFpy';
    const secret = await prepare(visitor, page, { address: key });
    expect([secret.status, secret.text.includes(key)]).toEqual([400, false]);
    app.market.rates = undefined;
    await app.world.advance(2 * minuteMs);
    expect((await faults({ choice: 'price' })).slice(0, 2)).toEqual([503, 'choice']);
    await prepare(visitor, page);
    const incoming = await visitor.submit(page, 'done', { txid: paying });
    expect([incoming.status, incoming.text.includes('the payment of the customer')]).toEqual([
      400,
      true,
    ]);
    expect((await visitor.submit(page, 'done', { txid: 'x' })).status).toBe(400);
  });

  test('needs confirmed money and the password', async () => {
    const till = await openTill({ expires_in: 86_400 });
    const { app, id, pay, mine } = till;
    const visitor = await signedIn(app);
    const page = `/dashboard/orders/${id}/refund`;
    await pay(25_000);
    expect((await visitor.get(page)).text).toContain('Nothing can be refunded');
    await mine(2);
    await pay(10_000);
    expect((await visitor.get(page)).text).not.toContain('What is too much');
    await mine(2);
    expect((await visitor.get(page)).text).toContain('What is too much: 10,000 sat');
    app.world.jumpWallClock(6 * minuteMs);
    expect((await prepare(visitor, page)).status).toBe(403);
    expect((await app.withStore(async ({ refunds }) => refunds.of(1))).length).toBe(0);
  });

  test('that is prepared says so when its money is no longer confirmed', async () => {
    const { app, visitor, page } = await open(30_000);
    expect((await prepare(visitor, page)).status).toBe(303);
    expect((await visitor.get(page)).text).not.toContain('Do not send it');
    app.chain.reorganise(2, { blocks: 3, transactions: 'drop' });
    await app.settle();
    await app.outlastAbsence();
    const { text } = await visitor.get(page);
    expect(text).toContain('Do not send it');
    expect(text).not.toContain('QR code to send');
    // It may be sent already.
    const txid = app.chain.pay([{ address: theirs, valueSat: 5_000 }]);
    expect((await visitor.submit(page, 'done', { txid })).status).toBe(303);
  });

  test('that is prepared says so when a part of its money left the chain', async () => {
    const { app, visitor, page, pay, mine } = await open(30_000);
    await pay(8_000);
    await mine(2);
    expect((await prepare(visitor, page, { choice: 'all' })).status).toBe(303);
    expect((await visitor.get(page)).text).toContain('QR code to send 38,000 sat');
    app.chain.reorganise(2, { blocks: 3, transactions: 'drop' });
    await app.settle();
    await app.outlastAbsence();
    const { text } = await visitor.get(page);
    expect(text).toContain('Do not send it');
    expect(text).not.toContain('QR code to send');
  });

  test('of an excess says so when a part of the excess left the chain, and the order is paid', async () => {
    const { app, visitor, page, id, pay, mine } = await open(30_000);
    await pay(8_000);
    await mine(2);
    expect((await prepare(visitor, page, { fee: '200' })).status).toBe(303);
    expect((await visitor.get(page)).text).toContain('QR code to send 12,800 sat');
    app.chain.reorganise(2, { blocks: 3, transactions: 'drop' });
    await app.settle();
    await app.outlastAbsence();
    const { body } = await app.ask(`/api/v3/orders/${id}`);
    expect(body).toMatchObject({ status: 'paid', excess_sat: 5_000 });
    const { text } = await visitor.get(page);
    expect(text).toContain('Do not send it');
    expect(text).not.toContain('QR code to send');
  });

  test('is named before the order is accepted', async () => {
    const { app, visitor, order, page, id } = await open(20_000);
    await app.post(`/orders/${id}/cancel`);
    await prepare(visitor, page, { choice: 'all' });
    expect((await visitor.get(`${order}/accept`)).text).toContain('A refund of 20,000 sat');
    await app.post(`/orders/${id}/accept`);
    expect((await visitor.get(page)).text).toContain('Do not send it');
  });

  test('of all is not to be sent once the order was accepted, which leaves the excess', async () => {
    const till = await openTill({ expires_in: 86_400 });
    const { app, id, pay, mine } = till;
    const visitor = await signedIn(app);
    const order = `/dashboard/orders/${id}`;
    const page = `${order}/refund`;
    await app.post(`/orders/${id}/cancel`);
    await pay(40_000);
    await mine(2);
    await prepare(visitor, page, { choice: 'all' });
    expect((await visitor.get(page)).text).toContain('QR code to send 40,000 sat');
    const { body } = await app.post(`/orders/${id}/accept`);
    expect(body).toMatchObject({ status: 'paid', missing_sat: 0, excess_sat: 15_000 });
    const { text } = await visitor.get(page);
    expect(text).toContain('Do not send it');
    expect(text).not.toContain('QR code to send');
    await visitor.submit(page, 'discard');
    expect((await visitor.get(order)).text).toContain(`href="${page}"`);
    expect((await prepare(visitor, page)).status).toBe(303);
    // By a clock that stands still, the order was accepted at this very time.
    expect((await visitor.get(page)).text).toContain('QR code to send 15,000 sat');
  });

  test('of an order that was paid exactly is offered: goods come back', async () => {
    const { visitor, order, page } = await open(25_000);
    expect((await visitor.get(order)).text).toContain(`href="${page}"`);
    const form = (await visitor.get(page)).text;
    expect(form).not.toContain('What is too much');
    expect(form).toContain('All that is confirmed: 25,000 sat');
  });

  test('is sent by a transaction that pays it, as the servers have it', async () => {
    const { app, visitor, page, address } = await open(30_000);
    await prepare(visitor, page);
    const refused = async (txid: string) => {
      const { status, text } = await visitor.submit(page, 'done', { txid });
      const [, fault = ''] = /<p id="fault-txid" class="fault">([^<]*)</.exec(text) ?? [];
      return [status, fault];
    };
    const { chain } = app;
    expect(await refused('ff'.repeat(32))).toEqual([
      ...[400, 'Our servers have not seen it yet; compare it, or try again in some minutes.'],
    ]);
    expect(await refused(chain.pay([{ address: theirs, valueSat: 4_999 }]))).toEqual([
      ...[400, 'It pays 4,999 sat to this address; the refund has 5,000 sat.'],
    ]);
    const own = await refused(chain.pay([{ address, valueSat: 7_000 }]));
    expect(own[1]).toContain('It does not pay the address of the customer.');
    expect(own[1]).toContain(`This transaction pays 7,000 sat to ${address}, an address of yours.`);
    const other = 'bcrt1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3qzf4jry';
    const foreign = await refused(chain.pay([{ address: other, valueSat: 5_000 }]));
    expect(foreign[1]).toContain(`pays no address of yours, but`);
    expect(foreign[1]).toContain(`5,000 sat to ${other}`);
    expect((await app.withStore(async ({ refunds }) => refunds.of(1)))[0]?.txid).toBeNull();
    app.server.pause();
    app.server.disconnectAll();
    await app.settle();
    expect(await refused('ff'.repeat(32))).toEqual([
      ...[503, 'It cannot be checked: No Electrum server answers now; ask again in a moment.'],
    ]);
  });

  test('of as much or more than was prepared is noted', async () => {
    const { app, visitor, page } = await open(30_000);
    await prepare(visitor, page);
    const two = [
      { address: theirs, valueSat: 2_500 },
      { address: theirs, valueSat: 2_600 },
    ];
    const txid = app.chain.pay(two);
    expect((await visitor.submit(page, 'done', { txid })).status).toBe(303);
  });

  test('is not noted as sent by a page of another one', async () => {
    const { app, visitor, page } = await open(30_000);
    await prepare(visitor, page);
    const shown = (await visitor.get(page)).text;
    const [, before = ''] = /name="before" value="([^"]+)"/.exec(shown) ?? [];
    await visitor.submit(page, 'discard');
    await prepare(visitor, page, { fee: '100' });
    await visitor.get('/dashboard/stores');
    const send = (fields: object) =>
      visitor.post(page, String(new URLSearchParams({ token: visitor.formToken, ...fields })));
    const txid = app.chain.pay([{ address: theirs, valueSat: 5_000 }]);
    const sent = await send({ do: 'done', txid, before });
    expect([sent.status, sent.text.includes('Another refund')]).toEqual([409, true]);
    expect((await send({ do: 'discard', before })).status).toBe(409);
    const [refund] = await app.withStore(async ({ refunds }) => refunds.of(1));
    expect([refund?.amountSat, refund?.txid]).toEqual([4_900, null]);
    expect((await visitor.submit(page, 'done', { txid })).status).toBe(303);
  });
});
