// Sessions with a real mail server: TLS, STARTTLS, passwords, certificates that are not trusted,
// and servers that refuse or say nothing.

import { createServer } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { MailServer } from '../../src/domain/notification-settings.ts';
import {
  type Mail,
  type MailFault,
  sendMail,
  verifyMailServer,
} from '../../src/notify/mail-connection.ts';
import { makeAuthority } from '../support/authority.ts';
import {
  headerOf,
  type MailServerOptions,
  mailSettings,
  startMailServer,
  type TestMailServer,
} from '../support/mail-server.ts';
import { createTestWorld } from '../support/world.ts';

const [past, future] = ['20200101000000Z', '20400101000000Z'];
const password = 'pa55 wört';
let authority: ReturnType<typeof makeAuthority>;
let certificate: { key: string; cert: string };
const servers: TestMailServer[] = [];

beforeAll(() => {
  authority = makeAuthority();
  certificate = authority.issue('localhost', past, future);
});
afterAll(() => authority.remove());
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function open(options: MailServerOptions = {}): Promise<TestMailServer> {
  const server = await startMailServer(options);
  servers.push(server);
  return server;
}

const mail: Mail = {
  messageId: '<ntf_1@shop.example>',
  date: new Date(1_763_650_000_000),
  to: 'owner@shop.example',
  subject: 'Paid: 12.50 EUR',
  text: 'Paid.',
  html: '<p>Paid.</p>',
};

const ours = new AbortController().signal;

function send(settings: MailServer, changes: Partial<Mail> = {}): Promise<MailFault | undefined> {
  const parts = { world: createTestWorld(), proxy: undefined };
  return sendMail(parts, settings, { ...mail, ...changes }, ours);
}

const verify = (settings: MailServer): Promise<MailFault | undefined> =>
  verifyMailServer({ world: createTestWorld(), proxy: undefined }, settings, ours);

const signedIn = () => ({ user: 'shop', password, ca: authority.certificate });

test('sends through TLS with a password', async () => {
  const { port, mails } = await open({ certificate, isImplicit: true, password });
  const settings = mailSettings(port, { security: 'tls', ...signedIn() });
  expect(await verify(settings)).toBeUndefined();
  expect(mails).toEqual([]);
  expect(await send(settings)).toBeUndefined();
  expect(mails).toMatchObject([{ from: 'paygate@shop.example', user: 'shop', isSecure: true }]);
  expect(mails[0]?.to).toEqual(['owner@shop.example']);
  const [sent] = mails;
  if (sent === undefined) throw new Error('no mail');
  expect(headerOf(sent, 'Message-ID')).toBe('<ntf_1@shop.example>');
  expect(headerOf(sent, 'From')).toBe('paygate <paygate@shop.example>');
  expect(headerOf(sent, 'Auto-Submitted')).toBe('auto-generated');
});

test('sends through STARTTLS with a password', async () => {
  const { port, mails } = await open({ certificate, password });
  const settings = mailSettings(port, { security: 'starttls', ...signedIn() });
  expect(await verify(settings)).toBeUndefined();
  expect(await send(settings)).toBeUndefined();
  expect(mails).toMatchObject([{ user: 'shop', isSecure: true }]);
});

test('sends nothing without the STARTTLS that was chosen', async () => {
  const { port, mails } = await open({ password });
  const settings = mailSettings(port, { security: 'starttls', ...signedIn() });
  const fault = await send(settings);
  expect(fault).toMatchObject({ isOfMail: false, isPermanent: false });
  expect(fault?.reason).toMatch(/STARTTLS/);
  expect(mails).toEqual([]);
});

test.each(['tls', 'starttls'] as const)('%s: a certificate must be trusted', async (security) => {
  const options = { certificate, password, isImplicit: security === 'tls' };
  const { port, mails } = await open(options);
  const unknown = mailSettings(port, { security, ...signedIn(), ca: null });
  expect((await send(unknown))?.reason).toMatch(/certificate/);
  // It is of localhost.
  const other = mailSettings(port, { security, ...signedIn(), host: '127.0.0.1' });
  expect((await send(other))?.reason).toMatch(/127\.0\.0\.1/);
  expect(mails).toEqual([]);
});

test('a wrong password is a fault of the server, and is not repeated', async () => {
  const { port, mails } = await open({ certificate, isImplicit: true, password: 'another' });
  const settings = mailSettings(port, { security: 'tls', ...signedIn() });
  for (const fault of [await send(settings), await verify(settings)]) {
    expect(fault).toMatchObject({ isOfMail: false, isPermanent: false });
    expect(fault?.reason).toMatch(/refused the user or the password: .*535/);
    expect(fault?.reason).not.toContain(password);
  }
  expect(mails).toEqual([]);
});

test('a refused recipient is a fault of that mail alone', async () => {
  const replies: Record<string, { code: number; text: string }> = {
    'nobody@shop.example': { code: 550, text: '5.1.1 no such user' },
    'later@shop.example': { code: 450, text: '4.2.0 greylisted' },
  };
  const { port, mails } = await open({ refuse: (address) => replies[address] });
  const settings = mailSettings(port);
  const refused = await send(settings, { to: 'nobody@shop.example' });
  expect(refused).toMatchObject({ isOfMail: true, isPermanent: true });
  expect(refused?.reason).toContain('5.1.1 no such user');
  const later = await send(settings, { to: 'later@shop.example' });
  expect(later).toMatchObject({ isOfMail: true, isPermanent: false });
  expect(await send(settings)).toBeUndefined();
  expect(mails).toHaveLength(1);
});

test('a server that says nothing has half a minute', async () => {
  const silent = createServer();
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const { port } = silent.address() as { port: number };
  const world = createTestWorld();
  let isConnected = false;
  silent.on('connection', (socket) => {
    isConnected = true;
    socket.on('error', () => {});
  });
  const sent = sendMail({ world, proxy: undefined }, mailSettings(port), mail, ours);
  await world.until(() => isConnected);
  await world.advance(30_000);
  expect((await sent)?.reason).toMatch(/took too long/);
  await new Promise((resolve) => silent.close(resolve));
});

test('a stop of paygate ends the session', async () => {
  const { port } = await open();
  const stop = new AbortController();
  stop.abort(new Error('paygate is stopping'));
  const parts = { world: createTestWorld(), proxy: undefined };
  await expect(sendMail(parts, mailSettings(port), mail, stop.signal)).rejects.toThrow('stopping');
});

test('an onion server needs a proxy', async () => {
  const host = 'duckduckgogg42xjoc72x3sjasowoarfbgcmvfimaftt6twagswzczad.onion';
  const fault = await send(mailSettings(25, { host, security: 'starttls' }));
  expect(fault?.reason).toMatch(/--proxy/);
});
