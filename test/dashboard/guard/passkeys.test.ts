// Passkeys on the server's side: what is accepted in place of the password, and what is refused.

import { afterEach, describe, expect, test } from 'vitest';
import type { Config } from '../../../src/config.ts';
import { createSignInLink } from '../../../src/dashboard/guard/sign-in-link.ts';
import { parseProxyNetwork } from '../../../src/domain/access/client-address.ts';
import { newTotpSecret } from '../../../src/domain/access/totp.ts';
import { closeApps, openApp, type TestApp } from '../../support/app.ts';
import { createAuthenticator, type Deviation } from '../../support/authenticator.ts';
import { password, signedIn, type Visitor, visitorOf } from '../../support/visitor.ts';

afterEach(closeApps);

const minuteMs = 60_000;
const home = '/dashboard';
const account = `${home}/settings/account`;
const signInPath = `${home}/sign-in`;
const origin = 'https://pay.example.com';

type Authenticator = ReturnType<typeof createAuthenticator>;

const behindProxy = (config: Partial<Config> = {}) =>
  openApp({ config: { trustedProxy: [parseProxyNetwork('127.0.0.1')], ...config } });

/** What a browser sends from an address, through a proxy that serves HTTPS. */
const options = (address = '203.0.113.5', host = 'pay.example.com') => ({
  headers: {
    'X-Forwarded-For': address,
    'X-Forwarded-Proto': 'https',
    'X-Forwarded-Host': host,
  },
  origin: `https://${host}`,
});

const stranger = (app: TestApp, address?: string) => visitorOf(app, options(address));

/** What the browser is asked on this page. */
async function asked(visitor: Visitor, path: string) {
  const { text, status } = await visitor.submit(path, 'ask-passkey');
  expect(status).toBe(200);
  return JSON.parse(text);
}

async function begun(visitor: Visitor) {
  const { text } = await visitor.submit(account, 'begin-passkey');
  const [, made = ''] = /data-new-passkey="([^"]+)"/.exec(text) ?? [];
  return JSON.parse(made.replaceAll('&quot;', '"'));
}

const finish = (visitor: Visitor, made: string, name = 'Phone') =>
  visitor.submit(account, 'finish-passkey', { name, 'passkey-new': made });

/** An owner who is signed in and has one passkey. */
async function withPasskey(counter = 0, config: Partial<Config> = {}) {
  const app = await behindProxy(config);
  const owner = await signedIn(app, options('198.51.100.7'));
  const authenticator = createAuthenticator(origin);
  const added = await finish(owner, authenticator.create(await begun(owner), { counter }));
  expect([added.status, added.to]).toEqual([303, `${account}?done=passkey-added`]);
  return { app, owner, authenticator };
}

async function signInWith(visitor: Visitor, authenticator: Authenticator, change: Deviation = {}) {
  const passkey = authenticator.get(await asked(visitor, signInPath), change);
  return visitor.submit(signInPath, 'use-passkey', { passkey });
}

const entries = (app: TestApp) =>
  app.withStore(async ({ audit }) =>
    audit.list(20).map(({ action, detail }) => [action, JSON.parse(detail).name]),
  );

test('a passkey is asked to verify its user, to be found without a name, and not to be there twice', async () => {
  const { owner, authenticator } = await withPasskey();
  const made = await begun(owner);
  expect(made).toMatchObject({
    rp: { id: 'pay.example.com', name: 'paygate' },
    attestation: 'none',
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    excludeCredentials: [{ id: JSON.parse(authenticator.create(made)).id }],
  });
  expect((await begun(owner)).user.id).toBe(made.user.id);
  const wanted = await asked(owner, account);
  expect(wanted).toMatchObject({ rpId: 'pay.example.com', userVerification: 'required' });
  // Strangers can ask too, so no passkey is named.
  expect(wanted.allowCredentials ?? []).toEqual([]);
});

test('S-57 a passkey signs in without password and code, and the page to return to is kept', async () => {
  const { app, authenticator } = await withPasskey();
  const secret = newTotpSecret(new Uint8Array(20));
  await app.withStore(({ admin, database }) => database.write((tx) => admin.setTotp(tx, secret)));
  const visitor = stranger(app);
  const path = `${signInPath}?next=/dashboard/stores`;
  const passkey = authenticator.get(await asked(visitor, path));
  const seen = await visitor.submit(path, 'use-passkey', { passkey });
  expect([seen.status, seen.to]).toEqual([303, `${home}/stores`]);
  expect((await visitor.get(home)).status).toBe(200);
  expect((await visitor.get(account)).text).not.toContain('Never');
  const fields = { client: '203.0.113.5', person: 'admin', by: 'passkey' };
  expect(app.world.logs).toContainEqual(expect.objectContaining({ message: 'signed in', fields }));
});

