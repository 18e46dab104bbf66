// The alarm banners of the first page: fact, start, advice and link. The start survives reloads and
// restarts, and an alarm ends when its cause ends.

import { copyFileSync, renameSync } from 'node:fs';
import { afterEach, describe, expect, test } from 'vitest';
import type { Txid } from '../../../src/bitcoin/ids.ts';
import { deriveAddress } from '../../../src/bitcoin/keychain.ts';
import { parseServerAddress } from '../../../src/electrum/server-address.ts';
import { FindingHistory } from '../../../src/status/finding-history.ts';
import type { Finding } from '../../../src/status/findings.ts';
import { deliveries, isOf } from '../../../src/store/schema/delivery-schema.ts';
import {
  closeApps,
  loseByRestore,
  merchantKey,
  openApp,
  type TestApp,
  untilReady,
} from '../../support/app.ts';
import { cleanUp } from '../../support/files.ts';
import { openTestStore } from '../../support/store.ts';
import { signedIn, type Visitor } from '../../support/visitor.ts';
import { createTestWorld } from '../../support/world.ts';

afterEach(closeApps);
afterEach(cleanUp);

const home = '/dashboard';
const minuteMs = 60_000;

async function open(options: Parameters<typeof openApp>[0] = {}) {
  const app = await openApp(options);
  await untilReady(app);
  return { app, visitor: await signedIn(app) };
}

interface Banner {
  readonly code: string;
  readonly text: string;
  readonly since: string;
  readonly link: string;
}

/** The banners of the first page. */
async function banners(visitor: Visitor): Promise<Banner[]> {
  const { text } = await visitor.get(home);
  return [...text.matchAll(/data-alarm="([^"]+)">(.*?)<\/div>/gs)].map(
    ([, code = '', inner = '']) => ({
      code,
      text: inner,
      since: /datetime="([^"]+)"/.exec(inner)?.[1] ?? '',
      link: /href="([^"]+)"/.exec(inner)?.[1]?.replaceAll('&amp;', '&') ?? '',
    }),
  );
}

const alarm = async (visitor: Visitor, code: string): Promise<Banner | undefined> =>
  (await banners(visitor)).find((banner) => banner.code === code);

const iso = (at: number): string => new Date(at).toISOString();

async function expectLinked(visitor: Visitor, banner: Banner | undefined, path: string) {
  expect(banner?.link).toBe(home + path);
  expect((await visitor.get(banner?.link ?? '')).status).toBe(200);
}

test('a payment that may belong to several stores is listed without a store', async () => {
  const { app } = await open();
  await app.addStore({ name: 'Second', callbackUrl: `${app.receiver.origin}/second` });
  const lost = await loseByRestore(app, () => app.newAddress('?match_callback=/second'));
  await app.start();
  await untilReady(app);
  app.pay(lost, 3_000);
  app.pay(await app.newAddress('?match_callback=/second'), 4_000);
  await app.settle();
  const visitor = await signedIn(app);
  await expectLinked(visitor, await alarm(visitor, 'unclaimed-payment'), '/payments?store=none');
  const found = async (list: string): Promise<string[]> => {
    const { text } = await visitor.get(`${home}/${list}?store=none`);
    expect(text).toMatch(/<option value="none" selected[^>]*>unknown</);
    return [...text.matchAll(/<code title="(bcrt1q[a-z0-9]{38})">/g)].map(([, each = '']) => each);
  };
  expect(await found('payments')).toEqual([lost]);
  expect(await found('addresses')).toContain(lost);
  const { text } = await visitor.get(`${home}/payments/export?store=none`);
  expect(text.trimEnd().split('\r\n')).toHaveLength(2);
  expect((await visitor.get(`${home}/callbacks?store=none`)).status).toBe(400);
  const one = await visitor.get(`${home}/payments/1`);
  expect(one.text).toContain('None: the store of its address is unknown.');
});

test('a wide gap: its start survives reloads and a restart, and it ends when a payment closes it', async () => {
  const { app, visitor } = await open();
  expect((await visitor.get(home)).text).toContain('No alarms.');
  const issued: string[] = [];
  while (issued.length < 15) issued.push(await app.newAddress());
  const first = await alarm(visitor, 'wallet-gap');
  // An option does not break between its dashes.
  expect((await visitor.get(home)).text).toMatch(
    /<code class="option">--wallet-gap( \d+)?<\/code>/,
  );
  expect(first?.text).toContain('has issued 15 addresses since the last paid one');
  expect(first?.since).toBe(iso(app.world.now()));
  await expectLinked(visitor, first, '/addresses');
  await app.world.advance(7 * minuteMs);
  expect((await alarm(visitor, 'wallet-gap'))?.since).toBe(first?.since);
  await app.stop();
  await app.world.advance(3 * minuteMs);
  await app.start();
  await untilReady(app);
  const again = await signedIn(app);
  expect((await alarm(again, 'wallet-gap'))?.since).toBe(first?.since);
  app.pay(issued[14] ?? '', 5_000);
  await app.settle();
  await app.world.advance(10 * minuteMs);
  expect(await banners(again)).toEqual([]);
});

