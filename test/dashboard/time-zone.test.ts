// The merchant's time zone: its setting, and its days in cards, chart, lists, files and spans.

import { afterEach, describe, expect, test } from 'vitest';
import type { Txid } from '../../src/bitcoin/ids.ts';
import { dayMs, hourMs, minuteMs } from '../../src/lib/time-units.ts';
import { orders } from '../../src/store/schema/order-schema.ts';
import { payments } from '../../src/store/schema/schema.ts';
import { closeApps, openApp, type TestApp } from '../support/app.ts';
import { makeOrder } from '../support/app-orders.ts';
import { password, setPassword, signedIn, type Visitor, visitorOf } from '../support/visitor.ts';

afterEach(closeApps);

const page = '/dashboard/settings/time-zone';

/** Saves a zone as the merchant does. */
async function choose(visitor: Visitor, zone: string): Promise<void> {
  expect((await visitor.submit(page, 'save-zone', { zone })).to).toBe(`${page}?done=saved`);
}

const storedZone = (app: TestApp) => app.withStore(async ({ state }) => state.timeZone.read());

/** Confirmed payments of 1, 10, 100 units and so on, first seen at these times. */
const insert = (app: TestApp, times: readonly number[], unit = 1): Promise<void> =>
  app.withStore(({ database, addresses }) =>
    database.write((tx) => {
      for (const [place, firstSeenAt] of times.entries()) {
        const { id: addressId } = addresses.issue(tx, app.world.now(), 1, 1);
        const txid = String(place).padStart(64, '0') as Txid;
        const row = { addressId, txid, firstSeenAt, changedAt: 0 };
        const valueSat = unit * 10 ** place;
        database.orm
          .insert(payments)
          .values({ ...row, valueSat, state: 'settled', currency: 'EUR', priceCents: 5_000_000 })
          .run();
      }
    }),
  );

/** The bitcoins of a card of the first page. */
async function cardOf(visitor: Visitor, name: string): Promise<number> {
  const { text } = await visitor.get('/dashboard');
  const card = text.split('<section class="card">').find((each) => each.includes(`>${name}</a>`));
  return Number(/<span class="amount">([\d,]+) sat/.exec(card ?? '')?.[1]?.replaceAll(',', ''));
}

/** The satoshis of a list’s file, which has the filters of the list. */
async function listed(visitor: Visitor, query: string): Promise<number[]> {
  const { text } = await visitor.get(`/dashboard/payments/export?${query}`);
  const [head = '', ...lines] = text.trim().split('\r\n');
  const place = head.split(',').indexOf('satoshi');
  return lines.map((line) => Number(line.split(',')[place])).sort((one, other) => one - other);
}

describe('the setting', () => {
  test('is UTC at first, and changes to a zone of IANA, with an entry in the audit log', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    const { text } = await visitor.get(page);
    expect(text).toContain('name="zone" value="UTC"');
    expect(text).toContain('<option value="America/Sao_Paulo"');
    await choose(visitor, ' europe/berlin ');
    expect(await storedZone(app)).toBe('Europe/Berlin');
    expect((await visitor.get(page)).text).toContain('name="zone" value="Europe/Berlin"');
    expect((await visitor.get('/dashboard/settings/audit')).text).toMatch(
      /The time zone was set to Europe\/Berlin(?!,)/,
    );
    expect((await visitor.get('/dashboard/settings')).text).toContain(`href="${page}"`);
  });

  test.each(['', '+02:00', 'Mars/Base', '"><script>alert(1)</script>', '../../etc/passwd'])(
    'refuses %j, and stays as it was',
    async (zone) => {
      const app = await openApp();
      const visitor = await signedIn(app);
      await choose(visitor, 'Asia/Tokyo');
      const refused = await visitor.submit(page, 'save-zone', { zone });
      expect(refused.status).toBe(400);
      expect(refused.text).toContain('such as Europe/Berlin or UTC');
      expect(refused.text).not.toContain('<script>alert');
      expect(await storedZone(app)).toBe('Asia/Tokyo');
    },
  );

  test('a zone of the file that this program does not know counts as UTC', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    await app.withStore(({ state, database }) =>
      database.write((tx) => state.timeZone.write(tx, 'Mars/Base')),
    );
    expect((await visitor.get('/dashboard')).text).toContain('>UTC</a>');
  });
});

