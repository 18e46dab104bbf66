// Tills: how a device becomes one, its sales, and what it can't do.

import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { afterEach, describe, expect, test } from 'vitest';
import type { Txid } from '../../src/bitcoin/ids.ts';
import { translationOf } from '../../src/checkout/words/languages.ts';
import { scanGap, unpaidLimitOf } from '../../src/domain/store/allocation.ts';
import { closeApps } from '../support/app.ts';
import { cleanUp } from '../support/files.ts';
import { addTill, codePathIn, openTill, type TillScene } from '../support/tills.ts';
import { visitorOf } from '../support/visitor.ts';

const { till: words, errors, now } = translationOf('en').words;

afterEach(closeApps);
afterEach(cleanUp);

const payNewest = async ({ app, orders }: TillScene, sat?: number): Promise<void> => {
  const [order] = await orders();
  app.pay(order?.address ?? '', sat ?? order?.amount_sat ?? 0);
  await app.settle();
};

describe('a device', () => {
  test('S-180 becomes a till by a code that works once and for 15 minutes', async () => {
    const { app, owner, device } = await openTill();
    expect(device.cookie).toMatch(/^paygate-till-\d+=[\w-]{43}/);
    const path = await addTill(owner, { name: 'Bar' });
    const [first, second] = [visitorOf(app), visitorOf(app)];
    // To look at the page uses nothing up: messengers and scanners load it as well.
    for (const each of [first, second]) expect((await each.get(path)).text).toContain('Bar');
    const paired = await first.post(path, '');
    expect([paired.status, paired.to]).toEqual([303, '../../till']);
    const [cookie = ''] = paired.headers.getSetCookie();
    expect(cookie).toMatch(/; Max-Age=34560000; Path=\/; HttpOnly; SameSite=Lax$/);
    expect((await first.get('/till')).text).toContain('Bar');
    for (const used of [await second.get(path), await second.post(path, '')]) {
      expect(used.status).toBe(410);
      expect(used.text).toContain(words.codeOver.title);
    }
    expect(second.cookie).toBe('');
    const late = await addTill(owner, { name: 'Late' });
    await app.world.advance(15 * 60_000);
    expect((await second.post(late, '')).status).toBe(410);
  });

  test('S-208 is not made by a code that a corrected clock would keep valid', async () => {
    const { app, owner } = await openTill();
    const path = await addTill(owner, { name: 'Bar' });
    app.world.jumpWallClock(-60_000);
    expect((await visitorOf(app).get(path)).status).toBe(200);
    app.world.jumpWallClock(-1);
    const device = visitorOf(app);
    expect([(await device.get(path)).status, (await device.post(path, '')).status]).toEqual([
      410, 410,
    ]);
    expect(device.cookie).toBe('');
  });

  test('gets a cookie for HTTPS alone behind a proxy with HTTPS', async () => {
    const scene = await openTill({ config: { publicUrl: 'https://pay.example.com' } });
    const path = await addTill(scene.owner, { name: 'Bar' });
    const behind = visitorOf(scene.app, { origin: 'https://pay.example.com' });
    const [cookie = ''] = (await behind.post(path, '')).headers.getSetCookie();
    expect(cookie).toMatch(/^__Host-paygate-till=.*; Secure; SameSite=Lax$/);
    expect((await behind.get('/till')).text).toContain('Bar');
  });

  test('S-181 is no till without the cookie, and a removed till does nothing more', async () => {
    const scene = await openTill();
    const sale = await scene.sell('3.50');
    const stranger = visitorOf(scene.app);
    for (const path of ['/till', '/till/sales', sale]) {
      const seen = await stranger.get(path);
      expect([seen.status, seen.text.includes(words.noTill.title)]).toEqual([401, true]);
    }
    for (const path of ['/till', `${sale}/cancel`, `${sale}/quote`]) {
      expect((await stranger.post(path, 'amount=1')).status).toBe(401);
    }
    const removed = await scene.owner.submit('/dashboard/tills/1', 'revoke-till');
    expect(removed.to).toBe('/dashboard/tills?done=till-removed');
    expect((await scene.device.get('/till')).status).toBe(401);
    expect((await scene.send('1').catch(() => undefined))?.status).toBe(undefined);
    expect((await scene.orders()).length).toBe(1);
  });

  test('is no till while its store is removed', async () => {
    const scene = await openTill();
    const sale = await scene.sell('3.50');
    await scene.app.withStore(({ catalog, database }) =>
      database.write((tx) => void catalog.archiveStore(tx, scene.app.world.now(), 1, true)),
    );
    const sent = await scene.device.post('/till', 'amount=3.50');
    expect([sent.status, sent.text.includes(words.noTill.title)]).toEqual([401, true]);
    for (const path of ['/till', '/till/sales', sale]) {
      expect((await scene.device.get(path)).status).toBe(401);
    }
    expect((await scene.device.post(`${sale}/cancel`, '')).status).toBe(401);
    await scene.app.withStore(({ catalog, database }) =>
      database.write((tx) => void catalog.unarchiveStore(tx, 1)),
    );
    expect((await scene.device.get('/till')).status).toBe(200);
  });

  test('that is removed while a form is being received makes no sale of it', async () => {
    const scene = await openTill();
    const sent = request({
      ...{ host: '127.0.0.1', port: scene.app.port, path: '/till', method: 'POST' },
      headers: {
        ...{ Cookie: scene.device.cookie, Origin: `http://127.0.0.1:${scene.app.port}` },
        'Content-Type': 'application/x-www-form-urlencoded',
        'Content-Length': 'amount=3.50'.length,
        // The response to this request shows that the rest has been read.
        Expect: '100-continue',
      },
    });
    sent.flushHeaders();
    await once(sent, 'continue');
    await scene.owner.submit('/dashboard/tills/1', 'revoke-till');
    sent.end('amount=3.50');
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    answer.resume();
    expect([answer.statusCode, await scene.orders()]).toEqual([401, []]);
  });

  test('S-184 opens no page of the dashboard and no route of the API', async () => {
    const { device } = await openTill();
    for (const path of [
      '/dashboard',
      '/dashboard/orders',
      '/dashboard/stores/1',
      '/api/v3/orders',
    ]) {
      expect((await device.get(path)).status).not.toBe(200);
    }
  });

  test('another one takes its place by a new code', async () => {
    const { app, owner, device } = await openTill();
    const shown = await owner.submit('/dashboard/tills/1', 'code');
    const other = visitorOf(app);
    await other.post(codePathIn(shown), '');
    expect((await other.get('/till')).status).toBe(200);
    expect((await device.get('/till')).status).toBe(401);
  });

  test('S-182 takes forms of its own pages alone', async () => {
    const scene = await openTill();
    const sale = await scene.sell('3.50');
    const headers = { Origin: 'https://other.example' };
    for (const path of ['/till', `${sale}/cancel`, `${sale}/quote`]) {
      const sent = await scene.device.post(path, 'amount=1', headers);
      expect([sent.status, sent.text.includes(errors.foreignForm.title)]).toEqual([403, true]);
    }
    const path = await addTill(scene.owner);
    expect((await visitorOf(scene.app).post(path, '', headers)).status).toBe(403);
    expect((await scene.orders()).map(({ status }) => status)).toEqual(['open']);
  });
});

