// The evening mail: when it comes, to whom, what it counts, and its links, which accept one order.

import { sql } from 'drizzle-orm';
import { afterEach, describe, expect, test } from 'vitest';
import type { NotifyTarget } from '../../src/domain/delivery/notification-settings.ts';
import { noTarget } from '../../src/domain/delivery/notification-settings.ts';
import { hourMs, minuteMs } from '../../src/lib/time-units.ts';
import { notifications } from '../../src/store/schema/notification-schema.ts';
import { closeApps, type TestApp } from '../support/app.ts';
import { type AppOrder, makeOrder } from '../support/app-orders.ts';
import { cleanUp } from '../support/files.ts';
import {
  headerOf,
  mailSettings,
  partsOf,
  startMailServer,
  type TestMailServer,
} from '../support/mail-server.ts';
import { openPriced, type PricedApp } from '../support/priced.ts';
import { startReceiver } from '../support/receiver.ts';
import { setPassword, signedIn, visitorOf } from '../support/visitor.ts';

const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  await closeApps();
  await cleanUp();
  for (const close of closing.splice(0)) await close();
});

interface Settings {
  readonly operator?: Partial<NotifyTarget>;
  readonly store?: Partial<NotifyTarget>;
  /** Asia/Dhaka: its clocks show 20:46 when the app opens. */
  readonly zone?: string;
  readonly publicUrl?: string;
}

const newSecret = `whsec_${Buffer.alloc(24, 1).toString('base64')}`;
const evening = { recipients: ['owner@shop.example'], kinds: ['day'] } as const;

async function open(settings: Settings = {}) {
  const { operator = evening, store, zone = 'Asia/Dhaka' } = settings;
  const { publicUrl = 'https://pay.shop.example' } = settings;
  const mail = await startMailServer();
  closing.push(() => mail.close());
  const app = await openPriced({ config: publicUrl === '' ? {} : { publicUrl } });
  await setPassword(app);
  await app.withStore(({ state, database, catalog }) =>
    database.write((tx) => {
      catalog.changeStore(tx, 1, { currency: 'EUR' });
      state.timeZone.write(tx, zone);
      state.mailServer.write(tx, mailSettings(mail.port));
      state.notifyTarget(null).write(tx, { ...noTarget, ...operator });
      state.notifyTarget(1).write(tx, { ...noTarget, kinds: [], ...store });
    }),
  );
  return { app, mail };
}

async function pass(app: TestApp, minutes: number): Promise<void> {
  for (let minute = 0; minute < minutes; minute += 1) {
    await app.world.advance(minuteMs);
    await app.settle();
  }
}

/** An order of 12.50 EUR, 25,000 sat, that ends in five minutes. */
async function order(app: TestApp, reference: string, paidSat: number): Promise<AppOrder> {
  const expiresAt = app.world.now() + 5 * minuteMs;
  const made = await makeOrder(app, await app.newAddress(), { reference, expiresAt });
  if (paidSat > 0) app.pay(made.address, paidSat);
  await app.settle();
  return made;
}

async function confirm(app: PricedApp): Promise<void> {
  app.chain.mine(2);
  await app.settle();
}

const subjectsAt = ({ mails }: TestMailServer) => mails.map((mail) => headerOf(mail, 'Subject'));

/** The path of the link to decide in a mail. */
function pathIn({ mails }: TestMailServer): string {
  const [text = ''] = mails.flatMap(partsOf);
  const [, path] = /https:\/\/pay\.shop\.example(\/dashboard\/decide\?token=\S+)/.exec(text) ?? [];
  if (path === undefined) throw new Error(`no link: ${text}`);
  return path;
}

/** An evening with one order that is short by 10 %, whose money is confirmed. */
async function shortEvening(settings: Settings = {}) {
  const scene = await open(settings);
  const short = await order(scene.app, '1008', 22_500);
  await confirm(scene.app);
  await pass(scene.app, 15);
  return { ...scene, short };
}

