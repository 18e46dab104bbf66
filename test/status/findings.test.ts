// Findings of /healthz besides the servers: wallets whose gap limit is reached, shops that cannot
// be reached, a proxy that is not listed. Each text says what to do, and ends when it is done.

import { afterEach, expect, test } from 'vitest';
import { deriveAddress } from '../../src/bitcoin/keychain.ts';
import { parseProxyNetwork } from '../../src/domain/access/client-address.ts';
import { severityOf } from '../../src/status/finding-severity.ts';
import { closeApps, merchantKey, openApp, type TestApp, untilReady } from '../support/app.ts';
import { startReceiver } from '../support/receiver.ts';
import { signedIn } from '../support/visitor.ts';

afterEach(closeApps);

const minuteMs = 60_000;
const warnings = ({ running: app }: TestApp): readonly string[] => app.health().warnings;

async function issue(app: TestApp, count: number): Promise<string[]> {
  const issued = [];
  while (issued.length < count) issued.push(await app.newAddress());
  return issued;
}

/** Pays an address and waits until it is known. */
async function pay(app: TestApp, address = ''): Promise<void> {
  app.pay(address, 5_000);
  await app.settle();
  // The lookup of all addresses is cached for ten minutes.
  await app.world.advance(10 * minuteMs);
  await app.settle();
}

test('P-27 15 unpaid addresses in a row: a warning names the gap limit to set, until one is paid', async () => {
  const app = await openApp();
  await untilReady(app);
  const issued = await issue(app, 14);
  expect(warnings(app)).toEqual([]);
  issued.push(await app.newAddress());
  expect(app.running.health().status).toBe('degraded');
  expect(warnings(app)).toEqual([
    "wallet 1 has issued 15 addresses since the last paid one, and wallets stop looking after 20: set the gap limit of the merchant's wallet to 40, and start serve with --wallet-gap 40",
  ]);
  // It warns, and goes on issuing.
  issued.push(...(await issue(app, 6)));
  expect(warnings(app).join()).toContain('21 addresses since the last paid one');
  expect(warnings(app).join()).toContain('--wallet-gap 60');
  await pay(app, issued[10]);
  expect(warnings(app)).toEqual([]);
});

test('the unpaid addresses of a wallet are counted at most every 5 seconds, and after each issued one', async () => {
  const app = await openApp();
  await untilReady(app);
  const [paid = ''] = await issue(app, 15);
  const told = '15 addresses since the last paid one';
  expect(warnings(app).join()).toContain(told);
  app.pay(paid, 5_000);
  await app.settle();
  expect(warnings(app).join()).toContain(told);
  await app.world.advance(5_000);
  expect(warnings(app)).toEqual([]);

  await issue(app, 1);
  expect(warnings(app).join()).toContain(told);
});

test('P-27 P-108 a payment beyond the gap limit keeps its warning', async () => {
  const app = await openApp();
  await untilReady(app);
  const issued = await issue(app, 21);
  await pay(app, issued[20]);
  expect(warnings(app).join()).toContain('has 20 unpaid addresses before a paid one');
  expect(warnings(app).join()).toContain('--wallet-gap 60');
  await pay(app, issued[5]);
  expect(warnings(app)).toEqual([]);
});

test('a larger --wallet-gap warns later, and plugins see it', async () => {
  const app = await openApp({ config: { walletGap: 60 } });
  await untilReady(app);
  const issued = await issue(app, 54);
  expect(warnings(app)).toEqual([]);
  await pay(app, issued[53]);
  expect(warnings(app)).toEqual([]);
  const { body } = await app.ask('/api/v2/wallets/1');
  expect(body.data.gap_limit).toBe(60);
});

test('addresses used before paygate, and a chosen start index, are no gap', async () => {
  const used = deriveAddress(merchantKey(), 0, 40)?.address ?? '';
  const before = [19, 38].map((index) => deriveAddress(merchantKey(), 0, index)?.address ?? '');
  const scanned = await openApp({
    before: (chain) => {
      for (const address of [...before, used]) chain.pay([{ address, valueSat: 1_000 }]);
      chain.mine();
    },
  });
  await untilReady(scanned);
  await issue(scanned, 14);
  expect(warnings(scanned)).toEqual([]);
  const begun = await openApp({ store: { startIndex: 500 } });
  await untilReady(begun);
  const issued = await issue(begun, 14);
  await pay(begun, issued[13]);
  expect(warnings(begun)).toEqual([]);
});

