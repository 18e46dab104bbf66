// `new_address` (wire §2), beyond the rules of every operation: a repeated address when that is
// requested and safe, the store of a key, limits.

import { afterEach, expect, test } from 'vitest';
import type { Txid } from '../../../src/bitcoin/ids.ts';
import { firstAddresses } from '../../../src/bitcoin/keychain.ts';
import { formatApiKey } from '../../../src/domain/access/api-key.ts';
import { parseProxyNetwork } from '../../../src/domain/access/client-address.ts';
import type { KeyScope } from '../../../src/domain/access/key-scope.ts';
import { idempotencyKeys } from '../../../src/store/schema/schema.ts';
import { closeApps, merchantKey, openReady, type TestApp } from '../../support/app.ts';

afterEach(closeApps);

const addKey = (app: TestApp, storeId: number, scope: KeyScope): Promise<string> =>
  app.withStore(({ keys, database }) =>
    database.write((tx) =>
      keys.add(tx, app.world.now(), { storeId, scope, secret: app.world.randomBytes(32) }),
    ),
  );

const as = (key: string) => ({ headers: { Authorization: `Bearer ${key}` } });
const repeat = (key: string) => ({ headers: { 'Idempotency-Key': key } });

test('a private key as an Idempotency-Key is refused: it would be stored', async () => {
  const app = await openReady();
  const wif = 'KwDiBf89QgGbjEhKnhXJuH7LrciVrZi3qYjgd9M7rFU73sVHnoWn';
  const { status, body } = await app.ask('/api/new_address', repeat(wif));
  expect([status, body.error?.message ?? JSON.stringify(body)]).toEqual([
    400,
    expect.stringContaining('looks like a private key'),
  ]);
  const kept = await app.withStore(async ({ database }) =>
    database.orm.select().from(idempotencyKeys).all(),
  );
  expect(kept).toEqual([]);
});

test('P-22 reset=1 gives the last address again while it is unpaid', async () => {
  const app = await openReady();
  const first = await app.ask('/api/new_address?reset=1');
  await app.world.advance(60_000);
  const again = await app.ask('/api/new_address?reset=1');
  expect(again.body).toEqual({ ...first.body, reset: 1 });
  expect(await app.newAddress()).not.toBe(first.body.address);
  const last = await app.newAddress('?reset=1');
  app.pay(last, 1_000);
  await app.settle();
  expect(await app.newAddress('?reset=1')).not.toBe(last);
});

test('P-22 reset=1 never gives the address of another store', async () => {
  const app = await openReady();
  const other = await app.addStore({ callbackUrl: `${app.receiver.origin}/second` });
  const key = await addKey(app, other.id, 'payments');
  const first = await app.newAddress('?match_callback=s3cr3t');
  const { body } = await app.ask('/api/new_address?reset=1', as(key));
  expect(body.address).not.toBe(first);
  const again = await app.ask('/api/new_address?match_callback=s3cr3t&reset=1');
  expect(again.body.address).toBe(first);
});

test('P-22 reset=1 gives a new one if no server has confirmed that the last one is unpaid', async () => {
  const app = await openReady();
  const first = await app.newAddress();
  for (const server of app.servers) server.disconnectAll();
  await app.world.until(() => !app.running.health().electrum.caught_up, 'the servers to be gone');
  expect(await app.newAddress('?reset=1')).not.toBe(first);
});

test('P-22 reset=1 gives no address that was ever paid, also if the payment is gone: it may come back', async () => {
  const app = await openReady();
  const first = await app.newAddress();
  const txid = app.pay(first, 50_000) as Txid;
  await app.settle();
  app.chain.evict(txid);
  await app.outlastAbsence();
  const second = await app.newAddress('?reset=1');
  app.chain.rebroadcast(txid);
  app.chain.mine(2);
  await app.settle();
  expect(app.statuses(second)).toEqual([]);
  expect(app.statuses(first)).toEqual(['0', '2']);
});

const isHistory = (method: string): boolean => method === 'blockchain.scripthash.get_history';
const withoutHistories = { kind: 'error', code: 1, message: 'busy', when: isHistory } as const;

test('P-22 reset=1 gives a new one while the server has notified a history that it does not show', async () => {
  const app = await openReady();
  const first = await app.newAddress();
  app.server.inject(withoutHistories);
  app.pay(first, 50_000);
  await app.settle();
  expect(await app.newAddress('?reset=1')).not.toBe(first);
});

test('P-22 reset=1 gives a new one after a downtime whose histories are still on their way', async () => {
  const app = await openReady();
  const first = await app.newAddress();
  await app.stop();
  app.pay(first, 50_000);
  app.server.inject({ kind: 'delay', ms: 3_000, when: isHistory });
  await app.start();
  await app.world.until(() => app.running.health().electrum.caught_up, 'all to be compared');
  expect(await app.newAddress('?reset=1')).not.toBe(first);
});

