// The account page: sessions one by one, and recovery codes of the authenticator app.

import { afterEach, expect, test } from 'vitest';
import { totpCode, totpStep } from '../../src/domain/access/totp.ts';
import { recoveryCodes } from '../../src/store/schema/admin-schema.ts';
import { closeApps, openApp, type TestApp } from '../support/app.ts';
import { password, signedIn, signInAs, type Visitor, visitorOf } from '../support/visitor.ts';

afterEach(closeApps);

const minuteMs = 60_000;
const account = '/dashboard/settings/account';

const codesIn = (text: string): string[] => text.match(/\b[a-z2-7]{4}(?:-[a-z2-7]{4}){5}\b/g) ?? [];

const actionsOf = (app: TestApp) =>
  app.withStore(async ({ audit }) =>
    audit.list(20).map(({ action, detail }) => [action, JSON.parse(detail)]),
  );

/** Turns the authenticator app on. @returns its secret and the recovery codes */
async function enrol(app: TestApp, visitor: Visitor) {
  const begun = await visitor.submit(account, 'begin-totp');
  const [, secret = ''] = /name="secret" value="([A-Z2-7]+)"/.exec(begun.text) ?? [];
  const code = totpCode(secret, totpStep(app.world.now()));
  const done = await visitor.submit(account, 'finish-totp', { secret, code });
  return { secret, codes: codesIn(done.text) };
}

const signIn = (app: TestApp, fields: Record<string, string>) =>
  signInAs(visitorOf(app), { password, ...fields });

test('S-140 one session is signed out by its row, and no other', async () => {
  const app = await openApp();
  const [visitor, other, third] = [await signedIn(app), await signedIn(app), await signedIn(app)];
  const { text } = await visitor.get(account);
  expect(text.match(/This browser/g)).toHaveLength(1);
  // Newest first: the third session, then the other one.
  const hashes = [...text.matchAll(/name="session" value="([\w-]+)"/g)].map(
    ([, hash = '']) => hash,
  );
  expect(hashes).toHaveLength(2);
  await visitor.submit(account, 'end-session', { session: hashes[1] ?? '' });
  const statuses = [];
  for (const each of [visitor, other, third]) statuses.push((await each.get(account)).status);
  expect(statuses).toEqual([200, 303, 200]);
  // The row of an ended session ends nothing, although numbers of sessions are used again.
  await signedIn(app);
  await visitor.submit(account, 'end-session', { session: hashes[1] ?? '' });
  expect((await visitor.get(account)).text.match(/name="session"/g)).toHaveLength(2);
  const client = '127.0.0.1';
  expect(await actionsOf(app)).toEqual([['session.end', { client, person: 'admin' }]]);
});

test('five minutes after the password, one form asks for it again, and none changes the account', async () => {
  const app = await openApp();
  const visitor = await signedIn(app);
  const forms = async () => {
    const { text } = await visitor.get(account);
    return [...text.matchAll(/name="do" value="([\w-]+)"/g)].map(([, does]) => does);
  };
  expect(await forms()).toEqual(['change-password', 'begin-totp']);
  app.world.jumpWallClock(6 * minuteMs);
  expect(await forms()).toEqual(['confirm']);
  expect((await visitor.submit(account, 'confirm', { password: 'wrong' })).status).toBe(403);
  expect((await visitor.submit(account, 'confirm', { password })).to).toBe(account);
  expect(await forms()).toEqual(['change-password', 'begin-totp']);
});

