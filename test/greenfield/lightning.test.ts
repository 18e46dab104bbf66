// Lightning in the API of BTCPay Server: a second payment method, as plugins know it.

import { afterEach, expect, test } from 'vitest';
import { closeApps } from '../support/app.ts';
import { cleanUp } from '../support/files.ts';
import { openGreenfield } from '../support/greenfield.ts';
import { giveNode, PlayedNode } from '../support/played-node.ts';
import { createTestWorld } from '../support/world.ts';

afterEach(closeApps);
afterEach(cleanUp);

async function open() {
  const world = createTestWorld();
  const node = new PlayedNode(() => world.now());
  const scene = await openGreenfield({ world, openLightning: () => node });
  const methods = async (path = '', key?: string) =>
    (await scene.ask('GET', `/stores/{s}/payment-methods${path}`, undefined, key)).body;
  const methodsOf = async (id: string) =>
    (await scene.ask('GET', `/stores/{s}/invoices/${id}/payment-methods`)).body;
  return { ...scene, world, node, methods, methodsOf };
}

test('a store has the method BTC-LN once it has a node', async () => {
  const { app, node, addKey, methods } = await open();
  const prestashop = await addKey('prestashop');
  const chain = { enabled: true, paymentMethodId: 'BTC-CHAIN' };
  const old = { BTC: { ...chain, cryptoCode: 'BTC', data: {} } };
  expect(await methods()).toEqual([chain]);
  expect(await methods('', prestashop)).toEqual(old);
  expect(await methods('/LightningNetwork')).toEqual([]);
  await giveNode(app, node);
  const lightning = { enabled: true, paymentMethodId: 'BTC-LN' };
  expect(await methods()).toEqual([chain, lightning]);
  expect(await methods('', prestashop)).toEqual({
    ...old,
    'BTC-LightningNetwork': { ...lightning, cryptoCode: 'BTC', data: {} },
  });
  expect(await methods('/LightningNetwork')).toEqual([{ enabled: true, cryptoCode: 'BTC' }]);
});

test('an invoice has both methods, and its payments by method', async () => {
  const { app, node, invoice, invoiceOf, methodsOf, world } = await open();
  await giveNode(app, node);
  const { id } = await invoice({ amount: '12.50', currency: 'EUR' });
  const [chain, lightning, ...others] = await methodsOf(id);
  expect(others).toEqual([]);
  expect(chain).toMatchObject({ paymentMethodId: 'BTC-CHAIN', due: '0.00025', payments: [] });
  expect(lightning).toMatchObject({
    ...{ paymentMethodId: 'BTC-LN', currency: 'BTC', due: '0.00025', rate: '50000.00' },
    ...{ destination: 'lnbcrt1', paymentLink: 'lightning:lnbcrt1', payments: [] },
  });
  node.pay(1);
  for (let turns = 0; (await invoiceOf(id)).status !== 'Settled' && turns < 100; turns += 1) {
    await world.turn();
  }
  expect(await invoiceOf(id)).toMatchObject({ status: 'Settled', additionalStatus: 'None' });
  const [unused, used] = await methodsOf(id);
  expect(unused).toMatchObject({ paymentMethodPaid: '0', totalPaid: '0.00025', payments: [] });
  expect(used).toMatchObject({
    ...{ paymentMethodId: 'BTC-LN', paymentMethodPaid: '0.00025', due: '0' },
    payments: [
      { id: node.invoices[0]?.paymentHash, value: '0.00025', status: 'Settled', fee: '0' },
    ],
  });
});

const sale = { amount: '12.50', currency: 'EUR' };
const answeredOf = ({ checkout }: { readonly checkout: object }) =>
  (checkout as { readonly paymentMethods: readonly string[] }).paymentMethods;

