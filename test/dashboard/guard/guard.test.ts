// The guard of the dashboard: sessions, passwords, codes, origins and form tokens (rules §6).

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from 'vitest';
import { firstAddresses } from '../../../src/bitcoin/keychain.ts';
import { pages } from '../../../src/dashboard/dashboard.ts';
import { createSignInLink } from '../../../src/dashboard/guard/sign-in-link.ts';
import { parseProxyNetwork } from '../../../src/domain/access/client-address.ts';
import { newTotpSecret, totpCode, totpStep } from '../../../src/domain/access/totp.ts';
import { admin, adminLinks, sessions } from '../../../src/store/schema/admin-schema.ts';
import { closeApps, merchantKey, openApp, type TestApp } from '../../support/app.ts';
import { guessablePasswords } from '../../support/guessable-passwords.ts';
import { password, setPassword, signedIn, signInAs, visitorOf } from '../../support/visitor.ts';
import { createTestWorld } from '../../support/world.ts';

afterEach(closeApps);

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const home = '/dashboard';

/** Every page, with an id in its path if it has one. */
const paths = pages.map(({ path }) => (home + path).replace(':id', '1').replace(/\/$/, ''));
const shut = pages
  .filter(({ open }) => open === undefined)
  .map(({ path }) => (home + path).replace(':id', '1').replace(/\/$/, ''));

const link = (app: TestApp): Promise<string> =>
  app.withStore(async (records) => {
    const url = await createSignInLink(records, app.world, '');
    return url;
  });

/** Shows that a new password has arrived: its salt is made before its hash. */
function hashingWorld() {
  const world = createTestWorld();
  let salts = 0;
  const randomBytes = (length: number): Uint8Array => {
    if (length === 16) salts += 1;
    return world.randomBytes(length);
  };
  return { world: { ...world, randomBytes }, isHashing: () => salts > 0 };
}

/**
 * Actions that revoke a right, send pending callbacks, or only read: they need no recent password.
 */
const harmless = new Set([
  // The backup stays on the machine.
  'back-up',
  ...[
    'sign-out',
    'end-session',
    'end-others',
    'revoke-key',
    'revoke-till',
    'set-way',
    'shut-plugin',
    'check-plugin',
    'dismiss-restored',
  ],
  ...['resend', 'resend-failed', 'resend-doubtful', 'send-test', 'simulate'],
  ...['send-event', 'look', 'look-known', 'ask', 'ask-passkey', 'take', 'save-zone'],
]);

const contentTypes = [
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'text/plain',
  'application/json',
];

