// A shop asks for addresses with a Callback URL that no store has: it gets none, and the merchant is told.

import { afterEach, expect, test } from 'vitest';
import { closeApps, openReady, type TestApp, untilReady } from '../support/app.ts';

afterEach(closeApps);

const wrong = 'https://shop.example/wc-api/?wc-api=Gateway&secret=0ldsecret';

const askWith = (house: TestApp, wish: string, key = house.apiKey) =>
  house.ask(`/api/new_address?match_callback=${encodeURIComponent(wish)}`, {
    headers: { Authorization: `Bearer ${key}` },
  });

const alarms = (house: TestApp): string[] =>
  house.running.health().warnings.filter((text) => text.includes('with a Callback URL'));

const setUrl = (house: TestApp, callbackUrl: string) =>
  house.withStore(({ catalog, database }) =>
    database.write((tx) => catalog.changeStore(tx, 1, { callbackUrl })),
  );

test('P-19 an alarm names the URL without its secret, since when and how often, over a restart', async () => {
  const house = await openReady();
  expect((await askWith(house, wrong)).body.error.code).toBe(1003);
  await house.world.advance(60_000);
  await askWith(house, wrong);
  const [told] = alarms(house);
  expect(told).toMatch(
    /^an address was asked for 2 time\(s\) since 2025-11-20 14:46:40 UTC with a Callback URL that no store has: https:\/\/shop\.example\/wc-api\/\?…; .*Set the store's Callback URL to .*`paygate store set ID --callback-url URL`/,
  );
  expect(told).not.toMatch(/0ldsecret|Gateway/);
  await house.stop();
  await house.start();
  await untilReady(house);
  expect(alarms(house)).toEqual([told]);
});

test('P-19 it ends once a store has that URL, and comes again with another one', async () => {
  const house = await openReady();
  await askWith(house, wrong);
  await setUrl(house, wrong);
  expect(alarms(house)).toEqual([]);
  expect((await askWith(house, wrong)).status).toBe(200);
  const changed = wrong.replace('0ld', 'n3w');
  await askWith(house, changed);
  expect(alarms(house)).toHaveLength(1);
});

test('it ends three days after the last such request, not before', async () => {
  const house = await openReady();
  const dayMs = 86_400_000;
  await askWith(house, wrong);
  house.world.jumpWallClock(2 * dayMs);
  await askWith(house, wrong);
  house.world.jumpWallClock(3 * dayMs - 1);
  expect(alarms(house)).toHaveLength(1);
  house.world.jumpWallClock(1);
  expect(alarms(house)).toEqual([]);
});

test('what is no URL is not shown: it may be a secret as a whole', async () => {
  const house = await openReady();
  await askWith(house, 'correcthorse');
  expect(alarms(house).join()).toContain('a part of one, of 12 characters');
  expect(alarms(house).join()).not.toContain('correct');
});

test('a wrong wallet beside a URL that fits is no such case, nor is a private key kept', async () => {
  const house = await openReady();
  await house.ask('/api/new_address?match_callback=s3cr3t&match_account=tpubNone');
  await askWith(house, 'https://shop.example/KwDiBf89QgGbjEhKnhXJuH7LrciVrZi3qYjgd9M7rFU73sVHnoWn');
  expect(alarms(house)).toEqual([]);
});

test('a key of one store is told of that store', async () => {
  const house = await openReady();
  await house.addStore({ name: 'Second', callbackUrl: wrong });
  const key = await house.withStore(({ keys, database }) =>
    database.write((tx) =>
      keys.add(tx, house.world.now(), {
        storeId: 1,
        scope: 'address-only',
        secret: house.world.randomBytes(32),
      }),
    ),
  );
  expect((await askWith(house, wrong, key)).body.error.code).toBe(1003);
  expect(alarms(house).join()).toContain('that store 1, whose key it was, does not have');
  expect(alarms(house).join()).toContain('paygate store set 1 --callback-url');
});

test('whoever holds a key fills neither the page nor the file', async () => {
  const house = await openReady();
  const bad = `https://${'x'.repeat(3_000)}.example/\u202e\u0007?secret=`;
  for (let count = 0; count < 200; count += 1) await askWith(house, `${count}${bad}${count}`);
  for (let count = 0; count < 20; count += 1) await askWith(house, bad + count);
  await askWith(house, wrong);
  expect(alarms(house)).toHaveLength(3);
  expect(alarms(house)[0]).toContain('https://shop.example/');
  for (const text of alarms(house)) {
    expect(text.length).toBeLessThan(600);
    expect(text).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  }
  const kept = await house.withStore(async ({ catalog }) => catalog.setting('unmatched_callbacks'));
  expect(kept?.length).toBeLessThan(5_000);
});
