// Sessions with a real mail server: TLS, STARTTLS, passwords, certificates that are not trusted,
// and servers that refuse or say nothing.

import { createServer } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { MailServer } from '../../src/domain/delivery/notification-settings.ts';
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
  fromName: 'paygate',
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

describe('S-72 no reply of a mail server leads to the password', () => {
  const [user, pass] = ['shop@example.com', 'Stup3rS&cretMail wört!'];
  const encode = (text: string) => Buffer.from(text).toString('base64');
  const plain = encode(`\0${user}\0${pass}`);
  const rows = (text: string) => (text.match(/.{1,5}/gs) ?? []).join('\r\n550-5.1.1 ');
  const whole = [pass, encodeURIComponent(pass), encode(pass), encode(user), plain];
  const parts = [...whole, ...whole.map((text) => text.slice(4, 12))];

  /** A server that refuses each sign-in; `says` makes its reply of what it was sent. */
  async function openEchoing(method: string, says: (got: string) => string) {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.write('220 mail\r\n');
      let got = '';
      let awaited = method === 'PLAIN' ? 1 : 3;
      socket.on('data', (chunk) => {
        const line = chunk.toString().trim();
        if (line.startsWith('EHLO')) {
          socket.write(`250-mail\r\n250 AUTH ${method}\r\n`);
          return;
        }
        got += got === '' ? line : `|${line}`;
        awaited -= 1;
        const prompts = ['', '334 UGFzc3dvcmQ6\r\n', '334 VXNlcm5hbWU6\r\n'];
        const reply = (awaited === 0 ? says(got) : prompts[awaited]) ?? '';
        if (awaited === 0 && !reply.endsWith('\n')) socket.end(reply);
        else socket.write(reply);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    servers.push({
      port: (server.address() as { port: number }).port,
      mails: [],
      close: () => new Promise((resolve) => server.close(() => resolve())),
    });
    return mailSettings(servers.at(-1)?.port ?? 0, { user, password: pass });
  }

  const clear = (got: string) =>
    got.split(/[ |]/).map((each) => Buffer.from(each, 'base64').toString());
  const replies: [string, (got: string) => string, string][] = [
    ['as it came', (got) => `535 5.7.8 wrong: ${got}\r\n`, ': 535 5.7.8'],
    ['of one row', (got) => `535-${got}\r\n535 again\r\n`, ': 535'],
    ['over rows', (got) => `550-5.1.1 ${rows(got)}\r\n550 5.1.1 no\r\n`, ': 550 5.1.1'],
    ['decoded', (got) => `535 5.7.8 ${clear(got).join(' ')}\r\n`, ': 535 5.7.8'],
    ['percent', (got) => `501 ${clear(got).map(encodeURIComponent).join()}\r\n`, ': 501'],
    ['in part', (got) => `500 too long: ${got.slice(0, -5)}\r\n`, ': 500'],
    ['without a code', (got) => `${got}\r\n`, ': no SMTP reply'],
    ['that closes the session', (got) => `421 4.7.0 ${got}\r\n`, ': 421 4.7.0'],
    ['without an end', (got) => `535 ${got}`, ': '],
    ['of nothing', () => '535 \r\n', ': 535'],
  ];

  test.each(
    ['PLAIN', 'LOGIN'].flatMap((method) => replies.map((each) => [method, ...each] as const)),
  )('AUTH %s, %s', async (method, _, says, ends) => {
    const settings = await openEchoing(method, says);
    for (const fault of [await verify(settings), await send(settings)]) {
      const reason = fault?.reason ?? '';
      expect(reason).toContain(ends);
      for (const part of parts) expect(reason.replaceAll(/\s/g, '')).not.toContain(part);
    }
  });

  test.each([['as it came'], ['over rows'], ['decoded'], ['in part']])(
    'of a later command, %s',
    async (kind) => {
      const echo = { 'as it came': plain, 'over rows': rows(plain), decoded: pass }[kind];
      const text = `550-5.1.1 ${echo ?? plain.slice(0, -5)}\r\n550 5.1.1 no such user`;
      let isSignedIn = false;
      const server = createServer((socket) => {
        socket.on('error', () => {});
        socket.write('220 mail\r\n');
        socket.on('data', (chunk) => {
          const [verb = ''] = chunk.toString().split(' ');
          isSignedIn ||= verb === 'AUTH';
          const known: Record<string, string> = {
            EHLO: '250-mail\r\n250 AUTH PLAIN',
            AUTH: '235 welcome',
            RCPT: text,
          };
          socket.write(`${known[verb.trim()] ?? '250 fine'}\r\n`);
        });
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address() as { port: number };
      const fault = await send(mailSettings(port, { user, password: pass }));
      server.close();
      expect([isSignedIn, fault?.isPermanent]).toEqual([true, true]);
      expect(fault?.reason).toContain(' no such user');
      const reason = fault?.reason.replaceAll(/\s|550-5.1.1/g, '');
      for (const part of parts) expect(reason).not.toContain(part);
    },
  );
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