describe('every page', () => {
  test('S-147 shows nothing without a session', async () => {
    const app = await openApp();
    await setPassword(app);
    for (const path of [...shut, `${home}/nowhere`]) {
      const seen = await visitorOf(app).get(path);
      expect([path, seen.status, seen.to?.split('?')[0]]).toEqual([path, 303, `${home}/sign-in`]);
      expect(seen.text).toBe('');
    }
  });

  test('shows nothing after the session has ended', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    expect((await visitor.get(home)).status).toBe(200);
    app.world.jumpWallClock(31 * minuteMs);
    for (const path of shut) expect([path, (await visitor.get(path)).status]).toEqual([path, 303]);
    for (const path of shut) {
      const sent = await visitor.post(path, `token=${visitor.formToken}&do=sign-out`);
      expect([path, sent.status, sent.to?.split('?')[0]]).toEqual([path, 303, `${home}/sign-in`]);
    }
  });

  test('says that a form came after the session, and leads back to its page', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    const list = `${home}/callbacks?state=owed&done=resent`;
    await visitor.get(list);
    app.world.jumpWallClock(31 * minuteMs);
    const sent = await visitor.post(list, `token=${visitor.formToken}&do=resend&id=1`);
    expect((await visitor.get(`${home}/sign-in`)).text).not.toContain('Nothing was changed');
    const { text } = await visitor.get(sent.to ?? '');
    expect(text).toContain('Nothing was changed: your session had ended.');
    const back = await visitor.submit(sent.to ?? '', 'sign-in', { password });
    expect(back.to).toBe(`${home}/callbacks?state=owed`);
  });

  test('redirects a sign-out without a session to the sign-in, and never from there to the sign-out', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    await visitor.get(`${home}/sign-out`);
    app.world.jumpWallClock(31 * minuteMs);
    const out = await visitor.post(`${home}/sign-out`, `token=${visitor.formToken}&do=sign-out`);
    expect([out.status, out.to]).toEqual([303, `${home}/sign-in`]);
    expect((await visitor.get(`${home}/sign-out`)).to).toBe(`${home}/sign-in`);
  });

  test('accepts no other method, with or without a session', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    for (const path of paths) {
      for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
        const url = `http://127.0.0.1:${app.port}${path}`;
        const headers = { Cookie: visitor.cookie };
        const { status } = await fetch(url, { method, headers, redirect: 'manual' });
        expect([path, method, status]).toEqual([path, method, 405]);
        const { status: out } = await fetch(url, { method, redirect: 'manual' });
        expect([path, method, [303, 405].includes(out)]).toEqual([path, method, true]);
      }
    }
  });

  test('S-155 asks browsers for HTTPS for a year, by HTTPS only', async () => {
    const { app, from } = await behindProxy();
    const [secure, plain] = [from('203.0.113.5'), visitorOf(app)];
    const path = `${home}/sign-in`;
    const headerOf = async (visitor: typeof plain) =>
      (await visitor.get(path)).headers.get('Strict-Transport-Security');
    expect(await headerOf(secure)).toBe('max-age=31536000');
    expect(await headerOf(plain)).toBeNull();
  });

  test.each(['PAY.example.com', 'pay.example.com:443'])(
    'accepts forms of its own host, also if a proxy writes that as %s',
    async (host) => {
      const { parseProxyNetwork } = await import('../../../src/domain/access/client-address.ts');
      const app = await openApp({ config: { trustedProxy: [parseProxyNetwork('127.0.0.1')] } });
      await setPassword(app);
      const headers = { 'X-Forwarded-Proto': 'https', 'X-Forwarded-Host': host };
      const visitor = visitorOf(app, { headers, origin: 'https://pay.example.com' });
      const seen = await visitor.submit(`${home}/sign-in`, 'sign-in', { password });
      expect([seen.status, seen.to]).toEqual([303, home]);
    },
  );

  test.each([
    ['another site', { Origin: 'https://evil.example' }],
    ['a frame without an origin', { Origin: 'null' }],
    ['another port of this host', { Origin: 'http://127.0.0.1:1' }],
    ['a site of the same family', { 'Sec-Fetch-Site': 'same-site' }],
    ['no page', { 'Sec-Fetch-Site': 'none' }],
    ['another site by its own word', { 'Sec-Fetch-Site': 'cross-site' }],
  ])(
    'does nothing for a form that comes from %s, whatever its content type',
    async (_, headers) => {
      const app = await openApp();
      const visitor = await signedIn(app);
      for (const path of paths) {
        await visitor.get(path);
        for (const type of contentTypes) {
          const body = `token=${visitor.formToken}&do=sign-out`;
          const sent = await visitor.post(path, body, { 'Content-Type': type, ...headers });
          expect([path, type, sent.status]).toEqual([path, type, 403]);
        }
      }
      expect((await visitor.get(home)).status).toBe(200);
    },
  );

  test('S-34 does nothing for a form without an origin, without its token, or in another type', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    const bare = { Cookie: visitor.cookie, 'Content-Type': 'application/x-www-form-urlencoded' };
    const withActions = pages.filter(({ actions }) => actions !== undefined);
    for (const { path, actions } of withActions) {
      const url = (home + path).replace(':id', '1').replace(/\/$/, '');
      for (const does of Object.keys(actions ?? {})) {
        const body = `token=${visitor.formToken}&do=${does}`;
        const noOrigin = await fetch(`http://127.0.0.1:${app.port}${url}`, {
          ...{ method: 'POST', body, headers: bare, redirect: 'manual' },
        });
        expect([url, does, noOrigin.status]).toEqual([url, does, 403]);
        for (const token of [
          '',
          'token=&',
          `token=${'A'.repeat(43)}&`,
          `token=x${visitor.formToken}&`,
        ]) {
          const sent = await visitor.post(url, `${token}do=${does}`);
          expect([url, does, sent.status]).toEqual([url, does, 403]);
        }
        for (const type of contentTypes.slice(1)) {
          const sent = await visitor.post(url, body, { 'Content-Type': type });
          expect([url, does, sent.status]).toEqual([url, does, 400]);
        }
      }
    }
    expect((await visitor.get(home)).status).toBe(200);
  });

  test('runs no action that its forms do not have', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    for (const { path, open } of pages.filter(({ actions }) => actions !== undefined)) {
      await visitor.get(open ? `${home}/sign-in` : `${home}/settings/account`);
      const url = (home + path).replace(':id', '1').replace(/\/$/, '');
      for (const does of ['', 'nothing', 'constructor', 'toString', '__proto__']) {
        const sent = await visitor.post(url, `token=${visitor.formToken}&do=${does}`);
        // Some pages show one row of a table that is empty here.
        expect([url, does, [400, 404].includes(sent.status)]).toEqual([url, does, true]);
      }
    }
  });

  test('S-11 is in no frame, runs no foreign script, is not cached and sends no referrer to other sites', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    for (const path of [...paths, `${home}/nowhere`]) {
      const { headers, text } = await visitor.get(path);
      const policy = headers.get('Content-Security-Policy') ?? '';
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toMatch(/unsafe|https?:|\*/);
      expect(headers.get('X-Frame-Options')).toBe('DENY');
      expect(headers.get('X-Content-Type-Options')).toBe('nosniff');
      expect(headers.get('Referrer-Policy')).toBe('same-origin');
      expect(headers.get('Cache-Control')).toContain('no-store');
      expect(headers.get('Access-Control-Allow-Origin')).toBeNull();
      // The page of a customer, as the rehearsal shows it, has texts that its policy names.
      const rest = text.replaceAll(/<(style|script)>(.*?)<\/\1>/gs, (whole, _, inline: string) =>
        policy.includes(createHash('sha256').update(inline).digest('base64')) ? '' : whole,
      );
      expect(rest).not.toMatch(/<[^>]+ (style|on[a-z]+)=|<script>|<style|javascript:/i);
      expect(rest).not.toMatch(/(src|href|action)="(?![/#?]|(\.\.\/)+[a-z])/);
    }
  });
});

