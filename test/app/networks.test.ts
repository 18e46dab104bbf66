// Every network from its checkpoint on: the verifier on a real file and a server on a real socket.
// The test mines the server's blocks by the network's rule. `serve` rejects wrong checkpoints.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { openApp } from '../../src/app.ts';
import { expectedBits, type Header } from '../../src/bitcoin/header.ts';
import {
  type Checkpoint,
  formatCheckpoint,
  type Network,
  type NetworkName,
  networks,
} from '../../src/bitcoin/network.ts';
import { readConfig } from '../../src/config.ts';
import { minAncestorHeight } from '../../src/domain/payment/chain.ts';
import type { Session } from '../../src/electrum/session.ts';
import { followedNetwork } from '../../src/store/chain/headers.ts';
import { openRecords, type Records } from '../../src/store/open-records.ts';
import { createHeaderSync } from '../../src/watcher/header-sync.ts';
import { createProofs, type Proofs, ServerLie } from '../../src/watcher/proof/proofs.ts';
import { open } from '../electrum/open-session.ts';
import { cleanUp, tempFolder, whenOver } from '../support/files.ts';
import { branch, child, easyBits, firstHeader, hardBits, ruledBy } from '../support/headers.ts';
import { createTestWorld } from '../support/world.ts';

afterEach(cleanUp);

const newFile = (): string => join(tempFolder(), 'paygate.db');

async function openFile(path: string, network: NetworkName): Promise<Records> {
  const records = await openRecords({ path, create: true, network, newInstance: () => 'test' });
  whenOver(() => records.database.close());
  return records;
}

const last = (headers: readonly Header[]): Header => headers.at(-1) as Header;

/** A chain from height 0 by the network's own rule; some blocks are late, some times step back. */
function mined(network: Network, count: number): Header[] {
  const headers = [firstHeader()];
  while (headers.length < count) {
    const height = headers.length;
    const odd = height % 7 === 0 ? 3000 : 0;
    const time = (headers[0] as Header).time + height * 300 + odd;
    const at = (wanted: number) => headers[wanted] as Header;
    const bits = expectedBits(network, height, last(headers), time, at);
    headers.push(child(last(headers), { time, bits }));
  }
  return headers;
}

/** What the server has; a test may change it at any time. */
interface Source {
  headers: readonly Header[];
  /** Headers of an answer at most. */
  most: number;
  readonly asked: [start: number, count: number][];
}

interface Following {
  readonly source: Source;
  readonly path: string;
  readonly records: Records;
  readonly session: Session;
  readonly proofs: Proofs;
  /** Follows the server to its tip. */
  sync(): Promise<void>;
}

async function follow(network: Network, headers: readonly Header[]): Promise<Following> {
  const source: Source = { headers, most: 2016, asked: [] };
  const { session } = await open({
    'blockchain.block.headers': (peer, request) => {
      const [start, count] = request.params as [number, number];
      source.asked.push([start, count]);
      const found = source.headers.slice(start, start + Math.min(count, source.most));
      const hex = found.map(({ raw }) => Buffer.from(raw).toString('hex')).join('');
      peer.answer(request, { count: found.length, hex, max: 2016 });
    },
    'blockchain.transaction.get_merkle': (peer, request) => peer.refuse(request, 1, 'no proof'),
  });
  const path = newFile();
  const records = await openFile(path, network.name);
  const world = createTestWorld();
  const proofs = createProofs({ records, network, proveDepthAboveSat: 0 });
  const chainSync = createHeaderSync({ world, records, network, onTip: () => {} });
  const sync = () => {
    const tip = { height: source.headers.length - 1, raw: last(source.headers).raw };
    return chainSync.sync(session, tip);
  };
  return { source, path, records, session, proofs, sync };
}

const named = (retarget: Network['retarget'], name: NetworkName, at?: Checkpoint): Network => ({
  ...ruledBy(retarget),
  name,
  ...(at && { checkpoint: at }),
});

const at = (headers: readonly Header[], height: number): Checkpoint => ({
  height,
  hash: (headers[height] as Header).hash,
});

