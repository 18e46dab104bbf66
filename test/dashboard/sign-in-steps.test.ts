// Signing in with an authenticator app: the password first, then the code on a page of its own. The
// proof of the password between the two is no session, and reveals nothing to strangers.

import { afterEach, describe, expect, test } from 'vitest';
import { parseProxyNetwork } from '../../src/domain/access/client-address.ts';
import { newTotpSecret, totpCode, totpStep } from '../../src/domain/access/totp.ts';
import { closeApps, openApp, type TestApp } from '../support/app.ts';
import { dashboardRoutes } from '../support/dashboard-routes.ts';
import {
  cheapHash,
  codeForm,
  password,
  proofIn,
  signInAs,
  signInPath,
  type Visitor,
  viewerPassword,
  visitorOf,
} from '../support/visitor.ts';

afterEach(closeApps);

const minuteMs = 60_000;
const home = '/dashboard';
const [ofOwner = '', ofViewer = ''] = [1, 2].map((byte) =>
  newTotpSecret(new Uint8Array(20).fill(byte)),
);
const recovery = 'aaaa-aaaa-aaaa-aaaa-aaaa-aaaa';
const asViewer = { username: 'Anna', password: viewerPassword };
const asOwner = { username: 'admin', password };

const code = (app: TestApp, secret = ofOwner, later = 0) =>
  totpCode(secret, totpStep(app.world.now()) + later);

/** The owner and Anna with an authenticator app, and Bea without one. */
async function openWithApps(options: Parameters<typeof openApp>[0] = {}) {
  const app = await openApp(options);
  await app.withStore(({ admin, database }) =>
    database.write((tx) => {
      const now = app.world.now();
      admin.setPassword(tx, now, cheapHash(password));
      for (const name of ['Anna', 'Bea']) {
        admin.of(admin.addViewer(tx, now, name).id).setPassword(tx, now, cheapHash(viewerPassword));
      }
      admin.setTotp(tx, ofOwner);
      admin.setRecoveryCodes(tx, [recovery]);
      admin.of(2).setTotp(tx, ofViewer);
    }),
  );
  return app;
}

/** A visitor whose password was right, with its proof. */
async function atCode(app: TestApp, fields: Record<string, string> = asOwner) {
  const visitor = visitorOf(app);
  const seen = await visitor.submit(signInPath, 'sign-in', fields);
  const proof = proofIn(seen);
  if (proof === undefined) throw new Error(`no code is asked for: ${seen.status}`);
  return { visitor, proof, seen };
}

const sendCode = (visitor: Visitor, proof: string, fields: Record<string, string>) =>
  visitor.post(signInPath, codeForm(visitor, proof, fields));

const alertIn = (text: string) => /role="alert"[^>]*>\s*([^<]*?)\s*</.exec(text)?.[1];
const again = expect.stringContaining('Type your password again.');

