import dns from 'node:dns';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { nobody, run, start } from './running-pool.ts';

const closing: (() => unknown)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

describe('a pool that keeps two servers', () => {
  it('connects two of three, and lists them in the order in which they came', async () => {
    const servers = [await start(), await start(), await start()];
    const { pool, live } = run(
      servers.map(({ address }) => address),
      new Map(),
      { wanted: 2 },
    );
    const sessions = [await live(1), await live(2)];
    expect(pool.live()).toEqual(sessions);
    expect(new Set(sessions.map(({ server }) => server.port)).size).toBe(2);
    const states = pool.status().map(({ state }) => state);
    expect(states.sort()).toEqual(['idle', 'live', 'live']);
  });

  it('replaces the one that fails by the third, and keeps the other', async () => {
    const servers = [await start(), await start(), await start()];
    const { world, pool, live } = run(
      servers.map(({ address }) => address),
      new Map(),
      { wanted: 2 },
    );
    const [first, second] = [await live(1), await live(2)];
    const failing = servers.find(({ port }) => port === first.server.port);
    for (const { socket } of failing?.peers ?? []) socket.destroy();
    await world.until(() => first.closed);
    const third = await live(3);
    expect(pool.live()).toEqual([second, third]);
    expect(third.server.port).not.toBe(first.server.port);
  });

  it('finds a replacement for a server in doubt, which stays connected', async () => {
    const servers = [await start(), await start(), await start()];
    const { pool, live } = run(
      servers.map(({ address }) => address),
      new Map(),
      { wanted: 2 },
    );
    const [first, second] = [await live(1), await live(2)];
    pool.setDoubt(first, 'it is 3 blocks behind');
    const third = await live(3);
    expect(pool.live()).toEqual([first, second, third]);
    const status = pool.status().find(({ label }) => label === first.server.label);
    expect(status).toMatchObject({ state: 'live', doubt: 'it is 3 blocks behind' });
    pool.setDoubt(first, undefined);
    expect(pool.status().map(({ doubt }) => doubt)).toEqual([undefined, undefined, undefined]);
  });

  it.each([5, 6, 7, 8])(
    'takes the second from another domain if one is reachable (%i)',
    async (seed) => {
      const lookUp = (_name: string, _options: object, callback: (...answer: unknown[]) => void) =>
        process.nextTick(callback, null, [{ address: '127.0.0.1', family: 4 }]);
      const lookup = vi.spyOn(dns, 'lookup').mockImplementation(lookUp as never);
      closing.push(() => lookup.mockRestore());
      const servers = [await start(), await start(), await start()];
      const hosts = ['one.kin.example', 'two.kin.example', 'else.example.org'];
      const named = servers.map(({ address }, at) => ({ ...address, host: hosts[at] ?? '' }));
      const { world, pool, live } = run(named, new Map(), { wanted: 2, seed });
      await live(2);
      const reached = () => pool.live().map(({ server }) => server.host);
      expect(reached()).toContain('else.example.org');
      await servers[2]?.close();
      await live(3);
      await world.until(() => reached().length === 2);
      expect(reached().sort()).toEqual(['one.kin.example', 'two.kin.example']);
    },
  );

  it('works with one if the other is unreachable', async () => {
    const server = await start();
    const { world, pool, live } = run([server.address, await nobody()], new Map(), { wanted: 2 });
    await live(1);
    await world.advance(300_000);
    expect(pool.live()).toHaveLength(1);
  });

  it('opens an extra connection on request, which is not in the pool', async () => {
    const server = await start();
    const { pool, lost, live } = run([server.address], new Map(), { wanted: 2 });
    const session = await live(1);
    const again = await pool.reopen(session);
    expect(again?.server).toEqual(session.server);
    expect(again).not.toBe(session);
    expect(pool.live()).toEqual([session]);
    again?.close('heard');
    expect(lost).toEqual([]);
  });
});
