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