describe('the mail', () => {
  test('has the sales of the day, what to pay back, what is short by how much, and links', async () => {
    const { app, mail } = await open();
    await order(app, '1006', 25_000);
    await order(app, '1007', 30_000);
    await order(app, '1008', 22_500);
    await confirm(app);
    await order(app, '1009', 25_000);
    await order(app, '1010', 0);
    await pass(app, 12);
    expect(mail.mails).toEqual([]);
    await pass(app, 3);
    expect(subjectsAt(mail)).toEqual(['Today: 3 payments, 38.75 EUR, 1 to pay back, 1 short']);
    const [text = '', html = ''] = mail.mails.flatMap(partsOf);
    for (const part of [text, html]) {
      expect(part).toContain('2025-11-20: 3 payments confirmed: 38.75 EUR · 0.00077500 BTC');
      expect(part).toContain('Of today, not confirmed yet: 1 payment');
      expect(part).toContain('To pay back: 5,000 sat too much for 12.50 EUR, order 1007 (Shop)');
      expect(part).toContain('Short by 2,500 sat (10.0 %): expired, 12.50 EUR, order 1008 (Shop)');
      expect(part).toContain('/refund');
      expect(part).not.toMatch(/order (1006|1009|1010)/);
      expect(part.split('/dashboard/decide?token=').length).toBe(part === html ? 3 : 2);
      expect(part).toMatch(/Time: 2025-11-20 21:0\d Asia\/Dhaka/);
    }
    // The subject has no id.
    expect(headerOf(mail.mails[0] ?? { raw: '' }, 'Subject')).not.toContain('ord_');
    await pass(app, 5);
    expect(mail.mails).toHaveLength(1);
  });

  test('is one a day, also after a restart', async () => {
    const { app, mail } = await shortEvening();
    await app.stop();
    await app.start();
    await pass(app, 3);
    expect(mail.mails).toHaveLength(1);
  });

  test('is tried again a minute later if the file takes no row', async () => {
    const { app, mail } = await open();
    await order(app, '1008', 22_500);
    const run = (statement: string) =>
      app.withStore(async ({ database }) => database.orm.run(sql.raw(statement)));
    await run(`create trigger refuse before insert on notifications
      begin select raise(abort, 'disk I/O error'); end`);
    await pass(app, 16);
    expect(mail.mails).toEqual([]);
    await run('drop trigger refuse');
    await pass(app, 2);
    expect(subjectsAt(mail)).toEqual(['Today: no payment, 1 short']);
  });

  test('comes at no other hour', async () => {
    const { mail } = await shortEvening({ zone: 'UTC' });
    expect(mail.mails).toEqual([]);
  });

  test('is off by default, and nothing is sent on a day without news', async () => {
    const { app, mail } = await open({ operator: { recipients: ['owner@shop.example'] } });
    await order(app, '1006', 25_000);
    await confirm(app);
    await pass(app, 15);
    expect(subjectsAt(mail)).toEqual(['Paid: 12.50 EUR, order 1006 (Shop)']);
    const quiet = await open();
    await pass(quiet.app, 15);
    expect(quiet.mail.mails).toEqual([]);
  });

  test('of a store has its own sales, and its name', async () => {
    const recipients = ['counter@shop.example'];
    const { app, mail } = await open({ operator: {}, store: { ...evening, recipients } });
    await order(app, '1006', 25_000);
    await app.addStore({ name: 'Other', callbackUrl: 'https://other.example/cb' });
    app.pay(await app.newAddress('?match_callback=other.example'), 50_000);
    await app.settle();
    await confirm(app);
    await pass(app, 15);
    expect(mail.mails.map(({ to }) => to)).toEqual([recipients]);
    expect(subjectsAt(mail)).toEqual(['Today: 1 payment, 12.50 EUR (Shop)']);
  });

  test('goes to a webhook as figures, without a link that decides', async () => {
    const hook = await startReceiver();
    closing.push(() => hook.close());
    const { kinds } = evening;
    const { short } = await shortEvening({
      operator: {
        ...{ kinds, webhookUrl: `${hook.origin}/hook`, webhookSecret: newSecret },
        ...{ allowPrivateCallback: true, allowHttpCallback: true },
      },
    });
    const [{ body = '' } = {}] = hook.requests;
    expect(JSON.parse(body)).toMatchObject({
      type: 'day',
      title: 'Today: 1 payment, 11.25 EUR, 1 short',
      url: 'https://pay.shop.example/dashboard/orders',
      data: {
        ...{ day: '2025-11-20', payments: 1, refunds: 0, received_sat: 22_500, unconfirmed: 0 },
        ...{ to_pay_back: [], short: [{ id: short.publicId, received_sat: 22_500 }] },
      },
    });
    expect(body).not.toMatch(/token|decide/);
  });

  test('has no link without a public URL, and its rows no token in the file', async () => {
    const { app, mail } = await shortEvening({ publicUrl: '' });
    for (const part of mail.mails.flatMap(partsOf)) expect(part).not.toContain('/dashboard');
    const rows = await app.withStore(async ({ database }) =>
      database.orm.select().from(notifications).all(),
    );
    expect(rows.map(({ type }) => type)).toEqual(['day']);
    expect(JSON.stringify(rows)).not.toContain('token');
  });
});

