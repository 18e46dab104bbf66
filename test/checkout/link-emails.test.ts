// The mail address that a link asks for: what the customer types, what the order keeps, and how
// little a stranger can do with it.

import { sql } from 'drizzle-orm';
import { afterEach, describe, expect, test } from 'vitest';
import { allTranslations, translationOf } from '../../src/checkout/words/languages.ts';
import { parseProxyNetwork } from '../../src/domain/access/client-address.ts';
import type { LinkBody } from '../../src/domain/order/link-input.ts';
import { maxEmailsOfNetwork } from '../../src/domain/order/payer-input.ts';
import { dayMs, hourMs, minuteMs } from '../../src/lib/time-units.ts';
import { typedEmails } from '../../src/store/schema/order-schema.ts';
import { closeApps, untilReady } from '../support/app.ts';
import { cleanUp, look, whenOver } from '../support/files.ts';
import { fixed, type LinkScene, openLink } from '../support/links.ts';
import { headerOf, mailSettings, startMailServer } from '../support/mail-server.ts';
import type { Seen } from '../support/visitor.ts';

afterEach(closeApps);
afterEach(cleanUp);

const behindProxy = { config: { trustedProxy: [parseProxyNetwork('127.0.0.1')] } };
const asking: LinkBody = { ...fixed, note: 'optional', ask_email: true };
const anna = 'anna@customer.example';

/** A link, and a mail server that stores what it accepts. */
async function open(body: LinkBody = asking, hasServer = true) {
  const server = await startMailServer();
  whenOver(() => server.close());
  const link = await openLink(body, behindProxy);
  if (hasServer) {
    await link.app.withStore(({ state, database }) =>
      database.write((tx) => state.mailServer.write(tx, mailSettings(server.port))),
    );
  }
  return { link, mails: server.mails };
}

const emailsOf = async (link: LinkScene) =>
  (await link.orders()).map(({ customer_email }) => customer_email);

const field = ({ text }: Seen): string => /<input[^>]* name="email"[^>]*>/.exec(text)?.[0] ?? '';
const errorOf = ({ text }: Seen): string =>
  (/id="email-error">([\s\S]*?)<\/span>/.exec(text)?.[1] ?? '').replaceAll(/<[^>]*>/g, '');

/** Pays the newest order, in a block. */
async function payNewest(link: LinkScene, amountSat = 25_000): Promise<void> {
  link.app.pay((await link.orders())[0]?.address ?? '', amountSat);
  link.app.chain.mine(2);
  await link.app.settle();
}

