// Test payments to addresses of real orders: what the shop receives, what is refused, and that
// nothing is recorded that could be taken for money.

import { eq, sql } from 'drizzle-orm';
import { afterEach, describe, expect, it } from 'vitest';
import { createSender } from '../../src/delivery/sender.ts';
import { signatureHeaders } from '../../src/delivery/signature.ts';
import { testTxid } from '../../src/delivery/test-callback.ts';
import { sendTestPayment, type TestPayment } from '../../src/delivery/test-payment.ts';
import { idBytes, idOf } from '../../src/domain/order/order-id.ts';
import { addresses } from '../../src/store/schema/schema.ts';
import type { IssuedAddress } from '../../src/store/wallets/address-row.ts';
import type { NewStore } from '../../src/store/wallets/catalog.ts';
import { cleanUp, whenOver } from '../support/files.ts';
import { openShop } from '../support/ledger.ts';
import { startReceiver } from '../support/receiver.ts';
import { now } from '../support/store.ts';
import { createTestWorld } from '../support/world.ts';

afterEach(cleanUp);

const hourMs = 3_600_000;

async function open(changes: Partial<NewStore> = {}) {
  const shop = await startReceiver({ answer: () => ({ status: 200, body: 'ok' }) });
  whenOver(shop.close);
  const callbackUrl = `${shop.origin}/cb?secret=a+b%20c`;
  const records = await openShop({ callbackUrl, allowPrivateCallback: true, ...changes });
  const world = createTestWorld();
  const sender = createSender(world, { version: '0.1', listeners: () => [] });
  const send = (address: string, more: Partial<TestPayment> = {}) =>
    sendTestPayment({ records, sender, world }, 'command', { address, status: 2, ...more });
  return { shop, records, send };
}

type Opened = Awaited<ReturnType<typeof open>>;

/** An order of 25,000 sat, which ends in an hour. */
async function addOrder({ records }: Opened): Promise<IssuedAddress> {
  const issued = await records.issue();
  await records.write((tx) =>
    records.orders.create(tx, now, {
      ...{ storeId: 1, addressId: issued.id, publicId: idOf('ord', new Uint8Array(idBytes)) },
      ...{ price: { kind: 'sat', amountSat: 25_000 }, rateCents: null, toleranceBasisPoints: 50 },
      ...{ latePolicy: 'worth', quoteSeconds: 900, expiresAt: now + hourMs, reference: null },
      ...{ description: null, metadata: {}, returnUrl: null, language: null },
    }),
  );
  return issued;
}

/** Every row of every table but those that a test may write. */
function rowsOf({ records: { database } }: Opened): Record<string, unknown[]> {
  const { orm } = database;
  const names = orm.all<{ name: string }>(
    sql`select name from sqlite_master where type = 'table' and name not in ('audit', 'settings')
      and name not like 'order_texts%'`,
  );
  return Object.fromEntries(
    names.map(({ name }) => [name, orm.all(sql.raw(`select * from "${name}"`))]),
  );
}

describe('a test payment', () => {
  it('P-66 sends the signed callback of such a payment, and leaves only an entry in the audit log', async () => {
    const opened = await open();
    const { shop, records, send } = opened;
    const { address } = await addOrder(opened);
    const before = rowsOf(opened);
    const sent = await send(address);
    const [request] = shop.requests;
    const query = `secret=a+b%20c&status=2&addr=${address}&value=25000&txid=${testTxid}`;
    expect(request?.url).toBe(`/cb?${query}`);
    const { 'webhook-id': id = '', 'webhook-timestamp': timestamp } = request?.headers ?? {};
    expect(id).toMatch(/^msg_test_/);
    const signed = { eventId: id, timestamp: Number(timestamp), payload: query };
    const { webhookSecret } = records.catalog.store(1);
    expect(request?.headers).toMatchObject({ ...signatureHeaders(signed, [webhookSecret]) });
    expect(sent).toMatchObject({ hasOrder: true, result: { verdict: 'accepted', accepts: true } });
    expect(rowsOf(opened)).toEqual(before);
    expect(before.payments).toEqual([]);
    const [entry, ...others] = records.audit.list(9);
    expect(others).toEqual([]);
    expect(entry).toMatchObject({ action: 'callback.test', storeId: 1, keyId: null });
    expect(JSON.parse(entry?.detail ?? '')).toEqual({
      ...{ addr: address, status: 2, value: 25_000, txid: testTxid, client: 'command' },
    });
  });

  it('has the given value and status, and rbf as a real one', async () => {
    const opened = await open();
    const { shop, send } = opened;
    const { address } = await addOrder(opened);
    await send(address, { status: 0, valueSat: 600, rbf: true });
    await send(address.toUpperCase(), { status: 1, valueSat: 601 });
    expect(shop.requests.map(({ url }) => url.replace(/^.*&status/, 'status'))).toEqual([
      `status=0&addr=${address}&value=600&txid=${testTxid}&rbf=1`,
      `status=1&addr=${address}&value=601&txid=${testTxid}`,
    ]);
  });

  it('says what the shop makes of it: it may know no such order', async () => {
    const opened = await open();
    const { address } = await addOrder(opened);
    opened.shop.script({ status: 200, body: 'Error: Blockonomics order not found' });
    const { result } = await opened.send(address);
    expect(result).toMatchObject({ verdict: 'unknown-order', accepts: false });
  });

  it('needs a value if the address has no open order', async () => {
    const opened = await open();
    const { records, send } = opened;
    const { address } = await records.issue();
    await expect(send(address)).rejects.toMatchObject({
      ...{ code: 'invalid', message: expect.stringContaining('give --value') },
    });
    await send(address, { valueSat: 600 });
    const order = await addOrder(opened);
    await records.write((tx) => records.orders.cancel(tx, now, 1));
    await expect(send(order.address)).rejects.toThrow('give --value');
    expect(opened.shop.requests).toHaveLength(1);
  });
});

