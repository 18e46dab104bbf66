// Servers that close the connection at a method that they do not know. Something else is requested
// instead, or the reason is shown.

import { createServer } from 'node:net';
import { bytesToHex } from '@noble/hashes/utils.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Scripthash, Txid } from '../../src/bitcoin/ids.ts';
import { networks } from '../../src/bitcoin/network.ts';
import { parseServerAddress } from '../../src/electrum/server-address.ts';
import { run, start } from './running-pool.ts';
import { type Peer, portOf, type Request, type Script } from './scripted-server.ts';

const header = bytesToHex(networks.regtest.genesisHeader);
const closes = ({ socket }: Peer): void => void socket.destroy();
const hangs = (): void => {};
const refuses = (peer: Peer, request: Request): void => peer.refuse(request, -32601, 'unknown');
const givesHeaders: Script = {
  'blockchain.block.headers': (peer, request) =>
    peer.answer(request, { count: 1, hex: header, max: 2016 }),
};
const givesHeader: Script = {
  'blockchain.block.header': (peer, request) => peer.answer(request, header),
};

describe('P-169 the network of a server is found', () => {
  it.each([
    ['that closes at server.features', { 'server.features': closes, ...givesHeaders }],
    ['that never answers server.features', { 'server.features': hangs, ...givesHeaders }],
    [
      'that closes at it and refuses runs of headers',
      { 'server.features': closes, 'blockchain.block.headers': refuses, ...givesHeader },
    ],
    [
      'that closes at both',
      { 'server.features': closes, 'blockchain.block.headers': closes, ...givesHeader },
    ],
  ] as [string, Script][])('%s', async (_, script) => {
    const server = await start(script);
    const { world, pool } = run([server.address]);
    for (let second = 0; pool.live().length === 0 && second < 60; second += 1) {
      await world.advance(1_000);
    }
    expect(pool.live()).toHaveLength(1);
    expect(world.logs.at(-1)?.message).toBe('electrum server connected');
  });
});

it('a server that closes at every request for the network is reported with these requests', async () => {
  const server = await start({ 'server.features': closes, 'blockchain.block.headers': closes });
  const { world, pool } = run([server.address]);
  for (let second = 0; second < 15; second += 1) await world.advance(1_000);
  const [status] = pool.status();
  expect(status?.lastError).toMatch(/blockchain\.block\.headers.*server\.features/);
});

it('P-169 a server that closes at server.ping gets requests for a header instead', async () => {
  const server = await start({ 'server.ping': closes, ...givesHeaders });
  const { world, live, pool } = run([server.address]);
  await live(1);
  await world.advance(30_000);
  await world.advance(5_000);
  await live(2);
  for (let minute = 0; minute < 8; minute += 1) await world.advance(60_000);
  expect(pool.live()[0]?.generation).toBe(2);
  expect(server.peers.at(-1)?.asked('blockchain.block.headers').length).toBeGreaterThan(5);
});

it('a request closed at three times counts as refused, and the others go on', async () => {
  const txid = 'ab'.repeat(32) as Txid;
  const scripthash = 'cd'.repeat(32) as Scripthash;
  const server = await start({
    'blockchain.transaction.get_merkle': closes,
    'blockchain.scripthash.get_history': (peer, request) => peer.answer(request, []),
  });
  const { world, live } = run([server.address]);
  for (let count = 1; count <= 3; count += 1) {
    const session = await live(count);
    expect(await session.history(scripthash)).toEqual([]);
    await expect(session.merkle(txid, 1)).rejects.toThrow(
      'the server closed the connection at blockchain.transaction.get_merkle',
    );
    await world.advance(60_000);
  }
  const last = await live(4);
  await expect(last.merkle(txid, 1)).rejects.toThrow(
    'the server refused blockchain.transaction.get_merkle: it closes the connection',
  );
  expect(await last.history(scripthash)).toEqual([]);
  expect(last.closed).toBe(false);
  // It may have been mended.
  await world.advance(600_000);
  const again = last.closed ? await live(5) : last;
  await expect(again.merkle(txid, 1)).rejects.toThrow('closed the connection at');
});