describe('a restored database', () => {
  /** As from a backup that is older than the last address. */
  async function restored() {
    const app = await openApp();
    await untilReady(app);
    await loseByRestore(app, () => app.newAddress());
    await app.start();
    const restoredAt = app.world.now();
    await untilReady(app);
    return { app, restoredAt };
  }

  async function startAgain({ world, ...app }: TestApp): Promise<void> {
    await app.stop();
    await world.advance(minuteMs);
    await app.start();
  }

  const isTold = ({ running: app }: TestApp): boolean =>
    app.health().warnings.some((each) => each.includes('this database is a copy'));

  test('is an alarm since the restore, over restarts, until the merchant dismisses it', async () => {
    const { app, restoredAt } = await restored();
    await startAgain(app);
    await startAgain(app);
    await untilReady(app);
    const visitor = await signedIn(app);
    const banner = await alarm(visitor, 'restored-database');
    expect(banner?.text).toContain('1 addresses were skipped');
    expect(banner?.text).toContain('Set the gap limit');
    expect(banner?.since).toBe(iso(restoredAt));
    await expectLinked(visitor, banner, '/addresses');
    expect(isTold(app)).toBe(true);
    const done = await visitor.submit(home, 'dismiss-restored');
    expect(done).toMatchObject({ status: 303, to: home });
    expect(await alarm(visitor, 'restored-database')).toBeUndefined();
    const { text } = await visitor.get(`${home}/settings/audit`);
    expect(text).toContain('alarm.dismiss');
    await startAgain(app);
    expect(isTold(app)).toBe(false);
  });

  test('is no alarm after 30 days, without a visit to the dashboard', async () => {
    const { app } = await restored();
    app.world.jumpWallClock(30 * 24 * 60 * minuteMs);
    expect(isTold(app)).toBe(true);
    app.world.jumpWallClock(minuteMs);
    expect(isTold(app)).toBe(false);
  });

  test('that is restored again is a new alarm', async () => {
    const { app } = await restored();
    const visitor = await signedIn(app);
    await visitor.submit(home, 'dismiss-restored');
    await app.stop();
    copyFileSync(app.path, `${app.path}.bak`);
    renameSync(`${app.path}.bak`, app.path);
    await app.start();
    expect(isTold(app)).toBe(true);
  });
});

test('payments to the next indexes: another program uses the key', async () => {
  const { app, visitor } = await open();
  const { address = '' } = deriveAddress(merchantKey(), 0, 3) ?? {};
  app.pay(address, 5_000);
  await app.settle();
  const banner = await alarm(visitor, 'foreign-use');
  expect(banner?.text).toContain('1 payment came to addresses that paygate had not issued');
  const [server = ''] = app.labels;
  expect(banner?.text).toContain(`1 of them are reported by ${server} alone`);
  expect(banner?.text).toContain('Another program uses this key');
  await expectLinked(visitor, banner, '/stores');
  const warnings = () => app.running.health().warnings.join();
  expect(warnings()).toContain('Another program uses this key');
  expect(warnings()).toContain('`paygate store recheck-used ID`');
  app.chain.mine();
  await app.settle();
  expect(warnings()).not.toContain('are reported by');
});

test('a callback that failed for good: since that moment', async () => {
  const { app, visitor } = await open({ receiver: { answer: () => ({ status: 500 }) } });
  app.pay(await app.newAddress(), 5_000);
  await app.settle();
  const settledAt = app.world.now() - 5 * minuteMs;
  // The state after three days of the retry schedule.
  await app.withStore(({ database }) =>
    database.write(() =>
      database.orm
        .update(deliveries)
        .set({ state: 'exhausted', settledAt })
        .where(isOf('callback'))
        .run(),
    ),
  );
  const banner = await alarm(visitor, 'exhausted-callbacks');
  expect(banner?.text).toContain('1 callback failed and is no longer retried');
  expect(banner?.since).toBe(iso(settledAt));
  await expectLinked(visitor, banner, '/callbacks?state=exhausted');
  expect(app.running.health().warnings).toEqual([
    '1 callback failed and is no longer retried; repair the shop, verify it with a test callback, then resend them: ' +
      '`paygate callbacks resend-failed --store ID`',
  ]);
});

