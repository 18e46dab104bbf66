import { describe, expect, it } from 'vitest';
import type { Ban, TlsIdentity } from '../../src/domain/payment/server-record.ts';
import { makeCertificate } from './certificates.ts';
import { hour, messages, nobody, run, start } from './running-pool.ts';

describe('P-139 a server that lied', () => {
  it('is not used for an hour while there is another', async () => {
    const servers = [await start(), await start()];
    const { world, pool, live, lost } = run(servers.map(({ address }) => address));
    const liar = await live(1);
    pool.ban(liar, 'its branch does not reach our header');
    expect(liar.closed).toBe(true);
    expect(lost).toEqual([`${liar.server.label} its branch does not reach our header`]);
    const honest = await live(2);
    expect(honest.server).not.toBe(liar.server);
    const statusOf = (): unknown =>
      pool.status().find(({ label }) => label === liar.server.label)?.state;
    expect(statusOf()).toBe('banned');
    expect(world.logs.filter(({ level }) => level === 'error')).toHaveLength(1);

    honest.close('hung up');
    await world.advance(2_000);
    const again = await live(3);
    expect(again.server).toBe(honest.server);

    await world.advance(hour);
    await world.until(() => pool.live()[0] !== undefined);
    expect(statusOf()).not.toBe('banned');
  });

  it('stays banned over a restart, but for no longer than an hour', async () => {
    const servers = [await start(), await start()];
    const addresses = servers.map(({ address }) => address);
    const bans = new Map<string, Ban>();
    const before = run(addresses, new Map(), { bans });
    const liar = await before.live(1);
    before.pool.ban(liar, 'lied');
    before.pool.stop();
    expect(bans.get(liar.server.label)).toMatchObject({ reason: 'lied' });

    // A clock that was set back must not make a ban last for years.
    const startAt = before.world.now() - 365 * 24 * hour;
    const after = run(addresses, new Map(), { bans, startAt, wanted: 2 });
    expect((await after.live(1)).server).not.toEqual(liar.server);
    const liarNow = () => after.pool.status().find(({ label }) => label === liar.server.label);
    expect(liarNow()).toMatchObject({ state: 'banned', ban: { reason: 'lied' } });
    await after.world.advance(hour + 1_000);
    await after.world.until(() => liarNow()?.state === 'live');
  });

  it('is connected each minute if it is the only one', async () => {
    const server = await start();
    const { world, pool, live, sessions } = run([server.address]);
    pool.ban(await live(1), 'lied');
    expect(pool.status()[0]).toMatchObject({ state: 'banned', lastError: 'lied' });
    await world.advance(59_999);
    expect(sessions).toHaveLength(1);
    await world.advance(1);
    await live(2);
  });

  it('is connected each minute while no other is reachable', async () => {
    const server = await start();
    const { world, pool, live, sessions } = run([server.address, await nobody()]);
    pool.ban(await live(1), 'lied');
    await world.until(() => pool.status()[1]?.state === 'waiting');
    await world.advance(59_000);
    expect(sessions).toHaveLength(1);
    await world.advance(1_000);
    expect((await live(2)).server).toBe(server.address);
  });

  it('is not used while another is connected that failed once before', async () => {
    const servers = [await start(), await start()];
    const { world, pool, live } = run(
      servers.map(({ address }) => address),
      new Map(),
      { wanted: 2 },
    );
    const [liar, honest] = [await live(1), await live(2)];
    honest.close('hung up');
    await world.advance(2_000);
    await live(3);
    pool.ban(liar, 'lied');
    await world.advance(30 * 60_000);
    const status = pool.status().find(({ label }) => label === liar.server.label);
    expect(status?.state).toBe('banned');
  });

  it('is not banned for an older session', async () => {
    const server = await start();
    const { world, pool, live } = run([server.address]);
    const first = await live(1);
    first.close('hung up');
    await world.advance(2_000);
    const second = await live(2);
    pool.ban(first, 'lied');
    expect(pool.live()[0]).toBe(second);
    expect(second.closed).toBe(false);
  });
});