describe('the first password', () => {
  test('S-136 is set by a one-time link, which signs in and becomes invalid', async () => {
    const app = await openApp();
    const visitor = visitorOf(app);
    const path = await link(app);
    // The public page shows the names of the options, and not the path of the database.
    for (const page of ['sign-in', 'enter?token=old']) {
      const { text } = await visitor.get(`${home}/${page}`);
      expect(text).toContain('paygate admin link');
      expect(text).toContain('with the --db and --listen, --domain or --public-url of serve');
      expect(text).not.toContain(app.path);
    }
    const tooShort = { 'password-new': 'fourteen chars', 'password-again': 'fourteen chars' };
    const refused = await visitor.submit(path, 'enter', tooShort);
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('at least 15')]);
    await app.addStore({ name: 'Kaffeerösterei' });
    const name = { 'password-new': 'Kaffeerösterei 1', 'password-again': 'Kaffeerösterei 1' };
    expect((await visitor.submit(path, 'enter', name)).text).toContain('easy to guess');
    for (const text of guessablePasswords) {
      const weak = { 'password-new': text, 'password-again': text };
      const { status, text: shown } = await visitor.submit(path, 'enter', weak);
      expect([text, status, shown.includes('easy to guess')]).toEqual([text, 400, true]);
    }
    const fields = { 'password-new': password, 'password-again': password };
    const unlike = await visitor.submit(path, 'enter', { ...fields, 'password-again': 'another' });
    expect(unlike.status).toBe(400);
    const entered = await visitor.submit(path, 'enter', fields);
    expect([entered.status, entered.to]).toEqual([303, `${home}/welcome`]);
    expect((await visitor.get(home)).status).toBe(200);
    const late = await visitorOf(app).get(path);
    expect(late.text).toContain('no longer valid');
    expect((await visitorOf(app).submit(path, 'enter', fields)).status).toBe(403);
    const other = visitorOf(app);
    const signed = await other.submit(`${home}/sign-in?next=/dashboard/settings`, 'sign-in', {
      password,
    });
    expect([signed.status, signed.to]).toEqual([303, '/dashboard/settings']);
  });

  test('S-40 a link expires after 15 minutes, and with the next link', async () => {
    const app = await openApp();
    const [first, second] = [await link(app), await link(app)];
    expect((await visitorOf(app).get(first)).text).toContain('no longer valid');
    expect((await visitorOf(app).get(second)).text).toContain('Set a password');
    app.world.jumpWallClock(15 * minuteMs);
    expect((await visitorOf(app).get(second)).text).toContain('no longer valid');
  });
});