test.each([
  [['BTC_LN'], ['BTC-LN']],
  [['BTC-LN'], ['BTC-LN']],
  [['BTC-LightningNetwork', 'BTC-LNURLPAY'], ['BTC-LN']],
  [['BTC_LNURL'], ['BTC-LN']],
  [['BTC-LightningLike'], ['BTC-LN']],
  [['BTC_LN', 'LTC-LN'], ['BTC-LN']],
  [['BTC_CHAIN'], ['BTC-CHAIN']],
  [
    ['BTC-LN', 'BTC'],
    ['BTC-CHAIN', 'BTC-LN'],
  ],
])('%j is answered as %j, which a plugin compares at the next click', async (asked, answered) => {
  const { app, node, invoice, invoiceOf, methodsOf: listed } = await open();
  await giveNode(app, node);
  const made = await invoice({ ...sale, checkout: { paymentMethods: asked } });
  expect(answeredOf(made)).toEqual(answered);
  expect(answeredOf(await invoiceOf(made.id))).toEqual(answered);
  const ids = (await listed(made.id)).map(
    (each: { paymentMethodId: string }) => each.paymentMethodId,
  );
  expect(ids).toEqual(answered);
});

test('without a list, an invoice has the methods that can be paid', async () => {
  const { app, node, invoice, addKey, ask } = await open();
  expect(answeredOf(await invoice(sale))).toEqual(['BTC-CHAIN']);
  await giveNode(app, node);
  expect(answeredOf(await invoice({ ...sale, amount: '13' }))).toEqual(['BTC-CHAIN', 'BTC-LN']);
  const prestashop = await addKey('prestashop');
  const { body } = await ask('POST', '/stores/{s}/invoices', sale, prestashop);
  expect(answeredOf(body)).toEqual(['BTC', 'BTC-LightningNetwork']);
});

test('Lightning alone is refused without a node, and stays what was asked while it is down', async () => {
  const { app, node, invoice, methodsOf: listed, ask } = await open();
  const asked = { ...sale, checkout: { paymentMethods: ['BTC_LN'] } };
  expect(await ask('POST', '/stores/{s}/invoices', asked)).toMatchObject({
    status: 400,
    body: { code: 'generic-error', message: 'No payment method: this store has no Lightning node' },
  });
  const foreign = { ...sale, checkout: { paymentMethods: ['LTC-LN'] } };
  expect((await ask('POST', '/stores/{s}/invoices', foreign)).body).toMatchObject({
    message: 'No payment method: only Bitcoin is taken here',
  });
  await giveNode(app, node);
  node.set('down');
  const made = await invoice(asked);
  expect(answeredOf(made)).toEqual(['BTC-LN']);
  // The order is paid on chain then.
  expect(await listed(made.id)).toMatchObject([{ paymentMethodId: 'BTC-CHAIN' }]);
});

test('a method that was used is listed, also if it was not asked for', async () => {
  const { app, world, node, invoice, methodsOf: listed } = await open();
  await giveNode(app, node);
  const made = await invoice({ ...sale, checkout: { paymentMethods: ['BTC_CHAIN'] } });
  node.pay(1);
  for (let turns = 0; (await listed(made.id)).length < 2 && turns < 100; turns += 1) {
    await world.turn();
  }
  expect(await listed(made.id)).toMatchObject([
    { paymentMethodId: 'BTC-CHAIN', payments: [] },
    { paymentMethodId: 'BTC-LN', paymentMethodPaid: '0.00025' },
  ]);
});

test.each([
  [{}, 'chain'],
  [{ paymentMethods: ['BTC_CHAIN'] }, 'chain'],
  [{ paymentMethods: ['BTC_LN', 'BTC_CHAIN'] }, 'chain'],
  [{ defaultPaymentMethod: 'BTC-CHAIN' }, 'chain'],
  [{ paymentMethods: ['BTC_LN'] }, 'lightning'],
  [{ defaultPaymentMethod: 'BTC-LightningNetwork' }, 'lightning'],
] as const)('for %j, the page shows %s first', async (checkout, first) => {
  const { app, node, invoice } = await open();
  await giveNode(app, node);
  const { id, checkout: answered } = await invoice({ ...sale, checkout });
  const html = await (await fetch(`http://127.0.0.1:${app.port}/o/${id}`)).text();
  expect(html).toContain(`name="way" value="${first}" checked=""`);
  const [chain, lightning] = ['chain', 'lightning'].map((way) =>
    html.indexOf(`class="box ${way}"`),
  );
  expect(Number(chain) < Number(lightning)).toBe(first === 'chain');
  expect(html).toContain('lightning:lnbcrt1');
  const asked = 'defaultPaymentMethod' in checkout ? checkout.defaultPaymentMethod : undefined;
  expect(answered.defaultPaymentMethod).toBe(
    asked === 'BTC-LightningNetwork' ? 'BTC-LN' : (asked ?? null),
  );
});
