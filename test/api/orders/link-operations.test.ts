// Links of the API: what is made, changed and refused, and who may.

import { afterEach, describe, expect, test } from 'vitest';
import { parsePayerInput } from '../../../src/domain/order/payer-input.ts';
import { closeApps, merchantKey, untilReady } from '../../support/app.ts';
import { cleanUp } from '../../support/files.ts';
import { openPriced, type PricedApp } from '../../support/priced.ts';

afterEach(closeApps);
afterEach(cleanUp);

const poster = { title: 'Poster', amount: '25.00', currency: 'EUR' };

async function addLink(app: PricedApp, body: object = poster) {
  const made = await app.post('/links', body);
  expect(made).toMatchObject({ status: 200 });
  return made.body;
}

const auditOf = (app: PricedApp) =>
  app.withStore(async ({ audit }) =>
    audit
      .list(10)
      .filter(({ action }) => action.startsWith('link.'))
      .map(({ action, detail }) => [action, JSON.parse(detail)]),
  );

describe('a link', () => {
  test('is made, read, changed and switched off', async () => {
    const app = await openPriced({ config: { publicUrl: 'https://pay.example.com' } });
    const link = await addLink(app, { ...poster, description: 'A2', note: 'optional' });
    expect(link).toEqual({
      id: expect.stringMatching(/^lnk_[1-9A-HJ-NP-Za-km-z]{22}$/),
      ...{ store_id: 1, title: 'Poster', description: 'A2', currency: 'EUR', amount: '25.00' },
      ...{ min: null, max: null, suggested: [] },
      ...{ amount_sat: null, min_sat: null, max_sat: null, suggested_sat: [] },
      ...{ note: 'optional', active: true, most_orders: null, adjust_percent: null },
      ask_email: false,
      ...{ order_count: 0, paid_count: 0, url: `https://pay.example.com/l/${link.id}` },
      created_at: Math.floor(app.world.now() / 1000),
    });
    expect((await app.get(`/links/${link.id}`)).body).toEqual(link);
    const change = { active: false, amount: null, min: '5.00', suggested: ['5.00', '10.00'] };
    const changed = await app.post(`/links/${link.id}`, change);
    expect(changed).toMatchObject({ status: 200, body: { ...link, ...change } });
    expect((await app.get(`/links/${link.id}`)).body).toEqual(changed.body);
    expect(await auditOf(app)).toEqual([
      ['link.change', expect.objectContaining({ link: link.id, active: false })],
      ['link.add', { link: link.id, client: '127.0.0.1' }],
    ]);
    await app.post(`/links/${link.id}`, change);
    expect(await auditOf(app)).toHaveLength(2);
  });

  test('is refused with all problems, and then nothing is made or changed', async () => {
    const app = await openPriced();
    const link = await addLink(app);
    const bad = { currency: 'EUR', amount: '1.234', most_orders: 0 };
    for (const path of ['/links', `/links/${link.id}`]) {
      const refused = await app.post(path, { title: 'Poster', ...bad });
      expect(refused.status).toBe(400);
      expect(refused.body.message).toContain('amount: an amount in EUR has at most 2 decimals; ');
      expect(refused.body.message).toContain('most_orders: a whole number');
      const words = `${'abandon '.repeat(11)}about`;
      const secret = await app.post(path, { title: words });
      expect(secret.status).toBe(400);
      expect(secret.body.message).not.toContain('abandon');
    }
    expect((await app.get('/links')).body).toEqual({ data: [link], has_more: false });
  });

  test('is unknown like any other id', async () => {
    const app = await openPriced();
    const unknown = { status: 404, body: { message: 'There is no such link' } };
    for (const id of ['lnk_3yQ8tZr6WmB1nK5vXc2dLp', 'lnk_', 'ord_3yQ8tZr6WmB1nK5vXc2dLp']) {
      expect(await app.get(`/links/${id}`)).toMatchObject(unknown);
      expect(await app.post(`/links/${id}`, { active: false })).toMatchObject(unknown);
      expect(await app.get(`/orders?link_id=${id}`)).toMatchObject(unknown);
    }
  });
});

