// The raw bytes of payments: how long they are stored, and which are broadcast again.

import { sha256x2 } from '@scure/btc-signer/utils.js';
import { afterEach, describe, expect, it } from 'vitest';
import { displayHex, type Txid } from '../../../src/bitcoin/ids.ts';
import { refusalCost } from '../../../src/electrum/budget.ts';
import type { IssuedAddress } from '../../../src/store/wallets/address-row.ts';
import { createRebroadcast } from '../../../src/watcher/rebroadcast.ts';
import type { AgeJudge } from '../../../src/world/clock-watch.ts';
import { open } from '../../electrum/open-session.ts';
import type { Script } from '../../electrum/scripted-server.ts';
import { cleanUp } from '../../support/files.ts';
import { openShop, type Shop } from '../../support/ledger.ts';
import { now } from '../../support/store.ts';
import { createTestWorld } from '../../support/world.ts';

afterEach(cleanUp);

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const broadcast = 'blockchain.transaction.broadcast';

/** One input with a script of `scriptBytes`, one output of 0 to an empty script. */
function transaction(number: number, scriptBytes = 0): { txid: Txid; raw: Buffer } {
  const size = Buffer.alloc(scriptBytes < 0xfd ? 1 : 5, 0xfe);
  if (scriptBytes < 0xfd) size.writeUInt8(scriptBytes);
  else size.writeUInt32LE(scriptBytes, 1);
  const raw = Buffer.concat([
    ...[Buffer.of(2, 0, 0, 0, 1), Buffer.alloc(32, number), Buffer.alloc(4), size],
    ...[Buffer.alloc(scriptBytes), Buffer.alloc(4), Buffer.of(1), Buffer.alloc(9 + 4)],
  ]);
  return { txid: displayHex<Txid>(sha256x2(raw)), raw };
}

/** With these items; none leaves it as it is. */
function withWitness(raw: Buffer, items: readonly (readonly number[] | Buffer)[]): Buffer {
  if (items.length === 0) return raw;
  const sized = items.map((item) => {
    const size = Buffer.alloc(item.length < 0xfd ? 1 : 5, 0xfe);
    if (item.length < 0xfd) size.writeUInt8(item.length);
    else size.writeUInt32LE(item.length, 1);
    return Buffer.concat([size, Buffer.from(item)]);
  });
  return Buffer.concat([
    ...[raw.subarray(0, 4), Buffer.of(0, 1), raw.subarray(4, -4)],
    ...[Buffer.of(items.length), ...sized, raw.subarray(-4)],
  ]);
}

const output = { valueSat: 5_000, signalsRbf: false, coinbase: false };

const seen = (shop: Shop, issued: IssuedAddress, all: readonly { txid: Txid; raw: Buffer }[]) =>
  shop.observe(issued, { seen: all.map((each) => ({ ...each, block: null, output })) });

const drop = (shop: Shop, issued: IssuedAddress, txid: Txid) =>
  shop.observe(issued, { seen: [], gone: [{ txid, replacedBy: null }] });

/** A payment comes so much later. */
async function cameAfter(shop: Shop, ms: number): Promise<void> {
  const { id: addressId } = await shop.issue();
  const seen = [{ ...transaction(1), block: null, output }];
  const observation = { addressId, origin: 'issued', seen, gone: [], statusHash: null } as const;
  await shop.write((tx) => shop.ledger.apply(tx, now + ms, observation));
}

const asked: Script = {
  'server.ping': (peer, request) => peer.answer(request, null),
  'blockchain.scripthash.subscribe': (peer, request) => peer.answer(request, null),
  'blockchain.scripthash.unsubscribe': (peer, request) => peer.answer(request, true),
};

const taking: Script = {
  ...asked,
  [broadcast]: (peer, request) => peer.answer(request, '00'.repeat(32)),
};

/** Broadcasts within a minute, `ms` after the payments were seen. The server takes them all. */
async function sweptAfter(shop: Shop, ms: number, clock?: AgeJudge): Promise<{ sent: string[] }> {
  const world = createTestWorld({ startAt: now + ms });
  const sent: string[] = [];
  const { session } = await open(
    {
      [broadcast]: (peer, request) => {
        sent.push(String(request.params[0]));
        peer.answer(request, '00'.repeat(32));
      },
      ...asked,
    },
    { world },
  );
  const pool = { live: () => [session] };
  await createRebroadcast({ world, records: shop, pool, ...(clock && { clock }) }).run();
  return { sent };
}

