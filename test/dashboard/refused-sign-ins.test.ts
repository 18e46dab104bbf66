// What the log has of refused sign-ins, however many of them strangers send.

import { afterEach, describe, expect, test } from 'vitest';
import { base as home } from '../../src/dashboard/page.ts';
import { parseProxyNetwork } from '../../src/domain/access/client-address.ts';
import { newTotpSecret } from '../../src/domain/access/totp.ts';
import { closeApps, openApp, type TestApp } from '../support/app.ts';
import {
  password,
  setPassword,
  signInAs as signIn,
  type Visitor,
  visitorOf,
} from '../support/visitor.ts';

afterEach(closeApps);

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

const usePasskey = (visitor: Visitor) =>
  visitor.submit(`${home}/sign-in`, 'use-passkey', { passkey: '{}' });

const refusals = ({ world }: TestApp) =>
  world.logs.filter(({ message }) => message === 'sign-in refused').map(({ fields }) => fields);

/** Refused passkeys of so many networks, each an IPv6 /48. */
async function flood(from: (address: string) => Visitor, networks: number, start = 0) {
  for (let index = start; index < start + networks; index += 1) {
    expect((await usePasskey(from(`2001:db8:${index.toString(16)}::1`))).status).toBe(401);
  }
}

describe('S-90 a flood of refused sign-ins', () => {
  test('of many networks has ten lines of the log, then six a minute, with a count of the rest', async () => {
    const { app, from } = await behindProxy();
    await flood(from, 40);
    expect(refusals(app)).toHaveLength(10);
    expect(refusals(app)[9]).toMatchObject({ client: '2001:db8:9::1' });
    await app.world.advance(10_000);
    await flood(from, 5, 40);
    expect(refusals(app)).toHaveLength(11);
    expect(refusals(app)[10]).toMatchObject({ client: '2001:db8:28::1', unlogged: 30 });
    await app.world.advance(10_000);
    await flood(from, 1, 45);
    expect(refusals(app)[11]).toMatchObject({ client: '2001:db8:2d::1', unlogged: 4 });
    await app.world.advance(10_000);
    await flood(from, 2, 46);
    expect(refusals(app)[12]).not.toHaveProperty('unlogged');
    await app.world.advance(10_000);
    await flood(from, 1, 48);
    expect(refusals(app)[13]).toMatchObject({ client: '2001:db8:30::1', unlogged: 1 });
  });

  test('with passwords and passkeys has them together', async () => {
    const { app, from } = await behindProxy();
    await flood(from, 8);
    for (let index = 0; index < 4; index += 1) {
      expect((await signIn(from(`203.0.113.${index}`), { password: 'wrong' })).status).toBe(401);
    }
    expect(refusals(app)).toHaveLength(10);
  });

  test('does not count attempts beyond the limit of a client, which are not checked', async () => {
    const { app, from } = await behindProxy();
    const statuses = [];
    for (let count = 0; count < 12; count += 1) {
      statuses.push((await usePasskey(from('203.0.113.7'))).status);
    }
    expect(statuses).toEqual([...Array(10).fill(401), 429, 429]);
    await app.world.advance(10_000);
    await flood(from, 1);
    expect(refusals(app)).toHaveLength(11);
    expect(refusals(app)[10]).toEqual({
      client: '2001:db8::1',
      reason: expect.any(String),
    });
  });

  test('hides no wrong code, which follows a right password', async () => {
    const { app, from } = await behindProxy();
    const secret = newTotpSecret(new Uint8Array(20));
    await app.withStore(({ admin, database }) => database.write((tx) => admin.setTotp(tx, secret)));
    await flood(from, 12);
    const thief = from('203.0.113.7');
    expect((await signIn(thief, { password, code: '000001' })).status).toBe(401);
    const recovery = { password, 'recovery-code': 'aaaa-aaaa' };
    expect((await signIn(thief, recovery)).status).toBe(401);
    expect(refusals(app).slice(10)).toEqual([
      { client: '203.0.113.7', reason: expect.stringContaining('This code is wrong') },
      { client: '203.0.113.7', reason: expect.stringContaining('This recovery code is wrong') },
    ]);
  });

  test('hides no refusal of a client that signed in lately, or of a session', async () => {
    const { app, from } = await behindProxy();
    const owner = from('198.51.100.7');
    expect((await signIn(owner, { password })).status).toBe(303);
    await flood(from, 12);
    expect((await signIn(from('198.51.100.7'), { password: 'wrong' })).status).toBe(401);
    expect((await usePasskey(from('198.51.100.7'))).status).toBe(401);
    app.world.jumpWallClock(6 * 60_000);
    const moved = await owner.submit(`${home}/stores`, 'reveal-key', { password: 'wrong' });
    expect(moved.status).toBe(403);
    expect(refusals(app).slice(10)).toEqual(
      Array.from({ length: 3 }, () => expect.objectContaining({ client: '198.51.100.7' })),
    );
  });

  test('of a network of the owner is bounded as well', async () => {
    const { app, from } = await behindProxy();
    for (const address of ['198.51.100.7', '198.51.100.8']) {
      expect((await signIn(from(address), { password })).status).toBe(303);
    }
    for (let count = 0; count < 7; count += 1) {
      await usePasskey(from('198.51.100.7'));
      await usePasskey(from('198.51.100.8'));
    }
    expect(refusals(app)).toHaveLength(10);
  });
});