describe('a session', () => {
  test('S-43 begins with a new cookie, whatever cookie the browser sent', async () => {
    const app = await openApp();
    await setPassword(app);
    const visitor = visitorOf(app);
    const planted = `paygate-${app.port}=planted-by-somebody-else`;
    visitor.cookie = planted;
    const seen = await visitor.submit(`${home}/sign-in`, 'sign-in', { password });
    expect(seen.status).toBe(303);
    expect(visitor.cookie).not.toBe(planted);
    expect(seen.headers.get('Set-Cookie')).toMatch(/; Path=\/; HttpOnly; SameSite=Strict$/);
    const thief = visitorOf(app);
    thief.cookie = planted;
    expect((await thief.get(home)).status).toBe(303);
  });

  test('S-08 lasts as long as it is used, and twelve hours at most', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    for (let passed = 0; passed < 12 * hourMs - 25 * minuteMs; passed += 25 * minuteMs) {
      expect((await visitor.get(home)).status).toBe(200);
      app.world.jumpWallClock(25 * minuteMs);
    }
    app.world.jumpWallClock(25 * minuteMs);
    expect((await visitor.get(home)).status).toBe(303);
  });

  test('is not prolonged by requests of the script', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    for (let passed = 0; passed < 30; passed += 5) {
      expect((await visitor.get(home, { 'X-Paygate-Live': '1' })).status).toBe(200);
      app.world.jumpWallClock(5 * minuteMs);
    }
    expect((await visitor.get(home)).status).toBe(303);
  });

  test('is not prolonged by a page that loads itself again, but by a link and by a reload', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    const path = `${home}/payments?state=confirmed`;
    const from = (referrer: string) => ({ Referer: `http://127.0.0.1:${app.port}${referrer}` });
    for (const headers of [from(home), from(`${home}/payments`), {}, { Referer: 'nowhere' }]) {
      app.world.jumpWallClock(20 * minuteMs);
      expect((await visitor.get(path, headers)).status).toBe(200);
    }
    app.world.jumpWallClock(20 * minuteMs);
    expect((await visitor.get(path, from(path))).status).toBe(200);
    app.world.jumpWallClock(11 * minuteMs);
    expect((await visitor.get(path)).status).toBe(303);
  });

  test('that is over: a script gets 401, because it cannot see where a redirect leads', async () => {
    const app = await openApp();
    const visitor = visitorOf(app);
    const seen = await visitor.get(home, { 'X-Paygate-Live': '1' });
    expect([seen.status, seen.to]).toEqual([401, undefined]);
    expect(seen.text).toContain('Sign in again.');
    expect((await visitor.get(`${home}/sign-in`, { 'X-Paygate-Live': '1' })).status).toBe(200);
  });

  test('ends at sign-out, and its cookie is invalid afterwards', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    const { cookie } = visitor;
    const out = await visitor.submit(`${home}/sign-out`, 'sign-out');
    expect([out.status, visitor.cookie]).toEqual([303, '']);
    visitor.cookie = cookie;
    expect((await visitor.get(home)).status).toBe(303);
  });

  test('S-09 ends for all clients when the password changes; the client that changed it gets a new one', async () => {
    const app = await openApp();
    const [visitor, other] = [await signedIn(app), await signedIn(app)];
    const { cookie } = visitor;
    const changed = await visitor.submit(`${home}/settings/account`, 'change-password', {
      'password-new': 'another good password',
      'password-again': 'another good password',
    });
    expect(changed.status).toBe(303);
    expect(visitor.cookie).not.toBe(cookie);
    expect((await visitor.get(home)).status).toBe(200);
    expect((await other.get(home)).status).toBe(303);
    visitor.cookie = cookie;
    expect((await visitor.get(home)).status).toBe(303);
    const late = await visitorOf(app).submit(`${home}/sign-in`, 'sign-in', { password });
    expect(late.status).toBe(401);
  });

  test('the old password fails while it is being changed', async () => {
    const { world, isHashing } = hashingWorld();
    const app = await openApp({ world });
    // Session ids are reused: the thief's id is the owner's id after the new password.
    const thief = await signedIn(app);
    const owner = await signedIn(app);
    const late = visitorOf(app);
    await late.get(`${home}/sign-in`);
    world.jumpWallClock(6 * minuteMs);
    const stolen = (visitor: typeof late, does: string) =>
      String(new URLSearchParams({ token: visitor.formToken, do: does, password }));
    await thief.get(`${home}/stores`);
    // The first in the queue needs a hash; those behind it sign in after the password has changed.
    const changed = owner.submit(`${home}/settings/account`, 'change-password', {
      password,
      'password-new': 'quite another one',
      'password-again': 'quite another one',
    });
    await world.until(isHashing, 'the new password to be on its way');
    const entered = late.post(`${home}/sign-in`, stolen(late, 'sign-in'));
    const revealed = thief.post(`${home}/stores`, stolen(thief, 'reveal-key'));
    expect((await changed).status).toBe(303);
    expect([(await entered).status, (await late.get(home)).status]).toEqual([401, 303]);
    const seen = await revealed;
    expect([seen.status === 200, seen.text.includes(app.apiKey)]).toEqual([false, false]);
  });

  test('that a new password has ended cannot set another password, even from an earlier request', async () => {
    const { world, isHashing } = hashingWorld();
    const app = await openApp({ world });
    const thief = await signedIn(app);
    await thief.get(`${home}/settings/account`);
    const chosen = (text: string) => ({ 'password-new': text, 'password-again': text });
    const owner = visitorOf(app);
    const entered = owner.submit(await link(app), 'enter', chosen('quite another one'));
    await world.until(isHashing, 'the new password to be on its way');
    const fields = {
      token: thief.formToken,
      do: 'change-password',
      ...chosen('of a stranger, now'),
    };
    const changed = thief.post(`${home}/settings/account`, String(new URLSearchParams(fields)));
    expect((await entered).status).toBe(303);
    expect([(await changed).status, (await thief.get(home)).status]).toEqual([401, 303]);
    expect((await owner.get(home)).status).toBe(200);
  });

  test('that ends while a form is being received does not run its action', async () => {
    const app = await openApp();
    const [owner, thief] = [await signedIn(app), await signedIn(app)];
    await thief.get(`${home}/stores`);
    const form = String(new URLSearchParams({ token: thief.formToken, do: 'reveal-key' }));
    const sent = request({
      ...{ host: '127.0.0.1', port: app.port, path: `${home}/stores`, method: 'POST' },
      headers: {
        ...{ Cookie: thief.cookie, Origin: `http://127.0.0.1:${app.port}` },
        'Content-Type': 'application/x-www-form-urlencoded',
        'Content-Length': form.length,
        // The response to this request shows that the rest has been read.
        Expect: '100-continue',
      },
    });
    sent.flushHeaders();
    await once(sent, 'continue');
    expect((await owner.submit(`${home}/settings/account`, 'end-others')).status).toBe(303);
    sent.end(form);
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    expect([answer.statusCode, await textOf(answer)]).toEqual([303, '']);
  });

  test('S-44 can end all other sessions', async () => {
    const app = await openApp();
    const [visitor, other] = [await signedIn(app), await signedIn(app)];
    expect((await visitor.submit(`${home}/settings/account`, 'end-others')).status).toBe(303);
    expect((await visitor.get(home)).status).toBe(200);
    expect((await other.get(home)).status).toBe(303);
  });

  test('S-45 five minutes after the password was typed, harmful actions ask for it again', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    app.world.jumpWallClock(6 * minuteMs);
    const page = await visitor.get(`${home}/settings/account`);
    expect(page.text).toContain('Your password again');
    const fields = {
      'password-new': 'another good password',
      'password-again': 'another good password',
    };
    for (const extra of [{}, { password: 'wrong password here' }]) {
      const seen = await visitor.submit(`${home}/settings/account`, 'change-password', {
        ...fields,
        ...extra,
      });
      expect([seen.status, seen.text]).toEqual([403, expect.stringContaining('password')]);
    }
    const { status } = await visitor.submit(`${home}/settings/account`, 'change-password', {
      ...{ ...fields, password },
    });
    expect(status).toBe(303);
  });

  test('S-14 asks for the password again in every form except the harmless ones', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    await app.ask('/api/v3/links', { method: 'POST', body: JSON.stringify({ title: 'Tips' }) });
    const order = JSON.stringify({ amount_sat: 25_000 });
    const { id } = (await app.ask('/api/v3/orders', { method: 'POST', body: order })).body;
    const till = { storeId: 1, name: 'Bar', seenUpTo: null };
    await app.withStore(({ tills, database }) =>
      database.write((tx) => tills.add(tx, app.world.now(), till)),
    );
    app.world.jumpWallClock(6 * minuteMs);
    const wallet = merchantKey(2);
    const fields = {
      ...{ name: 'My shop', 'callback-url': 'https://shop.example/paid', confirmations: '2' },
      ...{
        'allow-private': 'on',
        wallet: '1',
        scope: 'read',
        overlap: 'at-once',
        file: 'latest.db',
        server: 'a server',
      },
      ...{ key: '1', sha256: 'ab'.repeat(32), secret: 'A'.repeat(32), code: '123456' },
      url: 'https://shop.example/hook',
      ...{ store: '1', title: 'Tips', note: 'no', view: 'page' },
      ...{ 'password-new': 'another good password', 'password-again': 'another good password' },
      ...{ host: 'smtp.example.com', port: '465', security: 'tls', from: 'me@example.com' },
    };
    const ofWallet = {
      key: wallet.account,
      letters: firstAddresses(wallet, 1)[0]?.slice(-6) ?? '',
    };
    async function refuses(words: string, typed: Record<string, string>): Promise<number> {
      let count = 0;
      for (const { path, actions } of pages.filter(({ open }) => open === undefined)) {
        const own = path.startsWith('/orders') ? id : '1';
        const named = (home + path).replace(':platform', 'xenforo');
        const url = named.replace(':id', own).replace(/\/$/, '');
        for (const does of Object.keys(actions ?? {}).filter((each) => !harmless.has(each))) {
          const more = does === 'add' || does === 'use-new' ? ofWallet : {};
          const seen = await visitor.submit(url, does, { ...fields, ...more, ...typed });
          const isAsked = seen.text.includes(words);
          expect([url, does, seen.status, isAsked]).toEqual([url, does, 403, true]);
          count += 1;
        }
      }
      return count;
    }
    // Some pages have no form now: theirs is sent with the token of this one.
    await visitor.get(`${home}/orders/new`);
    expect(await refuses('Type your password again for this.', {})).toBeGreaterThan(15);
    const secret = newTotpSecret(new Uint8Array(20));
    await app.withStore(({ admin, database }) => database.write((tx) => admin.setTotp(tx, secret)));
    const both = 'Type your password again, and a code from your authenticator app, for this.';
    await refuses(both, { code: totpCode(secret, totpStep(app.world.now())) });
    await refuses(both, { password, code: '' });
  });

  test('S-05 the database file contains only hashes of tokens, so it cannot be used to sign in', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    const url = await link(app);
    const dump = await app.withStore(async ({ database }) =>
      JSON.stringify([
        database.orm.select().from(sessions).all(),
        database.orm.select().from(adminLinks).all(),
        database.orm.select().from(admin).all(),
      ]),
    );
    const [, token = 'none'] = visitor.cookie.split('=');
    const [, linkToken = 'none'] = url.split('token=');
    for (const secret of [token, linkToken, password]) {
      expect(dump).not.toContain(secret);
      expect(dump).not.toContain(JSON.stringify(Buffer.from(secret, 'base64url')));
    }
  });
});