test('P-23 an address with a notified, unshown history is left out', async () => {
  const app = await openReady();
  const [, , next] = firstAddresses(merchantKey(), 3);
  await app.newAddress();
  app.server.inject(withoutHistories);
  app.pay(next ?? '', 50_000);
  await app.settle();
  const issued = [await app.newAddress(), await app.newAddress()];
  expect(issued).toEqual([
    firstAddresses(merchantKey(), 2)[1],
    firstAddresses(merchantKey(), 4)[3],
  ]);
  app.server.heal();
  await app.world.advance(60_000);
  await app.settle();
  expect(app.callbacks()).toEqual([]);
  const logged = app.world.logs.map(({ message }) => message);
  expect(logged).toContain('an address was paid that was not issued yet');
});

test('P-22 reset=1 gives a new one in a restored copy, which may have handed out the last', async () => {
  const app = await openReady();
  const first = await app.newAddress();
  await app.withStore(({ state, database }) =>
    database.write((tx) => state.copied.write(tx, { at: app.world.now(), text: '' })),
  );
  expect(await app.newAddress('?reset=1')).not.toBe(first);
});

test('P-24 an idempotency key means the same address for a day, in its own store', async () => {
  const app = await openReady();
  const ask = (key: string, query = '') => app.ask(`/api/new_address${query}`, repeat(key));
  const both = await Promise.all([ask('order 1'), ask('order 1')]);
  expect(both[0]?.body).toEqual(both[1]?.body);
  const first = both[0]?.body.address;
  expect((await ask('order 2')).body.address).not.toBe(first);
  await app.addStore({ callbackUrl: `${app.receiver.origin}/second` });
  expect((await ask('order 1', '?match_callback=second')).body.address).not.toBe(first);
  app.world.jumpWallClock(24 * 3_600_000 - 1);
  expect((await ask('order 1', '?match_callback=s3cr3t')).body.address).toBe(first);
  app.world.jumpWallClock(1);
  expect((await ask('order 1', '?match_callback=s3cr3t')).body.address).not.toBe(first);
});

test.each(['k', '\u00fc'])('P-24 an idempotency key of %s has 1 to 255 bytes', async (letter) => {
  const app = await openReady();
  expect((await app.ask('/api/new_address', repeat(letter.repeat(255)))).status).toBe(200);
  const refused = await app.ask('/api/new_address', repeat(letter.repeat(256)));
  expect(refused).toMatchObject({ status: 400, body: { error: { code: 400 } } });
});

test('P-25 a key of one store means its store until the store is removed', async () => {
  const app = await openReady();
  const callbackUrl = `${app.receiver.origin}/second`;
  const second = await app.addStore({ key: merchantKey(2), startIndex: 0, callbackUrl });
  const key = await addKey(app, second.id, 'address-only');
  const { status, body } = await app.ask('/api/new_address', as(key));
  expect(status).toBe(200);
  expect(body.account).toBe(merchantKey(2).account);
  await app.withStore(({ catalog, database }) =>
    database.write((tx) => catalog.archiveStore(tx, app.world.now(), second.id, false)),
  );
  expect((await app.ask('/api/new_address', as(key))).status).toBe(401);
});

test('P-11 a store without a wallet says what is missing', async () => {
  const app = await openReady();
  await app.withStore(({ catalog, database }) =>
    database.write((tx) => catalog.changeStore(tx, 1, { walletId: null })),
  );
  const { status, body } = await app.ask('/api/new_address');
  expect(status).toBe(400);
  expect(body.error.code).toBe(1001);
  // Not by `store add`, because with a second store a request must name one.
  expect(body.message).toContain('give it one in the dashboard, or with `paygate store wallet ');
  expect(body.message).not.toContain('add an xpub');
});

test('P-10 P-26 a wallet whose first scan has not ended gets a Retry-After', async () => {
  const app = await openReady();
  await app.withStore(({ database }) =>
    database.write(() => void database.orm.run('update wallets set scanned_at = null')),
  );
  const { status, headers } = await app.ask('/api/new_address');
  expect(status).toBe(503);
  expect(Number(headers.get('Retry-After'))).toBeGreaterThan(0);
});

test('P-11 P-27 at the gap limit no address is issued if a setting says so, until the next payment', async () => {
  const app = await openReady({ config: { refuseGap: 3 } });
  const issued = [await app.newAddress(), await app.newAddress(), await app.newAddress()];
  const refused = await app.ask('/api/new_address');
  expect(refused).toMatchObject({ status: 409, body: { error: { code: 1008 } } });
  expect(await app.newAddress('?reset=1')).toBe(issued[2]);
  app.pay(issued[1] ?? '', 5_000);
  await app.settle();
  expect((await app.ask('/api/new_address')).status).toBe(200);
});

test('P-10 P-12 a key that asks too often gets a Retry-After; others are not delayed', async () => {
  const app = await openReady({ config: { limitNewAddress: { perMinute: 60, burst: 2 } } });
  const other = await addKey(app, 1, 'address-only');
  await app.newAddress();
  await app.newAddress();
  const refused = await app.ask('/api/new_address');
  expect(refused).toMatchObject({ status: 429, body: { error: { code: 429 } } });
  expect(refused.headers.get('Retry-After')).toBe('1');
  expect((await app.ask('/api/new_address', as(other))).status).toBe(200);
  await app.world.advance(1_000);
  expect((await app.ask('/api/new_address')).status).toBe(200);
});