describe('a link that asks for a mail address', () => {
  test('has a field for it that says what it is for, and needs no script', async () => {
    const { link } = await open();
    const seen = await link.see();
    expect(field(seen)).toBe(
      '<input id="email" name="email" aria-describedby="email-hint" type="email" dir="ltr" autocomplete="email" value=""/>',
    );
    expect(seen.text).not.toContain('<script');
  });

  test.each(allTranslations.map((each) => [each.code, each] as const))(
    'asks and refuses in %s',
    async (code, { words }) => {
      const { link } = await open();
      const { email, emailHint, wrongEmail } = words.link;
      const seen = await link.see(`?lang=${code}`);
      const hint = /id="email-hint">([\s\S]*?)<\/span>/.exec(seen.text)?.[1];
      expect(hint?.replaceAll('&#39;', "'")).toBe(emailHint);
      expect(seen.text).toContain(`<label for="email">${email}</label>`);
      const refused = await link.submit({ email: 'anna' }, `?lang=${code}`);
      expect(refused.status).toBe(400);
      expect(errorOf(refused)).toBe(
        wrongEmail('anna@example.com').replaceAll(/[\u2068\u2069]/g, ''),
      );
    },
  );

  test('mails that customer when money is seen and when it is paid, in the language of the page', async () => {
    const { link, mails } = await open();
    const { status } = await link.submit({ email: ` ${anna}`, note: 'Table 4' }, '?lang=de');
    expect(status).toBe(303);
    expect(await link.orders()).toMatchObject([
      { customer_email: anna, language: 'de', reference: 'Table 4' },
    ]);
    await link.app.world.advance(minuteMs);
    await link.app.settle();
    expect(mails).toEqual([]);
    link.app.pay((await link.orders())[0]?.address ?? '', 10_000);
    await link.app.settle();
    await payNewest(link, 15_000);
    expect(mails.map((mail) => [mail.to, headerOf(mail, 'Subject')])).toEqual([
      [[anna], 'Zahlung gesehen: 12.50 EUR (Shop)'],
      [[anna], 'Bezahlt: 12.50 EUR (Shop)'],
    ]);
  });

  test('makes an order without an address where the field is empty or missing', async () => {
    const { link, mails } = await open();
    await link.submit({ email: ' ' });
    await link.submit();
    expect(await emailsOf(link)).toEqual([null, null]);
    await payNewest(link);
    expect(mails).toEqual([]);
  });

  test('asks nothing while no mail server is set, and then stores no address', async () => {
    const { link } = await open(asking, false);
    expect(field(await link.see())).toBe('');
    expect((await link.submit({ email: anna })).status).toBe(303);
    expect(await emailsOf(link)).toEqual([null]);
  });

  test.each([
    'anna',
    `${anna},eve@evil.example`,
    `${anna} eve@evil.example`,
    `${anna}\r\nBcc: eve@evil.example`,
    `${anna}\nBcc: eve@evil.example`,
    `${anna}%0ABcc:eve@evil.example`,
    `"Anna" <${anna}>`,
    `<${anna}>`,
    'anna@customer.example>\r\nRCPT TO:<eve@evil.example',
    `${'a'.repeat(250)}@customer.example`,
    '\ud800@customer.example',
  ])('S-198 refuses %j at its field, keeps it, and makes no order', async (email) => {
    const { link } = await open();
    const refused = await link.submit({ email, note: 'Table 4' });
    expect(refused.status).toBe(400);
    expect(errorOf(refused)).toContain('Type one mail address, such as anna@example.com, or');
    const input = field(refused);
    expect(input).toContain('aria-invalid="true"');
    expect(input).toContain('aria-describedby="email-error email-hint"');
    expect(input).toContain('autofocus');
    const [, value = ''] = / value="([^"]*)"/.exec(input) ?? [];
    const typed = value.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"');
    expect(typed.replaceAll('&amp;', '&')).toBe(email.toWellFormed());
    expect(await link.orders()).toEqual([]);
    expect(JSON.stringify(link.app.world.logs)).not.toContain('evil');
  });

  test('focuses the first field that is wrong', async () => {
    const { link } = await open({ currency: 'EUR', note: 'required', ask_email: true });
    const focused = async (fields: Record<string, string>) =>
      [...(await link.submit(fields)).text.matchAll(/name="(\w+)"[^>]* autofocus/g)].map(
        ([, name]) => name,
      );
    expect(await focused({ amount: 'x', email: 'x' })).toEqual(['amount']);
    expect(await focused({ amount: '5', email: 'x' })).toEqual(['note']);
    expect(await focused({ amount: 'x', note: 'a', email: 'x' })).toEqual(['amount']);
    expect(await focused({ amount: '5', note: 'a', email: 'x' })).toEqual(['email']);
  });

  test('has the new address of a browser that comes back, and none after money was seen', async () => {
    const { link, mails } = await open();
    const payer = link.browser('192.0.2.7');
    const { to } = await payer.submit({ email: anna });
    for (const [email, kept] of [
      ['ben@customer.example', 'ben@customer.example'],
      ['', null],
      ['cleo@customer.example', 'cleo@customer.example'],
    ] as const) {
      await link.app.world.advance(minuteMs);
      expect((await payer.submit({ email })).to).toBe(to);
      expect(await emailsOf(link)).toEqual([kept]);
    }
    const [before] = await link.orders();
    expect((await payer.submit({ email: 'cleo@customer.example' })).to).toBe(to);
    expect((await link.orders())[0]).toEqual(before);
    link.app.pay(before?.address ?? '', 10_000);
    await link.app.settle();
    const next = await payer.submit({ email: 'eve@evil.example' });
    expect(next.to).not.toBe(to);
    expect(await emailsOf(link)).toEqual(['eve@evil.example', 'cleo@customer.example']);
    expect(mails.map((mail) => mail.to)).toEqual([['cleo@customer.example']]);
  });

  test('loses its address by `orders forget`, also while a mail waits', async () => {
    const { link } = await open();
    await link.submit({ email: anna });
    await payNewest(link);
    await link.app.withStore(({ orders, database }) =>
      database.write((tx) => orders.forget(tx, link.app.world.now() + 1, 0, 100)),
    );
    expect(await emailsOf(link)).toEqual([null]);
    const bytes = look(link.app.path, { readonly: true })
      .prepare('SELECT count(*) AS n FROM orders WHERE customer_email IS NOT NULL')
      .get();
    expect(bytes).toEqual({ n: 0 });
  });
});