test('failed callbacks of a store whose callbacks were stopped are no alarm', async () => {
  const { app, visitor } = await open();
  await app.newAddress().then((address) => app.pay(address, 5_000));
  await app.settle();
  const settledAt = app.world.now();
  await app.withStore(({ database }) =>
    database.write(() =>
      database.orm
        .update(deliveries)
        .set({ state: 'exhausted', settledAt })
        .where(isOf('callback'))
        .run(),
    ),
  );
  expect(app.running.health().callbacks).toEqual({ owed: 0, exhausted: 1 });
  await visitor.submit('/dashboard/stores/1/remove', 'remove', { 'stop-callbacks': 'on' });
  await app.settle();
  expect(app.running.health().callbacks).toEqual({ owed: 0, exhausted: 0 });
  expect(app.running.health().warnings.join()).not.toContain('no longer retried');
});

describe('a shop that responds and accepts no callback', () => {
  const refuses = { receiver: { answer: () => ({ status: 404, body: 'no' }) } };
  const text = (app: TestApp): string => app.running.health().warnings.join();

  async function minutes(app: TestApp, count: number): Promise<void> {
    for (let minute = 0; minute < count; minute += 1) {
      await app.world.advance(minuteMs);
      await app.settle();
    }
  }

  test('is an alarm after a quarter of an hour, over a restart, until it accepts a callback', async () => {
    let status = 404;
    const { app, visitor } = await open({
      receiver: { answer: () => ({ status, body: status === 200 ? 'ok' : 'no' }) },
    });
    const since = app.world.now();
    for (let payment = 0; payment < 3; payment += 1) {
      app.pay(await app.newAddress(), 20_000);
    }
    await app.settle();
    await minutes(app, 14);
    expect(text(app)).toBe('');
    await minutes(app, 2);
    expect(text(app)).toMatch(
      /^store 1 "Shop": its shop has received none of the last \d+ callback attempts since .* UTC \(answered 404\); repair/,
    );
    expect(text(app)).not.toContain('s3cr3t');
    const banner = await alarm(visitor, 'shop-refuses');
    expect(banner?.since).toBe(iso(since));
    await expectLinked(visitor, banner, '/callbacks?state=owed&store=1');

    await app.stop();
    await app.start();
    await untilReady(app);
    expect(text(app)).toContain('its shop has received none');
    status = 200;
    const [call] = await app.withStore(async ({ outbox }) => outbox.list({ limit: 1 }));
    await app.withStore(({ outbox, database }) =>
      database.write((tx) => outbox.resend(tx, app.world.now(), call?.id ?? 0)),
    );
    await minutes(app, 1);
    expect(app.running.health().callbacks.owed).toBe(2);
    expect(text(app)).toBe('');
    expect(await alarm(await signedIn(app), 'shop-refuses')).toBeUndefined();
    // Failures from here on are a new alarm.
    status = 500;
    await minutes(app, 10);
    expect(text(app)).toBe('');
  });

  test.each([
    ['a redirect to its login', { status: 302, headers: { Location: '/login' } }, 'answered 302'],
    ['a fault of its own', { status: 500 }, 'answered 500'],
  ])('is an alarm with its response: %s', async (_, answer, words) => {
    const { app } = await open({ receiver: { answer: () => answer } });
    app.pay(await app.newAddress(), 20_000);
    await app.settle();
    await minutes(app, 16);
    expect(text(app)).toContain(`(${words})`);
  });

  test('is no alarm if it refuses one callback and accepts others', async () => {
    let poison = '';
    const { app } = await open({
      receiver: { answer: ({ url }) => ({ status: url.includes(poison) ? 404 : 200 }) },
    });
    poison = await app.newAddress();
    for (let quarter = 0; quarter < 4; quarter += 1) {
      app.pay(quarter === 0 ? poison : await app.newAddress(), 20_000);
      await app.settle();
      await minutes(app, 10);
      expect(text(app)).toBe('');
    }
    expect(app.running.health().callbacks.owed).toBe(1);
  });

  test('is an alarm for each store, until its callbacks are stopped or none is pending', async () => {
    const { app } = await open(refuses);
    const second = { name: 'Second', callbackUrl: `${app.receiver.origin}/second` };
    await app.addStore(second);
    app.pay(await app.newAddress('?match_callback=s3cr3t'), 20_000);
    app.pay(await app.newAddress('?match_callback=second'), 20_000);
    await app.settle();
    await minutes(app, 16);
    expect(app.running.health().warnings).toMatchObject(
      [/^store 1 /, /^store 2 "Second"/].map((each) => expect.stringMatching(each)),
    );
    await app.withStore(({ catalog, database }) =>
      database.write((tx) => catalog.archiveStore(tx, app.world.now(), 1, true)),
    );
    expect(app.running.health().warnings).toHaveLength(1);
    await app.withStore(({ database }) =>
      database.write(() =>
        database.orm.update(deliveries).set({ state: 'delivered' }).where(isOf('callback')).run(),
      ),
    );
    expect(app.running.health().warnings).toEqual([]);
  });
});

