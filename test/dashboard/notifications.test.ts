// The pages of notifications: the mail server, recipients of the operator and of a store, tests,
// and secrets that no page shows.

import { afterEach, expect, test } from 'vitest';
import { closeApps, openApp, type TestApp } from '../support/app.ts';
import { headerOf, startMailServer, type TestMailServer } from '../support/mail-server.ts';
import { startReceiver } from '../support/receiver.ts';
import { signedIn, type Visitor } from '../support/visitor.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  await closeApps();
  for (const close of closing.splice(0)) await close();
});

const page = '/dashboard/settings/notifications';
const storePage = '/dashboard/stores/1/notifications';
const password = 'pa55word & <b>';

async function open(): Promise<{ app: TestApp; visitor: Visitor; mail: TestMailServer }> {
  const mail = await startMailServer({ password });
  closing.push(() => mail.close());
  const app = await openApp();
  return { app, visitor: await signedIn(app), mail };
}

const mailFields = (port: number, changes: Record<string, string> = {}) => ({
  ...{ host: 'localhost', port: String(port), security: 'none', user: 'shop' },
  ...{ 'password-mail': password, from: 'paygate@shop.example' },
  ...changes,
});

const settingsOf = (app: TestApp, owner: number | null = null) =>
  app.withStore(async ({ state }) => ({
    server: state.mailServer.read(),
    target: state.notifyTarget(owner).read(),
  }));

test('a mail server and a recipient are set, and a test arrives', async () => {
  const { app, visitor, mail } = await open();
  expect((await visitor.get('/dashboard/settings')).text).toContain(`href="${page}"`);
  expect((await visitor.get(page)).text).not.toContain('Send a test');
  const saved = await visitor.submit(page, 'save-mail', mailFields(mail.port));
  expect([saved.status, saved.to]).toEqual([303, `${page}?done=saved`]);
  const fields = { recipients: 'owner@shop.example, b@shop.example', 'kind-findings': 'on' };
  expect((await visitor.submit(page, 'save-recipients', fields)).status).toBe(303);
  const { target } = await settingsOf(app);
  expect(target).toMatchObject({
    recipients: ['owner@shop.example', 'b@shop.example'],
    kinds: ['findings'],
    webhookUrl: null,
    webhookSecret: null,
  });
  const { text } = await visitor.submit(page, 'send-test');
  expect(text).toContain('owner@shop.example: accepted.');
  expect(mail.mails.map(({ to, user }) => [...to, user])).toEqual([
    ['owner@shop.example', 'shop'],
    ['b@shop.example', 'shop'],
  ]);
  const [sent] = mail.mails;
  expect(sent && headerOf(sent, 'Subject')).toBe('Test of the notifications of paygate');
});

test('no-break spaces of an app password, and umlauts of a domain, do no harm', async () => {
  const { app, visitor, mail } = await open();
  const pasted = {
    ...{ 'password-mail': `\u00a0${password.replaceAll(' ', '\u00a0')}\u200b` },
    ...{ user: '\u200eshop\u200f', from: 'paygate@müller.example', host: 'localhost\ufeff' },
  };
  expect((await visitor.submit(page, 'save-mail', mailFields(mail.port, pasted))).status).toBe(303);
  expect((await settingsOf(app)).server).toMatchObject({
    ...{ password, user: 'shop', from: 'paygate@xn--mller-kva.example', host: 'localhost' },
  });
  await visitor.submit(page, 'save-recipients', { recipients: 'kasse@müller.example' });
  const { text } = await visitor.submit(page, 'send-test');
  expect(text).toContain('kasse@xn--mller-kva.example: accepted.');
});

test('the password is never shown, logged or written to the audit log, and stays with its server', async () => {
  const { app, visitor, mail } = await open();
  await visitor.submit(page, 'save-mail', mailFields(mail.port));
  await visitor.submit(page, 'save-recipients', { recipients: 'owner@shop.example' });
  const shown = (await visitor.get(page)).text;
  expect(shown).not.toContain('pa55word');
  expect((await visitor.get('/dashboard/settings/audit')).text).not.toContain('pa55word');
  expect(JSON.stringify(app.world.logs)).not.toContain('pa55word');
  // Another port of the same server keeps it; another server or user does not get it.
  const kept = mailFields(mail.port, { 'password-mail': '', from: 'new@shop.example' });
  expect((await visitor.submit(page, 'save-mail', kept)).status).toBe(303);
  expect((await settingsOf(app)).server).toMatchObject({ password, from: 'new@shop.example' });
  const moved = { ...kept, host: '127.0.0.1' };
  const refused = await visitor.submit(page, 'save-mail', moved);
  expect([
    refused.status,
    /id="fault-password-mail"[^>]*>The user needs a password/.test(refused.text),
  ]).toEqual([400, true]);
  // A wrong one is an error of the test, which repeats no password.
  const wrong = mailFields(mail.port, { 'password-mail': 'another pa55word' });
  await visitor.submit(page, 'save-mail', wrong);
  const { text } = await visitor.submit(page, 'send-test');
  expect(text).toContain('refused the user or the password');
  expect(text).not.toContain('pa55word');
  await visitor.submit(page, 'end-mail');
  expect((await settingsOf(app)).server).toBeUndefined();
});

