// Requests for an address that arrive together share one write (address-requests.ts). No
// response may depend on that.

import { afterEach, expect, test } from 'vitest';
import { createAddressIssuer } from '../../../src/api/addresses/address-requests.ts';
import { requireMerchantKey } from '../../../src/store/access/api-keys.ts';
import { closeApps, merchantKey, openReady, type TestApp } from '../../support/app.ts';
import { cleanUp } from '../../support/files.ts';
import { openTestStore } from '../../support/store.ts';

afterEach(closeApps);
afterEach(cleanUp);

const askTogether = (app: TestApp, asked: readonly (readonly [string, string?])[]) =>
  Promise.all(
    asked.map(([query, idempotencyKey]) =>
      app.ask(`/api/new_address${query}`, {
        ...(idempotencyKey && { headers: { 'Idempotency-Key': idempotencyKey } }),
      }),
    ),
  );

/** Issued rows, by index. */
const issuedRows = (app: TestApp) =>
  app.withStore(async ({ database }) =>
    (
      database.orm.$client
        .prepare(
          `SELECT wallet_id, derivation_index, address, store_id FROM addresses WHERE origin = 'issued'
           ORDER BY wallet_id, derivation_index`,
        )
        .all() as {
        wallet_id: number;
        derivation_index: number;
        address: string;
        store_id: number;
      }[]
    ).map((row) => [row.wallet_id, row.derivation_index, row.address, row.store_id] as const),
  );

test('more requests than a write and the look-ahead take: each gets its own address, no index is skipped', async () => {
  const app = await openReady();
  const answers = await askTogether(
    app,
    Array.from({ length: 250 }, () => [''] as const),
  );
  const given = answers.map(({ body }) => body.address);
  expect(new Set(given).size).toBe(250);
  const rows = await issuedRows(app);
  expect(rows.map(([, index]) => index)).toEqual(Array.from({ length: 250 }, (_, index) => index));
  expect(new Set(rows.map(([, , address]) => address))).toEqual(new Set(given));
});

test('several stores and wallets: each gets its own address, and a refusal fails only its request', async () => {
  const app = await openReady();
  const other = await app.addStore({
    key: merchantKey(2),
    startIndex: 0,
    callbackUrl: `${app.receiver.origin}/second`,
  });
  const twin = await app.addStore({ callbackUrl: `${app.receiver.origin}/third` });
  const bare = await app.addStore({ callbackUrl: `${app.receiver.origin}/fourth` });
  await app.withStore(({ catalog, database }) =>
    database.write((tx) => catalog.changeStore(tx, bare.id, { walletId: null })),
  );
  const queries = ['s3cr3t', 'second', 'third', 'fourth', 'nowhere'];
  const asked = Array.from({ length: 40 }, (_, at) => queries[at % queries.length] ?? '');
  const answers = await askTogether(
    app,
    asked.map((part) => [`?match_callback=${part}`] as const),
  );
  const codes = asked.map((part, at) => [part, answers[at]?.body.error?.code] as const);
  for (const [part, code] of codes) {
    expect(code).toBe({ fourth: 1001, nowhere: 1003 }[part]);
  }
  const rows = await issuedRows(app);
  const storeOf = new Map(rows.map(([, , address, storeId]) => [address, storeId]));
  const expected = { s3cr3t: 1, second: other.id, third: twin.id };
  for (const [at, part] of asked.entries()) {
    if (!(part in expected)) continue;
    expect(storeOf.get(answers[at]?.body.address)).toBe(expected[part as keyof typeof expected]);
  }
  expect(rows.length).toBe(24);
  expect(new Set(rows.map(([, , address]) => address)).size).toBe(24);
});

test('with idempotency keys and resets in between: equal keys get equal addresses, others get their own', async () => {
  const app = await openReady();
  const answers = await askTogether(app, [
    [''],
    ['', 'order 1'],
    [''],
    ['', 'order 1'],
    ['', 'order 2'],
    ['?reset=1'],
    [''],
  ]);
  const [a, first, b, again, second, , c] = answers.map(({ body }) => body.address);
  expect(again).toBe(first);
  expect(new Set([a, b, c, first, second]).size).toBe(5);
  expect(new Set((await issuedRows(app)).map(([, , address]) => address))).toEqual(
    new Set(answers.map(({ body }) => body.address)),
  );
});

test('reset=1 gives no address that a concurrent request gets', async () => {
  const records = await openTestStore();
  await records.addWallet();
  for (const name of ['first', 'second']) {
    await records.addStore({ callbackUrl: `https://shop.example/${name}` });
  }
  await records.write((tx) => records.keys.rotateMerchantKey(tx, 1, new Uint8Array(32), 0));
  const key = requireMerchantKey(records.keys, 1);
  const order = createAddressIssuer({
    records,
    now: () => 1,
    checkIssuing: () => {},
    isPending: () => false,
    isCaughtUp: () => true,
    scanFault: () => undefined,
    refuseGap: undefined,
    onIssued: () => {},
  });
  const ask = async (callback: string, reset = false) =>
    (await order({ key, target: { callback }, reset, idempotencyKey: undefined })).address;
  const first = await ask('first');
  const [other, again, fresh] = await Promise.all([
    ask('second'),
    ask('first', true),
    ask('first'),
  ]);
  expect(again.address).toBe(first.address);
  expect(new Set([first, other, fresh].map(({ address }) => address)).size).toBe(3);
});

test('the gap limit counts concurrent requests', async () => {
  const app = await openReady({ config: { refuseGap: 3 } });
  const answers = await askTogether(
    app,
    Array.from({ length: 5 }, () => [''] as const),
  );
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 409, 409]);
});