describe('S-58 no passkey signs in', () => {
  test.each<[string, Deviation]>([
    ['that did not verify its user', { isVerified: false }],
    ['of a page of another origin', { origin: 'https://pay.example.com.evil.example' }],
    ['of another port', { origin: 'https://pay.example.com:8443' }],
    ['of another scheme', { origin: 'http://pay.example.com' }],
    ['for another host name', { rpId: 'example.com' }],
    ['with a challenge that is not ours', { challenge: 'A'.repeat(75) }],
  ])('%s', async (_, change) => {
    const { app, authenticator } = await withPasskey();
    const visitor = stranger(app);
    const seen = await signInWith(visitor, authenticator, change);
    expect([seen.status, (await visitor.get(home)).status]).toEqual([401, 303]);
    const refused = app.world.logs.find(({ message }) => message === 'sign-in refused');
    expect(refused).toMatchObject({ level: 'warn', fields: { client: '203.0.113.5' } });
  });

  test('that another authenticator made, or with a signature of another one', async () => {
    const { app, authenticator } = await withPasskey();
    const visitor = stranger(app);
    const other = createAuthenticator(origin);
    expect((await signInWith(visitor, other)).status).toBe(401);
    const wanted = await asked(visitor, signInPath);
    const { id, rawId } = JSON.parse(authenticator.get(wanted));
    const passkey = JSON.stringify({ ...JSON.parse(other.get(wanted)), id, rawId });
    expect((await visitor.submit(signInPath, 'use-passkey', { passkey })).status).toBe(401);
  });

  test('with the challenge of another browser, a used one, or one of five minutes ago', async () => {
    const { app, authenticator } = await withPasskey();
    const [visitor, thief] = [stranger(app), stranger(app)];
    const passkey = authenticator.get(await asked(visitor, signInPath));
    const use = (each: Visitor) => each.submit(signInPath, 'use-passkey', { passkey });
    expect((await use(thief)).status).toBe(401);
    const both = await Promise.all([use(visitor), use(visitor)]);
    expect(both.map(({ status }) => status).sort()).toEqual([303, 401]);
    expect((await use(visitor)).status).toBe(401);
    const late = authenticator.get(await asked(thief, signInPath));
    await app.world.advance(5 * minuteMs);
    const seen = await thief.submit(signInPath, 'use-passkey', { passkey: late });
    expect(seen.status).toBe(401);
  });

  test('whose counter does not rise, because it may be a copy', async () => {
    const { app, authenticator } = await withPasskey(7);
    const statuses: number[] = [];
    for (const counter of [7, 8, 8, 3, 0, 9]) {
      statuses.push((await signInWith(stranger(app), authenticator, { counter })).status);
    }
    expect(statuses).toEqual([401, 303, 401, 401, 401, 303]);
  });

  test('that is no passkey at all', async () => {
    const { app } = await withPasskey();
    const visitor = stranger(app);
    const statuses: number[] = [];
    for (const passkey of ['', 'x', '7', 'null', '[]', '{}', '{"id":1,"response":null}']) {
      const seen = await visitor.submit(signInPath, 'use-passkey', { passkey });
      statuses.push(seen.status);
    }
    expect(statuses).toEqual([400, 400, 400, 400, 401, 401, 401]);
  });

  // Another service on the host gets an answer from the visitor's browser, and sends it on.
  test('at another port than that of its origin, and the page says where it works', async () => {
    const { app, authenticator } = await withPasskey();
    const at = options('203.0.113.5', 'pay.example.com:8443');
    const visitor = visitorOf(app, at);
    // The browser is at that port, or its answer was made at the right one.
    for (const change of [{ origin: at.origin }, {}]) {
      const seen = await signInWith(visitor, authenticator, change);
      expect([seen.status, (await visitor.get(home)).status]).toEqual([401, 303]);
      expect(seen.text).toContain('works at https://pay.example.com only');
    }
    expect((await signInWith(stranger(app), authenticator)).status).toBe(303);
  });

  test('that was removed', async () => {
    const { app, owner, authenticator } = await withPasskey();
    const visitor = stranger(app);
    const passkey = authenticator.get(await asked(visitor, signInPath));
    const path = `${home}/settings/passkeys/1`;
    expect((await owner.submit(path, 'remove')).to).toBe(`${account}?done=passkey-removed`);
    const seen = await visitor.submit(signInPath, 'use-passkey', { passkey });
    expect(seen.status).toBe(401);
    expect((await owner.get(path)).text).toContain('This passkey was removed.');
    expect((await visitor.get(signInPath)).text).not.toContain('data-passkey');
  });

  test('after ten attempts a minute from one network', async () => {
    const { app, authenticator } = await withPasskey();
    const statuses: number[] = [];
    for (let count = 0; count < 11; count += 1) {
      const seen = await signInWith(stranger(app), authenticator, { isVerified: false });
      statuses.push(seen.status);
    }
    expect(statuses).toEqual([...Array(10).fill(401), 429]);
    const other = stranger(app, '192.0.2.1');
    expect((await signInWith(other, authenticator)).status).toBe(303);
  });
});