describe.each([
  ['mainnet', 'bitcoin'],
  ['testnet3', 'testnet3'],
  ['testnet4', 'testnet4'],
  ['signet', 'bitcoin'],
  ['regtest', 'none'],
] as const)('%s', (name, retarget) => {
  const headers = mined(named(retarget, name), 4200);

  it.each(name === 'regtest' ? [0, 2018] : [2015, 2018, 4031])(
    'from a checkpoint at %i to the tip',
    async (height) => {
      const checkpoint = at(headers, height);
      const { records, source, sync, session, proofs } = await follow(
        named(retarget, name, checkpoint),
        headers,
      );
      await sync();
      expect(records.headers.tip()).toMatchObject({
        height: 4199,
        header: { hash: last(headers).hash },
      });
      const lowest = minAncestorHeight(height);
      // In pieces, from the lowest that is needed to the checkpoint.
      let next = lowest;
      for (const [start, count] of source.asked.filter(([start]) => start <= height)) {
        expect(start).toBe(next);
        next += count;
      }
      expect(next).toBe(height + 1);
      expect(records.headers.bestAt(lowest)?.header.hash).toBe(headers[lowest]?.hash);
      expect(records.headers.bestAt(lowest - 1)).toBeUndefined();
      // What lies below the checkpoint is believed for nothing, also where we have its header.
      for (const below of [lowest, height - 1].filter((each) => each >= 0 && each < height)) {
        expect(await proofs.prove(session, 'ab'.repeat(32) as never, below)).toEqual({
          kind: 'unproven',
        });
      }
      expect(followedNetwork(records, undefined).checkpoint).toEqual(checkpoint);
    },
  );
});

describe('what a server says of the checkpoint', () => {
  const plain = named('bitcoin', 'signet');
  const headers = mined(plain, 2100);
  const network = { ...plain, checkpoint: at(headers, 2030) };

  it('may come in small answers', async () => {
    const { records, source, sync } = await follow(network, headers);
    source.most = 6;
    await sync();
    expect(records.headers.tip()?.height).toBe(2099);
    expect(source.asked.slice(0, 3)).toEqual([
      [2016, 15],
      [2022, 9],
      [2028, 3],
    ]);
  });

  it('must be that block: another one is a lie, and nothing is stored', async () => {
    const fork = [...headers.slice(0, 2030), ...branch(headers[2029] as Header, 80)];
    const { records, source, sync } = await follow(network, fork);
    await expect(sync()).rejects.toThrow(
      new ServerLie(
        `its block 2030 is ${fork[2030]?.hash}, the checkpoint says ${network.checkpoint.hash}`,
      ),
    );
    expect(records.headers.tip()).toBeUndefined();
    // Also when only what lies below it is made up.
    source.headers = headers.with(2020, fork[2031] as Header);
    await expect(sync()).rejects.toThrow('its headers up to the checkpoint do not link');
    expect(records.headers.tip()).toBeUndefined();
  });

  it('is not there yet while the server lags: no lie', async () => {
    const { sync, source, records } = await follow(network, headers.slice(0, 2030));
    const behind = await sync().catch((error) => error);
    expect(behind).not.toBeInstanceOf(ServerLie);
    expect(behind.message).toBe('its chain ends below 2030');
    source.headers = headers.slice(0, 2031);
    await sync();
    expect(records.headers.tip()?.height).toBe(2030);
  });

  it('a fork above it is followed, however short the part below', async () => {
    const { records, source, sync } = await follow(network, headers);
    await sync();
    // 60 blocks deep, while only 15 headers were fetched up to the checkpoint.
    const base = headers.slice(0, 2040);
    source.headers = [...base, ...branch(last(base), 70)];
    await sync();
    expect(records.headers.tip()?.header.hash).toBe(last(source.headers).hash);
    expect(records.headers.bestAt(2040)?.header.hash).toBe(source.headers[2040]?.hash);
  });

  it('a fork below it is not', async () => {
    const { records, source, sync } = await follow(network, headers);
    await sync();
    const base = headers.slice(0, 2025);
    source.headers = [...base, ...branch(last(base), 90)];
    await expect(sync()).rejects.toThrow('below the checkpoint');
    expect(records.headers.tip()?.header.hash).toBe(last(headers).hash);
  });

  it('a shorter branch with more work is followed down', async () => {
    const start = firstHeader({ bits: hardBits });
    const ours: Header[] = [start];
    while (ours.length < 40) {
      const tip = last(ours);
      ours.push(child(tip, { time: tip.time + 1201, bits: easyBits }));
    }
    const { records, source, sync } = await follow(
      named('testnet4', 'testnet4', at(ours, 0)),
      ours,
    );
    await sync();
    expect(records.headers.tip()?.height).toBe(39);
    source.headers = [start, child(start, { bits: hardBits })];
    await sync();
    expect(records.headers.tip()).toMatchObject({ height: 1, header: { bits: hardBits } });
    expect(records.headers.bestAt(2)).toBeUndefined();
  });
});