describe('TLS trust', () => {
  it('is pinned once, and refuses a changed certificate', async () => {
    const [one, other] = [makeCertificate(), makeCertificate()];
    const trust = new Map<string, TlsIdentity>();
    const server = await start({}, { tls: one });
    const { world, pool, live } = run([server.address], trust);
    await live(1);
    const { label } = server.address;
    expect(trust.get(label)).toEqual({ kind: 'pinned', sha256: one.sha256 });
    await server.close();
    await start({}, { tls: other, port: server.port });
    await world.until(() => pool.status()[0]?.state === 'waiting');
    await world.advance(2_000);
    await world.until(() => pool.status()[0]?.lastError?.includes(other.sha256) === true);
    expect(pool.live()[0]).toBeUndefined();
    expect(pool.status()[0]?.refused).toEqual({ shown: other.sha256 });
    expect(trust.get(label)).toEqual({ kind: 'pinned', sha256: one.sha256 });
    expect(messages(world)).toEqual([
      'electrum server connected',
      'electrum server lost',
      'electrum server unreachable',
    ]);
  });

  it('names the reason why a second connection is refused, while the first session continues', async () => {
    const certificate = makeCertificate();
    const trust = new Map<string, TlsIdentity>();
    const server = await start({}, { tls: certificate });
    const { pool, live } = run([server.address], trust);
    const session = await live(1);
    trust.set(server.address.label, { kind: 'pinned', sha256: '00'.repeat(32) });
    expect(await pool.reopen(session)).toBeUndefined();
    expect(pool.status()[0]).toMatchObject({
      state: 'live',
      refused: { shown: certificate.sha256 },
      lastError: expect.stringContaining(certificate.sha256),
    });
  });
});

describe('a stopped pool', () => {
  it('closes its session, emits nothing and connects no more', async () => {
    const server = await start();
    const { world, pool, live, lost, sessions } = run([server.address]);
    const session = await live(1);
    pool.stop();
    expect(session.closed).toBe(true);
    await world.advance(hour);
    expect([lost, sessions.length, pool.live()[0]]).toEqual([[], 1, undefined]);
  });

  it('aborts a connection attempt', async () => {
    const silent = await start({ 'server.version': () => {} });
    const { world, pool, sessions } = run([silent.address]);
    await world.until(() => silent.peers[0]?.requests.length === 1);
    pool.stop();
    await world.until(() => silent.peers[0]?.socket.destroyed === true);
    await world.advance(hour);
    expect(sessions).toEqual([]);
    expect(world.logs).toEqual([]);
  });

  it('with no servers does nothing', async () => {
    const { world, pool } = run([]);
    await world.advance(hour);
    expect([pool.status(), pool.live()[0]]).toEqual([[], undefined]);
  });
});

describe('a ban that the operator lifts', () => {
  it('ends at once, but not by any other change', async () => {
    const servers = [await start(), await start()];
    const bans = new Map<string, Ban>();
    const { world, pool, live } = run(
      servers.map(({ address }) => address),
      new Map(),
      { bans, wanted: 2 },
    );
    const [liar] = [await live(1), await live(2)];
    pool.ban(liar, 'lied');
    // Before the ban is on the disk, where it is missing just as a lifted one is.
    const ban = bans.get(liar.server.label);
    bans.clear();
    pool.reconsider();
    const stateOf = () => pool.status().find(({ label }) => label === liar.server.label)?.state;
    expect(stateOf()).toBe('banned');
    bans.set(liar.server.label, ban as Ban);
    await world.turn();
    pool.reconsider();
    expect(stateOf()).toBe('banned');
    bans.clear();
    pool.reconsider();
    expect((await live(3)).server).toBe(liar.server);
  });
});
