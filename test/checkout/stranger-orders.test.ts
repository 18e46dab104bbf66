// What strangers can do to a link: many unpaid orders of one network, and browsers that come back.

import { afterEach, describe, expect, test } from 'vitest';
import type { Txid } from '../../src/bitcoin/ids.ts';
import { parseProxyNetwork } from '../../src/domain/access/client-address.ts';
import { maxUnpaidOfNetwork, scanGap, unpaidLimitOf } from '../../src/domain/store/allocation.ts';
import { minuteMs } from '../../src/lib/time-units.ts';
import { closeApps, untilReady } from '../support/app.ts';
import { cleanUp, look } from '../support/files.ts';
import { fixed, type LinkScene, openLink } from '../support/links.ts';
import { signedIn } from '../support/visitor.ts';

afterEach(closeApps);
afterEach(cleanUp);

const behindProxy = { config: { trustedProxy: [parseProxyNetwork('127.0.0.1')] } };
const open = { currency: 'EUR', note: 'optional' } as const;

/** Orders of one client each, spread over time so that no rate stops them. */
async function orderFrom(link: LinkScene, clients: readonly string[]): Promise<number[]> {
  const statuses: number[] = [];
  for (const client of clients) {
    statuses.push((await link.browser(client).send('')).status);
    await link.app.world.advance(minuteMs / 5);
  }
  return statuses;
}

const addressesOf = async (link: LinkScene): Promise<string[]> =>
  (await link.orders()).map(({ address }) => address);

describe('S-164 strangers of one network', () => {
  test.each([
    ['an IPv4 address', 14, () => '192.0.2.7'],
    ['an IPv4 address', 40, () => '192.0.2.7'],
    ['an IPv6 /48 by its /64', 200, (at: number) => `2001:db8:1:${at.toString(16)}::1`],
  ])(
    'with %s try %i orders: others and the shop sell',
    async (_name, tries, clientOf) => {
      const link = await openLink(fixed, behindProxy);
      const statuses = await orderFrom(
        link,
        Array.from({ length: tries }, (_, at) => clientOf(at)),
      );
      expect(statuses.slice(0, 3)).toEqual([303, 303, 303]);
      expect(new Set(statuses.slice(3))).toEqual(new Set([429]));
      expect(await addressesOf(link)).toHaveLength(maxUnpaidOfNetwork);
      const refused = await link.browser(clientOf(tries)).submit({}, '?lang=de');
      expect(refused.text).toContain('Mehrere Bestellungen aus Ihrem Netz');
      await link.app.stop();
      await link.app.start();
      await untilReady(link.app);
      expect(await orderFrom(link, [clientOf(0), '192.0.2.8', '2001:db8:2::1'])).toEqual([
        ...[429, 303, 303],
      ]);
      expect((await link.app.post('/orders', fixed)).status).toBe(200);
    },
    60_000,
  );

  test('have their three orders again once money is in a block', async () => {
    const link = await openLink(fixed, behindProxy);
    const clients = Array.from({ length: 4 }, () => '192.0.2.7');
    expect(await orderFrom(link, clients)).toEqual([303, 303, 303, 429]);
    const [newest] = await link.orders();
    link.app.pay(newest?.address ?? '', 25_000);
    await link.app.settle();
    // The one that saw money counts no more; the older ones do, until a block has it.
    expect(await orderFrom(link, clients.slice(2))).toEqual([303, 429]);
    link.app.pay((await addressesOf(link))[0] ?? '', 25_000);
    link.app.chain.mine(1);
    await link.app.settle();
    expect(await orderFrom(link, clients)).toEqual([303, 303, 303, 429]);
  });

  test('leave no address in the file, and nothing once their order is paid or left the gap', async () => {
    const link = await openLink(fixed, behindProxy);
    await orderFrom(link, ['192.0.2.7', '192.0.2.7', '192.0.2.8']);
    const reader = look(link.app.path, { readonly: true });
    const networks = () =>
      reader
        .prepare('SELECT payer_network AS network FROM orders ORDER BY id')
        .all()
        .map((row) => (row as { network: string | null }).network);
    const [one, same, other] = networks();
    expect([one === same, one === other, one?.length]).toEqual([true, false, 24]);
    expect(JSON.stringify(link.app.world.logs)).not.toContain('192.0.2.7');
    const [newest] = await link.orders();
    link.app.pay(newest?.address ?? '', 25_000);
    link.app.chain.mine(2);
    await link.app.settle();
    expect(networks()).toEqual([one, one, null]);
    await orderFrom(link, ['192.0.2.9']);
    expect(networks()).toEqual([null, null, null, expect.any(String)]);
  });
});