describe('the checkpoint that serve is given', () => {
  const easy = mined(named('none', 'regtest'), 40);
  const options = {
    onFatal: (error: Error) => {
      throw error;
    },
  };
  const build = (path: string, ...flags: [network: NetworkName, checkpoint?: string]) => {
    const [network, checkpoint] = flags;
    const config = readConfig(
      { db: [path], network: [network], ...(checkpoint && { checkpoint: [checkpoint] }) },
      {},
    );
    return openApp(config, createTestWorld(), options);
  };
  const own = `3000000:00000000${'ab'.repeat(28)}`;

  it.each(['mainnet', 'testnet4', 'signet'] as const)('%s has its own', async (name) => {
    const app = await build(newFile(), name);
    expect(app.network).toEqual(networks[name]);
    await app.close();
  });

  it('testnet3 needs one, and takes it', async () => {
    const path = newFile();
    await expect(build(path, 'testnet3')).rejects.toMatchObject({
      code: 'invalid',
      message: expect.stringMatching(/^--checkpoint HEIGHT:HASH is needed, testnet3 has none.*$/),
    });
    expect(existsSync(path)).toBe(false);
    const app = await build(path, 'testnet3', own);
    expect(app.network.checkpoint?.height).toBe(3_000_000);
    await app.close();
    // No header was stored: another one may still be named, and one must be.
    await expect(build(path, 'testnet3')).rejects.toThrow('is needed');
  });

  it('the one given stands above the built-in one', async () => {
    const app = await build(newFile(), 'mainnet', `840000:${'00'.repeat(12)}${'ab'.repeat(20)}`);
    expect(app.network.checkpoint?.height).toBe(840_000);
    await app.close();
  });

  it.each([
    [`840000:${'ab'.repeat(32)}`, 'its hash shows no proof of work'],
    [`0:${'00'.repeat(32)}`, 'which begins with another one'],
  ])('no block of mainnet: %s', async (given, reason) => {
    const path = newFile();
    await expect(build(path, 'mainnet', given)).rejects.toThrow(
      `--checkpoint ${given}: not a block of mainnet, ${reason}`,
    );
    expect(existsSync(path)).toBe(false);
  });

  it('once headers are stored it must be one of them, and changes nothing', async () => {
    const begun = at(easy, 20);
    const { records, sync } = await follow(named('none', 'testnet3', begun), easy);
    await sync();
    const from = (given?: Checkpoint) => followedNetwork(records, given).checkpoint;
    expect(from()).toEqual(begun);
    for (const height of [20, 21, 39, 9]) expect(from(at(easy, height))).toEqual(begun);
    const { hash } = at(easy, 21);
    expect(() => from({ height: 20, hash })).toThrow(`20:${hash}: this file's chain has the block`);
    expect(() => from({ height: 40, hash })).toThrow('headers end at height 39, below it; leave');
  });

  it('also where serve starts again', async () => {
    const begun = at(easy, 20);
    const { path, sync } = await follow(named('none', 'testnet3', begun), easy);
    await sync();
    for (const given of [undefined, formatCheckpoint(begun), formatCheckpoint(at(easy, 30))]) {
      const app = await build(path, 'testnet3', given);
      expect(app.network).toEqual({ ...networks.testnet3, checkpoint: begun });
      await app.close();
    }
    const message = expect.stringMatching(/^--checkpoint 3000000:.* headers end at height 39, .*$/);
    await expect(build(path, 'testnet3', own)).rejects.toMatchObject({ code: 'invalid', message });
  });
});
