import { describe, expect, it } from 'vitest';
import type { Scripthash, Txid } from '../../src/bitcoin/ids.ts';
import { ServerError } from '../../src/electrum/requests.ts';
import { first, hashes, headerHex, open, second, statusA } from './open-session.ts';
import { electrumX, type Peer } from './scripted-server.ts';

describe('requests', () => {
  it('are typed, with the parameters of the protocol', async () => {
    const txid = hashes[3] as string as Txid;
    const { session, peer } = await open({
      'blockchain.headers.subscribe': (to, request) =>
        to.answer(request, { height: 7, hex: headerHex }),
      'blockchain.block.headers': (to, request) =>
        to.answer(request, { count: 1, hex: headerHex, max: 2016 }),
      'blockchain.scripthash.subscribe': (to, request) => to.answer(request, null),
      'blockchain.scripthash.unsubscribe': (to, request) => to.answer(request, true),
      'blockchain.scripthash.get_history': (to, request) =>
        to.answer(request, [{ tx_hash: txid, height: 5 }]),
      'blockchain.transaction.get': (to, request) => to.answer(request, '0102'),
      'blockchain.transaction.get_merkle': (to, request) =>
        to.answer(request, { block_height: 5, merkle: [], pos: 0 }),
      'blockchain.transaction.broadcast': (to, request) => to.answer(request, txid),
      'server.ping': (to, request) => to.answer(request, null),
    });
    expect(await session.subscribeHeaders()).toEqual({ height: 7, raw: new Uint8Array(80) });
    expect(await session.headers(7, 3)).toEqual([new Uint8Array(80)]);
    expect(await session.subscribe(first)).toBeNull();
    await session.unsubscribe(first);
    expect(await session.history(first)).toEqual([
      { txid, position: { kind: 'mined', height: 5 } },
    ]);
    expect(await session.transaction(txid)).toEqual(Uint8Array.of(1, 2));
    expect(await session.merkle(txid, 5)).toEqual({ branch: [], pos: 0 });
    expect(await session.broadcast(Uint8Array.of(0xff))).toBe(txid);
    await session.ping();
    expect(peer.requests.slice(2).map(({ method, params }) => [method, ...params])).toEqual([
      ['blockchain.headers.subscribe'],
      ['blockchain.block.headers', 7, 3],
      ['blockchain.scripthash.subscribe', first],
      ['blockchain.scripthash.unsubscribe', first],
      ['blockchain.scripthash.get_history', first],
      ['blockchain.transaction.get', txid],
      ['blockchain.transaction.get_merkle', txid, 5],
      ['blockchain.transaction.broadcast', 'ff'],
      ['server.ping'],
    ]);
  });

  it('read headers in the form of 1.6 when that was agreed on', async () => {
    const { session } = await open({
      ...electrumX,
      'blockchain.block.headers': (to, request) =>
        to.answer(request, { count: 2, headers: [headerHex, headerHex], max: 2016 }),
    });
    expect(session.version).toBe('1.6');
    expect(await session.headers(0, 2)).toHaveLength(2);
  });

  it('are sent in one write a turn, at most ten in flight, in order', async () => {
    const { session, peer, world } = await open({});
    const writes = peer.writes;
    const answers = hashes.map((scripthash) => session.subscribe(scripthash));
    const asked = (): string[] =>
      peer.asked('blockchain.scripthash.subscribe').map(({ params }) => String(params[0]));
    await world.until(() => asked().length === 10);
    await world.turn();
    expect(asked()).toEqual(hashes.slice(0, 10));
    expect(peer.writes - writes).toBe(1);
    for (const request of peer.asked('blockchain.scripthash.subscribe').slice(4, 7)) {
      peer.answer(request, null);
    }
    await world.until(() => asked().length === 13);
    for (let next = 0; next < 30; next++) {
      await world.until(() => asked().length > next);
      if (next < 4 || next > 6)
        peer.answer(peer.asked('blockchain.scripthash.subscribe')[next], statusA);
    }
    expect((await Promise.all(answers)).filter((status) => status === null)).toHaveLength(3);
    expect(asked()).toEqual(hashes);
  });

  it('that the server refuses leave the session as it is', async () => {
    const { session, events } = await open({
      'blockchain.scripthash.get_history': (to, request) =>
        to.refuse(request, 1, `history\ntoo \x1b[1mlarge ${'x'.repeat(10_000)}`),
      'blockchain.scripthash.unsubscribe': (to, request) => to.refuse(request, -32601, 'unknown'),
      'server.ping': (to, request) => to.answer(request, null),
    });
    const refused = await session.history(first).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ServerError);
    expect(refused).toMatchObject({ serverCode: 1 });
    expect(String(refused)).toMatch(/history too \[1mlarge x{100}/);
    expect(String(refused).length).toBeLessThan(300);
    await session.unsubscribe(first);
    await session.ping();
    expect(events).toEqual([]);
  });

  it('to broadcast continue after a refusal, also if it echoes the transaction', async () => {
    // ElectrumX 1.20, session.py: `the transaction was rejected by network
    // rules.\n\n{message}\n[{raw_tx}]`
    const { session, events } = await open({
      'blockchain.transaction.broadcast': (to, request) =>
        to.refuse(
          request,
          1,
          `the transaction was rejected by network rules.\n\nmempool min fee not met\n[${request.params[0]}]`,
        ),
      'server.ping': (to, request) => to.answer(request, null),
    });
    const largest = new Uint8Array(400_000).fill(7);
    await expect(session.broadcast(largest)).rejects.toThrow('mempool min fee not met');
    await session.ping();
    expect(events).toEqual([]);
  });

  it('time out after ten seconds; a late response is dropped', async () => {
    const { session, peer, world, events } = await open({
      'server.ping': (to, request) => to.answer(request, null),
    });
    const late = session.history(first).catch((error: unknown) => error);
    await world.until(() => peer.asked('blockchain.scripthash.get_history').length === 1);
    await world.advance(9_999);
    await session.ping();
    await world.advance(1);
    expect(await late).toMatchObject({ code: 'unavailable' });
    peer.answer(peer.asked('blockchain.scripthash.get_history')[0], [{ nonsense: true }]);
    await session.ping();
    expect(events).toEqual([]);
  });

  it('that are answered late no longer count as in flight', async () => {
    const { session, peer, world, events } = await open({}, { options: { maxInFlight: 2 } });
    for (let round = 1; round <= 3; round++) {
      const overdue = session.history(first).catch(String);
      await world.until(() => peer.asked('blockchain.scripthash.get_history').length === round);
      await world.advance(10_000);
      expect(await overdue).toContain('in time');
      peer.answer(peer.asked('blockchain.scripthash.get_history').at(-1), []);
      await world.turn();
    }
    expect(events).toEqual([]);
  });

  it('have a deadline each, independent of earlier ones', async () => {
    const { session, peer, world } = await open({});
    const asked = peer.asked.bind(peer, 'blockchain.scripthash.get_history');
    const outcomes: string[] = [];
    const ask = async (hash: Scripthash, count: number) => {
      session.history(hash).then(
        () => outcomes.push(`${count} answered`),
        () => outcomes.push(`${count} overdue`),
      );
      await world.until(() => asked().length === count);
      await world.advance(3_000);
    };
    await ask(hashes[0] as Scripthash, 1);
    await ask(hashes[1] as Scripthash, 2);
    await ask(hashes[2] as Scripthash, 3);
    peer.answer(asked()[0], []);
    await world.until(() => outcomes.length === 1);
    await world.advance(3_999);
    expect(outcomes).toEqual(['1 answered']);
    await world.advance(1);
    expect(outcomes).toEqual(['1 answered', '2 overdue']);
    await world.advance(2_999);
    expect(outcomes).toHaveLength(2);
    await world.advance(1);
    expect(outcomes).toEqual(['1 answered', '2 overdue', '3 overdue']);
    await ask(hashes[3] as Scripthash, 4);
    await world.advance(7_000);
    expect(outcomes.at(-1)).toBe('4 overdue');
  });

  it('have no deadline before they are sent', async () => {
    const { session, peer, world } = await open({}, { options: { maxInFlight: 2 } });
    const answers = [first, second].map((hash) => session.history(hash).catch(String));
    const waiting = session.ping();
    const overdue = peer.asked.bind(peer, 'blockchain.scripthash.get_history');
    await world.until(() => overdue().length === 2);
    await world.advance(9_000);
    peer.answer(overdue()[0], []);
    await world.until(() => peer.asked('server.ping').length === 1);
    await world.advance(5_000);
    peer.answer(peer.asked('server.ping')[0], null);
    await waiting;
    expect(await Promise.all(answers)).toEqual([[], expect.stringContaining('in time')]);
  });

  it('end the session when none of those in flight is answered', async () => {
    const { session, world, peer, events } = await open({}, { options: { maxInFlight: 3 } });
    const answers = hashes.slice(0, 5).map((hash) => session.history(hash).catch(String));
    await world.until(() => peer.asked('blockchain.scripthash.get_history').length === 3);
    await world.advance(10_000);
    expect(events).toEqual([
      ['close', 'the server has stopped answering at blockchain.scripthash.get_history'],
    ]);
    expect((await Promise.all(answers))[4]).toContain('stopped answering');
  });

  it('end the session when only bulk requests are unanswered for a minute', async () => {
    const { session, world, peer, events } = await open(
      { 'server.ping': (to, request) => to.answer(request, null) },
      { options: { maxInFlight: 5 } },
    );
    const asked = (): Peer['requests'] => peer.asked('blockchain.scripthash.get_history');
    const ask = (index: number): Promise<unknown> =>
      session.history(hashes[index] as Scripthash, { bulk: true }).catch(String);
    const answers = [ask(0), ask(1)];
    await world.until(() => asked().length === 2);
    await world.advance(10_000);
    answers.push(ask(2));
    await world.until(() => asked().length === 3);
    // A late response frees its part of the limit.
    peer.answer(asked()[0], []);
    answers.push(ask(3), ask(4));
    await world.until(() => asked().length === 4);
    await session.ping();
    expect(events).toEqual([]);
    await world.advance(10_000);
    expect(events).toEqual([]);
    await world.advance(60_000);
    expect(events).toEqual([
      ['close', 'the server leaves many requests unanswered at blockchain.scripthash.get_history'],
    ]);
    expect((await Promise.all(answers))[4]).toContain('many requests unanswered');
  });

  it('beyond the length of the queue are refused until it is sent', async () => {
    const { session, peer, world } = await open({});
    const transaction = new Uint8Array(4_000_000);
    const asked = (): Peer['requests'] => peer.asked('blockchain.transaction.broadcast');
    for (let round = 1; round <= 3; round++) {
      const accepted = session.broadcast(transaction);
      await world.until(() => asked().length === round);
      peer.answer(asked().at(-1), statusA);
      expect(await accepted).toBe(statusA);
    }
    const sent = [session.broadcast(transaction), session.broadcast(transaction)];
    const outcomes = Promise.allSettled(sent);
    session.close('enough');
    const [, refused] = await outcomes;
    expect(refused).toMatchObject({ reason: { message: expect.stringContaining('too many') } });
  });

  it('are all rejected when the session ends', async () => {
    const { session, peer, events, world } = await open({});
    const answers = hashes.map((hash) => session.subscribe(hash).catch((error: unknown) => error));
    await world.until(() => peer.requests.length === 12);
    peer.socket.destroy();
    for (const answer of await Promise.all(answers)) {
      expect(answer).toMatchObject({ code: 'unavailable' });
    }
    expect(events).toHaveLength(1);
    await expect(session.ping()).rejects.toMatchObject({ code: 'unavailable' });
  });
});
