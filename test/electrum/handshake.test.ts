import { getEventListeners } from 'node:events';
import { bytesToHex } from '@noble/hashes/utils.js';
import { describe, expect, it } from 'vitest';
import type { BlockHash } from '../../src/bitcoin/ids.ts';
import { networks } from '../../src/bitcoin/network.ts';
import type { TlsIdentity } from '../../src/domain/payment/server-record.ts';
import { PaygateError } from '../../src/lib/errors.ts';
import { createTestWorld } from '../support/world.ts';
import { makeCertificate } from './certificates.ts';
import { headerHex, open, start, statusA } from './open-session.ts';
import { genesisHash, type Peer, type Script } from './scripted-server.ts';

describe('the handshake', () => {
  it('offers 1.4 to 1.6 first, then asks for the features', async () => {
    const { peer, session } = await open({});
    expect(peer.requests.map(({ method, params }) => [method, params])).toEqual([
      ['server.version', ['paygate', ['1.4', '1.6']]],
      ['server.features', []],
    ]);
    expect(session).toMatchObject({ software: 'Scripted 1.0', version: '1.4', generation: 1 });
  });

  it('takes 1.5.3 of a Fulcrum before 2.0 as 1.4', async () => {
    const { session } = await open({
      'server.version': (peer, request) => peer.answer(request, ['Fulcrum 1.11.1', '1.5.3']),
      'blockchain.block.headers': (peer, request) =>
        peer.answer(request, { count: 1, hex: headerHex, max: 2016 }),
    });
    expect(session).toMatchObject({ software: 'Fulcrum 1.11.1', version: '1.4' });
    expect(await session.headers(7, 1)).toEqual([new Uint8Array(80)]);
  });

  it('requests the first header from a server without server.features', async () => {
    const hex = bytesToHex(networks.regtest.genesisHeader);
    const { session } = await open({
      'server.features': (peer, request) => peer.refuse(request, -32601, 'unknown method'),
      'blockchain.block.headers': (peer, request) =>
        peer.answer(request, { count: 1, hex, max: 2016 }),
    });
    expect(session.software).toBe('Scripted 1.0');
  });

  it.each<[string, Script, RegExp]>([
    [
      'without features, of another network',
      {
        'server.features': (peer, request) => peer.refuse(request, -32601, 'unknown method'),
        'blockchain.block.headers': (peer, request) =>
          peer.answer(request, {
            count: 1,
            hex: bytesToHex(networks.mainnet.genesisHeader),
            max: 2016,
          }),
      },
      /another network/,
    ],
    [
      'of another network',
      {
        'server.features': (peer, request) =>
          peer.answer(request, { genesis_hash: statusA, hash_function: 'sha256' }),
      },
      /another network/,
    ],
    [
      'with another hash function',
      {
        'server.features': (peer, request) =>
          peer.answer(request, { genesis_hash: genesisHash, hash_function: 'md5' }),
      },
      /hash function/,
    ],
    [
      'of another version',
      { 'server.version': (peer, request) => peer.answer(request, ['x', '1.2']) },
      /version that was not offered/,
    ],
    [
      'that refuses us',
      { 'server.version': (peer, request) => peer.refuse(request, 1, 'unsupported client') },
      /unsupported client/,
    ],
    ['that hangs up', { 'server.version': ({ socket }) => socket.end() }, /closed the connection/],
    [
      'that speaks HTTP',
      { 'server.version': (peer) => peer.sendRaw('HTTP/1.1 400\r\n\r\n') },
      /not JSON/,
    ],
  ])('ends with a server %s', async (_, script, reason) => {
    const events: string[] = [];
    const server = await start(script);
    const opening = open(script, { server, handlers: { onClose: (_, why) => events.push(why) } });
    await expect(opening).rejects.toThrow(reason);
    await expect(opening).rejects.toBeInstanceOf(PaygateError);
    const { socket } = server.peers[0] as Peer;
    await createTestWorld().until(() => socket.destroyed, 'the socket to close');
    expect(events).toEqual([]);
  });

  it('fails when the server does not answer', async () => {
    const world = createTestWorld();
    const server = await start({ 'server.version': () => {} });
    const outcome = expect(open({}, { server, world })).rejects.toThrow(
      /did not answer server.version in time/,
    );
    await world.until(() => server.peers[0]?.requests.length === 1);
    await world.advance(10_000);
    await outcome;
  });

  it('detects a lost socket at once', async () => {
    const world = createTestWorld();
    const { connect } = world;
    world.connect = async (target, signal) => {
      const connection = await connect(target, signal);
      const closed = new Promise((done) => connection.socket.once('close', done));
      connection.socket.destroy();
      await closed;
      return connection;
    };
    await expect(open({}, { world })).rejects.toThrow(/closed the connection/);
  });

  it('and the session end when the signal aborts', async () => {
    const stopping = new AbortController();
    const { session, events } = await open({}, { signal: stopping.signal });
    stopping.abort();
    expect(session.closed).toBe(true);
    expect(events).toEqual([['close', 'stopped']]);
    expect(getEventListeners(stopping.signal, 'abort')).toEqual([]);
    await expect(open({}, { signal: stopping.signal })).rejects.toThrow(/cannot connect/);
  });
});

describe('TLS', () => {
  it('pins a self-signed certificate once the server has proven to be one', async () => {
    const certificate = makeCertificate();
    const learnt: TlsIdentity[] = [];
    const server = await start({}, { tls: certificate });
    const { session } = await open({}, { server, learnt });
    expect(learnt).toEqual([{ kind: 'pinned', sha256: certificate.sha256 }]);
    session.close('done');
    await expect(open({}, { server, learnt, genesisHash: statusA as BlockHash })).rejects.toThrow(
      /network/,
    );
    expect(learnt).toHaveLength(1);
  });

  it('is refused before the first request when the pin differs', async () => {
    const server = await start({}, { tls: makeCertificate() });
    const known: TlsIdentity = { kind: 'pinned', sha256: statusA };
    await expect(open({}, { server, known })).rejects.toThrow(/pinned is a{64}/);
    await expect(open({}, { server, known: { kind: 'valid' } })).rejects.toThrow(/no longer does/);
    expect(server.peers.flatMap(({ requests }) => requests)).toEqual([]);
  });

  it('accepts an explicit pin', async () => {
    const certificate = makeCertificate();
    const choice = `?pin=${certificate.sha256}`;
    const server = await start({}, { tls: certificate, choice });
    const learnt: TlsIdentity[] = [];
    await open({}, { server, learnt, known: { kind: 'valid' } });
    expect(learnt).toEqual([]);
  });
});