describe('the link of a decision', () => {
  test('S-195 asks first, accepts its order once, and gives no session', async () => {
    const { app, mail, short } = await shortEvening();
    const path = pathIn(mail);
    const stranger = visitorOf(app);
    const asked = await stranger.get(path);
    expect(asked.text).toContain('Accept the order of 12.50 EUR?');
    expect(asked.text).toContain('1008');
    expect((await short.json()).status).toBe('expired');
    const done = await stranger.submit(path, 'accept');
    expect([done.status, done.text.includes('The order is accepted')]).toEqual([200, true]);
    expect((await short.json()).status).toBe('paid');
    const again = await stranger.submit(path, 'accept');
    expect([again.status, again.text.includes('no longer valid')]).toEqual([410, true]);
    expect((await stranger.get(path)).text).toContain('no longer valid');
    const owner = await signedIn(app);
    const audit = (await owner.get('/dashboard/settings/audit')).text;
    const [, who] = /accepted as paid through the link of a mail.*?<td>([^<]*)</s.exec(audit) ?? [];
    // Everybody who reads the mail can be it.
    expect(who).toBe('dashboard at 127.0.0.1');
    expect((await stranger.get('/dashboard/orders')).status).toBe(303);
  });

  test('ends after 48 hours, with a new password, and when the order changes', async () => {
    const { app, mail, short } = await shortEvening();
    const path = pathIn(mail);
    const isValid = async () => (await visitorOf(app).get(path)).text.includes('Accept 22,500 sat');
    const [{ createdAt = 0 } = {}] = await app.withStore(async ({ database }) =>
      database.orm.select().from(notifications).all(),
    );
    const end = createdAt + 48 * hourMs;
    app.world.jumpWallClock(end - 1 - app.world.now());
    expect(await isValid()).toBe(true);
    app.world.jumpWallClock(1);
    expect(await isValid()).toBe(false);
    app.world.jumpWallClock(-48 * hourMs);
    expect(await isValid()).toBe(true);
    await setPassword(app, 'another good password');
    expect(await isValid()).toBe(false);
    await setPassword(app);
    expect(await isValid()).toBe(true);
    app.pay(short.address, 1_000);
    await app.settle();
    expect(await isValid()).toBe(false);
  });

  test('S-206 does not last longer when a clock that was ahead is corrected', async () => {
    const { app, mail } = await shortEvening();
    const isValid = async () =>
      (await visitorOf(app).get(pathIn(mail))).text.includes('Accept 22,500 sat');
    const [{ createdAt = 0 } = {}] = await app.withStore(async ({ database }) =>
      database.orm.select().from(notifications).all(),
    );
    app.world.jumpWallClock(createdAt - minuteMs - app.world.now());
    expect(await isValid()).toBe(true);
    app.world.jumpWallClock(-1);
    expect(await isValid()).toBe(false);
  });

  test('S-207 ends with a refund: what was paid back is not accepted as well', async () => {
    const { app, mail, short } = await shortEvening();
    const path = pathIn(mail);
    const visitor = visitorOf(app);
    await visitor.get(path);
    const owner = await signedIn(app);
    const refund = { choice: 'all', address: '', fee: '0' };
    const prepared = await owner.submit(
      `/dashboard/orders/${short.publicId}/refund`,
      'prepare',
      refund,
    );
    expect(prepared.status).toBe(303);
    expect((await visitor.get(path)).text).toContain('no longer valid');
    expect((await visitor.submit(path, 'accept')).status).toBe(410);
    expect((await short.json()).status).toBe('expired');
  });

  test('is for this order and this action alone', async () => {
    const { app, mail, short } = await shortEvening();
    const other = await order(app, '1011', 22_500);
    await pass(app, 6);
    const path = pathIn(mail);
    const [, token = ''] = path.split('token=');
    const [, version = '', until = '', signature = ''] = token.split('.');
    const forged = [
      `${other.publicId}.${version}.${until}.${signature}`,
      `${short.publicId}.${version}.${Number(until) + 1}.${signature}`,
      `${short.publicId}.${Number(version) + 1}.${until}.${signature}`,
      `${short.publicId}.${version}.${until}.${signature.slice(1)}A`,
      `${short.publicId}.${version}.${until}.`,
      token.slice(0, -1),
      `${token}A`,
      '',
      '...',
      'é'.repeat(43),
    ];
    for (const each of forged) {
      const target = `/dashboard/decide?token=${encodeURIComponent(each)}`;
      const seen = await visitorOf(app).get(target);
      expect([each, seen.status, seen.text.includes('no longer valid')]).toEqual([each, 200, true]);
      const visitor = visitorOf(app);
      await visitor.get(path);
      const form = new URLSearchParams({ token: visitor.formToken, do: 'accept' });
      expect([each, (await visitor.post(target, String(form))).status]).toEqual([each, 410]);
    }
    expect((await visitorOf(app).submit(path, 'cancel')).status).toBe(400);
    expect((await short.json()).status).toBe('expired');
    expect((await other.json()).status).toBe('expired');
  });

  test('takes no form from another site', async () => {
    const { app, mail, short } = await shortEvening();
    const path = pathIn(mail);
    const visitor = visitorOf(app);
    await visitor.get(path);
    const form = new URLSearchParams({ token: visitor.formToken, do: 'accept' });
    const headers = { Origin: 'https://evil.example' };
    expect((await visitor.post(path, String(form), headers)).status).toBe(403);
    expect((await visitorOf(app).post(path, String(form))).status).toBe(403);
    expect((await short.json()).status).toBe('expired');
  });
});
