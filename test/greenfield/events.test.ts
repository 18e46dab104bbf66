// The acceptance cases of the Greenfield API about webhooks: how they are set, what they receive, in
// which order, and that each body says no more than the invoice does. The titles begin with the
// number of the case.

import { afterEach, describe, expect, test } from 'vitest';
import { hourMs, minuteMs } from '../../src/lib/time-units.ts';
import { closeApps, loseByRestore, untilReady } from '../support/app.ts';
import { cleanUp, whenOver } from '../support/files.ts';
import { openGreenfield } from '../support/greenfield.ts';
import {
  addHook,
  allowPlugin,
  type Event,
  openHooked,
  secret,
  webhooks,
} from '../support/greenfield-hook.ts';
import { startReceiver } from '../support/receiver.ts';

afterEach(closeApps);
afterEach(cleanUp);

const sale = { amount: '20.00', currency: 'EUR', metadata: { orderId: '7', n: 1 } };

describe('a webhook', () => {
  test('15: is answered with the secret that was sent, and read without it', async () => {
    const greenfield = await openGreenfield();
    await allowPlugin(greenfield, greenfield.app.world.now() + 60_000);
    const url = 'http://127.0.0.1:9/index.php?route=x|y&a=b&c';
    const body = { url, secret, authorizedEvents: { everything: true } };
    const { body: made } = await greenfield.ask('POST', webhooks, body);
    const shown = {
      ...{ id: expect.stringMatching(/^[0-9a-z]{24}$/), url, enabled: true },
      ...{ automaticRedelivery: true },
      authorizedEvents: { everything: true, specificEvents: [] },
    };
    expect(made).toEqual({ ...shown, secret });
    expect((await greenfield.ask('GET', `${webhooks}/${made.id}`)).body).toEqual(shown);
    expect((await greenfield.ask('GET', `/webhooks/${made.id}/`)).body).toEqual(shown);
    expect((await greenfield.ask('GET', webhooks)).body).toEqual([shown]);
    const specificEvents = ['InvoiceSettled', 'InvoiceOdd'];
    const change = { url, enabled: false, authorizedEvents: { everything: false, specificEvents } };
    const changed = await greenfield.ask('PUT', `${webhooks}/${made.id}`, change);
    expect(changed.body).toEqual({
      ...{ ...shown, enabled: false },
      authorizedEvents: { everything: false, specificEvents },
    });
    const secrets = await greenfield.app.withStore(async ({ webhookRecords }) =>
      webhookRecords.list(1).map((row) => row.secret),
    );
    expect(secrets).toEqual([secret]);
    const audit = await greenfield.app.withStore(async (store) => store.audit.list(9));
    expect(JSON.stringify(audit)).toContain('webhook.change');
    expect(JSON.stringify(audit)).not.toContain(secret);
  });

  test('16: by its URL alone asks for everything, and goes', async () => {
    const greenfield = await openGreenfield();
    await allowPlugin(greenfield, greenfield.app.world.now() + 60_000);
    const url = 'http://127.0.0.1:9/';
    const { body } = await greenfield.ask('POST', webhooks, { url, secret: null });
    expect(body).toMatchObject({ enabled: true, authorizedEvents: { everything: true } });
    expect(body.secret).toMatch(/^[0-9a-f]{48}$/);
    expect(await greenfield.ask('DELETE', `${webhooks}/${body.id}`, {})).toMatchObject({
      ...{ status: 200, body: {} },
    });
    for (const method of ['DELETE', 'GET']) {
      expect(await greenfield.ask(method, `${webhooks}/${body.id}`)).toMatchObject({
        ...{ status: 404, body: { code: 'webhook-not-found' } },
      });
    }
    for (let count = 0; count < 10; count += 1) {
      await greenfield.ask('POST', webhooks, { url: `${url}?${count}` });
    }
    expect(await greenfield.ask('POST', webhooks, { url })).toMatchObject({
      ...{ status: 400, body: { message: /10 webhooks/ } },
    });
    for (const wrong of ['ftp://shop.example/', 'shop.example', 'https://u:p@shop.example/']) {
      expect(await greenfield.ask('POST', webhooks, { url: wrong })).toMatchObject({
        ...{ status: 422, body: [{ path: 'url' }] },
      });
    }
    expect((await greenfield.ask('POST', webhooks, {})).body).toMatchObject([{ path: 'url' }]);
    const once = { url, automaticRedelivery: false };
    expect(await greenfield.ask('POST', webhooks, once)).toMatchObject({
      ...{ status: 422, body: [{ path: 'automaticRedelivery', message: /always sends again/ }] },
    });
  });

  test('replaces the one of the same URL and events, whose secret the shop has forgotten', async () => {
    const greenfield = await openGreenfield();
    await allowPlugin(greenfield, greenfield.app.world.now() + 60_000);
    const url = 'http://127.0.0.1:9/';
    const settled = { everything: false, specificEvents: ['InvoiceSettled'] };
    const add = async (more: object = {}) =>
      (await greenfield.ask('POST', webhooks, { url, ...more })).body.id as string;
    const [first, part, second] = [
      await add(),
      await add({ authorizedEvents: settled }),
      await add(),
    ];
    const listed: { id: string }[] = (await greenfield.ask('GET', webhooks)).body;
    expect(new Set(listed.map(({ id }) => id))).toEqual(new Set([part, second]));
    expect((await greenfield.ask('GET', `${webhooks}/${first}`)).status).toBe(404);
  });

  test('17: is refused outside of the window, with the place where to open it', async () => {
    const { ask, hook } = await openHooked();
    for (const [method, path, body] of [
      ['POST', webhooks, { url: 'https://shop.example/' }],
      ['PUT', `${webhooks}/${hook.id}`, { url: 'https://shop.example/' }],
      ['DELETE', `${webhooks}/${hook.id}`, undefined],
    ] as const) {
      expect(await ask(method, path, body)).toMatchObject({
        status: 403,
        body: {
          ...{ code: 'missing-permission', message: /Connect a plugin/ },
          missingPermission: 'btcpay.store.webhooks.canmodifywebhooks',
        },
      });
    }
    expect((await ask('GET', webhooks)).body).toMatchObject([{ id: hook.id }]);
  });
});

