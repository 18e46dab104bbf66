import { describe, expect, it } from 'vitest';
import { first, headerHex, open, second, statusA, statusB } from './open-session.ts';
import type { Peer } from './scripted-server.ts';

describe('notifications', () => {
  it('before the response to their own subscribe request win', async () => {
    const { session, events } = await open({
      'blockchain.scripthash.subscribe': (to, request) => {
        to.notify('blockchain.scripthash.subscribe', request.params[0], statusB);
        to.answer(request, statusA);
      },
      'blockchain.headers.subscribe': (to, request) => {
        to.notify('blockchain.headers.subscribe', { height: 9, hex: headerHex });
        to.answer(request, { height: 8, hex: headerHex });
      },
    });
    expect(await session.subscribe(first)).toBe(statusB);
    expect((await session.subscribeHeaders()).height).toBe(9);
    expect(events).toEqual([
      ['status', first, statusB],
      ['header', 9],
    ]);
  });

  it('right behind the response are delivered before it, and it has their value', async () => {
    const method = 'blockchain.scripthash.subscribe';
    const headers = 'blockchain.headers.subscribe';
    const tip = (height: number) => ({ height, hex: headerHex });
    const behind = (to: Peer, { id }: { readonly id: number }, result: unknown, notice: object) =>
      to.sendRaw(`${JSON.stringify({ id, result })}\n${JSON.stringify(notice)}\n`);
    const { session, events } = await open({
      [method]: (to, request) => behind(to, request, statusA, { method, params: [first, statusB] }),
      [headers]: (to, request) =>
        behind(to, request, tip(8), { method: headers, params: [tip(9)] }),
    });
    expect(await session.subscribe(first)).toBe(statusB);
    expect((await session.subscribeHeaders()).height).toBe(9);
    expect(events).toEqual([
      ['status', first, statusB],
      ['header', 9],
    ]);
  });

  it('of an earlier subscription do not replace a new response', async () => {
    const answers = [statusA, statusB];
    const { session, peer, events, world } = await open({
      'blockchain.scripthash.subscribe': (to, request) => to.answer(request, answers.shift()),
    });
    expect(await session.subscribe(first)).toBe(statusA);
    peer.notify('blockchain.scripthash.subscribe', first, statusA);
    await world.until(() => events.length === 1);
    expect(await session.subscribe(first)).toBe(statusB);
  });

  it('are newer only than the responses to earlier subscribe requests', async () => {
    const { session, peer, world } = await open({});
    const asked = (): Peer['requests'] => peer.asked('blockchain.scripthash.subscribe');
    const answers = [session.subscribe(first), session.subscribe(first)];
    await world.until(() => asked().length === 2);
    peer.answer(asked()[0], null);
    expect(await answers[0]).toBe(null);
    peer.notify('blockchain.scripthash.subscribe', first, statusA);
    peer.answer(asked()[1], null);
    expect(await answers[1]).toBe(statusA);

    const again = [session.subscribe(first), session.subscribe(first)];
    await world.until(() => asked().length === 4);
    peer.answer(asked()[2], null);
    peer.answer(asked()[3], statusB);
    expect(await Promise.all(again)).toEqual([null, statusB]);
  });

  it('come only for what is subscribed', async () => {
    const { session, peer, events, world } = await open({
      'blockchain.scripthash.subscribe': (to, request) => to.answer(request, null),
      'blockchain.scripthash.unsubscribe': (to, request) => to.answer(request, true),
      'blockchain.headers.subscribe': (to, request) =>
        to.answer(request, { height: 1, hex: headerHex }),
    });
    await session.subscribe(first);
    peer.notify('blockchain.headers.subscribe', { height: 2, hex: headerHex });
    peer.notify('blockchain.scripthash.subscribe', second, statusA);
    peer.notify('mempool.changed', 'whatever');
    peer.notify('blockchain.scripthash.subscribe', first, statusA);
    await world.until(() => events.length > 0);
    await session.unsubscribe(first);
    peer.notify('blockchain.scripthash.subscribe', first, statusB);
    await session.subscribeHeaders();
    peer.notify('blockchain.headers.subscribe', { height: 3, hex: headerHex });
    await world.until(() => events.length > 1);
    expect(events).toEqual([
      ['status', first, statusA],
      ['header', 3],
    ]);
  });
});