describe('a shop that responds 200 and accepts nothing', () => {
  const text = (app: TestApp): string => app.running.health().warnings.join();

  test.each([
    [
      'a wrong secret',
      '\ufeff<b>Unknown</b>: Creation of dynamic property A::$b is deprecated in <b>/a.php</b> on line <b>3</b>Invalid secret',
      'says "Invalid secret"',
      'compare the secret in the Callback URL with the one that the plugin shows',
    ],
    [
      'a web page',
      '<!DOCTYPE html><title>Shop</title>',
      'is a web page titled "Shop"',
      'see that the plugin is on',
    ],
    [
      'an order of nobody',
      'Order not found',
      'says "Order not found"',
      'see that this is the Callback URL of the shop that has',
    ],
    ['anything else', 'Module Not Activated', 'says "Module Not Activated"', 'see why'],
  ])('P-64 is an alarm at once: %s', async (_, body, words, advice) => {
    let answer = { status: 200, body };
    const { app, visitor } = await open({ receiver: { answer: () => answer } });
    const since = app.world.now();
    app.pay(await app.newAddress(), 20_000);
    await app.settle();
    expect(text(app)).toContain(
      `store 1 "Shop": its shop answered 200, but the answer ${words} (1 doubtful answer); such orders may stay unpaid, since `,
    );
    expect(text(app)).toContain(`; ${advice}`);
    expect(text(app)).toContain('`paygate callbacks resend-failed --store 1 --doubtful`');
    const banner = await alarm(visitor, 'shop-doubtful');
    expect(banner?.since).toBe(iso(since));
    await expectLinked(visitor, banner, '/callbacks?state=flagged&store=1');

    await app.stop();
    await app.start();
    await untilReady(app);
    expect(text(app)).toContain(words);
    answer = { status: 200, body: 'ok' };
    await app.world.advance(5 * minuteMs);
    await app.settle();
    expect(text(app)).toBe('');
    expect(await alarm(await signedIn(app), 'shop-doubtful')).toBeUndefined();
  });

  test('P-64 is an alarm until the doubtful callbacks are resent in bulk and accepted', async () => {
    let body = 'Error: secret does not match';
    const { app, visitor } = await open({ receiver: { answer: () => ({ status: 200, body }) } });
    for (const _ of [1, 2]) {
      app.pay(await app.newAddress(), 20_000);
      await app.settle();
    }
    expect(text(app)).toContain('(2 doubtful answers); such orders may stay unpaid, since ');
    body = 'ok';
    const list = '/dashboard/callbacks?state=flagged';
    expect((await visitor.get(list)).text).toContain('; retry <time');
    const sent = await visitor.submit(list, 'resend-doubtful', { store: '1' });
    expect(sent.to).toBe(`${list}&done=resent`);
    await app.settle();
    expect(text(app)).toBe('');
    expect((await visitor.get(list)).text).toContain('No deliveries found.');
    const again = await visitor.submit(list, 'resend-doubtful', { store: '1' });
    expect(again.to).toBe(`${list}&done=none-doubtful`);
    expect((await visitor.get('/dashboard/settings/audit')).text).toContain(
      'callback.resend-doubtful',
    );
  });

  test('is no alarm once its callbacks are stopped', async () => {
    const { app } = await open({ receiver: { answer: () => ({ status: 200, body: 'error' }) } });
    app.pay(await app.newAddress(), 20_000);
    await app.settle();
    expect(text(app)).toContain('says "error"');
    await app.withStore(({ catalog, database }) =>
      database.write((tx) => catalog.archiveStore(tx, app.world.now(), 1, true)),
    );
    expect(text(app)).toBe('');
  });
});