it.each([0, 1])(
  'one history at which it closes, requested as number %i, delays no other',
  async (at) => {
    const hashes = ['cd', 'ef', '01'].map((byte) => byte.repeat(32) as Scripthash);
    const server = await start({
      'blockchain.scripthash.get_history': (peer, request) =>
        request.params[0] === hashes[at] ? closes(peer) : peer.answer(request, []),
    });
    const { world, live } = run([server.address]);
    for (let count = 1; count <= 3; count += 1) {
      const session = await live(count);
      const asked = hashes.map((each) => session.history(each));
      await Promise.allSettled(asked);
      await world.advance(60_000);
    }
    const last = await live(4);
    const outcomes = await Promise.allSettled(hashes.map((each) => last.history(each)));
    expect(outcomes.map(({ status }) => status === 'fulfilled')).toEqual(
      hashes.map((_, of) => of !== at),
    );
  },
);

it('a request of any kind at which it closes counts as refused after four', async () => {
  const hashes = ['cd', 'ef', '01'].map((byte) => byte.repeat(32) as Scripthash);
  const server = await start({ 'blockchain.scripthash.get_history': closes });
  const { world, live } = run([server.address]);
  for (let count = 1; count <= 4; count += 1) {
    const session = await live(count);
    await Promise.allSettled(hashes.map((each) => session.history(each)));
    await world.advance(60_000);
  }
  const last = await live(5);
  for (const each of hashes) {
    await expect(last.history(each)).rejects.toThrow('it closes the connection instead');
  }
});

it('the requests behind the one at which it closes are repeated', async () => {
  const txid = 'ab'.repeat(32) as Txid;
  const scripthash = 'cd'.repeat(32) as Scripthash;
  const server = await start({ 'blockchain.transaction.get_merkle': closes });
  const { world, live } = run([server.address]);
  for (let count = 1; count <= 3; count += 1) {
    const session = await live(count);
    const both = [session.merkle(txid, 1), session.history(scripthash)];
    for (const each of both) await expect(each).rejects.toThrow('closed the connection at');
    await world.advance(60_000);
  }
  const last = await live(4);
  await expect(last.merkle(txid, 1)).rejects.toThrow('it closes the connection');
  const asked = last.history(scripthash);
  await world.until(
    () => server.peers.at(-1)?.asked('blockchain.scripthash.get_history').length === 1,
  );
  last.close('over');
  await expect(asked).rejects.toThrow('over');
});

it('a server that closes at unsubscribe gets none for a day', async () => {
  const scripthash = 'cd'.repeat(32) as Scripthash;
  const server = await start({ 'blockchain.scripthash.unsubscribe': closes, ...givesHeaders });
  const { world, live } = run([server.address]);
  await expect((await live(1)).unsubscribe(scripthash)).rejects.toThrow('closed the connection');
  await world.advance(60_000);
  const next = await live(2);
  await next.unsubscribe(scripthash);
  await world.advance(3_600_000);
  await next.unsubscribe(scripthash);
  expect(next.closed).toBe(false);
});

it('closings with a response in between do not count', async () => {
  const txid = 'ab'.repeat(32) as Txid;
  let asked = 0;
  const server = await start({
    'blockchain.transaction.get': (peer, request) => {
      asked += 1;
      if (asked % 2 === 1) closes(peer);
      else peer.answer(request, '00');
    },
  });
  const { world, live } = run([server.address]);
  for (let count = 1; count <= 5; count += 1) {
    await expect((await live(count)).transaction(txid)).rejects.toThrow('closed the connection');
    await world.advance(60_000);
    expect(await (await live(count + 1)).transaction(txid)).toEqual(Uint8Array.of(0));
  }
});

it.each([
  ['tcp', /write ssl:\/\/ instead of tcp:\/\//],
  ['ssl', /write tcp:\/\/ instead of ssl:\/\//],
] as const)('a port that does not speak %s gives an advice', async (scheme, advice) => {
  // As an nginx does with what is no TLS, and any text server with what is.
  const front = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n'));
  });
  await new Promise<void>((listening) => front.listen(0, '127.0.0.1', listening));
  onTestFinished(() => void front.close());
  const { world, pool } = run([parseServerAddress(`${scheme}://127.0.0.1:${portOf(front)}`)]);
  await world.until(() => pool.status()[0]?.lastError !== undefined);
  expect(pool.status()[0]?.lastError).toMatch(advice);
});