describe('the raw bytes of a payment', () => {
  it('P-115 that was dropped are deleted after fourteen days', async () => {
    const shop = await openShop();
    const issued = await shop.issue();
    const [gone, there] = [transaction(1), transaction(2)];
    await seen(shop, issued, [gone, there]);
    await drop(shop, issued, gone.txid);
    await sweptAfter(shop, 14 * dayMs - hourMs);
    expect(shop.ledger.rawOf(gone.txid)).toEqual(gone.raw);
    await sweptAfter(shop, 14 * dayMs + hourMs);
    expect(shop.ledger.rawOf(gone.txid)).toBeUndefined();
    expect(shop.ledger.rawOf(there.txid)).toEqual(there.raw);
  });

  it('P-115 go by the time that has certainly passed, whatever the clock shows', async () => {
    const shop = await openShop();
    const issued = await shop.issue();
    const [gone, there] = [transaction(1), transaction(2)];
    await seen(shop, issued, [gone, there]);
    await drop(shop, issued, gone.txid);
    const at = (ms: number) => ({ isSure: () => false, passed: () => now + ms });
    const later = 400 * dayMs;
    expect((await sweptAfter(shop, later, at(hourMs))).sent).toEqual([]);
    expect((await sweptAfter(shop, later, at(7 * hourMs))).sent).toEqual([
      there.raw.toString('hex'),
    ]);
    expect(shop.ledger.rawOf(gone.txid)).toEqual(gone.raw);
    await sweptAfter(shop, later, at(14 * dayMs + hourMs));
    expect(shop.ledger.rawOf(gone.txid)).toBeUndefined();
  });

  it('that is settled are deleted at once, because its inputs cannot be spent again', async () => {
    const shop = await openShop();
    const issued = await shop.issue();
    shop.chain.pay([{ address: issued.address, valueSat: 5_000 }]);
    const [payment] = shop.observation(issued).seen;
    if (payment === undefined) throw new Error('no payment');
    const raw = shop.chain.transaction(payment.txid)?.raw ?? new Uint8Array();
    await shop.observe(issued, { seen: [{ ...payment, raw }] });
    await shop.mine(144);
    await shop.observe(issued);
    expect(shop.ledger.rawOf(payment.txid)).toEqual(Buffer.from(raw));
    await shop.mine();
    expect(shop.payment(issued).state).toBe('settled');
    expect(shop.ledger.rawOf(payment.txid)).toBeUndefined();
  });

  it('that also pays another address are retained for that', async () => {
    const shop = await openShop();
    const [first, second] = [await shop.issue(), await shop.issue()];
    const both = transaction(1);
    await seen(shop, first, [both]);
    await seen(shop, second, [both]);
    await drop(shop, first, both.txid);
    await sweptAfter(shop, 15 * dayMs);
    expect(shop.ledger.rawOf(both.txid)).toEqual(both.raw);
    // Looked at again only as long after.
    expect(shop.broadcasts.idle(now + 15 * dayMs - 1, 9)).toEqual([]);
  });

  it('are deleted a few in a commit, however many there are', async () => {
    const shop = await openShop();
    const issued = await shop.issue();
    const all = Array.from({ length: 50 }, (_, number) => transaction(number));
    await seen(shop, issued, all);
    for (const { txid } of all) await drop(shop, issued, txid);
    const kept = () => all.filter(({ txid }) => shop.ledger.rawOf(txid) !== undefined).length;
    const left: number[] = [];
    for (let minute = 0; minute < 3; minute += 1) {
      await sweptAfter(shop, 15 * dayMs);
      left.push(kept());
    }
    expect(left).toEqual([30, 10, 0]);
  });

  it('are broadcast again, and for fourteen days, though the clock was a year ahead when they came', async () => {
    const shop = await openShop();
    await cameAfter(shop, 365 * dayMs);
    const sent: number[] = [];
    for (const days of [0, 0.2, 1, 13, 15, 16]) {
      sent.push((await sweptAfter(shop, days * dayMs)).sent.length);
    }
    expect(sent).toEqual([1, 0, 1, 1, 0, 0]);
  });

  it('are still broadcast though the clock was a month behind at a start', async () => {
    const shop = await openShop();
    const sinceNow = (shop.headers.tipTime() ?? 0) * 1000 - now;
    await cameAfter(shop, sinceNow);
    const sent: number[] = [];
    for (const days of [-30, 1, 13, 15]) {
      sent.push((await sweptAfter(shop, sinceNow + days * dayMs)).sent.length);
    }
    expect(sent).toEqual([0, 1, 1, 0]);
  });

  it('are not broadcast if they are too heavy for nodes to relay', async () => {
    const shop = await openShop();
    const issued = await shop.issue();
    const [heavy, light] = [transaction(1, 100_000), transaction(2)];
    await seen(shop, issued, [heavy, light]);
    expect(await sweptAfter(shop, 7 * hourMs)).toEqual({ sent: [light.raw.toString('hex')] });
    expect(await sweptAfter(shop, 8 * hourMs)).toEqual({ sent: [] });
  });

  it.each([
    ['missing', []],
    ['not signed', [[7, 7]]],
  ])(
    'are replaced by those of a server, if servers refuse a witness that is %s',
    async (_, kept) => {
      const shop = await openShop();
      const issued = await shop.issue();
      const { txid, raw } = transaction(1);
      const ours = withWitness(raw, kept);
      const theirs = withWitness(raw, [[1, 2, 3], [4]]);
      await seen(shop, issued, [{ txid, raw: ours }]);
      const world = createTestWorld({ startAt: now + 7 * hourMs });
      const sent: string[] = [];
      const { session } = await open(
        {
          ...asked,
          [broadcast]: (peer, request) => {
            sent.push(String(request.params[0]));
            if (sent.at(-1) === theirs.toString('hex')) peer.answer(request, txid);
            else peer.refuse(request, 1, 'mandatory-script-verify-flag-failed');
          },
          'blockchain.transaction.get': (peer, request) =>
            peer.answer(request, theirs.toString('hex')),
        },
        { world },
      );
      await createRebroadcast({ world, records: shop, pool: { live: () => [session] } }).run();
      await world.until(() => theirs.equals(shop.ledger.rawOf(txid) ?? ours), 'other bytes');
      expect(sent).toHaveLength(2);
    },
  );

  it('P-157 cost a server its allowance with each refusal, also of its own bytes', async () => {
    const shop = await openShop();
    await seen(shop, await shop.issue(), [transaction(1)]);
    const world = createTestWorld({ startAt: now + 7 * hourMs });
    const { session } = await open(
      {
        ...asked,
        [broadcast]: (peer, request) => peer.refuse(request, 1, 'bad-witness-nonce-size'),
        'blockchain.transaction.get': (peer, request) => peer.refuse(request, 2, 'no such one'),
      },
      { world },
    );
    const allowance = session.budget.allowance('rebroadcast');
    const before = allowance.left();
    await createRebroadcast({ world, records: shop, pool: { live: () => [session] } }).run();
    await world.until(() => allowance.left() === before - 2 * refusalCost, 'both refusals');
  });

  it.each(['takes', 'refuses'])(
    'P-157 finally reach a server behind many invented ones that it refuses, if another %s all',
    async (does) => {
      const shop = await openShop();
      const issued = await shop.issue();
      const genuine = transaction(70);
      const madeUp = Array.from({ length: 70 }, (_, number) => transaction(number));
      await seen(shop, issued, [...madeUp, genuine]);
      const world = createTestWorld({ startAt: now + 7 * hourMs });
      const sent: string[] = [];
      const refusing: Script = {
        ...asked,
        [broadcast]: (peer, request) => {
          sent.push(String(request.params[0]));
          peer.refuse(request, 1, 'bad-txns-inputs-missingorspent');
        },
      };
      const honest = await open(refusing, { world });
      const liar = await open(does === 'takes' ? taking : refusing, { world });
      const live = () => [liar.session, honest.session];
      const rebroadcast = createRebroadcast({ world, records: shop, pool: { live } });
      for (let minute = 0; minute < 8 * 60; minute += 1) {
        await rebroadcast.run();
        await world.advance(60_000);
        await Promise.all(live().map((session) => session.ping()));
      }
      expect(sent).toContain(genuine.raw.toString('hex'));
    },
  );
});