test('P-59 a reversed payment: since that moment, listed apart from replaced ones', async () => {
  const { app, visitor } = await open({ servers: 2 });
  const replaced = await app.newAddress();
  const first = app.pay(replaced, 20_000) as Txid;
  await app.settle();
  app.chain.replace(first);
  await app.settle();
  const address = await app.newAddress();
  const txid = app.pay(address, 5_000) as Txid;
  app.chain.mine(1);
  await app.settle();
  app.chain.reorganise(1, { transactions: 'mempool' });
  await app.settle();
  app.chain.evict(txid);
  await app.settle();
  await app.world.advance(2 * minuteMs);
  await app.settle();
  const banner = await alarm(visitor, 'reversed-payment');
  expect(banner?.text).toMatch(/1 payment was reversed.*Hold back the goods/);
  const changedAt = await app.withStore(
    async ({ paymentView: paymentDesk }) => paymentDesk.list({ txid, limit: 1 })[0]?.changedAt ?? 0,
  );
  expect(banner?.since).toBe(iso(changedAt));
  await expectLinked(visitor, banner, '/payments?state=reversed');
  const statesAt = async (query: string) =>
    [
      ...(await visitor.get(`${home}/payments${query}`)).text.matchAll(
        /pill bad">Gone<.*?> ([^<]*)</g,
      ),
    ]
      .map(([, state]) => state)
      .sort();
  const [takenBack, isReplaced] = [
    'Reversed after status 1 or 2',
    'replaced by another transaction',
  ];
  expect(await statesAt('?state=reversed')).toEqual([takenBack]);
  expect(await statesAt('?state=dropped')).toEqual([takenBack, isReplaced]);
  const { text } = await visitor.get(`${home}/payments/export?state=reversed`);
  expect(text.trimEnd().split('\r\n').slice(1)).toEqual([expect.stringContaining(txid)]);
  // The filter has the same time limit as the alarm.
  app.world.jumpWallClock(7 * 24 * 60 * minuteMs);
  const later = await signedIn(app);
  expect(await alarm(later, 'reversed-payment')).toBeUndefined();
  expect((await later.get(`${home}/payments?state=reversed`)).text).toContain('No payments found.');
});

test.each([1, 2])(
  'P-116 a payment with status %i that fell back to the mempool: since then, until it is in a block',
  async (status) => {
    const { app, visitor } = await open();
    const mempoolOnly = await app.newAddress();
    const address = await app.newAddress();
    app.pay(address, 5_000);
    await app.settle();
    app.chain.mine(status);
    await app.settle();
    app.pay(mempoolOnly, 5_000);
    await app.settle();
    expect(await banners(visitor)).toEqual([]);
    await app.world.advance(minuteMs);
    app.chain.reorganise(status, { transactions: 'mempool' });
    await app.settle();
    expect(app.statuses(address).at(-1)).toBe('0');
    const banner = await alarm(visitor, 'fallen-payment');
    expect(banner?.text).toContain(
      '1 payment fell out of the chain after the shop received status 1 or 2',
    );
    expect(banner?.text).toContain('Hold back');
    const { changedAt } = await app.withStore(async ({ paymentView: paymentDesk }) =>
      paymentDesk.payment(1),
    );
    expect(banner?.since).toBe(iso(changedAt));
    await expectLinked(visitor, banner, '/payments?state=unconfirmed');
    const [warning = ''] = app.running.health().warnings;
    expect(warning).toContain('fell out of the chain');
    expect(warning).toContain('until they have status 2 again');
    app.chain.mine(1);
    await app.settle();
    expect(app.statuses(address).at(-1)).toBe('1');
    expect(await banners(visitor)).toEqual([]);
    expect(app.running.health().warnings).toEqual([]);
  },
);

test('one server of two, and none at all', async () => {
  const { app, visitor } = await open({ servers: 2 });
  await app.world.until(
    () => app.running.health().electrum.servers.every(({ state }) => state === 'live'),
    'both servers',
  );
  expect(await banners(visitor)).toEqual([]);
  const inUse = app.inUse();
  const other = app.servers.find((server) => server !== inUse);
  other?.pause();
  await app.world.advance(2 * minuteMs);
  const reduced = await alarm(visitor, 'reduced-trust');
  expect(reduced?.text).toContain('only one Electrum server');
  await expectLinked(visitor, reduced, '/servers');
  inUse.pause();
  await app.world.advance(2 * minuteMs);
  expect((await alarm(visitor, 'no-server'))?.text).toContain('no Electrum server is connected');
});