describe('the events of an invoice', () => {
  test('18: paid in full are in order, signed, and never ahead of the invoice', async () => {
    const statuses: string[] = [];
    const app = await openHooked({}, ({ type }) => {
      statuses.push(type);
      return 200;
    });
    const { hook, invoice, pay, mine, storeId, app: priced } = app;
    const { id } = await invoice(sale);
    const txid = await pay(id, 40_000);
    await mine();
    expect(hook.types()).toEqual([
      ...['Created', 'ReceivedPayment', 'Processing', 'PaymentSettled', 'Settled'],
    ]);
    const [created, received, processing, final, settled] = hook.events();
    const common = {
      ...{ deliveryId: expect.stringMatching(/^[\w]{22}$/), webhookId: hook.id },
      ...{ isRedelivery: false, storeId, invoiceId: id, metadata: sale.metadata },
      ...{ originalDeliveryId: expect.any(String), timestamp: expect.any(Number) },
    };
    expect(created).toEqual({ ...common, type: 'InvoiceCreated' });
    expect(created.originalDeliveryId).toBe(created.deliveryId);
    const payment = {
      ...{ id: expect.stringMatching(new RegExp(`^${txid}-\\d+$`)), value: '0.0004', fee: '0' },
      ...{ receivedDate: expect.any(Number), destination: await app.addressOf(id) },
    };
    const ofPayment = { afterExpiration: false, paymentMethodId: 'BTC-CHAIN' };
    expect(received).toEqual({
      ...{ ...common, ...ofPayment, type: 'InvoiceReceivedPayment' },
      payment: { ...payment, status: 'Processing' },
    });
    expect(final).toEqual({
      ...{ ...common, ...ofPayment, type: 'InvoicePaymentSettled' },
      payment: { ...payment, status: 'Settled' },
    });
    expect(processing).toEqual({ ...common, type: 'InvoiceProcessing', overPaid: false });
    expect(settled).toEqual({
      ...{ ...common, type: 'InvoiceSettled', overPaid: false, manuallyMarked: false },
    });
    // paygate's own API lists its own events alone.
    const { body } = await priced.get('/events');
    expect(body.data.map(({ type }: Event) => type)).toEqual(['order.processing', 'order.paid']);
  });

  test('18: settled at once have their processing before', async () => {
    const { hook, invoice, addressOf, app, mine } = await openHooked();
    const { id } = await invoice(sale);
    app.pay(await addressOf(id), 40_000);
    await mine();
    expect(hook.types()).toEqual([
      ...['Created', 'ReceivedPayment', 'Processing', 'PaymentSettled', 'Settled'],
    ]);
  });

  test('19: wait for each other, and another webhook does not wait for them', async () => {
    let isDown = true;
    const { hook, invoice, pay, mine, greenfield, app, settle } = await openHooked(
      {},
      ({ type }) => (isDown && type === 'InvoiceProcessing' ? 500 : 200),
    );
    const second = await addHook(greenfield, {
      authorizedEvents: {
        everything: false,
        specificEvents: ['InvoiceSettled', 'InvoiceProcessing'],
      },
    });
    const { id } = await invoice(sale);
    await pay(id, 40_000);
    await mine();
    expect(second.types()).toEqual(['Processing', 'Settled']);
    expect(hook.types()).toEqual(['Created', 'ReceivedPayment', 'Processing']);
    const other = await invoice({ ...sale, metadata: { orderId: '8' } });
    await settle();
    expect(hook.types().at(-1)).toBe('Created');
    await app.stop();
    await app.start();
    await app.world.advance(10_000);
    await settle();
    expect(hook.types()).not.toContain('Settled');
    isDown = false;
    await app.world.advance(3_600_000);
    await settle();
    const ofFirst = hook.events().filter(({ invoiceId }) => invoiceId === id);
    expect(ofFirst.slice(-3).map(({ type }) => type)).toEqual([
      ...['InvoiceProcessing', 'InvoicePaymentSettled', 'InvoiceSettled'],
    ]);
    expect(ofFirst.filter(({ type }) => type === 'InvoiceSettled')).toHaveLength(1);
    const tries = hook.events().filter(({ type }) => type === 'InvoiceProcessing');
    expect(tries.map(({ isRedelivery }) => isRedelivery)).toEqual([
      false,
      ...tries.slice(1).map(() => true),
    ]);
    expect(new Set(tries.map(({ deliveryId }) => deliveryId)).size).toBe(tries.length);
    expect(new Set(tries.map(({ originalDeliveryId }) => originalDeliveryId)).size).toBe(1);
    expect(other.status).toBe('New');
  });

  test('20: in two parts settle together', async () => {
    const { hook, ask, invoice, invoiceOf, pay, mine } = await openHooked();
    const { id } = await invoice(sale);
    await pay(id, 24_000);
    expect(await invoiceOf(id)).toMatchObject({ status: 'New', additionalStatus: 'PaidPartial' });
    await mine();
    expect(hook.types()).toEqual(['Created', 'ReceivedPayment']);
    await pay(id, 16_000);
    await mine();
    expect(hook.types().slice(2)).toEqual([
      ...['ReceivedPayment', 'Processing', 'PaymentSettled', 'PaymentSettled', 'Settled'],
    ]);
    const { body } = await ask('GET', `/invoices/${id}/payment-methods`);
    expect(body).toMatchObject([{ due: '0', totalPaid: '0.0004', payments: [{}, {}] }]);
    for (const { id: paymentId, status } of body[0].payments) {
      expect([paymentId, status]).toEqual([expect.stringMatching(/^[0-9a-f]{64}-\d+$/), 'Settled']);
    }
  });

  test('21: over the amount say so, and nothing after they are settled', async () => {
    const { hook, ask, invoice, invoiceOf, pay, mine } = await openHooked();
    const { id } = await invoice(sale);
    await pay(id, 41_600);
    expect(await invoiceOf(id)).toMatchObject({
      status: 'Processing',
      additionalStatus: 'PaidOver',
    });
    await mine();
    expect(hook.events().filter(({ overPaid }) => overPaid)).toMatchObject([
      ...[{ type: 'InvoiceProcessing' }, { type: 'InvoiceSettled' }],
    ]);
    const before = hook.types();
    await pay(id, 10_000);
    await mine();
    expect(hook.types()).toEqual(before);
    expect(await invoiceOf(id)).toMatchObject({ status: 'Settled', additionalStatus: 'PaidOver' });
    expect((await ask('GET', `/invoices/${id}/payment-methods`)).body).toMatchObject([
      ...[{ due: '-0.000116', totalPaid: '0.000516' }],
    ]);
  });

  test('22: late and enough are none of a late payment until they are settled', async () => {
    const { app, hook, invoice, invoiceOf, pay, mine, settle } = await openHooked();
    const { id } = await invoice(sale);
    await app.world.advance(3_700_000);
    await settle();
    expect(hook.events().at(-1)).toMatchObject({ type: 'InvoiceExpired', partiallyPaid: false });
    expect(await invoiceOf(id)).toMatchObject({ status: 'Expired', additionalStatus: 'None' });
    await pay(id, 40_000);
    expect(hook.events().slice(2)).toMatchObject([
      { type: 'InvoiceReceivedPayment', afterExpiration: false },
      { type: 'InvoiceProcessing' },
    ]);
    expect(await invoiceOf(id)).toMatchObject({ status: 'Processing', additionalStatus: 'None' });
    await mine();
    expect(hook.types().slice(-2)).toEqual(['PaymentSettled', 'Settled']);
    expect(await invoiceOf(id)).toMatchObject({ status: 'Settled', additionalStatus: 'PaidLate' });
  });

  test('23: late and not enough are after the expiry', async () => {
    const { app, hook, invoice, invoiceOf, pay, settle } = await openHooked();
    const { id } = await invoice(sale);
    await pay(id, 20_000);
    await app.world.advance(3_700_000);
    await settle();
    expect(hook.events().at(-1)).toMatchObject({ type: 'InvoiceExpired', partiallyPaid: true });
    expect(await invoiceOf(id)).toMatchObject({
      status: 'Expired',
      additionalStatus: 'PaidPartial',
    });
    await pay(id, 10_000);
    expect(hook.events().at(-1)).toMatchObject({
      ...{ type: 'InvoiceReceivedPayment', afterExpiration: true },
    });
  });

  test('24: whose block leaves the chain process again, and are settled again', async () => {
    const { app, hook, invoice, invoiceOf, pay, mine, settle } = await openHooked();
    const { id } = await invoice(sale);
    await pay(id, 40_000);
    await mine();
    app.chain.reorganise(2, { transactions: 'mempool' });
    await settle();
    expect(hook.types().slice(5)).toEqual(['Processing']);
    expect(await invoiceOf(id)).toMatchObject({ status: 'Processing' });
    await mine(3);
    expect(hook.types().slice(5)).toEqual(['Processing', 'Settled']);
  });

  test('24: that are spent twice are invalid, and may be paid again', async () => {
    const { app, hook, invoice, invoiceOf, pay, mine, settle } = await openHooked();
    const { id } = await invoice(sale);
    await pay(id, 40_000);
    await mine();
    app.chain.reorganise(2, { blocks: 3, transactions: 'drop' });
    await app.outlastAbsence();
    expect(hook.events().slice(5)).toMatchObject([
      { type: 'InvoiceInvalid', manuallyMarked: false },
    ]);
    expect(await invoiceOf(id)).toMatchObject({ status: 'Invalid', additionalStatus: 'None' });
    await pay(id, 10_000);
    await app.world.advance(3_700_000);
    await settle();
    expect(await invoiceOf(id)).toMatchObject({
      ...{ status: 'Invalid', additionalStatus: 'PaidPartial' },
    });
    expect(hook.types().slice(6)).toEqual([]);
    await pay(id, 40_000);
    await mine();
    expect(hook.types().slice(6)).toEqual([
      ...['Processing', 'PaymentSettled', 'PaymentSettled', 'Settled'],
    ]);
  });

  test('24: taken back before they left are not sent', async () => {
    let isDown = true;
    const { app, hook, invoice, pay, mine, settle } = await openHooked({}, ({ type }) =>
      isDown && type === 'InvoiceProcessing' ? 500 : 200,
    );
    const { id } = await invoice(sale);
    await pay(id, 40_000);
    await mine();
    app.chain.reorganise(2, { transactions: 'mempool' });
    await settle();
    isDown = false;
    await app.world.advance(3_600_000);
    await settle();
    expect(
      hook
        .types()
        .filter((type) => /Settled|Processing/.test(type))
        .at(-1),
    ).toBe('Processing');
    expect(hook.types()).not.toContain('Settled');
    await mine(3);
    expect(hook.types().slice(-2)).toEqual(['PaymentSettled', 'Settled']);
  });

  test('25: canceled are marked as such', async () => {
    const { ask, hook, invoice, pay, settle } = await openHooked();
    const { id } = await invoice(sale);
    await ask('POST', `/invoices/${id}/status`, { status: 'Invalid' });
    await settle();
    expect(hook.events().at(-1)).toMatchObject({ type: 'InvoiceInvalid', manuallyMarked: true });
    await pay(id, 10_000);
    expect(hook.types()).toEqual(['Created', 'Invalid']);
  });

  test('of an order that was made otherwise are sent as well', async () => {
    const { app, hook, pay } = await openHooked();
    const order = await app.order({ amount_sat: 40_000 });
    await pay(order.id, 40_000);
    expect(hook.types()).toEqual(['Created', 'ReceivedPayment', 'Processing']);
    expect(hook.events()[0]).toMatchObject({
      ...{ invoiceId: order.id, metadata: {}, webhookId: hook.id, isRedelivery: false },
    });
  });

  test('13: carry the metadata of now', async () => {
    const { ask, hook, invoice, pay } = await openHooked();
    const { id } = await invoice(sale);
    const metadata = { medusa_payment_session_id: 'x' };
    await ask('PUT', `/invoices/${id}`, { metadata });
    await pay(id, 40_000);
    expect(hook.events().at(-1)).toMatchObject({ type: 'InvoiceProcessing', metadata });
  });
});