describe('a sale', () => {
  test('is an order of the store with a large code and no wallet button', async () => {
    const scene = await openTill();
    const sale = await scene.sell('12.50');
    const [order] = await scene.orders();
    expect(order).toMatchObject({ amount: '12.50', currency: 'EUR', link_id: null });
    expect(sale).toBe(`/till/sales/${order?.id}`);
    const { text } = await scene.device.get(sale);
    expect(text).toContain(words.waiting);
    expect(text).toContain('class="qr"');
    expect(text).not.toContain('href="bitcoin:');
    expect(text).toContain(words.cancel);
  });

  test('is seen, not yet final, before its block, and paid after it', async () => {
    const scene = await openTill();
    const sale = await scene.sell('12.50');
    await payNewest(scene);
    const seen = await scene.device.get(sale);
    expect(seen.text).toContain(words.seen);
    expect(seen.text).toContain(words.letGo);
    expect(seen.text).not.toContain(words.cancel);
    expect(seen.text).not.toMatch(/class="qr"|>Paid</);
    scene.app.chain.mine(2);
    await scene.app.settle();
    expect((await scene.device.get(sale)).text).toContain('>Paid<');
  });

  test('has its code behind Pay again after its payment fell away', async () => {
    const scene = await openTill();
    const sale = await scene.sell('12.50');
    const [order] = await scene.orders();
    const txid = scene.app.pay(order?.address ?? '', order?.amount_sat ?? 0) as Txid;
    await scene.app.settle();
    expect((await scene.device.get(sale)).text).not.toContain('class="qr"');
    scene.app.chain.evict(txid);
    await scene.app.world.advance(2 * 60_000);
    await scene.app.settle();
    const { text } = await scene.device.get(sale);
    expect(text).toContain(now.fellAway);
    expect(text).toMatch(
      /<details class="passing"><summary>Pay again<\/summary><section class="box"/,
    );
    expect(text.split('class="qr"')).toHaveLength(2);
  });

  test('that lacks less than a wallet sends asks for nothing, and says how much', async () => {
    const scene = await openTill();
    const sale = await scene.sell('12.50');
    await payNewest(scene, 24_500);
    const { text } = await scene.device.get(sale);
    expect(text).toContain('Short by <bdi dir="ltr">500 sat</bdi>');
    expect(text).toContain('too little to send');
    expect(text).not.toContain('class="qr"');
    expect(text).not.toContain(words.waiting);
  });

  test.each([
    ['above the sum of the till', '20.01', {}],
    ['at a till without a sum', '1.00', { 'seen-up-to': '' }],
  ])('%s, the customer waits for a confirmation', async (_, amount, fields) => {
    const scene = await openTill({}, fields);
    const sale = await scene.sell(amount);
    await payNewest(scene);
    const { text } = await scene.device.get(sale);
    expect(text).toContain(words.waitForBlock);
    expect(text).not.toContain(words.letGo);
  });

  test('at the sum of the till, the customer may go', async () => {
    const scene = await openTill();
    const sale = await scene.sell('20');
    await payNewest(scene);
    expect((await scene.device.get(sale)).text).toContain(words.letGo);
  });

  test('that was mistyped is canceled; one that is paid is not', async () => {
    const scene = await openTill();
    const wrong = await scene.sell('350');
    expect((await scene.device.post(`${wrong}/cancel`, '')).to).toBe('../../../till');
    const right = await scene.sell('3.50');
    await payNewest(scene);
    const refused = await scene.device.post(`${right}/cancel`, '');
    expect([refused.status, refused.text.includes(words.notCanceled.title)]).toEqual([409, true]);
    expect((await scene.orders()).map(({ status }) => status)).toEqual(['processing', 'canceled']);
  });

  test('S-209 that received money is not canceled, also if its page had the button before', async () => {
    const scene = await openTill();
    const sale = await scene.sell('12.50');
    await payNewest(scene, 10_000);
    const refused = await scene.device.post(`${sale}/cancel`, '');
    expect([refused.status, refused.text.includes(words.notCanceled.title)]).toEqual([409, true]);
    expect((await scene.orders()).map(({ status }) => status)).toEqual(['open']);
  });

  test('S-210 that is canceled again and again is in the audit log once', async () => {
    const scene = await openTill();
    const sale = await scene.sell('3.50');
    for (let count = 0; count < 3; count += 1) {
      expect((await scene.device.post(`${sale}/cancel`, '')).to).toBe('../../../till');
    }
    const actions = await scene.app.withStore(async ({ audit }) =>
      audit.list(20).filter(({ action }) => action === 'order.cancel'),
    );
    expect(actions.length).toBe(1);
  });

  test('shows the price of now after its quote has ended', async () => {
    const scene = await openTill();
    const sale = await scene.sell('12.50');
    await scene.app.world.advance(16 * 60_000);
    expect((await scene.device.get(sale)).text).toContain('/quote"');
    expect((await scene.device.post(`${sale}/quote`, '')).to).toMatch(/^\.\.\/ord_/);
    expect((await scene.device.get(sale)).text).toContain(words.waiting);
  });

  test('of another till is not shown, and is not changed', async () => {
    const scene = await openTill();
    const sale = await scene.sell('3.50');
    const other = visitorOf(scene.app);
    await other.post(await addTill(scene.owner, { name: 'Bar' }), '');
    expect((await other.get(sale)).status).toBe(404);
    expect((await other.post(`${sale}/cancel`, '')).status).toBe(404);
    expect((await other.get('/till/sales')).text).not.toContain('ord_');
  });

  test('a form that is sent twice makes one sale', async () => {
    const scene = await openTill();
    const [first, second] = [await scene.send('3.50', 'abc'), await scene.send('3.50', 'abc')];
    expect(first.to).toBe(second.to);
    await scene.send('4.50', 'abc');
    expect((await scene.orders()).length).toBe(2);
  });

  test.each(['', 'abc', '1.234', '-1'])('of %j is refused at the field', async (amount) => {
    const scene = await openTill();
    const { status, text } = await scene.send(amount);
    expect(status).toBe(400);
    expect(text).toContain('id="amount-error"');
    expect(await scene.orders()).toEqual([]);
  });

  test('that is too small for a bitcoin payment says so', async () => {
    const { status, text } = await (await openTill()).send('0.01');
    expect(status).toBe(400);
    expect(text).toContain('too small for a bitcoin payment');
  });

  test('that is larger than all bitcoins says so', async () => {
    const { status, text } = await (await openTill()).send('9999999999999.99');
    expect(status).toBe(400);
    expect(text).toContain('At most');
  });

  test('without a price says so', async () => {
    const scene = await openTill();
    scene.app.market.rates = undefined;
    const { status, text } = await scene.send('3.50');
    expect([status, text.includes(errors.noPrice.title)]).toEqual([503, true]);
  });

  test('is in satoshis where prices are off', async () => {
    const scene = await openTill({ config: { price: 'off' } });
    const sale = await scene.sell('3000');
    expect((await scene.orders())[0]).toMatchObject({ amount_sat: 3_000, currency: null });
    await payNewest(scene);
    // The sum of the till is 20.00 EUR, in minor units: 2,000.
    expect((await scene.device.get(sale)).text).toContain(words.waitForBlock);
  });
});