describe('S-202 the proof of a right password', () => {
  test('opens no route of the dashboard, as a cookie or with a form', async () => {
    const app = await openWithApps();
    const { visitor, proof, seen } = await atCode(app);
    expect([seen.status, visitor.cookie]).toEqual([200, '']);
    const name = (await signedInName(app)) ?? '';
    const open = new Set(['/', '/favicon.svg', `${home}/assets/:name`, signInPath]);
    for (const page of ['enter', 'decide']) open.add(`${home}/${page}`);
    const paths = (await dashboardRoutes(app)).filter((path) => !open.has(path));
    expect(paths.length).toBeGreaterThan(55);
    for (const cookie of ['', `${name}=${proof}`, visitor.visiting.replace(/^[^=]*/, name)]) {
      visitor.cookie = cookie;
      for (const path of paths) {
        await app.world.advance(1_000);
        const url = path.replace(/:\w+/, '1').replace('*', 'nowhere');
        const got = await visitor.get(`${url}?password-proof=${proof}`);
        const sent = await visitor.post(
          url,
          `token=${visitor.formToken}&do=nothing&password-proof=${proof}`,
        );
        const leads = [got, sent].map(({ status, to }) => [status, to?.split('?')[0]]);
        expect([path, leads]).toEqual([path, Array(2).fill([303, signInPath])]);
        expect(got.text + sent.text).toBe('');
      }
    }
  });

  test('signs in with the code, once, and only in its browser', async () => {
    const app = await openWithApps();
    const { visitor, proof } = await atCode(app);
    const other = visitorOf(app);
    await other.get(signInPath);
    const stolen = await sendCode(other, proof, { code: code(app) });
    expect([stolen.status, alertIn(stolen.text), other.cookie]).toEqual([401, again, '']);
    expect((await sendCode(visitor, proof, { code: code(app) })).to).toBe(home);
    expect((await visitor.get(home)).status).toBe(200);
    const { visiting } = visitor;
    const replay = visitorOf(app);
    replay.visiting = visiting;
    await replay.get(signInPath);
    for (const fields of [{ code: code(app, ofOwner, 1) }, { 'recovery-code': recovery }]) {
      const sent = await sendCode(replay, proof, fields);
      expect([sent.status, alertIn(sent.text), replay.cookie]).toEqual([401, again, '']);
      expect(proofIn(sent)).toBeUndefined();
    }
  });

  test('begins one session, if two valid codes come at once', async () => {
    const app = await openWithApps();
    const { visitor, proof } = await atCode(app);
    const body = (later: number) => codeForm(visitor, proof, { code: code(app, ofOwner, later) });
    const sent = await Promise.all([0, 1].map((later) => visitor.post(signInPath, body(later))));
    expect(sent.map(({ status }) => status).sort()).toEqual([303, 401]);
    expect(await app.withStore(async ({ admin }) => admin.sessions(app.world.now()).length)).toBe(
      1,
    );
  });

  test('is valid for five minutes, also after wrong codes', async () => {
    const app = await openWithApps();
    const [first, second] = [await atCode(app), await atCode(app)];
    await app.world.advance(5 * minuteMs - 1);
    expect((await sendCode(first.visitor, first.proof, { code: '000000' })).status).toBe(401);
    const sent = await sendCode(first.visitor, first.proof, { code: code(app) });
    expect(sent.status).toBe(303);
    await app.world.advance(1);
    const late = await sendCode(second.visitor, second.proof, { code: code(app, ofOwner, 1) });
    expect([late.status, alertIn(late.text)]).toEqual([401, again]);
    expect(late.text).toContain('name="password"');
    expect(late.text).not.toContain('name="code"');
  });

  test.each<[string, (app: TestApp) => Promise<unknown>]>([
    ['another password', (app) => change(app, (own, tx) => own.setPassword(tx, 1, 'scrypt'))],
    ['no authenticator app', (app) => change(app, (own, tx) => own.setTotp(tx, null))],
    ['another authenticator app', (app) => change(app, (own, tx) => own.setTotp(tx, ofOwner))],
    ['an end of the account', (app) => removed(app)],
  ])('ends with %s', async (_, happens) => {
    const app = await openWithApps();
    const { visitor, proof } = await atCode(app, asViewer);
    await happens(app);
    for (const secret of [ofViewer, ofOwner]) {
      const sent = await sendCode(visitor, proof, { code: code(app, secret) });
      expect([sent.status, alertIn(sent.text), visitor.cookie]).toEqual([401, again, '']);
    }
  });

  test('goes with the codes of its person alone', async () => {
    const app = await openWithApps();
    const { visitor, proof } = await atCode(app, asViewer);
    for (const fields of [{ code: code(app, ofOwner) }, { 'recovery-code': recovery }]) {
      // A name beside the proof changes nothing.
      const sent = await sendCode(visitor, proof, { username: 'admin', ...fields });
      expect([sent.status, visitor.cookie]).toEqual([401, '']);
    }
    expect((await sendCode(visitor, proof, { code: code(app, ofViewer) })).status).toBe(303);
    expect((await visitor.get(`${home}/stores`)).status).toBe(403);
  });
});

type Change = Parameters<Parameters<TestApp['withStore']>[0]>[0];
type Own = ReturnType<Change['admin']['of']>;

const change = (app: TestApp, does: (own: Own, tx: Parameters<Own['setTotp']>[0]) => void) =>
  app.withStore(({ admin, database }) => database.write((tx) => does(admin.of(2), tx)));

const removed = (app: TestApp) =>
  app.withStore(({ admin, database }) => database.write((tx) => admin.removeViewer(tx, 2)));