test('P-13 wrong keys are slowed down by their address; the right key from there is not', async () => {
  const app = await openReady({ config: { limitUnknownKey: { perMinute: 10, burst: 2 } } });
  const wrong = as(formatApiKey(new Uint8Array(32).fill(9)));
  const statuses = [];
  for (let count = 0; count < 3; count += 1) {
    statuses.push((await app.ask('/api/new_address', wrong)).status);
  }
  expect(statuses).toEqual([401, 401, 429]);
  const forwarded = { headers: { ...wrong.headers, 'X-Forwarded-For': '198.51.100.7' } };
  expect((await app.ask('/api/new_address', forwarded)).status).toBe(429);
  expect((await app.ask('/api/new_address')).status).toBe(200);
});

test('P-14 behind a listed proxy each client has a limit of its own', async () => {
  const app = await openReady({
    config: {
      limitUnknownKey: { perMinute: 10, burst: 1 },
      trustedProxy: [parseProxyNetwork('127.0.0.1')],
    },
  });
  const from = (client: string) =>
    app.ask('/api/new_address', {
      headers: { Authorization: 'Bearer wrong', 'X-Forwarded-For': client },
    });
  expect((await from('198.51.100.7')).status).toBe(401);
  expect((await from('198.51.100.7')).status).toBe(429);
  expect((await from('198.51.100.8')).status).toBe(401);
  // A subscriber of IPv6 has up to a /48.
  expect((await from('2001:db8:0:1::1')).status).toBe(401);
  expect((await from('2001:db8:0:2::1')).status).toBe(429);
  expect((await from('2001:db8:1:1::1')).status).toBe(401);
});

test('a whole callback URL means its store before all whose URL only contains it, but no removed one', async () => {
  const app = await openReady();
  const whole = `${app.receiver.origin}/whole`;
  const key = merchantKey(2);
  const removed = await app.addStore({ key, startIndex: 0, callbackUrl: whole });
  await app.addStore({ key: merchantKey(3), startIndex: 0, callbackUrl: `${whole}?and=more` });
  const { id } = await app.addStore({ callbackUrl: `${whole}r` });
  const own = await addKey(app, id, 'payments');
  const ask = (key = app.apiKey) =>
    app.ask(`/api/new_address?match_callback=${encodeURIComponent(whole)}`, as(key));
  const accountOf = async (key?: string) => (await ask(key)).body.account;
  expect(await accountOf()).toBe(key.account);
  expect(await accountOf(own)).toBe(merchantKey().account);
  await app.withStore(({ catalog, database }) =>
    database.write((tx) => catalog.archiveStore(tx, app.world.now(), removed.id, false)),
  );
  expect((await ask()).body).toMatchObject({ error: { code: 1032 } });
  await app.addStore({ key, callbackUrl: whole });
  expect(await accountOf()).toBe(key.account);
});

test('P-19 P-25 a key of one store gets no address for a callback URL that its store does not have', async () => {
  const app = await openReady();
  const callbackUrl = 'https://second.example/paid?secret=tulip';
  await app.addStore({ name: 'Second', key: merchantKey(2), startIndex: 0, callbackUrl });
  for (const scope of ['payments', 'address-only'] as const) {
    const key = await addKey(app, 1, scope);
    for (const wish of [encodeURIComponent(callbackUrl), 'nobody']) {
      const { status, body } = await app.ask(`/api/new_address?match_callback=${wish}`, as(key));
      expect([status, body.error?.code]).toEqual([400, 1003]);
      expect(body.message).toContain(`Store 1 "Shop" has ${app.receiver.origin}/cb?…`);
      expect(body.message).not.toMatch(/s3cr3t|tulip|Second|second/);
    }
    expect((await app.ask('/api/new_address?match_callback=s3cr3t', as(key))).status).toBe(200);
    expect((await app.ask('/api/new_address', as(key))).status).toBe(200);
  }
});

test('P-18 a request for a removed store gets no address of the only other store', async () => {
  const app = await openReady();
  const callbackUrl = `${app.receiver.origin}/second?secret=tulip`;
  const second = await app.addStore({ key: merchantKey(2), startIndex: 0, callbackUrl });
  await app.withStore(({ catalog, database }) =>
    database.write((tx) => catalog.archiveStore(tx, app.world.now(), second.id, false)),
  );
  for (const wish of [encodeURIComponent(callbackUrl), 'tulip']) {
    const { status, body } = await app.ask(`/api/new_address?match_callback=${wish}`);
    expect([status, body.error?.code]).toEqual([400, 1003]);
    expect(body.message).toContain('fits only a store that was removed');
    expect(body.message).not.toContain('tulip');
  }
  for (const wish of ['s3cr3t', encodeURIComponent(app.receiver.origin)]) {
    expect((await app.ask(`/api/new_address?match_callback=${wish}`)).status).toBe(200);
  }
});