test('unpaid orders of strangers by links do not stop a till', async () => {
  const scene = await openTill();
  const { id } = (await scene.app.post('/links', { title: 'Tips', amount_sat: 5_000 })).body;
  for (let made = 0; made < unpaidLimitOf(scanGap); made += 1) await scene.app.newAddress();
  expect((await visitorOf(scene.app).get(`/l/${id}`)).status).toBe(503);
  expect((await scene.send('3.50')).status).toBe(303);
});

test('the sales of the day, and their sum without those that nobody paid', async () => {
  const scene = await openTill();
  await scene.sell('12.50');
  await payNewest(scene);
  await scene.sell('4.00');
  await payNewest(scene);
  await scene.sell('100');
  const list = await scene.device.get('/till/sales');
  expect(list.text).toContain('<bdi dir="ltr">€16.50</bdi>');
  expect(list.text.match(/href="sales\/ord_/g)?.length).toBe(3);
  const shown = await scene.owner.get('/dashboard/tills/1');
  expect(shown.text.match(/href="\/dashboard\/orders\/ord_/g)?.length).toBe(3);
  const { world } = scene.app;
  const dayMs = 86_400_000;
  world.jumpWallClock(dayMs - (world.now() % dayMs) - 1);
  expect((await scene.device.get('/till/sales')).text).toContain('ord_');
  world.jumpWallClock(1);
  expect((await scene.device.get('/till/sales')).text).not.toContain('ord_');
  // The day of the merchant goes on.
  await scene.app.withStore(({ state, database }) =>
    database.write((tx) => state.timeZone.write(tx, 'America/Los_Angeles')),
  );
  expect((await scene.device.get('/till/sales')).text).toContain('ord_');
});

test('its manifest opens it from the home screen', async () => {
  const { device } = await openTill();
  const { text } = await device.get('/till');
  expect(text).toContain('<link rel="manifest" href="till/manifest.webmanifest"');
  const seen = await device.get('/till/manifest.webmanifest');
  expect(seen.headers.get('Content-Type')).toBe('application/manifest+json');
  expect(JSON.parse(seen.text)).toMatchObject({ start_url: '../till', display: 'standalone' });
  expect(seen.headers.get('Content-Security-Policy')).toContain("manifest-src 'self'");
});

test('S-183 what was done with tills is in the audit log', async () => {
  const scene = await openTill();
  const sale = await scene.sell('3.50');
  await scene.device.post(`${sale}/cancel`, '');
  await scene.owner.submit('/dashboard/tills/1', 'change', { name: 'Bar', 'seen-up-to': '5' });
  await scene.owner.submit('/dashboard/tills/1', 'revoke-till');
  const actions = await scene.app.withStore(async ({ audit }) =>
    audit.list(20).map(({ action }) => action),
  );
  expect(actions.filter((each) => /^(till|order)\./.test(each))).toEqual([
    ...['till.remove', 'till.change', 'order.cancel', 'till.pair', 'till.code', 'till.add'],
  ]);
});