describe('the browser names its zone', () => {
  const send = (visitor: Visitor, zone: string) =>
    visitor.submit('/dashboard/sign-in', 'sign-in', { password, zone });

  test('at its first sign-in, and no later one changes it', async () => {
    const app = await openApp();
    await setPassword(app);
    expect((await send(visitorOf(app), '')).status).toBe(303);
    expect((await send(visitorOf(app), 'no zone <b>')).status).toBe(303);
    expect(await storedZone(app)).toBeUndefined();
    const visitor = visitorOf(app);
    expect((await send(visitor, 'America/Los_Angeles')).status).toBe(303);
    expect(await storedZone(app)).toBe('America/Los_Angeles');
    expect((await send(visitorOf(app), 'Asia/Tokyo')).status).toBe(303);
    expect(await storedZone(app)).toBe('America/Los_Angeles');
    expect((await visitor.get('/dashboard/settings/audit')).text).toContain(
      'America/Los_Angeles, which a browser named at its sign-in',
    );
  });

  test('and a wrong password sets none', async () => {
    const app = await openApp();
    await setPassword(app);
    const fields = { password: 'another one', zone: 'Asia/Tokyo' };
    const refused = await visitorOf(app).submit('/dashboard/sign-in', 'sign-in', fields);
    expect(refused.status).toBe(401);
    expect(await storedZone(app)).toBeUndefined();
  });
});

/** Now, 2025-11-20 14:46 UTC, is the 21st in Kiritimati (+14), from 10:00 UTC on. */
const midnight = Date.UTC(2025, 10, 20, 10);

test('cards, chart and lists have the same day, whose beginning belongs to it', async () => {
  const app = await openApp();
  expect(new Date(app.world.now()).toISOString()).toMatch(/^2025-11-20T14:/);
  const visitor = await signedIn(app);
  await insert(app, [midnight - dayMs - 1, midnight - dayMs, midnight - 1, midnight]);
  expect(await cardOf(visitor, 'Today')).toBe(1_100);
  expect(await listed(visitor, 'from=2025-11-20&to=2025-11-20')).toEqual([100, 1_000]);
  await choose(visitor, 'Pacific/Kiritimati');
  expect(await cardOf(visitor, 'Today')).toBe(1_000);
  expect(await cardOf(visitor, '7 days')).toBe(1_111);
  expect(await listed(visitor, 'from=2025-11-21')).toEqual([1_000]);
  expect(await listed(visitor, 'from=2025-11-20&to=2025-11-20')).toEqual([10, 100]);
  expect(await listed(visitor, 'to=2025-11-19')).toEqual([1]);
  const { text } = await visitor.get('/dashboard');
  expect(text).toContain('from=2025-11-21&amp;to=2025-11-21"');
  expect(text).not.toContain('from=2025-11-22');
  expect(text).toContain('2025-11-20 · 0.06 EUR · 110 sat');
  expect(text).toContain('>Pacific/Kiritimati</a>');
  expect((await visitor.get('/dashboard/payments')).text).toContain('From (Pacific/Kiritimati)');
});

test('the sums follow each change of the zone, and payments that come after it', async () => {
  const app = await openApp();
  const visitor = await signedIn(app);
  await insert(app, [midnight - 1, midnight]);
  const sums: number[] = [];
  for (const zone of ['UTC', 'Pacific/Kiritimati', 'America/Los_Angeles', 'UTC']) {
    await choose(visitor, zone);
    sums.push(await cardOf(visitor, 'Today'));
  }
  expect(sums).toEqual([11, 10, 11, 11]);
});

test('today is compared with yesterday by the clock of the zone', async () => {
  const app = await openApp();
  const visitor = await signedIn(app);
  const now = app.world.now();
  const yesterday = [now - dayMs - 2 * minuteMs, now - dayMs + 2 * minuteMs];
  await insert(app, [now, midnight - dayMs, ...yesterday], 1_000);
  await cardOf(visitor, 'Today');
  await choose(visitor, 'Pacific/Kiritimati');
  // 0.50 EUR today; 5 and 50 EUR yesterday by this time, and 500 later.
  expect((await visitor.get('/dashboard')).text).toContain('99 % less than yesterday by this time');
});