test('S-59 a passkey replaces the repeated password before sensitive actions', async () => {
  const { app, owner, authenticator } = await withPasskey();
  app.world.jumpWallClock(6 * minuteMs);
  const { text } = await owner.get(`${home}/stores`);
  expect(text).toContain('Use a passkey instead');
  const reveal = (fields: Record<string, string>) =>
    owner.submit(`${home}/stores`, 'reveal-key', fields);
  expect((await reveal({})).status).toBe(403);
  // The challenge of a page without a session is none of this session.
  const foreign = authenticator.get(await asked(stranger(app), signInPath));
  expect((await reveal({ passkey: foreign })).status).toBe(401);
  const unverified = authenticator.get(await asked(owner, account), { isVerified: false });
  expect((await reveal({ passkey: unverified })).status).toBe(401);
  const passkey = authenticator.get(await asked(owner, account));
  const seen = await reveal({ passkey });
  expect([seen.status, seen.text.includes(app.apiKey)]).toEqual([200, true]);
  // It counts for five minutes, as the password does, and is used up.
  expect((await reveal({})).status).toBe(200);
  app.world.jumpWallClock(6 * minuteMs);
  expect((await reveal({ passkey })).status).toBe(401);
});

describe('S-71 a challenge is answered for its purpose only', () => {
  /** Challenges for each purpose, for one and the same cookie. */
  async function challenges() {
    const { app, owner, authenticator } = await withPasskey();
    app.world.jumpWallClock(6 * minuteMs);
    const visitor = stranger(app);
    visitor.visiting = owner.cookie.replace(/^[^=]*/, (name) => `${name}-visitor`);
    const confirm = await asked(owner, account);
    const signIn = await asked(visitor, signInPath);
    await owner.submit(`${home}/stores`, 'reveal-key', { password });
    const add = await begun(owner);
    app.world.jumpWallClock(6 * minuteMs);
    return { app, owner, visitor, authenticator, add, confirm, signIn };
  }

  test('one to add a passkey or to sign in confirms no action', async () => {
    const { owner, authenticator, add, confirm, signIn } = await challenges();
    const reveal = (challenge: string) =>
      owner.submit(`${home}/stores`, 'reveal-key', {
        passkey: authenticator.get({ challenge, rpId: 'pay.example.com' }),
      });
    expect((await reveal(add.challenge)).status).toBe(401);
    expect((await reveal(signIn.challenge)).status).toBe(401);
    expect((await reveal(confirm.challenge)).status).toBe(200);
  });

  test('one to add a passkey or to confirm an action signs nobody in', async () => {
    const { visitor, authenticator, add, confirm, signIn } = await challenges();
    const use = (challenge: string) =>
      visitor.submit(signInPath, 'use-passkey', {
        passkey: authenticator.get({ challenge, rpId: 'pay.example.com' }),
      });
    expect((await use(add.challenge)).status).toBe(401);
    expect((await use(confirm.challenge)).status).toBe(401);
    expect((await use(signIn.challenge)).status).toBe(303);
  });

  test('one to sign in or to confirm an action adds no passkey', async () => {
    const { app, owner, add, confirm, signIn } = await challenges();
    await owner.submit(`${home}/stores`, 'reveal-key', { password });
    const other = createAuthenticator(origin);
    const made = (challenge: string) => finish(owner, other.create({ ...add, challenge }));
    expect((await made(confirm.challenge)).status).toBe(401);
    expect((await made(signIn.challenge)).status).toBe(401);
    await app.withStore(async ({ admin }) => expect(admin.passkeys()).toHaveLength(1));
    expect((await made(add.challenge)).status).toBe(303);
  });
});