test('S-199 a link that does not ask ignores an address, also where its order had one', async () => {
  const { link, mails } = await open({ ...fixed });
  expect(field(await link.see())).toBe('');
  await link.submit({ email: anna });
  await link.submit({ email: 'no address' });
  expect(await emailsOf(link)).toEqual([null, null]);
  await payNewest(link);
  await link.change({ ask_email: true });
  const payer = link.browser('192.0.2.7');
  await payer.submit({ email: anna });
  await link.change({ ask_email: false });
  await link.app.world.advance(minuteMs);
  await payer.submit({ email: 'eve@evil.example' });
  expect(await emailsOf(link)).toEqual([null, null, null]);
  await payNewest(link);
  expect(mails).toEqual([]);
});

describe('S-200 the strangers of one network', () => {
  /** Orders with an address of its own each, and pays dust for it. @returns what each was */
  async function orderAndPay(
    link: LinkScene,
    tries: number,
    clientOf: (at: number) => string,
    from = 0,
  ): Promise<number[]> {
    const statuses: number[] = [];
    for (let at = from; at < from + tries; at += 1) {
      const sent = await link.browser(clientOf(at)).submit({ email: `victim${at}@other.example` });
      statuses.push(sent.status);
      if (sent.status === 303) await payNewest(link, 546);
      await link.app.world.advance(minuteMs / 5);
    }
    return statuses;
  }

  const counted = (statuses: readonly number[]) => [
    statuses.filter((each) => each === 303).length,
    statuses.filter((each) => each === 400).length,
  ];

  test.each([
    ['an IPv4 address', () => '192.0.2.7', '192.0.2.8'],
    ['an IPv6 /48 by its /64', (at: number) => `2001:db8:1:${at.toString(16)}::1`, '2001:db8:2::1'],
  ])(
    'with %s mail ten addresses a day, and other customers go on',
    async (_name, clientOf, other) => {
      const { link, mails } = await open();
      expect(counted(await orderAndPay(link, 25, clientOf))).toEqual([maxEmailsOfNetwork, 15]);
      expect(new Set(mails.flatMap(({ to }) => to)).size).toBe(maxEmailsOfNetwork);
      const { manyEmails } = translationOf('de').words.link;
      await link.app.world.advance(minuteMs);
      const asked = { email: 'more@other.example', note: 'Tisch 4' };
      const refused = await link.browser(clientOf(99)).submit(asked, '?lang=de');
      expect([refused.status, errorOf(refused)]).toEqual([400, manyEmails]);
      expect(field(refused)).toContain('value="more@other.example"');
      expect(refused.text).toContain('value="Tisch 4"');
      // The sale goes on without the address.
      expect((await link.browser(clientOf(99)).submit({ email: '' })).status).toBe(303);
      expect((await link.browser(other).submit({ email: anna })).status).toBe(303);
    },
  );

  test('are counted by rows of the file: after a restart, and for a day', async () => {
    const { link } = await open();
    const client = () => '192.0.2.7';
    expect(counted(await orderAndPay(link, 10, client))).toEqual([10, 0]);
    await link.app.stop();
    await link.app.start();
    await untilReady(link.app);
    expect(counted(await orderAndPay(link, 1, client, 10))).toEqual([0, 1]);
    const rows = () =>
      look(link.app.path, { readonly: true })
        .prepare('SELECT network, typed_at AS typedAt FROM typed_emails')
        .all() as { network: string; typedAt: number }[];
    expect(rows()).toHaveLength(10);
    expect(rows()[0]?.network).toMatch(/^[\w-]{24}$/);
    // The first of them are a day old.
    await link.app.withStore(({ database }) =>
      database.write(() =>
        database.orm
          .update(typedEmails)
          .set({ typedAt: link.app.world.now() - dayMs })
          .where(sql`${typedEmails.orderId} <= 4`)
          .run(),
      ),
    );
    expect(counted(await orderAndPay(link, 6, client, 11))).toEqual([4, 2]);
    await link.app.world.advance(hourMs);
    await link.app.settle();
    expect(rows()).toHaveLength(10);
  });

  test('add no address to their orders by a change of them', async () => {
    const { link } = await open();
    const payers = [1, 2].map(() => link.browser('192.0.2.7'));
    const [first, second] = payers;
    await first?.submit({ email: anna });
    await second?.submit();
    expect(counted(await orderAndPay(link, 9, () => '192.0.2.7'))).toEqual([9, 0]);
    await link.app.world.advance(minuteMs);
    const own = await link.orders();
    expect(own.filter(({ customer_email }) => customer_email !== null)).toHaveLength(10);
    const refused = await second?.submit({ email: 'more@other.example' });
    expect(refused?.status).toBe(400);
    expect(await link.orders()).toEqual(own);
    // An order that has an address may have another one in its place.
    expect((await first?.submit({ email: 'ann@other.example' }))?.status).toBe(303);
    expect(await emailsOf(link)).toContain('ann@other.example');
    expect(await emailsOf(link)).not.toContain(anna);
  });
});