test('foreign text in an alarm is escaped, and its start survives a restart', async () => {
  const { app } = await open({ servers: 2 });
  const [label = ''] = app.labels;
  await app.stop();
  const { now } = app.world;
  const ban = { until: now() + 60 * minuteMs, reason: '<img src=x>' };
  await app.withStore(({ servers }) => servers.setBan(label, ban, now()));
  await app.start();
  const banner = await alarm(await signedIn(app), 'server-banned');
  expect(banner?.text).toContain('&lt;img src=x&gt;');
  await app.world.advance(minuteMs);
  await app.stop();
  await app.world.advance(5 * minuteMs);
  await app.start();
  expect((await alarm(await signedIn(app), 'server-banned'))?.since).toBe(banner?.since);
});

/** A finding history whose findings a test supplies. */
async function bookOf(found: Finding[]) {
  const records = await openTestStore();
  const world = createTestWorld();
  const book = () => {
    const clocks = { now: () => world.now(), monotonic: () => world.monotonic() };
    return new FindingHistory({ ...clocks, records, log: world.log, find: () => found });
  };
  return { records, world, book };
}

const full: Finding = { code: 'disk-low', fact: 'the disk is almost full' };

test('an alarm that returns within ten minutes continues with its old start', async () => {
  const found = [full];
  const { world, book } = await bookOf(found);
  const kept = book();
  const begun = world.now();
  await kept.record();
  found.pop();
  await world.advance(9 * minuteMs);
  await kept.record();
  expect(kept.findings()).toEqual([]);
  found.push(full);
  expect(kept.findings()).toEqual([{ ...full, since: begun }]);
  found.pop();
  await world.advance(10 * minuteMs);
  await kept.record();
  found.push(full);
  expect(kept.findings()).toEqual([{ ...full, since: world.now() }]);
});

test('alarms of one code are separate, and written only when they change', async () => {
  const banned = (subject: string): Finding => ({ code: 'server-banned', subject, fact: subject });
  const found = [banned('tcp://a:1')];
  const { records, world, book } = await bookOf(found);
  const kept = book();
  await kept.record();
  const begun = world.now();
  await world.advance(minuteMs);
  found.push(banned('tcp://b:1'));
  await kept.record();
  const before = records.database.changes();
  await world.advance(minuteMs);
  await kept.record();
  expect(records.database.changes()).toBe(before);
  const since = book()
    .findings()
    .map((each) => each.since);
  expect(since).toEqual([begun, begun + minuteMs]);
});

test('a request that the server refuses is an alarm with advice', async () => {
  const { app, visitor } = await open();
  const when = (method: string) => method === 'blockchain.transaction.get';
  app.server.inject({ kind: 'error', code: 2, message: 'Use -txindex', when });
  app.pay(await app.newAddress(), 5_000);
  await app.settle();
  await app.world.advance(minuteMs);
  await app.settle();
  const banner = await alarm(visitor, 'addresses-stuck');
  expect(banner?.text).toContain(app.labels[0]);
  expect(banner?.text).toContain('the server refused blockchain.transaction.get: Use -txindex (2)');
  expect(banner?.text).toContain('Set txindex=1 at the node behind it, or name another server');
  await expectLinked(visitor, banner, '/servers');
});

test('an offline machine is one alarm, not one for each server', async () => {
  const electrum = ['one', 'two', 'three'].map((name) =>
    parseServerAddress(`ssl://no-such-${name}.invalid:50002`),
  );
  const app = await openApp({ config: { electrum } });
  const visitor = await signedIn(app);
  const said =
    'No Electrum server can be reached: names do not resolve. Is this machine online? (3 tried)';
  const warnings = () => app.running.health().warnings.join('\n');
  for (let second = 0; second < 20 && !warnings().includes(said); second += 1) {
    await app.world.advance(1_000);
    await app.world.until(() =>
      app.running.health().electrum.servers.every(({ state }) => state !== 'connecting'),
    );
  }
  expect(warnings()).toContain(said);
  expect(warnings()).not.toContain('no-such');
  expect((await alarm(visitor, 'no-server'))?.text).toContain(said);
  const lines = app.world.logs.filter(({ message }) => message === 'electrum server unreachable');
  expect(lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
  expect((await visitor.get(`${home}/servers`)).text).toContain('the name does not exist');
  const setup = (await visitor.get(`${home}/welcome`)).text;
  expect(setup).toContain(said);
  expect(setup).not.toContain('no-such');
});