/** The name of the session cookie. */
async function signedInName(app: TestApp): Promise<string | undefined> {
  const bea = visitorOf(app);
  await signInAs(bea, { username: 'Bea', password: viewerPassword });
  return bea.cookie.split('=')[0];
}

describe('S-203 the first page', () => {
  test('is the same with and without an authenticator app, until the password is right', async () => {
    const app = await openWithApps();
    const page = async (visitor: Visitor, fields?: Record<string, string>) => {
      const { status, text, headers } =
        fields === undefined
          ? await visitor.get(signInPath)
          : await visitor.submit(signInPath, 'sign-in', fields);
      const own = text
        .replace(/name="token" value="[^"]+"/, '')
        .replace(/(?<=name="username" value=")[^"]+/, '');
      return [status, own, headers.has('Set-Cookie')];
    };
    const before = await page(visitorOf(app));
    expect(before[1]).not.toMatch(/authenticator|one-time-code|recovery/i);
    const wrong = [];
    for (const username of ['admin', 'Anna', 'Bea', 'Nobody']) {
      for (const more of [{}, { code: code(app) }, { 'password-proof': 'AAAA' }]) {
        await app.world.advance(6_000);
        wrong.push(await page(visitorOf(app), { username, password: 'wrong', ...more }));
      }
    }
    expect(wrong).toEqual(Array(12).fill([401, wrong[0]?.[1], false]));
    await app.withStore(({ admin, database }) =>
      database.write((tx) => {
        admin.setTotp(tx, null);
        admin.of(2).setTotp(tx, null);
      }),
    );
    expect(await page(visitorOf(app))).toEqual(before);
  });

  test('takes no code: without the password before, it is not even looked at', async () => {
    const app = await openWithApps();
    const visitor = visitorOf(app);
    await visitor.get(signInPath);
    for (const proof of ['', 'AAAA', 'x'.repeat(75)]) {
      const sent = await sendCode(visitor, proof, { code: code(app) });
      expect([sent.status, alertIn(sent.text)]).toEqual([401, again]);
    }
    // The code is still unused.
    expect((await signInAs(visitorOf(app), { ...asOwner, code: code(app) })).status).toBe(303);
  });
});

describe('the page of the code', () => {
  test('asks for it in words that fit, whatever is wrong', async () => {
    const app = await openWithApps();
    const { visitor, proof, seen } = await atCode(app);
    expect(alertIn(seen.text)).toBeUndefined();
    expect(seen.text).toContain('<h1>Your code</h1>');
    expect(seen.text).not.toContain('name="password"');
    const field = /<input name="code"[^>]*>/;
    expect(field.exec(seen.text)?.[0]).toBe(
      '<input name="code" inputmode="numeric" autocomplete="one-time-code" autofocus=""/>',
    );
    const send = async (fields: Record<string, string>) => {
      const { status, text } = await sendCode(visitor, proof, fields);
      const isOpen = text.includes('<details open');
      const focus = /<input name="([\w-]+)"[^>]* autofocus/.exec(text)?.[1];
      return [status, alertIn(text), focus, isOpen];
    };
    const missing = 'Type the code that your authenticator app shows.';
    expect(await send({ code: '' })).toEqual([401, missing, 'code', false]);
    const wrong = expect.stringMatching(
      /^This code is wrong\. Type the one that your app shows now/,
    );
    expect(await send({ code: '000' })).toEqual([401, wrong, 'code', false]);
    const none = 'This recovery code is wrong, or was already used. Each one works once.';
    for (const typed of ['bbbb-bbbb-bbbb-bbbb-bbbb-bbbb', 'no code']) {
      expect(await send({ 'recovery-code': typed })).toEqual([401, none, 'recovery-code', true]);
    }
  });

  test('says that a code, or a newer one, was used', async () => {
    const app = await openWithApps();
    await signInAs(visitorOf(app), { ...asOwner, code: code(app) });
    for (const later of [0, -1]) {
      const { visitor, proof } = await atCode(app);
      const sent = await sendCode(visitor, proof, { code: code(app, ofOwner, later) });
      const used = /^This code, or a newer one, was already used\. Wait for the next one:/;
      expect([sent.status, alertIn(sent.text)]).toEqual([401, expect.stringMatching(used)]);
    }
  });

  test('requires the code where no recovery code is left', async () => {
    const app = await openWithApps();
    const { seen } = await atCode(app, asViewer);
    expect(seen.text).toContain('autocomplete="one-time-code" required="" autofocus=""/>');
    expect(seen.text).not.toContain('recovery');
  });

  test('leads to the page that was asked for, and notes the time zone of the owner', async () => {
    const app = await openWithApps();
    const path = `${signInPath}?next=${home}/settings`;
    const visitor = visitorOf(app);
    const proof = proofIn(await visitor.submit(path, 'sign-in', asOwner)) ?? '';
    const refused = await visitor.post(path, codeForm(visitor, proof, { code: '1' }));
    expect(refused.text).toContain(`<a href="${path}">Start again</a>`);
    const fields = { code: code(app), zone: 'Asia/Tokyo' };
    const sent = await visitor.post(path, codeForm(visitor, proof, fields));
    expect([sent.status, sent.to]).toEqual([303, `${home}/settings`]);
    expect(await app.withStore(async ({ state }) => state.timeZone.read())).toBe('Asia/Tokyo');
  });

  test('S-204 is logged with the person: a client that stops there knows the password', async () => {
    const app = await openWithApps();
    const { visitor, proof } = await atCode(app, asViewer);
    const logs = () => app.world.logs.filter(({ message }) => /sign(ed)?.in/.test(message));
    const client = '127.0.0.1';
    const asked = {
      message: 'sign-in: the password was right, a code is required',
      fields: { client, person: 'Anna' },
    };
    expect(logs()).toEqual([expect.objectContaining({ level: 'info', ...asked })]);
    await sendCode(visitor, proof, { code: code(app, ofViewer) });
    expect(logs()[1]).toMatchObject({ message: 'signed in', fields: { client, person: 'Anna' } });
    expect(JSON.stringify(app.world.logs)).not.toContain(proof);
  });
});

