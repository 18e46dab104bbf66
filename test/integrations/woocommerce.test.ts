// The WooCommerce plugin in PHP, with stubs of WordPress, behind a real socket, against a whole
// paygate: checkout, payment, webhook. Its unit tests run in PHPUnit. Without PHP or PHPUnit they
// are skipped with a message.

import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../scripts/ports.mjs';
import { woocommerceVersion, woocommerceZip } from '../../scripts/woocommerce-zip.mjs';
import { signatureHeaders } from '../../src/delivery/signature.ts';
import { version } from '../../src/lib/version.ts';
import { readArchive } from '../../src/plugin/archive.ts';
import { closeApps, untilReady } from '../support/app.ts';
import { cleanUp, tempFolder, whenOver } from '../support/files.ts';
import { openPriced, type PricedApp } from '../support/priced.ts';
import { createTestWorld } from '../support/world.ts';

const plugin = 'integrations/woocommerce';
const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

const has = (program: string): boolean => spawnSync(program, ['--version']).status === 0;
const hasPhp = has('php');
const hasPhpunit = hasPhp && has('phpunit');
const say = (text: string) => process.stderr.write(`test/integrations/woocommerce: ${text}\n`);
if (!hasPhp) say('11 tests skipped, for there is no php');
else if (!hasPhpunit) say('1 test skipped, for there is no phpunit');

const files = (ending: string): string[] =>
  readdirSync(plugin, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => join(plugin, name));

interface Shop {
  readonly origin: string;
  /** A POST to a page of the shop; its JSON. */
  ask(path: string): Promise<unknown>;
  /** Puts an order of 12.50 EUR into the shop. */
  addOrder(id: number): void;
  read(file: string): unknown;
  order(id: number): ShopOrder;
  /** Overwrites settings of the plugin. */
  set(settings: Record<string, string>): void;
  /** What PHP complained of. */
  complaints(): string[];
}

interface ShopOrder {
  readonly status: string;
  readonly transaction?: string;
  readonly notes?: readonly string[];
  readonly meta?: { readonly _paygate_orders: Record<string, { readonly version: number }> };
}