describe('after a clock that was ahead is corrected', () => {
  const yearMs = 365 * 24 * hourMs;

  test('S-41 a session has ended, and harmful actions ask for the password again', async () => {
    const app = await openApp();
    app.world.jumpWallClock(yearMs);
    const visitor = await signedIn(app);
    app.world.jumpWallClock(-yearMs);
    expect((await visitor.get(home)).status).toBe(303);
  });

  test('S-42 a one-time link is no longer valid', async () => {
    const app = await openApp();
    app.world.jumpWallClock(yearMs);
    const first = await link(app);
    app.world.jumpWallClock(-yearMs);
    expect((await visitorOf(app).get(first)).text).toContain('no longer valid');
  });

  test('by some seconds, sessions and links stay valid', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    app.world.jumpWallClock(-30_000);
    expect((await visitor.get(home)).status).toBe(200);
    expect((await visitor.submit(`${home}/stores`, 'reveal-key')).status).toBe(200);
  });
});

describe('wrong passwords', () => {
  test('are limited for each client, while another client can sign in', async () => {
    const app = await openApp({ config: { trustedProxy: [] } });
    await setPassword(app);
    const visitor = visitorOf(app);
    for (let tries = 0; tries < 10; tries += 1) {
      const seen = await visitor.submit(`${home}/sign-in`, 'sign-in', { password: 'wrong' });
      expect(seen.status).toBe(401);
    }
    const seen = await visitor.submit(`${home}/sign-in`, 'sign-in', { password });
    expect([seen.status, seen.headers.get('Retry-After')]).toEqual([429, '6']);
    // Attempts beyond the limit are not logged.
    const refused = app.world.logs.filter(({ message }) => message === 'sign-in refused');
    expect(refused).toHaveLength(10);
    await app.world.advance(minuteMs);
    expect((await visitor.submit(`${home}/sign-in`, 'sign-in', { password })).status).toBe(303);
  });

  test('S-52 and right ones are logged with the client address, and never with the typed text', async () => {
    const app = await openApp();
    await setPassword(app);
    const visitor = visitorOf(app);
    const typed = 'a wrong battery staple';
    await visitor.submit(`${home}/sign-in`, 'sign-in', { password: typed });
    await visitor.submit(`${home}/sign-in`, 'sign-in', { password });
    const found = app.world.logs.filter(({ message }) => /sign/.test(message));
    expect(found).toMatchObject([
      { level: 'warn', message: 'sign-in refused', fields: { client: '127.0.0.1' } },
      { level: 'info', message: 'signed in', fields: { client: '127.0.0.1', person: 'admin' } },
    ]);
    expect(JSON.stringify(app.world.logs)).not.toContain(typed);
    expect(JSON.stringify(app.world.logs)).not.toContain(password);
  });

  test('S-53 before harmful actions are also logged with the client address', async () => {
    const { app, from } = await behindProxy();
    const client = '203.0.113.5';
    const visitor = from(client);
    await visitor.submit(`${home}/sign-in`, 'sign-in', { password });
    app.world.jumpWallClock(6 * minuteMs);
    for (let tries = 0; tries < 12; tries += 1) {
      await visitor.submit(`${home}/stores`, 'reveal-key', { password: 'wrong battery' });
    }
    const refused = app.world.logs.filter(({ message }) => message === 'sign-in refused');
    expect(refused.length).toBeGreaterThanOrEqual(9);
    const fields = { client, reason: 'Wrong password.' };
    for (const each of refused) expect(each).toMatchObject({ level: 'warn', fields });
    expect(JSON.stringify(app.world.logs)).not.toContain('wrong battery');
  });

  test('S-54 a sign-in by a one-time link is logged, and changes are in the audit log with their client', async () => {
    const { app, from } = await behindProxy();
    const client = '203.0.113.5';
    const visitor = from(client);
    const fields = { 'password-new': password, 'password-again': password };
    expect((await visitor.submit(await link(app), 'enter', fields)).status).toBe(303);
    const found = app.world.logs.filter(({ message }) => message === 'signed in');
    expect(found).toMatchObject([{ level: 'info', fields: { client, by: 'link' } }]);
    await visitor.submit(`${home}/stores`, 'reveal-key');
    const rows = await app.withStore(async ({ audit }) => audit.list(10));
    expect(rows.map(({ action, detail }) => [action, JSON.parse(detail)])).toEqual([
      ['key.reveal', { client, person: 'admin' }],
      ['password.set', { by: 'link', client, person: 'admin' }],
    ]);
  });

  test('S-36 of one client behind a proxy do not lock out another', async () => {
    const { from } = await behindProxy();
    const attacker = from('203.0.113.5');
    for (let tries = 0; tries < 11; tries += 1) {
      await attacker.submit(`${home}/sign-in`, 'sign-in', { password: 'wrong' });
    }
    const shutOut = await attacker.submit(`${home}/sign-in`, 'sign-in', { password });
    expect(shutOut.status).toBe(429);
    const owner = from('198.51.100.7');
    const seen = await owner.submit(`${home}/sign-in`, 'sign-in', { password });
    expect(seen.status).toBe(303);
    expect(owner.cookie).toMatch(/^__Host-paygate=/);
    expect(seen.headers.get('Set-Cookie')).toMatch(/; Path=\/; HttpOnly; Secure; SameSite=Strict$/);
  });

  test('S-37 of one /48 network prefix are limited to ten a minute', async () => {
    const { from } = await behindProxy();
    const statuses: number[] = [];
    for (let network = 0; network < 12; network += 1) {
      const stranger = from(`2001:db8:0:${network.toString(16)}::1`);
      const seen = await stranger.submit(`${home}/sign-in`, 'sign-in', { password: 'wrong' });
      statuses.push(seen.status);
    }
    expect(statuses).toEqual([...Array(10).fill(401), 429, 429]);
    const other = from('2001:db8:1::1');
    const seen = await other.submit(`${home}/sign-in`, 'sign-in', { password });
    expect(seen.status).toBe(303);
  });
});