test('an unreachable shop is named by its host, with its pending callbacks, until it is back', async () => {
  const shop = await startReceiver();
  const app = await openApp({ store: { callbackUrl: `${shop.origin}/cb?secret=s3cr3t` } });
  await untilReady(app);
  const host = new URL(shop.origin).host;
  await shop.close();
  for (const address of await issue(app, 6)) app.pay(address, 5_000);
  await app.settle();
  for (let failures = 1; failures < 6; failures += 1) {
    await app.world.advance(minuteMs);
    await app.settle();
  }
  const [warning = ''] = warnings(app);
  expect(warning).toBe(
    `${host} cannot be reached: 6 callbacks wait for it, and one attempt is made each minute`,
  );
  await app.withStore(({ catalog, database }) =>
    database.write((tx) =>
      catalog.changeStore(tx, 1, { callbackUrl: `${app.receiver.origin}/cb` }),
    ),
  );
  expect(warnings(app)).toEqual([]);
});

test('P-14 an unlisted proxy is reported once for all its clients, without the values of its headers', async () => {
  const app = await openApp();
  await untilReady(app);
  const from = (client: string) =>
    app.ask('/api/new_address', { headers: { 'X-Forwarded-For': client } });
  await from('198.51.100.7');
  await from('</script>, 198.51.100.8');
  expect(warnings(app)).toEqual([
    '127.0.0.1 sends X-Forwarded-For and is not in --trusted-proxy: all clients behind it count as one. ' +
      'If it is your proxy, start serve with --trusted-proxy 127.0.0.1',
  ]);
  const said = app.world.logs.filter(({ message }) => message.startsWith('X-Forwarded-For'));
  expect(said).toMatchObject([{ fields: { peer: '127.0.0.1' } }]);
  await app.world.advance(60 * minuteMs);
  expect(warnings(app)).toEqual([]);
});

test('a peer from the internet counts as a proxy when it brings a valid key', async () => {
  const app = await openApp();
  await untilReady(app);
  const come = async (remoteAddress: string, key: string) => {
    const headers = { 'X-Forwarded-For': '127.0.0.1', Authorization: `Bearer ${key}` };
    const request = new Request('http://localhost/api/new_address', { headers });
    const { status } = await app.running.fetch(request, {
      incoming: { socket: { remoteAddress } },
    });
    return status;
  };
  expect(await come('203.0.113.5', 'guessed')).toBe(401);
  expect(warnings(app)).toEqual([]);
  expect(await come('203.0.113.5', app.apiKey)).toBe(200);
  expect(warnings(app)).toEqual([
    expect.stringMatching(/^203\.0\.113\.5 sends X-Forwarded-For and is not in --trusted-proxy/),
  ]);
  expect(await come('172.18.0.1', 'guessed')).toBe(401);
  expect(warnings(app)).toHaveLength(2);
});

test('a listed proxy raises no warning', async () => {
  const app = await openApp({ config: { trustedProxy: [parseProxyNetwork('127.0.0.1')] } });
  await untilReady(app);
  await app.ask('/api/new_address', { headers: { 'X-Forwarded-For': '198.51.100.7' } });
  expect(warnings(app)).toEqual([]);
});

test('the gap that --refuse-gap refuses is a finding with severity error, until one is paid', async () => {
  const app = await openApp({ config: { refuseGap: 3 } });
  await untilReady(app);
  const issued = await issue(app, 2);
  expect(warnings(app)).toEqual([]);
  issued.push(await app.newAddress());
  expect((await app.ask('/api/new_address')).status).toBe(409);
  expect(warnings(app)).toEqual([
    'wallet 1: its last 3 addresses are unpaid, so --refuse-gap 3 refuses every new one; raise the gap ' +
      "limit of the merchant's wallet, and start serve with the same --wallet-gap and a higher --refuse-gap",
  ]);
  expect(severityOf('gap-reached')).toBe('error');
  await pay(app, issued[2]);
  expect(warnings(app)).toEqual([]);
  await issue(app, 3);
  expect(warnings(app)).toHaveLength(1);
  // No shop asks for an address of an archived store.
  await app.withStore(({ catalog, database }) =>
    database.write((tx) => catalog.archiveStore(tx, 1, 1, false)),
  );
  await app.world.advance(5_000);
  expect(warnings(app)).toEqual([]);
});

