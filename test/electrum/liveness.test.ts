import { describe, expect, it } from 'vitest';
import { createTestWorld } from '../support/world.ts';
import { first, hashes, headerHex, open, second, statusA } from './open-session.ts';
import type { Peer, Script } from './scripted-server.ts';

const subscribes: Script = {
  'blockchain.scripthash.subscribe': (to, request) => to.answer(request, null),
  'blockchain.headers.subscribe': (to, request) =>
    to.answer(request, { height: 800_000, hex: headerHex }),
};

/** What a server may go on sending that has stopped answering. */
const dribbles: [string, (peer: Peer) => void][] = [
  ['nothing', () => {}],
  ['notifications', (peer) => peer.notify('blockchain.scripthash.subscribe', first, statusA)],
  ['notifications of nothing', (peer) => peer.notify('mempool.changed')],
  ['the bytes of a line that never ends', (peer) => peer.sendRaw(' ')],
];

describe('a server that stops answering is found within 45 seconds', () => {
  it.each(dribbles)('and sends %s, with nothing asked', async (_, dribble) => {
    const { session, peer, world, events } = await open(subscribes);
    await session.subscribe(first);
    for (let second = 1; second <= 44; second++) {
      dribble(peer);
      await world.advance(1_000);
    }
    expect(session.closed).toBe(false);
    expect(peer.asked('server.ping')).toHaveLength(1);
    await world.advance(1_000);
    expect(events.at(-1)).toEqual(['close', expect.stringMatching(/^the server does not answer/)]);
  });

  it.each(dribbles)('and sends %s, while one request is pending', async (_, dribble) => {
    const { session, peer, world, events } = await open(subscribes);
    await session.subscribe(first);
    const pending = session.history(second).catch(String);
    for (let second = 1; second <= 45; second++) {
      dribble(peer);
      await world.advance(1_000);
    }
    expect(events.at(-1)).toEqual(['close', expect.stringMatching(/^the server does not answer/)]);
    expect(await pending).toContain('in time');
  });

  it('and neither reads nor closes, with many requests pending and waiting', async () => {
    const { session, peer, world, events } = await open(subscribes);
    peer.socket.pause();
    const pending = hashes.map((each) => session.history(each).catch(String));
    await world.advance(44_999);
    await world.advance(1);
    expect(events).toEqual([
      ['close', 'the server has stopped answering at blockchain.scripthash.get_history'],
    ]);
    expect(await Promise.all(pending)).toHaveLength(hashes.length);
    expect(session.closed).toBe(true);
  });

  it('and neither reads nor closes, while bulk requests are paced', async () => {
    let silent = false;
    const { session, world, events } = await open({
      'blockchain.scripthash.subscribe': (to, request) => {
        if (!silent) to.answer(request, null);
      },
    });
    let settled = 0;
    for (let index = 0; index < 1_400; index++) {
      const scripthash = index.toString(16).padStart(64, '0') as typeof first;
      const settle = (): void => void settled++;
      session.subscribe(scripthash, { bulk: true }).then(settle, settle);
    }
    await world.until(() => settled > 990);
    silent = true;
    // The last answers may come a little later.
    await world.advance(46_000);
    expect(events).toHaveLength(1);
    expect(settled).toBe(1_400);
  });
});

describe('a server that answers everything too late', () => {
  it('is disconnected within 45 seconds of its last response in time', async () => {
    const { session, peer, world, events } = await open(subscribes);
    await session.subscribe(first);
    let late = 0;
    for (let second = 1; second <= 45; second++) {
      session.history(first).catch(() => late++);
      await world.advance(1_000);
      // 30 s late, like an ElectrumX over its limit.
      const old = peer.requests.slice(3)[second - 30];
      if (old) peer.answer(old, []);
    }
    await world.until(() => session.closed);
    expect(events).toHaveLength(1);
    expect(late).toBe(45);
  });
});

describe('a server that answers', () => {
  it('slowly, and pings not at all, stays connected', async () => {
    const { session, peer, world, events } = await open(
      {},
      { options: { requestTimeoutMs: 60_000 } },
    );
    for (let round = 0; round < 5; round++) {
      const answer = session.history(first);
      await world.until(() => peer.requests.at(-1)?.method.endsWith('get_history') === true);
      await world.advance(40_000);
      peer.answer(peer.asked('blockchain.scripthash.get_history')[round], []);
      expect(await answer).toEqual([]);
    }
    expect(events).toEqual([]);
  });
});

describe('the latency', () => {
  it('is the round trip of small requests, smoothed', async () => {
    const { session, peer, world } = await open({});
    expect(session.latencyMs).toBe(0);
    for (const [round, expected] of [100, 187.5, 264.0625].entries()) {
      void session.ping();
      await world.until(() => peer.asked('server.ping').length === round + 1);
      await world.advance(800);
      peer.answer(peer.asked('server.ping')[round], null);
      await world.turn();
      expect(session.latencyMs).toBe(expected);
    }
  });

  it('leaves out large responses', async () => {
    const { session, peer, world } = await open({});
    void session.headers(0, 2_016).catch(() => {});
    await world.until(() => peer.asked('blockchain.block.headers').length === 1);
    await world.advance(5_000);
    peer.answer(peer.asked('blockchain.block.headers')[0], { count: 0, hex: '', max: 2_016 });
    await world.turn();
    expect(session.latencyMs).toBe(0);
  });

  it('counts from sending, by the clock that never runs back', async () => {
    const world = createTestWorld();
    const { session, peer } = await open({}, { world, options: { maxInFlight: 1 } });
    void session.history(first).catch(() => {});
    const waiting = session.ping();
    await world.until(() => peer.asked('blockchain.scripthash.get_history').length === 1);
    await world.advance(8_000);
    world.jumpWallClock(-3_600_000);
    peer.answer(peer.asked('blockchain.scripthash.get_history')[0], []);
    await world.until(() => peer.asked('server.ping').length === 1);
    peer.answer(peer.asked('server.ping')[0], null);
    await waiting;
    expect(session.latencyMs).toBe(875);
  });
});

describe('the tip', () => {
  it('is the newest header of the server', async () => {
    const { session, peer, world, events } = await open(subscribes);
    expect(session.tip).toBeUndefined();
    await session.subscribeHeaders();
    expect(session.tip?.height).toBe(800_000);
    peer.notify('blockchain.headers.subscribe', { height: 800_001, hex: headerHex });
    await world.until(() => events.length === 1);
    expect(session.tip?.height).toBe(800_001);
  });
});
