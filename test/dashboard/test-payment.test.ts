// The test payment of an address: its form, what is refused, and the exchange with the shop.

import { afterEach, expect, test } from 'vitest';
import { testTxid } from '../../src/delivery/test-callback.ts';
import { closeApps } from '../support/app.ts';
import { openTill } from '../support/checkout.ts';
import { cleanUp } from '../support/files.ts';
import { signedIn } from '../support/visitor.ts';

afterEach(closeApps);
afterEach(cleanUp);

const action = 'send-payment';

async function open() {
  const till = await openTill({ expires_in: 86_400 });
  const visitor = await signedIn(till.app);
  const { text } = await visitor.get(`/dashboard/orders/${till.id}`);
  const [, path = ''] = /href="(\/dashboard\/addresses\/\d+\/test)"/.exec(text) ?? [];
  return { ...till, visitor, path, orderText: text };
}

test('is offered for an unpaid order, confirmed, and sent', async () => {
  const { app, visitor, path, address } = await open();
  const page = await visitor.get(path.replace('/test', ''));
  expect(page.text).toContain(`href="${path}"`);
  const form = await visitor.get(path);
  expect(form.text).toContain('What will happen:');
  expect(form.text).toContain('at status 2 it treats the order as paid');
  expect(form.text).toMatch(/name="value" value="25000"/);
  app.receiver.script({ status: 200, body: '<b>Order not found</b>' });
  const sent = await visitor.submit(path, action, { value: '25000', status: '2' });
  expect(sent.text).toContain('data-verdict="unknown-order"');
  expect(sent.text).toContain('the shop knows no order with this address');
  expect(sent.text).toContain('&lt;b&gt;Order not found&lt;/b&gt;');
  expect(app.callbacks()).toEqual([{ status: '2', addr: address, value: '25000', txid: testTxid }]);
  const audit = (await visitor.get('/dashboard/settings/audit')).text;
  expect(audit).toContain(`A test payment of 25000 sat to ${address} was sent with status 2`);
  const payments = (await visitor.get('/dashboard/payments')).text;
  expect(payments).not.toContain(testTxid);
});

test('refuses other values and another status', async () => {
  const { app, visitor, path } = await open();
  for (const fields of [
    { value: '', status: '0' },
    { value: '1.5', status: '0' },
    { value: '2100000000000001', status: '0' },
    { value: '600', status: '-1' },
    { value: '600', status: '3' },
  ]) {
    const { status } = await visitor.submit(path, action, fields);
    expect([fields, status]).toEqual([fields, 400]);
  }
  expect(app.receiver.requests).toEqual([]);
});

test('is refused for a paid address, and for one that was not issued', async () => {
  const { app, visitor, path, id, pay } = await open();
  await pay(1_000);
  const before = app.receiver.requests.length;
  const shown = await visitor.get(path);
  expect(shown.text).toContain('No test payment can be sent: This address has a payment');
  expect(shown.text).not.toContain('name="value"');
  await visitor.get('/dashboard/settings/account');
  const send = (url: string) =>
    visitor.post(url, `token=${visitor.formToken}&do=${action}&value=600&status=0`);
  const refused = await send(path);
  expect([refused.status, refused.text]).toEqual([
    409,
    expect.stringContaining('This address has a payment'),
  ]);
  for (const page of [path.replace('/test', ''), `/dashboard/orders/${id}`]) {
    expect((await visitor.get(page)).text).not.toContain(path);
  }
  expect((await send('/dashboard/addresses/999/test')).status).toBe(404);
  expect(app.receiver.requests).toHaveLength(before);
});