/** Pays the address, as a server reports it. */
async function pay({ records }: Opened, issued: IssuedAddress): Promise<string> {
  const txid = records.chain.pay([{ address: issued.address, valueSat: 25_000 }]);
  await records.observe(issued);
  return txid;
}

const refusals: Readonly<Record<string, [words: string, (opened: Opened) => Promise<string>]>> = {
  'text that is no address': ['address', async () => 'bc1qnonsense'],
  'an address of nobody': [
    'was not issued here',
    async () => 'bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080',
  ],
  'an address that is only derived': [
    'was not issued here',
    async ({ records }) => {
      await records.write((tx) => records.addresses.deriveAhead(tx, 1, 3));
      const isAhead = eq(addresses.origin, 'ahead');
      const row = records.database.orm.select().from(addresses).where(isAhead).get();
      return row?.address ?? '';
    },
  ],
  'an address of a removed store': [
    'store 1 was removed',
    async ({ records }) => {
      const { address } = await records.issue();
      await records.write((tx) => records.catalog.archiveStore(tx, now, 1, false));
      return address;
    },
  ],
  'an address whose store is unknown': [
    'store of this address is unknown',
    async ({ records }) => {
      await records.addStore({ name: 'Second' });
      const [scripthash = ''] = await records.write((tx) => records.addresses.skip(tx, now, 1, 1));
      return records.addresses.byScripthash(scripthash as never)?.address ?? '';
    },
  ],
  'a paid address': [
    'this address has a payment',
    async (opened) => {
      const issued = await addOrder(opened);
      await pay(opened, issued);
      return issued.address;
    },
  ],
  'an address with a payment that is gone': [
    'this address has a payment',
    async (opened) => {
      const issued = await addOrder(opened);
      const txid = await pay(opened, issued);
      const gone = [{ txid: txid as never, replacedBy: null }];
      await opened.records.observe(issued, { seen: [], gone, statusHash: null });
      expect(opened.records.payment(issued)).toMatchObject({ state: 'dropped' });
      return issued.address;
    },
  ],
  'an address whose history is not recorded completely': [
    'a transaction that is being checked',
    async (opened) => {
      const issued = await addOrder(opened);
      opened.records.chain.pay([{ address: issued.address, valueSat: 25_000 }]);
      await opened.records.observe(issued, { seen: [] });
      return issued.address;
    },
  ],
  'an address of a store without a Callback URL': [
    'store 1 has no Callback URL',
    async ({ records }) => {
      const callbackUrl = '';
      await records.write((tx) => records.catalog.changeStore(tx, 1, { callbackUrl }));
      return (await records.issue()).address;
    },
  ],
  'a payment below the minimum of the store': [
    'callbacks for payments of 25,001 sat or more',
    async (opened) => {
      const { catalog, write } = opened.records;
      await write((tx) => catalog.changeStore(tx, 1, { minimumSat: 25_001 }));
      return (await addOrder(opened)).address;
    },
  ],
};

describe('no test payment is sent for', () => {
  it.each(Object.entries(refusals))('%s', async (_, [words, make]) => {
    const opened = await open();
    const address = await make(opened);
    const sent = opened.send(address, { valueSat: 25_000 });
    await expect(sent).rejects.toThrow(words);
    expect(opened.shop.requests).toEqual([]);
    expect(opened.records.audit.list(9)).toEqual([]);
  });

  it('rbf, if the store omits it', async () => {
    const opened = await open({ omitRbf: true });
    const { address } = await addOrder(opened);
    await expect(opened.send(address, { status: 0, rbf: true })).rejects.toThrow(
      'without the rbf parameter',
    );
  });
});
