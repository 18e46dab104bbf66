import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { Txid } from '../../src/bitcoin/ids.ts';
import { MessageReader } from '../../src/electrum/framing.ts';
import type { Figures, Flood } from './flood.ts';
import { first, headerHex, open, statusA } from './open-session.ts';
import { electrumX, type Peer } from './scripted-server.ts';

/** What takes a second or two; by hand, flood.ts takes any number. */
const megabytes = 10;
/** For 1,000 MB the goal is 10; a process that young still grows by itself. */
const mostGrowth = 40;

async function flood(kind: Flood): Promise<Figures> {
  const script = join(import.meta.dirname, 'flood.ts');
  const args = ['--expose-gc', script, kind, String(megabytes)];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout) as Figures;
}

describe('S-114 memory stays flat under', () => {
  it.concurrent.each<Flood>([
    'notifications of what is subscribed',
    'a line that never ends',
    'huge arrays of objects',
  ])('%s', { timeout: 60_000 }, async (kind) => {
    const { before, highest, megabytes: received } = await flood(kind);
    expect(received).toBeGreaterThanOrEqual(megabytes);
    expect(highest - before).toBeLessThan(mostGrowth);
  });
});

describe('a session ends on', () => {
  const notice = `${JSON.stringify({
    method: 'blockchain.scripthash.subscribe',
    params: [first, statusA],
  })}\n`;
  it.each<[string, (peer: Peer) => void, RegExp]>([
    ['a long line while none is awaited', (peer) => peer.sendRaw('x'.repeat(70_000)), /not asked/],
    [
      'a long message while none is awaited',
      (peer) => peer.send({ id: 99, result: 'x'.repeat(70_000) }),
      /not asked/,
    ],
    ['more notifications than can be true', (peer) => peer.sendRaw(notice.repeat(60_000)), /more/],
  ])('%s', async (_, misbehave, reason) => {
    const { session, peer, events, world } = await open({
      'blockchain.scripthash.subscribe': (to, request) => to.answer(request, null),
    });
    await session.subscribe(first);
    misbehave(peer);
    await world.until(() => session.closed, 'the session to end');
    expect(events.at(-1)).toEqual(['close', expect.stringMatching(reason)]);
    // What came before the fault was delivered.
    expect(events.length).toBeLessThan(60_000);
  });

  it.each<[string, (peer: Peer) => void, RegExp]>([
    ['a long notification', (peer) => peer.notify('x', 'x'.repeat(70_000)), /notification of more/],
    [
      'a long answer of very many parts',
      (peer) => peer.answer(peer.requests.at(-1), Array(100_000).fill(1)),
      /too many parts/,
    ],
    [
      'a batch of very many answers',
      (peer) => peer.send(Array(160_000).fill({ id: 1, result: 'x'.repeat(35) })),
      /not an object/,
    ],
  ])('%s, although a long answer is awaited', async (_, misbehave, reason) => {
    const { session, peer, events, world } = await open({});
    void session.history(first).catch(() => {});
    await world.until(() => peer.asked('blockchain.scripthash.get_history').length === 1);
    misbehave(peer);
    await world.until(() => session.closed, 'the session to end');
    expect(events.at(-1)).toEqual(['close', expect.stringMatching(reason)]);
  });
});

describe('a session goes on with', () => {
  it('a history of 50,000 transactions, as short as possible, and 2,016 headers', async () => {
    const items = Array.from({ length: 50_000 }, (_, index) => ({
      tx_hash: index.toString(16).padStart(64, '0'),
      height: 0,
      fee: 1,
    }));
    const { session } = await open({
      'blockchain.scripthash.get_history': (to, request) => to.answer(request, items),
      'blockchain.block.headers': (to, request) =>
        to.answer(request, { count: 2_016, hex: headerHex.repeat(2_016), max: 2_016 }),
    });
    expect(await session.history(first)).toHaveLength(50_000);
    expect(await session.headers(0, 2_016)).toHaveLength(2_016);
  });

  it('the parse of a transaction with as many witness items as nodes relay', async () => {
    const vin = Array.from({ length: 230 }, () => ({ txinwitness: Array(1_000).fill('') }));
    const { session } = await open({
      ...electrumX,
      'blockchain.transaction.get': (to, request) => to.answer(request, { hex: '00', vin }),
    });
    const txid = first as string as Txid;
    expect(await session.hasTransaction(txid)).toBe(true);
    expect(await session.transaction(txid, { fresh: true })).toEqual(Uint8Array.of(0));
  });

  it('fifty changes a second, for ever', () => {
    let now = 0;
    const expectations = { expectsLongResponse: false, expectsVerboseTransaction: false };
    const reader = new MessageReader({ monotonic: () => now }, expectations);
    const line = JSON.stringify({
      jsonrpc: '2.0',
      method: 'blockchain.scripthash.subscribe',
      params: [first, statusA],
    });
    // A burst leaves nothing over.
    expect([...reader.push(Buffer.from(`${line}\n`.repeat(40_000)))]).toHaveLength(40_000);
    const second = Buffer.from(`${line}\n`.repeat(50));
    for (let seconds = 0; seconds < 600; seconds++) {
      now += 1_000;
      expect([...reader.push(second)]).toHaveLength(50);
    }
  });
});