test('orders are filtered by days of the zone', async () => {
  const app = await openApp();
  const visitor = await signedIn(app);
  const { publicId } = await makeOrder(app, await app.newAddress());
  await app.withStore(({ database }) =>
    database.write(() => {
      database.orm
        .update(orders)
        .set({ createdAt: midnight - 1 })
        .run();
    }),
  );
  const has = async (query: string) =>
    (await visitor.get(`/dashboard/orders?${query}`)).text.includes(publicId);
  expect(await has('from=2025-11-20&to=2025-11-20')).toBe(true);
  await choose(visitor, 'Pacific/Kiritimati');
  expect([await has('from=2025-11-21'), await has('from=2025-11-20')]).toEqual([false, true]);
  await choose(visitor, 'Pacific/Pago_Pago');
  expect([await has('to=2025-11-18'), await has('to=2025-11-19')]).toEqual([false, true]);
});

test.each([
  ['2026-12-31T23:30:00Z', 'UTC', ['2026-12', '2026-11', '2026']],
  ['2026-12-31T23:30:00Z', 'Europe/Berlin', ['2027-01', '2026-12', '2027']],
  ['2027-01-01T07:30:00Z', 'America/Los_Angeles', ['2026-12', '2026-11', '2026']],
  ['2027-03-01T00:30:00Z', 'America/Sao_Paulo', ['2027-02', '2027-01', '2027']],
] as const)(
  'at %s in %s, spans and names of files are those of the zone',
  async (at, zone, spans) => {
    const app = await openApp();
    await app.withStore(({ state, database }) =>
      database.write((tx) => state.timeZone.write(tx, zone)),
    );
    app.world.jumpWallClock(Date.parse(at) - app.world.now());
    const visitor = await signedIn(app);
    await insert(app, [app.world.now()]);
    const { text } = await visitor.get('/dashboard/payments');
    const named = await Promise.all(
      ['This month', 'Last month', 'This year'].map(async (name) => {
        const [, query = ''] =
          new RegExp(`href="/dashboard/payments\\?([^"]+)">${name}<`).exec(text) ?? [];
        const file = `/dashboard/payments/export?format=paygate&${query.replaceAll('&amp;', '&')}`;
        return (await visitor.get(file)).headers.get('Content-Disposition');
      }),
    );
    expect(named).toEqual(spans.map((span) => expect.stringContaining(`"payments-${span}.csv"`)));
  },
);

test('QuickBooks gets days of the zone, and the other files times in UTC', async () => {
  const app = await openApp();
  const visitor = await signedIn(app);
  await insert(app, [midnight - 1, midnight + hourMs]);
  await choose(visitor, 'Pacific/Kiritimati');
  const file = async (query: string) =>
    (await visitor.get(`/dashboard/payments/export?${query}`)).text;
  const books = await file('format=quickbooks&currency=EUR');
  expect(books.match(/^\d\d\/\d\d\/\d{4}/gm)).toEqual(['11/21/2025', '11/20/2025']);
  expect(await file('format=paygate&from=2025-11-21')).toContain('\r\n2025-11-20T11:00:00Z,');
});

test.each(['2026-02-30', '0000-00-00', '21.11.2026', "2025-11-20' or 1", '9999999-01-01'])(
  'a filter from %j is refused with an example',
  async (from) => {
    const app = await openApp();
    const visitor = await signedIn(app);
    await choose(visitor, 'Europe/Berlin');
    for (const list of ['payments', 'orders']) {
      const seen = await visitor.get(`/dashboard/${list}?from=${encodeURIComponent(from)}`);
      expect([list, seen.status]).toEqual([list, 400]);
      expect(seen.text).toContain('a day such as 2026-11-21 is expected');
    }
    expect((await visitor.get('/dashboard/payments?from=0001-01-01&to=9999-12-31')).status).toBe(
      200,
    );
  },
);