test('ten recovery codes are shown once; each works once in place of a code', async () => {
  const app = await openApp();
  const visitor = await signedIn(app);
  const { codes } = await enrol(app, visitor);
  expect(new Set(codes).size).toBe(10);
  const page = await visitor.get(account);
  expect([codesIn(page.text), page.text.includes('10 of 10 recovery codes left')]).toEqual([
    [],
    true,
  ]);
  const [first = '', second = ''] = codes;
  expect((await signIn(app, { 'recovery-code': 'aaaa-aaaa-aaaa-aaaa-aaaa-aaaa' })).status).toBe(
    401,
  );
  const both = await Promise.all([
    signIn(app, { 'recovery-code': first }),
    signIn(app, { 'recovery-code': first.toUpperCase().replaceAll('-', ' ') }),
  ]);
  expect(both.map(({ status }) => status).sort()).toEqual([303, 401]);
  expect((await visitor.get(account)).text).toContain('9 of 10 recovery codes left');
  // Before sensitive actions, too.
  app.world.jumpWallClock(6 * minuteMs);
  const fields = { password, 'recovery-code': second };
  expect((await visitor.submit(account, 'new-codes', { password })).status).toBe(403);
  const renewed = await visitor.submit(account, 'new-codes', fields);
  expect([renewed.status, codesIn(renewed.text).length]).toEqual([200, 10]);
  // Old codes end with the new ones.
  const [, , third = ''] = codes;
  expect((await signIn(app, { 'recovery-code': third })).status).toBe(401);
  const [fresh = ''] = codesIn(renewed.text);
  expect((await signIn(app, { 'recovery-code': fresh })).status).toBe(303);
  const [client, person] = ['127.0.0.1', 'admin'];
  expect(await actionsOf(app)).toEqual([
    ['recovery-code.use', { left: 9, client, person }],
    ['recovery-codes.new', { client, person }],
    ['recovery-code.use', { left: 8, client, person }],
    ['recovery-code.use', { left: 9, client, person }],
    ['totp.on', { client, person }],
  ]);
});

test('S-108 a recovery code needs the password, and counts against the limit of codes', async () => {
  const app = await openApp();
  const { codes } = await enrol(app, await signedIn(app));
  const [first = ''] = codes;
  const wrong = await signIn(app, { password: 'wrong', 'recovery-code': first });
  expect(wrong.status).toBe(401);
  const statuses: number[] = [];
  for (let count = 0; count < 6; count += 1) {
    const seen = await signIn(app, { 'recovery-code': 'aaaa-aaaa-aaaa-aaaa-aaaa-aaaa' });
    statuses.push(seen.status);
  }
  expect(statuses).toEqual([...Array(5).fill(401), 429]);
  expect((await signIn(app, { 'recovery-code': first })).status).toBe(429);
  await app.world.advance(5 * minuteMs);
  expect((await signIn(app, { 'recovery-code': first })).status).toBe(303);
});

test('S-78 valid codes of a known client do not count against the limit; wrong ones do', async () => {
  const app = await openApp();
  const visitor = await signedIn(app);
  const { secret, codes } = await enrol(app, visitor);
  /** The next code, six seconds later: so many passwords are allowed, but hardly one more code. */
  async function nextCode(): Promise<string> {
    await app.world.advance(6_000);
    app.world.jumpWallClock(6 * minuteMs);
    return totpCode(secret, totpStep(app.world.now()));
  }
  const reveal = (code: string) =>
    visitor.submit('/dashboard/stores', 'reveal-key', { password, code });
  const statuses: number[] = [];
  for (const each of codes.slice(0, 7)) {
    statuses.push((await signIn(app, { code: await nextCode() })).status);
    statuses.push((await reveal(await nextCode())).status);
    await app.world.advance(6_000);
    statuses.push((await signIn(app, { 'recovery-code': each })).status);
  }
  expect(statuses).toEqual(Array(7).fill([303, 200, 303]).flat());
  for (const use of [reveal, (code: string) => signIn(app, { code })]) {
    const wrong: number[] = [];
    for (let count = 0; count < 6; count += 1) {
      await nextCode();
      wrong.push((await use('000001')).status);
    }
    expect(wrong).toEqual([...Array(5).fill(401), 429]);
    // A valid one neither passes now.
    expect((await use(await nextCode())).status).toBe(429);
  }
});

test('S-106 recovery codes are stored as hashes, and deleted with the authenticator app', async () => {
  const app = await openApp();
  const visitor = await signedIn(app);
  const { codes } = await enrol(app, visitor);
  const rows = () =>
    app.withStore(async ({ database }) => database.orm.select().from(recoveryCodes).all());
  const dump = JSON.stringify(await rows());
  for (const code of codes) {
    expect(dump).not.toContain(code);
    expect(dump).not.toContain(JSON.stringify(Buffer.from(code)));
  }
  expect((await visitor.submit(account, 'end-totp')).status).toBe(303);
  expect(await rows()).toEqual([]);
  expect((await visitor.submit(account, 'new-codes')).status).toBe(409);
  expect(JSON.stringify(app.world.logs)).not.toContain(codes[0]);
});