/** Starts PHP's own server with four processes, and waits until it listens. */
async function openShop(): Promise<Shop> {
  const folder = tempFolder();
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const server = spawn('php', ['-S', `127.0.0.1:${port}`, `${plugin}/tests/router.php`], {
    env: {
      ...process.env,
      ...{ STUB_FOLDER: folder, STUB_HOME: origin, STUB_SLOW_US: '20000' },
      PHP_CLI_SERVER_WORKERS: '4',
    },
    // A group of its own, so that its processes end with it.
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = new Promise<void>((resolve) => server.once('exit', () => resolve()));
  whenOver(async () => {
    if (server.pid !== undefined) process.kill(-server.pid, 'SIGKILL');
    await ended;
  });
  let log = '';
  await new Promise<void>((resolve, reject) => {
    server.stderr.on('data', (text: Buffer) => {
      log += text;
      if (log.includes('started')) resolve();
    });
    ended.then(() => reject(new Error(`php ended: ${log}`)));
  });
  const write = (file: string, content: unknown) =>
    writeFileSync(join(folder, file), JSON.stringify(content));
  const read = (file: string) => JSON.parse(readFileSync(join(folder, file), 'utf8'));
  write('stock.json', 10);
  write('completed.json', 0);
  const settings = 'woocommerce_paygate_settings';
  write('options.json', { [settings]: {} });
  return {
    origin,
    ask: async (path) => (await fetch(`${origin}${path}`, { method: 'POST' })).json(),
    addOrder: (id) =>
      write(`order-${id}.json`, {
        ...{ id, key: `wc_order_${id}`, status: 'pending', method: 'paygate' },
        ...{ total: '12.50', currency: 'EUR' },
      }),
    read,
    order: (id) => read(`order-${id}.json`),
    set: (changes) => {
      const options = read('options.json');
      write('options.json', { ...options, [settings]: { ...options[settings], ...changes } });
    },
    complaints: () => log.match(/PHP (?:Fatal|Parse|Warning|Notice|Deprecated).*/g) ?? [],
  };
}

describe.skipIf(!hasPhp)('with PHP', () => {
  let app: PricedApp;
  let shop: Shop;

  beforeAll(async () => {
    shop = await openShop();
    // PHP checks signatures by its own clock.
    app = await openPriced({ world: createTestWorld({ startAt: Date.now() }) });
    const webhookUrl = `${shop.origin}/index.php?rest_route=/paygate/v1/webhook`;
    await app.withStore(({ catalog, database }) =>
      database.write((tx) => catalog.changeStore(tx, 1, { webhookUrl, callbackUrl: '' })),
    );
    await untilReady(app);
    const url = `http://127.0.0.1:${app.port}`;
    shop.set({ enabled: 'yes', url, api_key: app.apiKey, secret });
  });

  afterAll(async () => {
    await closeApps();
    await cleanUp();
  });

  /** The order at paygate of an order of the shop. */
  async function orderOf(id: number) {
    const { data } = (await app.get(`/orders?reference=${id}`)).body;
    expect(data).toHaveLength(1);
    return data[0];
  }

  async function checkout(id: number) {
    shop.addOrder(id);
    const result = await shop.ask(`/checkout?order=${id}`);
    const order = await orderOf(id);
    expect(result).toEqual({ result: 'success', redirect: order.page_url });
    return order;
  }

  /** An event as paygate posts it, signed now. */
  async function event(type: string, orderId: string, signedBy = secret) {
    const { data } = (await app.get(`/events?type=${type}&limit=100`)).body;
    const { id: eventId, ...rest } = data.find(
      (each: { data: { order: { id: string } } }) => each.data.order.id === orderId,
    );
    const body = JSON.stringify(rest);
    const timestamp = Math.floor(Date.now() / 1000);
    const headers = signatureHeaders({ eventId, timestamp, payload: body }, [signedBy]);
    const send = async () => {
      const path = '/index.php?rest_route=/paygate/v1/webhook';
      const response = await fetch(`${shop.origin}${path}`, {
        ...{ method: 'POST', body },
        headers: { ...headers, 'content-type': 'application/json' },
      });
      return response.status;
    };
    return { send };
  }

  it('no file has an error of syntax', () => {
    for (const file of files('.php')) execFileSync('php', ['-l', file]);
    expect(files('.php').length).toBeGreaterThan(5);
  });

  it('the connection test is true of paygate', async () => {
    expect(await shop.ask('/test')).toEqual([
      'The key may read orders.',
      'The key may make orders.',
      'There is a price in EUR.',
      expect.stringContaining('No webhook has come yet'),
    ]);
    shop.set({ api_key: 'wrong' });
    expect(await shop.ask('/test')).toEqual([
      'Orders cannot be read: HTTP 401: This function requires you to login',
    ]);
    shop.set({ api_key: app.apiKey });
  });

  it('a checkout makes an order, a payment puts it on hold, blocks complete it', async () => {
    const order = await checkout(7);
    expect(order).toMatchObject({
      ...{ amount: '12.50', currency: 'EUR', reference: '7', language: 'de-DE' },
      metadata: { wc_order_id: '7', wc_order_key: 'wc_order_7' },
      return_url: `${shop.origin}/checkout/order-received/7/?key=wc_order_7`,
    });
    const txid = app.pay(order.address, order.amount_sat);
    await app.settle();
    expect(shop.order(7).status).toBe('on-hold');
    app.chain.mine(2);
    await app.settle();
    expect(shop.order(7)).toMatchObject({ status: 'processing', transaction: txid });
    expect([shop.read('stock.json'), shop.read('completed.json')]).toEqual([9, 1]);
    const states = await app.withStore(async ({ webhooks }) =>
      webhooks.list({ limit: 9 }).map(({ type, state }) => [type, state]),
    );
    expect(states).toEqual([
      ['order.paid', 'delivered'],
      ['order.processing', 'delivered'],
    ]);
    expect(((await shop.ask('/test')) as string[])[3]).toContain('The last webhook came at');
  });

  it('a replay changes nothing, also not one of an older version', async () => {
    const before = shop.order(7);
    const { id } = await orderOf(7);
    expect(await (await event('order.paid', id)).send()).toBe(200);
    expect(await (await event('order.processing', id)).send()).toBe(200);
    expect(shop.order(7)).toEqual(before);
  });

  it('two clicks at once make one order', async () => {
    shop.addOrder(8);
    const clicks = await Promise.all([1, 2, 3].map(() => shop.ask('/checkout?order=8')));
    const { page_url: redirect } = await orderOf(8);
    expect(clicks).toEqual(clicks.map(() => ({ result: 'success', redirect })));
  });

  it('events at once take one item from the stock', async () => {
    const order = await checkout(9);
    const stock = shop.read('stock.json') as number;
    shop.set({ secret: secret.replace('Bw', 'Cw') });
    app.pay(order.address, order.amount_sat);
    app.chain.mine(2);
    await app.settle();
    expect(shop.order(9).status).toBe('pending');
    shop.set({ secret });
    const { send } = await event('order.paid', order.id);
    expect(await Promise.all([1, 2, 3, 4, 5, 6].map(send))).toEqual([200, 200, 200, 200, 200, 200]);
    expect(shop.order(9).status).toBe('processing');
    expect(shop.read('stock.json')).toBe(stock - 1);
    expect(shop.read('completed.json')).toBe(2);
  });

  it('with a wrong secret nothing changes, and paygate sends again', async () => {
    const order = await checkout(10);
    shop.set({ secret: secret.replace('Bw', 'Cw') });
    app.pay(order.address, order.amount_sat);
    await app.settle();
    expect(shop.order(10).status).toBe('pending');
    expect(await (await event('order.processing', order.id)).send()).toBe(401);
    shop.set({ secret });
    await app.world.advance(60_000);
    await app.settle();
    expect(shop.order(10).status).toBe('on-hold');
  });

  it('an order whose webhooks are lost is not cancelled as unpaid', async () => {
    const paid = await checkout(11);
    const unpaid = await checkout(12);
    shop.set({ secret: secret.replace('Bw', 'Cw') });
    app.pay(paid.address, paid.amount_sat);
    await app.settle();
    expect(await shop.ask('/cancel-unpaid?order=11')).toBe(false);
    expect(shop.order(11).status).toBe('on-hold');
    expect(await shop.ask('/cancel-unpaid?order=12')).toBe(true);
    shop.set({ secret });
    expect((await orderOf(12)).id).toBe(unpaid.id);
  });

  it('an order that is cancelled in the shop is canceled at paygate', async () => {
    await checkout(13);
    await shop.ask('/cancel?order=13');
    expect((await orderOf(13)).status).toBe('canceled');
    await app.settle();
    expect(shop.order(13).status).toBe('cancelled');
  });

  it('PHP complains of nothing', () => {
    expect(shop.complaints()).toEqual([]);
  });

  it.skipIf(!hasPhpunit)('the unit tests in PHPUnit', () => {
    const command = ['--do-not-cache-result', '--colors=never', `${plugin}/tests`];
    const { status, stdout } = spawnSync('phpunit', command, {
      encoding: 'utf8',
      env: { ...process.env, TMPDIR: tempFolder() },
    });
    expect(stdout).toMatch(/^OK \(\d{2,} tests/m);
    expect(status).toBe(0);
  });
});

it('the block registers the method with its texts as text', () => {
  const registered: Record<string, unknown>[] = [];
  const title = 'Bitcoin &amp; more';
  const window = {
    wc: {
      wcBlocksRegistry: {
        registerPaymentMethod: (method: (typeof registered)[0]) => registered.push(method),
      },
      wcSettings: { getSetting: () => ({ title, description: '<b>', supports: ['products'] }) },
    },
    wp: {
      element: { createElement: (...parts: unknown[]) => parts },
      htmlEntities: { decodeEntities: (text: string) => text.replace('&amp;', '&') },
    },
  };
  runInNewContext(readFileSync(`${plugin}/assets/block.js`, 'utf8'), { window });
  expect(JSON.parse(JSON.stringify(registered))).toEqual([
    {
      ...{ name: 'paygate', label: 'Bitcoin & more', ariaLabel: 'Bitcoin & more' },
      ...{ content: ['div', null, '<b>'], edit: ['div', null, '<b>'] },
      supports: { features: ['products'] },
    },
  ]);
});

it('the archive has the plugin without its tests, in the version of paygate, and is reproducible', async () => {
  const archive = await woocommerceZip();
  const names = (await readArchive(archive)).map(({ name }) => name);
  expect(names).toEqual([
    'paygate-for-woocommerce/LICENSE',
    'paygate-for-woocommerce/README.md',
    'paygate-for-woocommerce/assets/block.js',
    'paygate-for-woocommerce/includes/class-paygate-api.php',
    'paygate-for-woocommerce/includes/class-paygate-block.php',
    'paygate-for-woocommerce/includes/class-paygate-order.php',
    'paygate-for-woocommerce/includes/class-wc-gateway-paygate.php',
    'paygate-for-woocommerce/paygate-for-woocommerce.php',
    'paygate-for-woocommerce/uninstall.php',
  ]);
  expect(woocommerceVersion()).toBe(version);
  const make = [
    '--input-type=module',
    '-e',
    "import { woocommerceZip as zip } from './scripts/woocommerce-zip.mjs'; process.stdout.write(await zip())",
  ];
  for (const TZ of ['Asia/Tokyo', 'America/Los_Angeles']) {
    const again = execFileSync(process.execPath, make, { env: { ...process.env, TZ } });
    expect(again.equals(archive)).toBe(true);
  }
});