describe('a webhook on its way', () => {
  test('whose host is down is probed, delays no other, and hears all in order', async () => {
    const { app, hook, greenfield, invoice, pay, mine, settle } = await openHooked();
    const other = await addHook(greenfield);
    const { port } = hook.receiver;
    await hook.receiver.close();
    const ids: string[] = [];
    for (let count = 0; count < 6; count += 1) {
      const metadata = { orderId: String(count) };
      const { id } = await invoice({ ...sale, metadata });
      ids.push(id);
      await pay(id, 40_000);
      await app.world.advance(minuteMs);
    }
    await mine();
    const { warnings } = app.running.health();
    expect(warnings.join()).toContain(`127.0.0.1:${port} cannot be reached`);
    const all = ['Created', 'ReceivedPayment', 'Processing', 'PaymentSettled', 'Settled'];
    const typesAt = (events: readonly Event[], id: string) =>
      events
        .filter(({ invoiceId }) => invoiceId === id)
        .map(({ type }) => type.replace('Invoice', ''));
    for (const id of ids) expect(typesAt(other.events(), id)).toEqual(all);
    const back = await startReceiver({ port });
    whenOver(() => back.close());
    await app.world.advance(20 * minuteMs);
    await settle();
    const heard = back.requests.map(({ body }) => JSON.parse(body ?? ''));
    for (const id of ids) expect(typesAt(heard, id)).toEqual(all);
    expect(app.running.health().warnings.join()).not.toContain('cannot be reached');
  });

  test('sends again what a restored copy has not, and settles once more', async () => {
    const { app, hook, invoice, invoiceOf, pay, mine } = await openHooked();
    const { id } = await invoice(sale);
    await app.settle();
    await loseByRestore(app, async () => {
      await pay(id, 40_000);
      await mine();
    });
    const lost = hook.events().slice(1);
    await app.start();
    await untilReady(app);
    await mine(1);
    const again = hook.events().slice(1 + lost.length);
    const typesOf = (events: readonly Event[]) => events.map(({ type }) => type);
    expect(typesOf(again)).toEqual(typesOf(lost));
    expect(await invoiceOf(id)).toMatchObject({ status: 'Settled', additionalStatus: 'None' });
    // A payment is the same one. The versions of the order went on, so its states are new.
    const isSame = again.map(
      ({ originalDeliveryId }, at) => originalDeliveryId === lost[at].originalDeliveryId,
    );
    expect(isSame).toEqual([true, false, true, false]);
  });

  test('lets the next events of an invoice go once one is exhausted', async () => {
    const { app, hook, invoice, pay, mine } = await openHooked({}, ({ type }) =>
      type === 'InvoiceProcessing' ? 500 : 200,
    );
    const { id } = await invoice(sale);
    await pay(id, 40_000);
    await mine();
    for (let turns = 0; !hook.types().includes('Settled') && turns < 20; turns += 1) {
      expect(hook.types()).not.toContain('PaymentSettled');
      await app.stop();
      await app.world.advance(25 * hourMs);
      await app.start();
      await untilReady(app);
    }
    expect(hook.types().slice(-2)).toEqual(['PaymentSettled', 'Settled']);
    const exhausted = await app.withStore(async ({ webhooks: queue }) =>
      queue.page({ state: 'exhausted', limit: 9 }).rows.map(({ type }) => type),
    );
    expect(exhausted).toEqual(['InvoiceProcessing']);
  });

  test('that is switched off hears nothing, and later only of what comes', async () => {
    const { ask, greenfield, app, hook, invoice, pay, settle } = await openHooked();
    const { url } = (await ask('GET', `/webhooks/${hook.id}`)).body;
    const change = async (enabled: boolean) => {
      await allowPlugin(greenfield, app.world.now() + minuteMs);
      await ask('PUT', `/webhooks/${hook.id}`, { url, enabled });
    };
    await change(false);
    const { id } = await invoice(sale);
    await settle();
    expect(hook.types()).toEqual([]);
    await change(true);
    await pay(id, 40_000);
    expect(hook.types()).toEqual(['ReceivedPayment', 'Processing']);
  });
});