test.each([
  ['save-mail', { host: 'http://smtp' }, 'host'],
  ['save-mail', { port: '0' }, 'port'],
  ['save-mail', { security: 'ssl' }, 'security'],
  ['save-mail', { from: 'me@x\r\nBcc: you@x' }, 'from'],
  ['save-mail', { host: 'smtp.example.com' }, 'security'],
  ['save-mail', { user: '' }, 'user'],
  ['save-recipients', { recipients: 'me@shop.example, you' }, 'recipients'],
  ['save-recipients', { 'webhook-url': 'http://192.168.1.2/hook' }, 'webhook-url'],
] as const)('%s %j is refused at its field', async (does, fields, name) => {
  const { visitor, mail } = await open();
  const all = does === 'save-mail' ? mailFields(mail.port, fields) : fields;
  const { status, text } = await visitor.submit(page, does, all);
  expect(status).toBe(400);
  expect(text).toContain(`<p id="fault-${name}" class="fault">`);
  expect(text.match(/class="fault"/g)).toHaveLength(1);
});

test('a store has recipients and a signed webhook of its own', async () => {
  const { app, visitor } = await open();
  const hook = await startReceiver();
  closing.push(() => hook.close());
  expect((await visitor.get('/dashboard/stores/1')).text).toContain(`href="${storePage}"`);
  const before = (await visitor.get(storePage)).text;
  expect(before).toContain('No mail is sent until a');
  expect(before).not.toContain('Alarms, when');
  const fields = {
    'webhook-url': `${hook.origin}/topic`,
    ...{ 'allow-private': 'on', 'allow-http': 'on', 'kind-order.paid': 'on' },
  };
  expect((await visitor.submit(storePage, 'save-recipients', fields)).status).toBe(303);
  const { target } = await settingsOf(app, 1);
  expect(target).toMatchObject({ kinds: ['order.paid'], webhookUrl: `${hook.origin}/topic` });
  const { text } = await visitor.submit(storePage, 'send-test');
  expect(text).toContain(`127.0.0.1:${hook.port}: accepted.`);
  const [request] = hook.requests;
  expect(JSON.parse(request?.body ?? '')).toMatchObject({ type: 'test', data: {} });
  expect(request?.headers['webhook-signature']).toMatch(/^v1,/);
  const revealed = await visitor.submit(storePage, 'reveal-secret');
  expect(revealed.text).toContain(target.webhookSecret);
  expect((await visitor.get(storePage)).text).not.toContain('whsec_');
  expect((await visitor.get('/dashboard/stores/9/notifications')).status).toBe(404);
});

test('a test without a recipient, or with mail but no server, says what is missing', async () => {
  const { visitor } = await open();
  const nobody = await visitor.submit(page, 'send-test');
  expect([nobody.status, nobody.text.includes('no mail address')]).toEqual([409, true]);
  await visitor.submit(page, 'save-recipients', { recipients: 'owner@shop.example' });
  const unset = await visitor.submit(page, 'send-test');
  expect([unset.status, unset.text.includes('mail server is set')]).toEqual([409, true]);
});

test('the port is the usual one of the security, unless another is typed', async () => {
  const { app, visitor } = await open();
  const save = async (port: string, security: string) => {
    const fields = mailFields(0, { port, security, host: 'smtp.example.com' });
    const { status } = await visitor.submit(page, 'save-mail', fields);
    const { server } = await settingsOf(app);
    const shown = /name="port" value="(\d*)"/.exec((await visitor.get(page)).text)?.[1];
    return [status, server?.port, shown];
  };
  expect(await save('', 'tls')).toEqual([303, 465, undefined]);
  expect(await save('', 'starttls')).toEqual([303, 587, undefined]);
  expect(await save('2525', 'starttls')).toEqual([303, 2525, '2525']);
  expect(await save('587', 'tls')).toEqual([303, 587, '587']);
  expect(await save('x', 'tls')).toEqual([400, 587, '587']);
});