test('links that strangers stopped are a finding: since when, how many orders and networks', async () => {
  const link = await openLink(fixed, behindProxy);
  await orderFrom(link, ['192.0.2.1', '192.0.2.1', '192.0.2.2', '192.0.2.3']);
  for (let count = 4; count < unpaidLimitOf(scanGap); count += 1) await link.app.newAddress();
  await link.app.world.advance(minuteMs);
  const found = async () => {
    const visitor = await signedIn(link.app);
    const { text } = await visitor.get('/dashboard');
    return text.split('<div class="alarm ').filter((each) => each.includes('"links-stopped"'));
  };
  const [before = '', ...others] = await found();
  expect(others).toEqual([]);
  expect(before).toContain('15 addresses in a row are unpaid (4 orders by links from 3 networks)');
  const [, since = ''] = /<time datetime="([^"]+)"/.exec(before) ?? [];
  expect(Date.parse(since)).toBe(link.app.world.now() - minuteMs);
  await link.app.newAddress();
  await link.app.world.advance(10 * minuteMs);
  await link.app.stop();
  await link.app.start();
  await untilReady(link.app);
  const [after = ''] = await found();
  expect(after).toContain('16 addresses in a row are unpaid (4 orders by links from 3 networks)');
  expect(/<time datetime="([^"]+)"/.exec(after)?.[1]).toBe(since);
});