describe('S-70 with a configured address, passkeys are only for that and for loopback', () => {
  const elsewhere = options('203.0.113.5', 'other.example.com');

  test('--public-url', async () => {
    const { app, owner, authenticator } = await withPasskey(0, { publicUrl: origin });
    expect((await owner.get(account)).text).toContain('Add a passkey');
    expect((await signInWith(stranger(app), authenticator)).status).toBe(303);
    const other = await signedIn(app, elsewhere);
    const passkey = authenticator.get(await asked(owner, account), { origin: elsewhere.origin });
    const made = createAuthenticator(elsewhere.origin).create(await begun(owner));
    const seen = [
      await other.submit(account, 'begin-passkey'),
      await other.submit(account, 'ask-passkey'),
      await finish(other, made),
      await visitorOf(app, elsewhere).submit(signInPath, 'ask-passkey'),
      await visitorOf(app, elsewhere).submit(signInPath, 'use-passkey', { passkey }),
    ];
    expect(seen.map(({ status }) => status)).toEqual(Array(5).fill(409));
    expect(seen[0]?.text).toContain('the host name of --domain or --public-url');
  });

  test('loopback has passkeys too, each for its own scheme', async () => {
    const app = await behindProxy({ publicUrl: origin });
    const plain = { host: 'localhost', origin: `http://localhost:${app.port}` };
    const encrypted = options('203.0.113.5', `localhost:${app.port}`);
    for (const [own, other] of [
      [plain, encrypted],
      [encrypted, plain],
    ] as const) {
      const owner = await signedIn(app, own);
      const authenticator = createAuthenticator(own.origin);
      const added = await finish(owner, authenticator.create(await begun(owner)));
      expect(added.status).toBe(303);
      expect((await signInWith(visitorOf(app, own), authenticator)).status).toBe(303);
      for (const change of [{}, { origin: other.origin }]) {
        expect((await signInWith(visitorOf(app, other), authenticator, change)).status).toBe(401);
      }
    }
  });
});

describe('a new passkey', () => {
  test.each<[string, Deviation]>([
    ['did not verify its user', { isVerified: false }],
    ['is of another origin', { origin: 'https://evil.example' }],
    ['is for another host name', { rpId: 'example.com' }],
    ['answers no challenge of ours', { challenge: 'A'.repeat(75) }],
  ])('is refused if it %s', async (_, change) => {
    const app = await behindProxy();
    const owner = await signedIn(app, options());
    const made = createAuthenticator(origin).create(await begun(owner), change);
    expect((await finish(owner, made)).status).toBe(401);
    expect(await entries(app)).toEqual([]);
  });

  test('is added once, for the session that asked', async () => {
    const { app, owner } = await withPasskey();
    const made = createAuthenticator(origin).create(await begun(owner));
    const other = await signedIn(app, options());
    expect((await finish(other, made)).status).toBe(401);
    expect((await finish(owner, made)).status).toBe(303);
    expect((await finish(owner, made)).status).toBe(401);
  });

  test('is renamed and removed, and each act is in the audit log', async () => {
    const { app, owner } = await withPasskey();
    const page = `${home}/settings/passkeys/1`;
    for (const name of ['', 'x'.repeat(61)]) {
      expect((await owner.submit(page, 'rename', { name })).status).toBe(400);
    }
    expect((await owner.submit(page, 'rename', { name: '<b>Laptop' })).status).toBe(303);
    expect((await owner.get(account)).text).toContain('&lt;b&gt;Laptop');
    expect((await owner.submit(page, 'remove')).status).toBe(303);
    expect((await owner.submit(page, 'remove')).status).toBe(404);
    expect(await entries(app)).toEqual([
      ['passkey.remove', '<b>Laptop'],
      ['passkey.rename', '<b>Laptop'],
      ['passkey.add', 'Phone'],
    ]);
  });
});

test('S-109 a lost device is removed by a one-time link, if its box is ticked', async () => {
  const { app, authenticator } = await withPasskey();
  const link = () => app.withStore((records) => createSignInLink(records, app.world, ''));
  const fields = { 'password-new': password, 'password-again': password };
  const visitor = stranger(app);
  const first = await link();
  expect((await visitor.get(first)).text).toContain('Also remove all passkeys');
  expect((await visitor.submit(first, 'enter', fields)).status).toBe(303);
  expect((await signInWith(stranger(app), authenticator)).status).toBe(303);
  await visitor.submit(await link(), 'enter', { ...fields, 'no-devices': 'on' });
  expect((await signInWith(stranger(app), authenticator)).status).toBe(401);
  expect(await entries(app)).toContainEqual(['passkey.remove', 'Phone']);
});

describe('S-110 where browsers have no passkeys', () => {
  test('an address of loopback leads to localhost', async () => {
    const app = await openApp();
    const owner = await signedIn(app);
    const { text } = await owner.get(account);
    expect(text).toContain(`http://localhost:${app.port}${account}`);
    expect(text).not.toContain('Add a passkey');
    expect((await owner.submit(account, 'begin-passkey')).status).toBe(409);
    expect((await owner.submit(account, 'ask-passkey')).status).toBe(409);
  });

  test('an IP address with HTTPS asks for the host name', async () => {
    const app = await behindProxy();
    const owner = await signedIn(app, options('203.0.113.5', '192.0.2.44'));
    expect((await owner.get(account)).text).toContain('the dashboard by its host name');
    expect((await owner.submit(account, 'begin-passkey')).status).toBe(409);
  });
});