/** With a password, and visitors from any address. */
async function behindProxy() {
  const app = await openApp({ config: { trustedProxy: [parseProxyNetwork('127.0.0.1')] } });
  await setPassword(app);
  const from = (address: string) =>
    visitorOf(app, {
      headers: {
        'X-Forwarded-For': address,
        'X-Forwarded-Proto': 'https',
        'X-Forwarded-Host': 'pay.example.com',
      },
      origin: 'https://pay.example.com',
    });
  return { app, from };
}

describe('private keys in a URL of the dashboard', () => {
  const tprv =
    'tprv8ZgxMBicQKsPd7Uf69XL1XwhmjHopUGep8GuEiJDZmbQz6o58LninorQAfcKZWARbtRtfnLcJ5MQ2AtHcQJCCRUcMRvmDUjyEmNUWwx8UbK';

  test('appear in no page, no redirect and no log', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    for (const each of [visitor, visitorOf(app)]) {
      const seen = await each.get(`${home}/payments?q=${tprv}`);
      expect(seen.status).toBe(400);
      expect(seen.text).toContain('looks like a private key');
      expect(seen.text + [...seen.headers].join()).not.toContain(tprv);
    }
    expect(JSON.stringify(app.world.logs)).not.toContain(tprv);
  });
});

describe('an authenticator app', () => {
  const wrongCode = { password, code: '000001' };

  test('S-38 limits attempts with codes for clients that know the password, whatever their address', async () => {
    const { app, from } = await behindProxy();
    const secret = newTotpSecret(new Uint8Array(20));
    await app.withStore(({ admin, database }) => database.write((tx) => admin.setTotp(tx, secret)));
    const owner = from('198.51.100.7');
    const code = () => totpCode(secret, totpStep(app.world.now()));
    const signIn = (fields: Record<string, string>) => signInAs(owner, fields);
    expect((await signIn({ password, code: code() })).status).toBe(303);
    const statuses: number[] = [];
    for (let count = 0; count < 7; count += 1) {
      const thief = from(`203.0.113.${count}`);
      statuses.push((await signInAs(thief, wrongCode)).status);
    }
    // The first sign-in also came from an unknown client.
    expect(statuses).toEqual([...Array(4).fill(401), 429, 429, 429]);
    // They used up the limit of unknown clients, not that of known clients.
    app.world.jumpWallClock(30_000);
    expect((await signIn({ password, code: code() })).status).toBe(303);
    await app.world.advance(5 * minuteMs);
    const again = await signInAs(from('203.0.113.1'), wrongCode);
    expect(again.status).toBe(401);
  });

  const secretIn = (text: string): string =>
    /name="secret" value="([A-Z2-7]+)"/.exec(text)?.[1] ?? '';

  test('S-39 is required after a first valid code, and each code is accepted once', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    const begun = await visitor.submit(`${home}/settings/account`, 'begin-totp');
    const secret = secretIn(begun.text);
    expect(begun.text).toContain('<svg class="qr"');
    const code = () => totpCode(secret, totpStep(app.world.now()));
    const wrong = await visitor.submit(`${home}/settings/account`, 'finish-totp', {
      secret,
      code: '000000',
    });
    expect(wrong.text).toContain('This code does not belong to that key');
    const done = await visitor.submit(`${home}/settings/account`, 'finish-totp', {
      ...{ secret, code: code() },
    });
    expect([done.status, done.text]).toEqual([200, expect.stringContaining('app is on')]);
    const other = visitorOf(app);
    const signIn = (more: Record<string, string>) => signInAs(other, { password, ...more });
    expect([(await signIn({})).status, other.cookie]).toEqual([200, '']);
    // The code that turned it on is used up.
    expect((await signIn({ code: code() })).status).toBe(401);
    app.world.jumpWallClock(30_000);
    const both = await Promise.all([signIn({ code: code() }), signedInWith(app, code())]);
    expect(both.map(({ status }) => status).sort()).toEqual([303, 401]);
  });

  test('refuses a sign-in whose password was being checked when the app was turned on', async () => {
    const { world, isHashing } = hashingWorld();
    const app = await openApp({ world });
    const owner = await signedIn(app);
    const late = visitorOf(app);
    await late.get(`${home}/sign-in`);
    const begun = await owner.submit(`${home}/settings/account`, 'begin-totp');
    const secret = secretIn(begun.text);
    const code = totpCode(secret, totpStep(world.now()));
    // Passwords are checked one after the other, behind a hash in progress.
    const hindered = { 'password-new': 'quite another one', 'password-again': 'quite another one' };
    const first = visitorOf(app).submit(await link(app), 'enter', hindered);
    await world.until(isHashing, 'a hash to be made');
    const fields = { token: late.formToken, do: 'sign-in', password };
    const entered = late.post(`${home}/sign-in`, String(new URLSearchParams(fields)));
    const finish = { token: owner.formToken, do: 'finish-totp', secret, code };
    const done = await owner.post(`${home}/settings/account`, String(new URLSearchParams(finish)));
    expect([done.status, done.text]).toEqual([200, expect.stringContaining('recovery codes')]);
    // The link is no longer valid: the password stays.
    await link(app);
    expect((await first).status).toBe(403);
    expect([(await entered).status, (await late.get(home)).status]).toEqual([401, 303]);
  });

  test('S-13 is required with the password before harmful actions, and each code is accepted once', async () => {
    const app = await openApp();
    const owner = await signedIn(app);
    const secret = newTotpSecret(new Uint8Array(20));
    await app.withStore(({ admin, database }) => database.write((tx) => admin.setTotp(tx, secret)));
    app.world.jumpWallClock(6 * minuteMs);
    const code = () => totpCode(secret, totpStep(app.world.now()));
    const isOn = () => app.withStore(async ({ admin }) => admin.operator()?.totpSecret === secret);
    const page = await owner.get(`${home}/settings/account`);
    expect(page.text).toContain('Code from your authenticator app');
    // Somebody who stole the session and knows the password.
    const end = (fields: Record<string, string>) =>
      owner.submit(`${home}/settings/account`, 'end-totp', fields);
    for (const fields of [{}, { password }, { code: code() }, { password, code: '' }]) {
      expect([(await end(fields)).status, await isOn()]).toEqual([403, true]);
    }
    expect((await end({ password, code: '000001' })).status).toBe(401);
    expect((await end({ password: 'wrong', code: code() })).status).toBe(403);
    const wallet = merchantKey(2);
    const letters = firstAddresses(wallet, 1)[0]?.slice(-6) ?? '';
    const other = { key: wallet.account, letters, password };
    const attach = (fields: Record<string, string>) =>
      owner.submit(`${home}/stores/1/wallet/new`, 'use-new', { ...other, ...fields });
    expect((await attach({})).status).toBe(403);
    const used = code();
    expect((await attach({ code: used })).status).toBe(303);
    expect(await isOn()).toBe(true);
    // The code is recent for five minutes, as is the password; then a used code is refused.
    const back = app.world.now();
    app.world.jumpWallClock(6 * minuteMs);
    expect((await end({ password, code: used })).status).toBe(401);
    expect(await isOn()).toBe(true);
    expect(app.world.now()).toBeGreaterThan(back);
    expect([(await end({ password, code: code() })).status, await isOn()]).toEqual([303, false]);
  });

  test('whose limit is used up by a stolen session does not block signing in', async () => {
    const app = await openApp();
    const thief = await signedIn(app);
    const secret = newTotpSecret(new Uint8Array(20));
    await app.withStore(({ admin, database }) => database.write((tx) => admin.setTotp(tx, secret)));
    app.world.jumpWallClock(6 * minuteMs);
    const statuses: number[] = [];
    for (let count = 0; count < 7; count += 1) {
      const seen = await thief.submit(`${home}/settings/account`, 'end-totp', wrongCode);
      statuses.push(seen.status);
    }
    expect(statuses).toEqual([...Array(5).fill(401), 429, 429]);
    const owner = visitorOf(app);
    const code = totpCode(secret, totpStep(app.world.now()));
    expect((await signInAs(owner, { password, code })).status).toBe(303);
  });

  const signedInWith = (app: TestApp, code: string) => signInAs(visitorOf(app), { password, code });

  test('that is lost is turned off by a one-time link', async () => {
    const app = await openApp();
    await setPassword(app);
    await app.withStore(({ admin, database }) =>
      database.write((tx) => admin.setTotp(tx, newTotpSecret(new Uint8Array(20)))),
    );
    const visitor = visitorOf(app);
    const fields = { 'password-new': password, 'password-again': password, 'no-devices': 'on' };
    expect((await visitor.submit(await link(app), 'enter', fields)).status).toBe(303);
    const seen = await visitorOf(app).submit(`${home}/sign-in`, 'sign-in', { password });
    expect(seen.status).toBe(303);
  });
});