describe('the session ends with a reason on', () => {
  it.each<[string, (peer: Peer) => void, RegExp]>([
    ['an unknown id', (peer) => peer.send({ id: 99, result: null }), /not made/],
    ['an id twice', (peer) => peer.answer(peer.requests[0], null), /not made/],
    ['a batch', (peer) => peer.send([]), /not an object/],
    ['a refusal of nobody knows what', (peer) => peer.refuse(undefined, 1, 'no'), /as its id/],
    [
      'a batch with an answer',
      (peer) => peer.send([{ id: peer.requests[2]?.id, result: [] }]),
      /not an object/,
    ],
    ['a request', (peer) => peer.send({ id: 1, method: 'm', params: [] }), /neither/],
    ['garbage', (peer) => peer.sendRaw('\x16\x03\x01\n'), /not JSON/],
    ['invalid UTF-8', (peer) => peer.sendRaw(Uint8Array.of(0xff, 0x0a)), /UTF-8/],
    ['a NUL', (peer) => peer.sendRaw(Uint8Array.of(0)), /NUL/],
    ['deep JSON', (peer) => peer.sendRaw(`${'['.repeat(100_000)}\n`), /nested/],
    ['a line without end', (peer) => peer.sendRaw('x'.repeat(9_000_001)), /9 MB/],
    [
      'a status of the wrong type',
      (peer) => peer.notify('blockchain.scripthash.subscribe', first, 1),
      /status/,
    ],
    ['a tip of the wrong type', (peer) => peer.notify('blockchain.headers.subscribe', 'x'), /tip/],
    [
      'an answer of the wrong type',
      (peer) => peer.answer(peer.requests[2], { no: 'list' }),
      /list/,
    ],
    ['its end', (peer) => peer.socket.end(), /closed the connection/],
    ['its loss', (peer) => peer.socket.resetAndDestroy(), /ECONNRESET|closed/],
  ])('%s', async (_, misbehave, reason) => {
    const { session, peer, events, world } = await open({});
    const pending = session.history(first).catch((error: unknown) => error);
    await world.until(() => peer.requests.length === 3);
    misbehave(peer);
    await world.until(() => session.closed, 'the session to end');
    expect(events).toEqual([['close', expect.stringMatching(reason)]]);
    expect(await pending).toMatchObject({ code: 'unavailable' });
    await world.until(() => peer.socket.destroyed, 'the socket to close');
  });

  it('45 seconds without a message, with a ping after 30', async () => {
    const { session, peer, world, events } = await open({
      'blockchain.scripthash.subscribe': (to, request) => to.answer(request, null),
    });
    await world.advance(20_000);
    await session.subscribe(first);
    await world.advance(29_999);
    expect(peer.asked('server.ping')).toHaveLength(0);
    await world.advance(1);
    expect(peer.asked('server.ping')).toHaveLength(1);
    await world.advance(14_999);
    expect(events).toEqual([]);
    await world.advance(1);
    expect(events).toEqual([['close', 'the server does not answer']]);
  });

  it('nothing while pings are answered', async () => {
    const { peer, world, events } = await open({
      'server.ping': (to, request) => to.answer(request, null),
    });
    await world.advance(600_000);
    expect(events).toEqual([]);
    expect(peer.asked('server.ping').length).toBeGreaterThan(12);
    expect(peer.asked('server.ping').length).toBeLessThan(21);
  });
});

describe('after its end', () => {
  it('nothing is delivered, not even received bytes', async () => {
    const { session, peer, events, world } = await open(
      { 'blockchain.scripthash.subscribe': (to, request) => to.answer(request, null) },
      {
        handlers: {
          onStatus: (from, scripthash, status) => {
            events.push(['status', scripthash, status]);
            from.close('enough');
          },
        },
      },
    );
    await session.subscribe(first);
    const notice = `${JSON.stringify({ method: 'blockchain.scripthash.subscribe', params: [first, statusA] })}\n`;
    peer.sendRaw(notice.repeat(3));
    await world.until(() => session.closed);
    peer.sendRaw(notice);
    await world.turn();
    expect(events).toEqual([
      ['status', first, statusA],
      ['close', 'enough'],
    ]);
  });

  it('a closed session stays closed with its first reason', async () => {
    const { session, events, world } = await open({});
    session.close('one');
    session.close('two');
    await world.advance(100_000);
    expect(events).toEqual([['close', 'one']]);
  });
});