describe('S-165 a browser that comes back to a link', () => {
  test('changes its own order: one address, whatever it does', async () => {
    const link = await openLink(open, behindProxy);
    const payer = link.browser('192.0.2.7');
    const first = await payer.submit({ amount: '5' });
    const [order] = await link.orders();
    expect(first.headers.getSetCookie()).toEqual([
      expect.stringMatching(
        new RegExp(
          `^paygate-${link.id}=${order?.id}\\.[\\w-]{24}; Max-Age=2592000; HttpOnly; SameSite=Lax$`,
        ),
      ),
    ]);
    await link.app.world.advance(2 * minuteMs);
    // Back, a reload, a second tab, another amount, another note.
    for (const fields of [{ amount: '5' }, { amount: '7.50' }, { amount: '7.50', note: '4' }]) {
      expect((await payer.submit(fields)).to).toBe(first.to);
      await link.app.world.advance(minuteMs);
    }
    const [changed, ...others] = await link.orders();
    expect(others).toEqual([]);
    expect(changed).toMatchObject({
      ...{ id: order?.id, address: order?.address, status: 'open', created_at: order?.created_at },
      ...{ amount: '7.50', amount_sat: 15_000, reference: '4' },
      expires_at: (order?.expires_at ?? 0) + 4 * 60,
    });
    expect(changed?.quote?.expires_at).toBe((order?.quote?.expires_at ?? 0) + 4 * 60);
    link.app.pay(order?.address ?? '', 15_000);
    link.app.chain.mine(2);
    await link.app.settle();
    expect(await link.orders()).toMatchObject([{ status: 'paid', excess_sat: 0, late: false }]);
  });

  test('leaves an order as it is while that is what it asks for', async () => {
    const link = await openLink(open);
    const payer = link.browser();
    await payer.submit({ amount: '5' });
    const before = await link.orders();
    link.app.market.rates = { EUR: 40_000 };
    await link.app.world.advance(2 * minuteMs);
    await payer.submit({ amount: '5.00' });
    expect(await link.orders()).toEqual(before);
    // Then no price is needed.
    link.app.market.rates = undefined;
    await link.app.world.advance(5 * minuteMs);
    expect((await payer.submit({ amount: '5' })).status).toBe(303);
    expect((await payer.submit({ amount: '6' })).status).toBe(503);
    await link.change({ active: false });
    expect((await payer.send('amount=6')).status).toBe(410);
  });

  test('changes the amount in satoshis, and a price whose discount makes the same due', async () => {
    const tips = await openLink({ note: 'optional' });
    const payer = tips.browser();
    for (const amount of ['5000', '6000']) await payer.submit({ amount });
    expect(await tips.orders()).toMatchObject([{ amount_sat: 6_000 }]);
    await tips.change({ currency: 'EUR', adjust_percent: -5 });
    const other = tips.browser();
    const { to } = await other.submit({ amount: '10' });
    await tips.change({ adjust_percent: 0 });
    expect((await other.submit({ amount: '9.50' })).to).toBe(to);
    expect((await tips.orders())[0]).toMatchObject({
      ...{ amount: '9.50', adjust_percent: 0, amount_due: '9.50' },
    });
  });

  test('has its own order by the key of its form, also if another link has that key', async () => {
    const link = await openLink(open, behindProxy);
    const other = await link.app.post('/links', { title: 'Tips', ...open });
    const send = (id: string) => link.browser().visitor.post(`/l/${id}`, 'key=k&amount=5');
    const { to } = await send(link.id);
    expect((await send(other.body.id)).to).not.toBe(to);
    expect((await send(link.id)).to).toBe(to);
  });

  test('gets a new quote, and a new end after its order expired', async () => {
    const link = await openLink(open);
    await link.app.withStore(({ catalog, database }) =>
      database.write((tx) => catalog.changeStore(tx, 1, { orderSeconds: 1_800 })),
    );
    const payer = link.browser();
    const { to } = await payer.submit({ amount: '5' });
    await link.app.world.advance(35 * minuteMs);
    expect(await link.orders()).toMatchObject([{ status: 'expired' }]);
    link.app.market.rates = { EUR: 25_000 };
    await link.app.world.advance(minuteMs);
    expect((await payer.submit({ amount: '5' })).to).toBe(to);
    expect(await link.orders()).toMatchObject([{ status: 'open', amount_sat: 20_000 }]);
    const [order] = await link.orders();
    link.app.pay(order?.address ?? '', 20_000);
    link.app.chain.mine(2);
    await link.app.settle();
    expect(await link.orders()).toMatchObject([{ status: 'paid', late: false }]);
  });

  test('changes its order while the wallet has no room, and as often as it likes', async () => {
    const link = await openLink(open);
    const payer = link.browser();
    const { to } = await payer.submit({ amount: '5' });
    for (let count = 1; count < scanGap; count += 1) await link.app.newAddress();
    expect((await link.see()).status).toBe(503);
    expect((await payer.see()).status).toBe(200);
    for (let count = 6; count < 20; count += 1) {
      expect((await payer.submit({ amount: String(count) })).to).toBe(to);
      await link.app.world.advance(minuteMs);
    }
    await link.change({ active: false });
    expect((await payer.see()).status).toBe(410);
    expect((await payer.send('key=k&amount=30')).status).toBe(410);
    expect(await link.orders()).toMatchObject([{ amount: '19.00' }]);
  });

  test.each([
    ['money that no block has', false],
    ['money that fell away', true],
  ])('makes a new order after it saw %s', async (_name, isGone) => {
    const link = await openLink(open);
    const payer = link.browser();
    const first = await payer.submit({ amount: '5' });
    const [order] = await link.orders();
    const paid = link.app.pay(order?.address ?? '', 6_000);
    await link.app.settle();
    if (isGone) {
      link.app.chain.evict(paid as Txid);
      await link.app.settle();
      await link.app.world.advance(2 * minuteMs);
    }
    const second = await payer.submit({ amount: '7' });
    expect(second.to).not.toBe(first.to);
    expect(await link.orders()).toMatchObject([{ amount: '7.00' }, { amount: '5.00' }]);
    // And that one is its own from now on.
    expect((await payer.submit({ amount: '8' })).to).toBe(second.to);
    expect(new Set(await addressesOf(link)).size).toBe(2);
  });

  test('makes a new order after the shop canceled its own, or has another currency', async () => {
    const link = await openLink(open);
    const payer = link.browser();
    const first = await payer.submit({ amount: '5' });
    await link.app.post(`/orders/${(await link.orders())[0]?.id}/cancel`, {});
    const second = await payer.submit({ amount: '5' });
    expect(second.to).not.toBe(first.to);
    await link.change({ currency: null });
    expect((await payer.submit({ amount: '5000' })).to).not.toBe(second.to);
    const all = await link.orders();
    expect(all.map(({ currency, status }) => [currency, status])).toEqual([
      ...[
        [null, 'open'],
        ['EUR', 'open'],
        ['EUR', 'canceled'],
      ],
    ]);
  });

  test('has no power over an order of another browser, or of another link', async () => {
    const link = await openLink(open, behindProxy);
    const made = await link.submit({ amount: '5' });
    const [order] = await link.orders();
    const other = await link.app.post('/links', { title: 'Tips', ...open });
    const name = `paygate-${link.id}`;
    const [, signature = ''] = /\.([\w-]+);/.exec(made.headers.getSetCookie()[0] ?? '') ?? [];
    const forged = [
      `${name}=${order?.id}`,
      `${name}=${order?.id}.`,
      `${name}=${order?.id}.${signature.replace(/^./, (first) => (first === 'A' ? 'B' : 'A'))}`,
      `${name}=${order?.id.toLowerCase()}.${signature}`,
    ];
    // A browser that has a cookie of its own would send that one.
    for (const [at, Cookie] of forged.entries()) {
      const sent = await link.browser(`192.0.2.${at}`).send('amount=9', { Cookie });
      expect([Cookie, sent.status, sent.to === made.to]).toEqual([Cookie, 303, false]);
    }
    const { visitor } = link.browser('192.0.2.99');
    const Cookie = `paygate-${other.body.id}=${order?.id}.${signature}`;
    const elsewhere = await visitor.post(`/l/${other.body.id}`, 'amount=9', { Cookie });
    expect([elsewhere.status, elsewhere.to === made.to]).toEqual([303, false]);
    expect((await link.orders()).at(-1)).toMatchObject({ id: order?.id, amount: '5.00' });
    // The same cookie at its own link is that of the browser which ordered.
    const own = link.browser('192.0.2.98');
    const { to } = await own.send('amount=9', { Cookie: `${name}=${order?.id}.${signature}` });
    expect(to).toBe(made.to);
  });

  test('its cookie is Secure where the browser came by HTTPS', async () => {
    const link = await openLink(open, behindProxy);
    const headers = { 'X-Forwarded-For': '192.0.2.7', 'X-Forwarded-Proto': 'https' };
    const { headers: sent } = await link.send('amount=5', headers);
    expect(sent.getSetCookie()[0]).toMatch(/; Secure; SameSite=Lax$/);
  });
});
