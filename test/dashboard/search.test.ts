// A search of orders or payments that finds nothing in its list, and what it is answered.

import { afterEach, expect, test } from 'vitest';
import { deriveAddress } from '../../src/bitcoin/keychain.ts';
import { closeApps, merchantKey } from '../support/app.ts';
import { openTill } from '../support/checkout.ts';
import { cleanUp } from '../support/files.ts';
import { signedIn } from '../support/visitor.ts';

afterEach(closeApps);
afterEach(cleanUp);

const home = '/dashboard';

const addressOf = (wallet: number, index: number): string =>
  deriveAddress(merchantKey(wallet), 0, index)?.address ?? '';

async function open() {
  const till = await openTill({ expires_in: 86_400, reference: '1007', description: 'Two cups' });
  const visitor = await signedIn(till.app);
  /** The main element without tags, and the rows of the list. */
  const search = async (list: 'orders' | 'payments', text: string) => {
    const query = new URLSearchParams({ q: text });
    const page = await visitor.get(`${home}/${list}?${query}`);
    expect([text, page.status]).toEqual([text, 200]);
    const main = /<main[\s\S]*<\/main>/.exec(page.text)?.[0] ?? '';
    const rows = [...main.matchAll(/class="whole" href="[^"]*\/(\w+)"/g)].map(([, id]) => id);
    return { rows, html: main, text: main.replaceAll(/<[^>]*>/g, '').replaceAll(/\s+/g, ' ') };
  };
  return { ...till, visitor, search };
}

test('one search finds orders on their page, and their payments on the other', async () => {
  const { app, id, address, search, visitor } = await open();
  const txid = app.pay(address, 25_000);
  await app.settle();
  for (const text of ['two CUPS', '12,50', '1007', txid, txid.slice(0, 8), address, id]) {
    expect([text, (await search('orders', text)).rows]).toEqual([text, [id]]);
    expect([text, (await search('payments', text)).rows]).toEqual([text, ['1']]);
  }
  const labels = (await visitor.get(`${home}/orders/labels/export?q=cups`)).text;
  expect(labels.trim().split('\n')).toHaveLength(1);
  for (const format of ['', '&format=paygate']) {
    const file = async (text: string) =>
      (await visitor.get(`${home}/payments/export?q=${text}${format}`)).text.trim().split('\r\n');
    expect(await file('cups')).toHaveLength(2);
    expect(await file('plates')).toHaveLength(1);
  }
});

test('a list without a result leads to the other one', async () => {
  const { app, id, search, visitor } = await open();
  const plain = await app.newAddress();
  app.pay(plain, 31_000);
  await app.settle();
  const orders = await search('orders', '31000 sat');
  expect(orders.text).toContain('No orders found.');
  expect(orders.text).toContain('1 payment without an order of these filters.');
  expect(orders.html).toContain(`href="${home}/payments?q=31000+sat"`);
  const payments = await search('payments', 'cups');
  expect(payments.text).toContain('Show orders that this search finds.');
  expect(payments.html).toContain(`href="${home}/orders?q=cups"`);
  expect((await search('orders', 'plates')).text).not.toContain('payment without');
  // Neither a later page nor a page without a search has an answer.
  expect((await visitor.get(`${home}/orders?q=plates&before=1`)).text).not.toContain('without an');
  expect((await search('orders', id)).rows).toEqual([id]);
});

test('a transaction that pays nothing of ours is looked up on the servers', async () => {
  const { app, search } = await open();
  const foreign = addressOf(2, 0);
  const txid = app.chain.pay([{ address: foreign, valueSat: 4_000 }]);
  for (const list of ['orders', 'payments'] as const) {
    const { text } = await search(list, ` ${txid.toUpperCase()} `);
    expect(text).toContain(`This transaction pays no address of yours, but`);
    expect(text).toContain(`4,000 sat to ${foreign}`);
    expect(text).not.toContain('more output');
    const none = await search(list, 'ff'.repeat(32));
    expect(none.text).toContain('Our servers have not seen this transaction.');
  }
  const many = app.chain.pay(
    [1, 2, 3, 4, 5].map((index) => ({ address: addressOf(2, index), valueSat: 5_000 + index })),
  );
  expect((await search('orders', many)).text).toMatch(/5,003 sat to \w+, 3 more outputs\./);
  expect((await search('orders', 'ff'.repeat(31))).text).not.toContain('servers');
});

test('a transaction that pays an address of ours names it', async () => {
  const { app, search } = await open();
  const ahead = addressOf(1, 7);
  const txid = app.chain.pay([{ address: ahead, valueSat: 4_000 }]);
  await app.settle();
  expect((await search('payments', txid)).text).toContain(
    `4,000 sat to ${ahead}, an address of your wallet that paygate has given to nobody.`,
  );
});

test('without a server, the answer says so', async () => {
  const { app, search } = await open();
  app.server.pause();
  app.server.disconnectAll();
  await app.settle();
  expect((await search('orders', 'ff'.repeat(32))).text).toContain(
    'This transaction cannot be looked up: No Electrum server answers now',
  );
});
