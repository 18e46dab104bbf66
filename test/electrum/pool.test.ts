import { describe, expect, it } from 'vitest';
import { hour, messages, nobody, run, start } from './running-pool.ts';
import type { Peer } from './scripted-server.ts';

describe('a pool', () => {
  it('opens one session and reports it', async () => {
    const servers = [await start(), await start()];
    const { world, pool, live } = run(servers.map(({ address }) => address));
    const session = await live(1);
    expect(pool.live()[0]).toBe(session);
    expect(session.generation).toBe(1);
    const [states, { label }] = [
      pool
        .status()
        .map(({ state }) => state)
        .sort(),
      session.server,
    ];
    expect(states).toEqual(['idle', 'live']);
    expect(pool.status().find(({ state }) => state === 'live')).toEqual({
      label,
      state: 'live',
      software: 'Scripted 1.0',
      protocol: '1.4',
      connectedSince: world.now(),
      latencyMs: 0,
    });
    expect(world.logs).toEqual([
      {
        level: 'info',
        message: 'electrum server connected',
        fields: { server: label, software: 'Scripted 1.0', protocol: '1.4' },
      },
    ]);
  });

  it('begins at a random place of the list', async () => {
    const servers = [await start(), await start(), await start()];
    const begun = new Set<number>();
    for (let seed = 1; seed <= 12; seed++) {
      const { pool, live } = run(
        servers.map(({ address }) => address),
        new Map(),
        { seed },
      );
      begun.add((await live(1)).server.port);
      pool.stop();
    }
    expect(begun.size).toBe(3);
  });

  it('moves on at once when the server fails, with the next generation', async () => {
    const servers = [await start(), await start()];
    const { pool, live, lost } = run(servers.map(({ address }) => address));
    const first = await live(1);
    await servers.find(({ port }) => port === first.server.port)?.close();
    const second = await live(2);
    expect(second.server.port).not.toBe(first.server.port);
    expect(second.generation).toBe(2);
    expect(pool.live()[0]).toBe(second);
    expect(lost).toEqual([`${first.server.label} the server closed the connection`]);
    expect(
      pool
        .status()
        .map(({ state }) => state)
        .sort(),
    ).toEqual(['live', 'waiting']);
  });

  it('passes on the events of the session, and none of an older one', async () => {
    const server = await start({
      'blockchain.headers.subscribe': (peer, request) =>
        peer.answer(request, { height: 1, hex: '00'.repeat(80) }),
    });
    const { world, live, events } = run([server.address]);
    const first = await live(1);
    await first.subscribeHeaders();
    const [peer] = server.peers as [Peer];
    const notice = (): void =>
      peer.notify('blockchain.headers.subscribe', { height: 2, hex: '00'.repeat(80) });
    notice();
    await world.until(() => events.length === 1);
    first.close('a newer one is wanted');
    notice();
    await world.advance(2_000);
    await (await live(2)).subscribeHeaders();
    expect(events).toEqual([[1, 2]]);
  });

  it('reconnects to a lone server for ever, after 1 to 60 seconds', async () => {
    const address = await nobody();
    const { world, pool, live } = run([address]);
    const failedAt: number[] = [];
    const connect = world.connect;
    world.connect = (target, signal) => {
      failedAt.push(world.monotonic());
      return connect(target, signal);
    };
    const settled = (): boolean => pool.status()[0]?.state === 'waiting';
    await world.until(settled);
    while (failedAt.length < 12) {
      await world.advance(1_000);
      await world.until(settled);
    }
    const waits = failedAt.slice(1).map((at, index) => at - (failedAt[index] as number));
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(1_000);
    expect(Math.max(...waits)).toBeLessThanOrEqual(60_000);
    expect(Math.min(...waits.slice(6))).toBeGreaterThanOrEqual(30_000);
    expect(new Set(waits).size).toBeGreaterThan(8);
    expect(messages(world)).toEqual(['electrum server unreachable']);
    expect(pool.status()[0]?.lastError).toContain('it refuses connections');

    await start({}, { port: address.port });
    await world.advance(60_000);
    expect((await live(1)).server).toBe(address);
    expect(messages(world)).toEqual(['electrum server unreachable', 'electrum server connected']);
    expect(pool.status()[0]?.lastError).toBeUndefined();
  });

  it('backs off from a server that greets and hangs up, but not after a steady hour', async () => {
    const server = await start();
    const { world, pool, live, sessions } = run([server.address]);
    const hangUp = (): void => sessions.at(-1)?.close('hung up');
    for (let round = 1; round <= 8; round++) {
      await live(round);
      hangUp();
      await world.advance(60_000);
    }
    await live(9);
    hangUp();
    await world.advance(29_000);
    expect(pool.status()[0]?.state).toBe('waiting');
    await world.advance(31_000);
    await live(10);
    await world.advance(hour);
    hangUp();
    await world.advance(2_000);
    await live(11);
  });

  it('refuses a peer that is no Electrum server of this network, and moves on', async () => {
    const strange = await start({
      'server.features': (peer, request) =>
        peer.answer(request, { genesis_hash: 'ab'.repeat(32), hash_function: 'sha256' }),
    });
    const good = await start();
    for (const seed of [1, 2, 3, 4]) {
      const { pool, live } = run([strange.address, good.address], new Map(), { seed });
      expect((await live(1)).server).toBe(good.address);
      pool.stop();
    }
  });
});