describe('S-205 codes after a right password', () => {
  const behindProxy = () =>
    openWithApps({ config: { trustedProxy: [parseProxyNetwork('127.0.0.1')] } });

  const from = (app: TestApp, client: string) =>
    visitorOf(app, {
      headers: {
        'X-Forwarded-For': client,
        'X-Forwarded-Proto': 'https',
        'X-Forwarded-Host': 'pay.example.com',
      },
      origin: 'https://pay.example.com',
    });

  test('are limited for each person, with one proof or many, from one network or many', async () => {
    const app = await behindProxy();
    const thief = from(app, '203.0.113.1');
    const proof = proofIn(await thief.submit(signInPath, 'sign-in', asViewer)) ?? '';
    const statuses: number[] = [];
    for (let count = 0; count < 3; count += 1) {
      statuses.push((await sendCode(thief, proof, { code: '000000' })).status);
      const other = from(app, `198.51.${count}.1`);
      statuses.push((await signInAs(other, { ...asViewer, code: '000000' })).status);
    }
    expect(statuses).toEqual([...Array(5).fill(401), 429]);
    // Neither a new proof nor a valid code helps; a right password is still accepted.
    const late = from(app, '203.0.114.1');
    const again = await late.submit(signInPath, 'sign-in', asViewer);
    const sent = await sendCode(late, proofIn(again) ?? '', { code: code(app, ofViewer) });
    expect([again.status, sent.status, late.cookie]).toEqual([200, 429, '']);
    expect(sent.text).toContain('name="code"');
    // Another person has another limit.
    const owner = from(app, '203.0.115.1');
    expect((await signInAs(owner, { ...asOwner, code: code(app) })).status).toBe(303);
  });

  test('without a valid proof are limited for each network, as passwords are', async () => {
    const app = await behindProxy();
    const guess = async (visitor: Visitor) => {
      await visitor.get(signInPath);
      return (await sendCode(visitor, 'AAAA', { code: '000000' })).status;
    };
    const thief = from(app, '203.0.113.1');
    const statuses: number[] = [];
    for (let count = 0; count < 11; count += 1) statuses.push(await guess(thief));
    expect(statuses).toEqual([...Array(10).fill(401), 429]);
    // They use up no password of that network, and none of another.
    const here = from(app, '203.0.113.1');
    expect((await here.submit(signInPath, 'sign-in', asOwner)).status).toBe(200);
    expect(await guess(from(app, '198.51.100.1'))).toBe(401);
  });
});