test('S-85 changes of links and orders are limited together, by key', async () => {
  const app = await openPriced();
  const link = await addLink(app);
  const order = await app.order({ amount_sat: 5_000 });
  const statuses: number[] = [];
  for (let count = 0; count < 117; count += 1) {
    const changed = await app.post(`/links/${link.id}`, { title: `Poster ${count}` });
    statuses.push(changed.status);
  }
  expect(new Set(statuses)).toEqual(new Set([200]));
  const rest = [`/orders/${order.id}/cancel`, `/orders/${order.id}/accept`, '/links', '/links'];
  const replies = [];
  for (const path of rest) replies.push(await app.post(path, poster));
  expect(replies.map(({ status }) => status)).toEqual([200, 409, 429, 429]);
  expect(Number(replies[2]?.headers.get('Retry-After'))).toBeGreaterThan(0);
  expect((await app.post(`/orders/${order.id}/cancel`)).status).toBe(429);
  expect((await app.post(`/orders/${order.id}/accept`)).status).toBe(429);
  expect((await app.post(`/links/${link.id}`, { title: 'Other' })).status).toBe(429);
  expect((await app.get(`/links/${link.id}`)).status).toBe(200);
});

describe('an Idempotency-Key', () => {
  const key = { 'Idempotency-Key': 'poster' };

  test('makes one link of requests that arrive together, for a day', async () => {
    const app = await openPriced();
    const made = await Promise.all([1, 2, 3].map(() => app.post('/links', poster, key)));
    const ids = made.map(({ body }) => body.id);
    expect(new Set(ids).size).toBe(1);
    await app.post(`/links/${ids[0]}`, { active: false });
    expect((await app.post('/links', poster, key)).body).toMatchObject({
      ...{ id: ids[0], active: false },
    });
    expect(await app.post('/links', { ...poster, title: 'Other' }, key)).toMatchObject({
      status: 409,
    });
    // A day that passes while it runs costs half a minute of ticks.
    await app.stop();
    await app.world.advance(86_399_000);
    await app.start();
    await untilReady(app);
    expect((await app.post('/links', poster, key)).body.id).toBe(ids[0]);
    await app.world.advance(1_000);
    expect((await app.post('/links', poster, key)).body.id).not.toBe(ids[0]);
  });

  test('of an order makes no link', async () => {
    const app = await openPriced();
    await app.post('/orders', { amount_sat: 5_000 }, key);
    expect(await app.post('/links', poster, key)).toMatchObject({ status: 409 });
  });
});

test('a list has the links of the stores of a key, page by page', async () => {
  const app = await openPriced();
  const callbackUrl = `${app.receiver.origin}/second`;
  const second = { name: 'Second', key: merchantKey(2), startIndex: 0, callbackUrl };
  await app.addStore(second);
  const ids: string[] = [];
  for (const storeId of [1, 2, 1]) {
    ids.unshift((await addLink(app, { ...poster, store_id: storeId })).id);
  }
  const page = await app.get('/links?limit=2');
  const idsOf = (reply: typeof page) => reply.body.data.map(({ id }: { id: string }) => id);
  expect([idsOf(page), page.body.has_more]).toEqual([ids.slice(0, 2), true]);
  const last = await app.get(`/links?limit=2&after=${ids[1]}`);
  expect([idsOf(last), last.body.has_more]).toEqual([ids.slice(2), false]);
  expect(idsOf(await app.get('/links?store_id=2'))).toEqual([ids[1]]);
});

test('orders have the id of their link, and are listed by it', async () => {
  const app = await openPriced();
  const link = await addLink(app, { title: 'Tips', amount_sat: 5_000 });
  await app.order({ amount_sat: 5_000 });
  const { input } = parsePayerInput(
    {
      ...{ currency: null, amount: 5_000, minAmount: null, maxAmount: null, suggested: [] },
      ...{ note: 'no', asksEmail: false },
    },
    {},
  );
  if (input === undefined) throw new Error('the input is refused');
  const publicId = 'ord_3yQ8tZr6WmB1nK5vXc2dLp';
  await app.withStore(({ database, links, linkView }) =>
    database.write((tx) => {
      const { id } = linkView.byPublicId(link.id) ?? { id: 0 };
      const order = { ...input, publicId, rateCents: null, language: null };
      return links.order(tx, app.world.now(), id, order, { walletGap: 20 });
    }),
  );
  const { data } = (await app.get(`/orders?link_id=${link.id}&status=open`)).body;
  expect(data).toEqual([expect.objectContaining({ id: publicId, link_id: link.id })]);
  expect((await app.get(`/links/${link.id}`)).body).toMatchObject({
    order_count: 1,
    paid_count: 0,
  });
});
