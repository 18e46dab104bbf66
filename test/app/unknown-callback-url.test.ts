// A shop requests addresses with a Callback URL of no store: it gets none, and an alarm reports it
// to the merchant.

import { afterEach, expect, test } from 'vitest';
import { closeApps, openReady, type TestApp, untilReady } from '../support/app.ts';

afterEach(closeApps);

const wrong = 'https://shop.example/wc-api/?wc-api=Gateway&secret=0ldsecret';

const askWith = (app: TestApp, wish: string, key = app.apiKey) =>
  app.ask(`/api/new_address?match_callback=${encodeURIComponent(wish)}`, {
    headers: { Authorization: `Bearer ${key}` },
  });

const alarms = (app: TestApp): string[] =>
  app.running.health().warnings.filter((text) => text.includes('with a Callback URL'));

const setUrl = (app: TestApp, callbackUrl: string) =>
  app.withStore(({ catalog, database }) =>
    database.write((tx) => catalog.changeStore(tx, 1, { callbackUrl })),
  );

test('P-19 an alarm names the URL without its secret, since when and how often, over a restart', async () => {
  const app = await openReady();
  expect((await askWith(app, wrong)).body.error.code).toBe(1003);
  await app.world.advance(60_000);
  await askWith(app, wrong);
  const [told] = alarms(app);
  expect(told).toMatch(
    /^an address was requested 2 times with a Callback URL that no store has: https:\/\/shop\.example\/wc-api\/\?…, since 2025-11-20 14:46:40 UTC; .*Set the store's Callback URL to .*`paygate store set ID --callback-url URL`/,
  );
  expect(told).not.toMatch(/0ldsecret|Gateway/);
  await app.stop();
  await app.start();
  await untilReady(app);
  expect(alarms(app)).toEqual([told]);
});

test('P-19 it ends once a store has that URL, and comes again with another one', async () => {
  const app = await openReady();
  await askWith(app, wrong);
  await setUrl(app, wrong);
  expect(alarms(app)).toEqual([]);
  expect((await askWith(app, wrong)).status).toBe(200);
  const changed = wrong.replace('0ld', 'n3w');
  await askWith(app, changed);
  expect(alarms(app)).toHaveLength(1);
});

test('it ends three days after the last such request, not before', async () => {
  const app = await openReady();
  const dayMs = 86_400_000;
  await askWith(app, wrong);
  app.world.jumpWallClock(2 * dayMs);
  await askWith(app, wrong);
  app.world.jumpWallClock(3 * dayMs - 1);
  expect(alarms(app)).toHaveLength(1);
  app.world.jumpWallClock(1);
  expect(alarms(app)).toEqual([]);
});

test('a value that is no URL is not shown, because it may be a secret', async () => {
  const app = await openReady();
  await askWith(app, 'correcthorse');
  expect(alarms(app).join()).toContain('a part of one, of 12 characters');
  expect(alarms(app).join()).not.toContain('correct');
});

test('a wrong wallet with a known URL raises no such alarm, and a private key is not stored', async () => {
  const app = await openReady();
  await app.ask('/api/new_address?match_callback=s3cr3t&match_account=tpubNone');
  await askWith(app, 'https://shop.example/KwDiBf89QgGbjEhKnhXJuH7LrciVrZi3qYjgd9M7rFU73sVHnoWn');
  expect(alarms(app)).toEqual([]);
});

test('for a key of one store the alarm names that store', async () => {
  const app = await openReady();
  await app.addStore({ name: 'Second', callbackUrl: wrong });
  const key = await app.withStore(({ keys, database }) =>
    database.write((tx) =>
      keys.add(tx, app.world.now(), {
        storeId: 1,
        scope: 'address-only',
        secret: app.world.randomBytes(32),
      }),
    ),
  );
  expect((await askWith(app, wrong, key)).body.error.code).toBe(1003);
  expect(alarms(app).join()).toContain('that store 1, whose key it was, does not have');
  expect(alarms(app).join()).toContain('paygate store set 1 --callback-url');
});

test('a client with a key cannot flood the page or the file', async () => {
  const app = await openReady();
  const bad = `https://${'x'.repeat(3_000)}.example/\u202e\u0007?secret=`;
  for (let count = 0; count < 200; count += 1) await askWith(app, `${count}${bad}${count}`);
  for (let count = 0; count < 20; count += 1) await askWith(app, bad + count);
  await askWith(app, wrong);
  expect(alarms(app)).toHaveLength(3);
  expect(alarms(app)[0]).toContain('https://shop.example/');
  for (const text of alarms(app)) {
    expect(text.length).toBeLessThan(600);
    expect(text).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  }
  const unmatched = await app.withStore(async ({ state }) => state.unmatched.read());
  expect(JSON.stringify(unmatched).length).toBeLessThan(5_000);
});