test('links that make no order because of the gap are a finding, while one is active', async () => {
  const app = await openApp();
  await untilReady(app);
  const send = (path: string, body: object) =>
    app.ask(`/api/v3${path}`, { method: 'POST', body: JSON.stringify(body) });
  const { id } = (await send('/links', { title: 'Mug', amount_sat: 5_000 })).body;
  const [first = ''] = await issue(app, 14);
  expect(warnings(app)).toEqual([]);
  await issue(app, 1);
  expect(warnings(app)).toEqual([
    expect.stringContaining('wallets stop looking after 20'),
    'wallet 1: its links make no order, because 15 addresses in a row are unpaid (0 orders by links from 0 ' +
      "networks); the rest of its gap limit is for the shop. Either raise the gap limit of the merchant's " +
      'wallet, and start serve with the same --wallet-gap, or switch the link off',
  ]);
  await send(`/links/${id}`, { active: false });
  expect(warnings(app)).toHaveLength(1);
  await send(`/links/${id}`, { active: true });
  expect(warnings(app)).toHaveLength(2);
  app.chain.mine();
  app.pay(first, 5_000);
  app.chain.mine();
  await pay(app, await app.newAddress());
  app.chain.mine();
  await app.settle();
  await app.world.advance(5_000);
  expect(warnings(app).join()).not.toContain('its links make no order');
});

/** Returns what reads the alarms of a code: a part of the text of each, and its start. */
async function alarmsOf(app: TestApp, code: string, part: RegExp) {
  const visitor = await signedIn(app);
  return async (): Promise<(readonly [string | undefined, string | undefined])[]> => {
    const { text } = await visitor.get('/dashboard');
    return text
      .split('<div class="alarm ')
      .filter((each) => each.includes(`data-alarm="${code}"`))
      .map((each) => [part.exec(each)?.[0], /<time datetime="([^"]+)"/.exec(each)?.[1]]);
  };
}

test('links that stop, and then every new address, are one finding after the other', async () => {
  const app = await openApp({ config: { refuseGap: 16 } });
  await untilReady(app);
  const body = JSON.stringify({ title: 'Mug', amount_sat: 5_000 });
  expect((await app.ask('/api/v3/links', { method: 'POST', body })).status).toBe(200);
  const stopped = await alarmsOf(app, 'links-stopped', /\d+ addresses in a row/);
  const shown = await alarmsOf(app, 'gap-reached', /last \d+ addresses/);
  await issue(app, 15);
  await app.world.advance(5_000);
  expect(await shown()).toEqual([]);
  const [links] = await stopped();
  expect(links?.[0]).toBe('15 addresses in a row');
  await app.world.advance(20 * minuteMs);
  await issue(app, 1);
  const [all, ...others] = await shown();
  expect([...others, ...(await stopped())]).toEqual([]);
  expect(all?.[0]).toBe('last 16 addresses');
  expect(all?.[1]).not.toBe(links?.[1]);
});

test('each unreachable shop is one finding, with its own time', async () => {
  const shops = [await startReceiver(), await startReceiver()];
  const [one = '', other = ''] = shops.map(({ origin }) => `${origin}/cb`);
  const app = await openApp({ store: { callbackUrl: one } });
  await untilReady(app);
  await app.addStore({ key: merchantKey(2), startIndex: 0, callbackUrl: other });
  for (const shop of shops) await shop.close();
  const shown = await alarmsOf(app, 'shop-unreachable', /127\.0\.0\.1:\d+/);
  const fail = async (url: string): Promise<void> => {
    for (let count = 0; count < 6; count += 1) {
      app.pay(await app.newAddress(`?match_callback=${encodeURIComponent(url)}`), 5_000);
    }
    for (let failures = 0; failures < 6; failures += 1) {
      await app.settle();
      await app.world.advance(minuteMs);
    }
  };
  await fail(one);
  const [first] = await shown();
  expect(first?.[0]).toBe(new URL(one).host);
  await fail(other);
  const [still, second] = await shown();
  expect(still).toEqual(first);
  expect(second?.[0]).toBe(new URL(other).host);
  expect(second?.[1]).not.toBe(first?.[1]);
});

test('S-87 links that stop are one finding for each wallet, with its own time', async () => {
  const app = await openApp();
  await untilReady(app);
  const second = await app.addStore({
    key: merchantKey(2),
    startIndex: 0,
    callbackUrl: `${app.receiver.origin}/second`,
  });
  const stop = async (storeId: number, query: string): Promise<void> => {
    const body = JSON.stringify({ title: 'Mug', amount_sat: 5_000, store_id: storeId });
    expect((await app.ask('/api/v3/links', { method: 'POST', body })).status).toBe(200);
    for (let count = 0; count < 15; count += 1) await app.newAddress(query);
    await app.world.advance(5_000);
  };
  const shown = await alarmsOf(app, 'links-stopped', /wallet \d/);
  await stop(1, '?match_callback=/cb');
  const [first] = await shown();
  expect(first?.[0]).toBe('wallet 1');
  await app.world.advance(20 * minuteMs);
  await stop(second.id, '?match_callback=/second');
  const [still, other] = await shown();
  expect(still).toEqual(first);
  expect(other?.[0]).toBe('wallet 2');
  expect(other?.[1]).not.toBe(first?.[1]);
});