describe('S-148 a connection that others can read', () => {
  test.each([
    ['a name that leads here', { Host: 'pay.example.com' }],
    [
      'a proxy that is none of ours',
      { 'X-Forwarded-Proto': 'https', 'X-Forwarded-For': '192.0.2.1' },
    ],
  ])('by %s shows how to make it private, and nothing else', async (_, headers) => {
    const app = await openApp();
    await setPassword(app);
    for (const path of paths) {
      const [status, text] = await new Promise<[number | undefined, string]>((resolve, reject) => {
        const sent = request({ host: '127.0.0.1', port: app.port, path, headers }, (response) => {
          let body = '';
          response.setEncoding('utf8').on('data', (part: string) => {
            body += part;
          });
          response.once('end', () => resolve([response.statusCode, body]));
        });
        sent.once('error', reject).end();
      });
      expect([path, status]).toEqual([path, 403]);
      expect(text).toContain('not private');
      expect(text).toContain('paygate serve --domain pay.example.com');
      expect(text).not.toContain('<form');
    }
  });

  test('a trusted proxy that reports http counts as such a connection', async () => {
    const { parseProxyNetwork } = await import('../../../src/domain/access/client-address.ts');
    const app = await openApp({ config: { trustedProxy: [parseProxyNetwork('127.0.0.1')] } });
    const seen = await visitorOf(app).get(`${home}/sign-in`, {
      'X-Forwarded-For': '192.0.2.1',
      'X-Forwarded-Proto': 'http',
    });
    expect(seen.status).toBe(403);
  });
});

test('assets are small, come from our own origin, and may be cached without a time limit', async () => {
  const app = await openApp();
  const { text } = await visitorOf(app).get(`${home}/sign-in`);
  const found = [...text.matchAll(/(?:href|src)="(\/dashboard\/assets\/[^"]+)"/g)].map(
    ([, path]) => path,
  );
  expect(found).toHaveLength(3);
  let bytes = text.length;
  for (const path of found) {
    const seen = await visitorOf(app).get(path ?? '');
    expect(seen.status).toBe(200);
    expect(seen.headers.get('Content-Encoding')).toBe('gzip');
    expect(seen.headers.get('Cache-Control')).toContain('immutable');
    bytes += seen.text.length;
  }
  expect(bytes).toBeLessThan(100_000);
  const ofAnotherVersion = `${home}/assets/style-000000000000.css`;
  expect((await visitorOf(app).get(ofAnotherVersion)).status).toBe(404);
});
