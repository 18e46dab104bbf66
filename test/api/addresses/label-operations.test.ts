// The labels of orders as a file that another wallet imports (BIP-329).

import { afterEach, expect, test } from 'vitest';
import type { KeyScope } from '../../../src/domain/access/key-scope.ts';
import { closeApps, merchantKey } from '../../support/app.ts';
import { cleanUp } from '../../support/files.ts';
import { openPriced, type PricedApp } from '../../support/priced.ts';

afterEach(closeApps);
afterEach(cleanUp);

/** The bytes of the file, for a key. */
async function bytesOf(app: PricedApp, query = '', key = app.apiKey) {
  const response = await fetch(`http://127.0.0.1:${app.port}/api/v3/labels${query}`, {
    headers: { Authorization: `Bearer ${key}` },
  });
  const bytes = new Uint8Array(await response.arrayBuffer());
  return { status: response.status, headers: response.headers, bytes };
}

const addKey = (app: PricedApp, storeId: number, scope: KeyScope): Promise<string> =>
  app.withStore(({ keys, database }) =>
    database.write((tx) =>
      keys.add(tx, app.world.now(), { storeId, scope, secret: app.world.randomBytes(32) }),
    ),
  );

test('another wallet imports a line of each order: UTF-8, one object a line, no customer', async () => {
  const app = await openPriced();
  const plain = await app.order({ amount_sat: 5_000, metadata: { mail: 'ada@example.com' } });
  const named = await app.order({
    ...{ amount: '12.50', currency: 'EUR', reference: 'Nº 1007 "a"', description: 'For Ada' },
  });
  const hostile = await app.order({ amount_sat: 6_000, reference: 'x\u2028{"type":"tx"},' });
  await app.post(`/orders/${plain.id}/cancel`);
  const { status, headers, bytes } = await bytesOf(app);
  expect(status).toBe(200);
  expect(headers.get('Content-Type')).toBe('text/plain; charset=utf-8');
  expect(headers.get('Content-Disposition')).toBe('attachment; filename="labels.jsonl"');
  expect(headers.get('Cache-Control')).toBe('no-store');
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  expect(text).toBe(
    [
      { type: 'addr', ref: hostile.address, label: `Order x {"type":"tx"}, ${hostile.id}` },
      { type: 'addr', ref: named.address, label: `Order Nº 1007 "a" ${named.id}` },
      { type: 'addr', ref: plain.address, label: `Order ${plain.id}` },
    ]
      .map((line) => `${JSON.stringify(line)}\n`)
      .join(''),
  );
});

test('without an order, the file is empty', async () => {
  const app = await openPriced();
  await app.newAddress();
  const { status, bytes } = await bytesOf(app);
  expect([status, bytes.length]).toEqual([200, 0]);
});

test('more orders than a page are all there, once', async () => {
  const app = await openPriced();
  const addresses = new Set<string>();
  for (let made = 0; made < 201; made += 1) {
    addresses.add((await app.order({ amount_sat: 1_000 })).address);
  }
  const { body } = await app.get('/labels');
  const lines = body.trimEnd().split('\n');
  expect(lines).toHaveLength(201);
  expect(new Set(lines.map((line: string) => JSON.parse(line).ref))).toEqual(addresses);
});

test('a key sees the labels of its store only, also those of a removed one', async () => {
  const app = await openPriced();
  const second = await app.addStore({
    ...{ name: 'Second', key: merchantKey(2), startIndex: 0 },
    callbackUrl: `${app.receiver.origin}/second`,
  });
  const one = await app.order({ amount_sat: 1_000, store_id: 1 });
  const other = await app.order({ amount_sat: 1_000, store_id: second.id });
  const refsOf = async (query = '', key = app.apiKey) => {
    const { status, bytes } = await bytesOf(app, query, key);
    const text = new TextDecoder().decode(bytes);
    if (status !== 200) return [status, JSON.parse(text).message];
    return text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).ref);
  };
  expect(await refsOf()).toEqual([other.address, one.address]);
  expect(await refsOf('?store_id=1')).toEqual([one.address]);
  expect(await refsOf(`?store_id=${second.id}`)).toEqual([other.address]);
  expect(await refsOf('?store_id=9')).toEqual([404, 'There is no store 9']);
  expect(await refsOf('?store_id=x')).toEqual([400, expect.stringContaining('store_id')]);
  const key = await addKey(app, second.id, 'read');
  expect(await refsOf('', key)).toEqual([other.address]);
  expect(await refsOf('?store_id=1', key)).toEqual([404, 'There is no store 1']);
  const addressOnly = await addKey(app, 1, 'address-only');
  expect((await bytesOf(app, '', addressOnly)).status).toBe(403);
  await app.withStore(({ catalog, database }) =>
    database.write((tx) => catalog.archiveStore(tx, app.world.now(), second.id, true)),
  );
  expect(await refsOf(`?store_id=${second.id}`)).toEqual([other.address]);
});
