import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { meetsTarget, parseHeader } from '../../../src/bitcoin/header.ts';
import type { Txid } from '../../../src/bitcoin/ids.ts';
import { networks } from '../../../src/bitcoin/network.ts';
import { parseTransaction } from '../../../src/bitcoin/transaction.ts';
import type { SimulatedChain } from '../../../src/sandbox/chain/simulated-chain.ts';
import { statusOf } from '../../../src/sandbox/electrum/history-results.ts';
import type { Garbage, ServerLie } from '../../../src/sandbox/electrum/server-faults.ts';
import type { SimulatedServer } from '../../../src/sandbox/electrum/simulated-server.ts';
import { rootFromBranch } from '../../support/merkle.ts';
import {
  type Client,
  chainOf,
  type ManualTimer,
  merchant,
  type Served,
  serve,
  until,
} from '../support.ts';

const { script, scripthash } = merchant();
const headersMethod = 'blockchain.headers.subscribe';
const scripthashMethod = 'blockchain.scripthash.subscribe';
const historyMethod = 'blockchain.scripthash.get_history';
const rawMethod = 'blockchain.transaction.get';
const merkleMethod = 'blockchain.transaction.get_merkle';

let served: Served;
let chain: SimulatedChain;
let server: SimulatedServer;
let timer: ManualTimer;
let client: Client;
/** Mined in block 111. */
let txid: Txid;

beforeEach(async () => {
  chain = chainOf(110);
  txid = chain.pay([{ script, valueSat: 5_000 }]);
  chain.mine();
  served = await serve(chain);
  ({ server, timer } = served);
  client = await served.client();
});

afterEach(() => served.close());

interface WireItem {
  readonly tx_hash: Txid;
  readonly height: number;
}

const history = async () => (await client.result(historyMethod, scripthash)) as WireItem[];
const status = () => client.result(scripthashMethod, scripthash);
const lie = (about: ServerLie) => server.inject({ kind: 'lie', about });

describe('a fault', () => {
  it('affects the requests of its predicate, until it ends', async () => {
    const when = (method: string, [first]: readonly unknown[]) =>
      method === rawMethod && first === txid;
    const end = server.inject({ kind: 'error', code: -102, message: 'busy', when });
    const other = chain.tip.txids[0];
    expect((await client.call(rawMethod, txid)).error).toEqual({ code: -102, message: 'busy' });
    expect((await client.call(rawMethod, other)).error).toBeUndefined();
    end();
    expect((await client.call(rawMethod, txid)).error).toBeUndefined();
  });

  it('can end after a number of requests', async () => {
    server.inject({ kind: 'error', code: 1, message: 'no', times: 2 });
    expect((await client.call('server.ping')).error).toBeDefined();
    expect((await client.call('server.ping')).error).toBeDefined();
    expect((await client.call('server.ping')).error).toBeUndefined();
  });

  it('ends with all others', async () => {
    lie('status');
    server.inject({ kind: 'lag', blocks: 3 });
    server.heal();
    expect(await status()).toBe(statusOf(chain.history(scripthash)));
  });
});

describe('answers', () => {
  it('hang', async () => {
    server.inject({ kind: 'hang', when: (method) => method === historyMethod });
    client.send(historyMethod, scripthash);
    expect(await client.result('server.ping')).toBeNull();
    expect(await client.result('server.ping')).toBeNull();
  });

  it('come late and are stale', async () => {
    server.inject({ kind: 'delay', ms: 5_000, when: (method) => method === scripthashMethod });
    const id = client.send(scripthashMethod, scripthash);
    expect(await client.result('server.ping')).toBeNull();
    const stale = statusOf(chain.history(scripthash));
    chain.pay([{ script, valueSat: 6_000 }]);
    // The notification overtakes the answer of its own subscription.
    const notification = await client.message();
    expect(notification.params).toEqual([scripthash, statusOf(chain.history(scripthash))]);
    timer.advance(4_999);
    expect(await client.result('server.ping')).toBeNull();
    timer.advance(1);
    expect(await client.message()).toMatchObject({ id, result: stale });
  });

  it('are dropped when the client is gone', async () => {
    server.inject({ kind: 'delay', ms: 5_000 });
    client.send('server.ping');
    await until(() => server.count('server.ping') === 1);
    await client.close();
    await until(() => server.connections === 0);
    timer.advance(5_000);
  });

  it('break off in the middle of a line', async () => {
    server.inject({ kind: 'closeMidLine', when: (method) => method === rawMethod });
    client.send(rawMethod, txid);
    await client.closed;
    expect(await client.line()).toBeUndefined();
    expect(client.rest.startsWith('{"jsonrpc":"2.0","result":"')).toBe(true);
  });

  it.each<[Garbage, (line: string) => boolean]>([
    ['nonsense', (line) => line.startsWith('HTTP/1.1')],
    ['over-long', (line) => line.length > 9_000_000],
    ['invalid-utf8', (line) => line.includes('\xff\xc0')],
    ['nul', (line) => line.includes('\0')],
    ['deep-json', (line) => line.includes('['.repeat(100_000))],
    ['unknown-id', (line) => JSON.parse(line).id === 987654321],
    ['wrong-types', (line) => typeof JSON.parse(line).result.hex === 'number'],
  ])('are garbage: %s', async (as, isIt) => {
    server.inject({ kind: 'garbage', as, times: 1 });
    client.send('server.ping');
    expect(isIt((await client.line()) ?? '')).toBe(true);
    expect(await client.result('server.ping')).toBeNull();
  });
});

describe('lies', () => {
  it('about a merkle branch lead to another root', async () => {
    const root = async () => {
      const result = (await client.result(merkleMethod, txid, 111)) as {
        merkle: string[];
        pos: number;
      };
      return rootFromBranch(txid, result.merkle, result.pos);
    };
    const { merkleRoot } = parseHeader(chain.tip.header);
    expect(await root()).toEqual(merkleRoot);
    lie('merkle');
    expect(await root()).not.toEqual(merkleRoot);
  });

  it('about a merkle branch hold for a block with nothing but its coinbase', async () => {
    lie('merkle');
    const coinbase = chain.block(50)?.txids[0];
    const result = (await client.result(merkleMethod, coinbase, 50)) as { merkle: string[] };
    expect(result.merkle).toHaveLength(1);
  });

  it('about a transaction are valid bytes with another id', async () => {
    lie('transaction');
    const raw = (await client.result(rawMethod, txid)) as string;
    expect(parseTransaction(hexToBytes(raw)).txid).not.toBe(txid);
  });

  it('about a status leave the history true', async () => {
    lie('status');
    expect(await status()).not.toBe(statusOf(chain.history(scripthash)));
    expect(await status()).toBe(await status());
    expect(await history()).toEqual([{ tx_hash: txid, height: 111 }]);
    expect(await client.result(scripthashMethod, merchant(2).scripthash)).not.toBeNull();
  });

  it('about the genesis name another network', async () => {
    lie('genesis');
    expect(await client.result('server.features')).toMatchObject({
      genesis_hash: networks.mainnet.genesisHash,
    });
  });

  it('invent a transaction, in the history and its status', async () => {
    lie('invented-transaction');
    const items = await history();
    expect(items).toHaveLength(2);
    expect(items[0]?.tx_hash).toBe(txid);
    expect(items[1]?.height).toBe(111);
    expect(await status()).toBe(
      statusOf(items.map(({ tx_hash, height }) => ({ txid: tx_hash, height }))),
    );
    expect((await client.call(rawMethod, items[1]?.tx_hash)).error?.code).toBe(2);
    expect((await client.call(merkleMethod, items[1]?.tx_hash, 111)).error?.code).toBe(1);
  });

  it('place a transaction in another block, in the history and its status', async () => {
    lie('wrong-height');
    expect(await history()).toEqual([{ tx_hash: txid, height: 110 }]);
    chain.mine();
    expect(await history()).toEqual([{ tx_hash: txid, height: 112 }]);
    expect(await status()).toBe(statusOf([{ txid, height: 112 }]));
  });

  it.each<[ServerLie, { work: boolean; bits: boolean; link: boolean }]>([
    ['header-work', { work: false, bits: true, link: true }],
    ['header-bits', { work: true, bits: false, link: true }],
    ['header-link', { work: true, bits: true, link: false }],
  ])('about headers: %s', async (about, sound) => {
    const check = (hex: string) => {
      const header = parseHeader(hexToBytes(hex));
      expect(meetsTarget(header)).toBe(sound.work);
      expect(header.bits === networks.regtest.powLimitBits).toBe(sound.bits);
      expect(header.previous === chain.block(chain.tipHeight - 1)?.hash).toBe(sound.link);
    };
    lie(about);
    check(((await client.result(headersMethod)) as { hex: string }).hex);
    check((await client.result('blockchain.block.header', 111)) as string);
    const { headers } = (await client.result('blockchain.block.headers', 110, 2)) as {
      headers: string[];
    };
    expect(parseHeader(hexToBytes(headers[0] ?? '')).hash).toBe(chain.block(110)?.hash);
    check(headers[1] ?? '');
    chain.mine();
    const [told] = (await client.message()).params as [{ hex: string }];
    check(told.hex);
  });

  it('about headers can begin at a height', async () => {
    server.inject({ kind: 'lie', about: 'header-link', fromHeight: 100 });
    const at = async (height: number) =>
      parseHeader(hexToBytes((await client.result('blockchain.block.header', height)) as string));
    expect((await at(99)).hash).toBe(chain.block(99)?.hash);
    expect((await at(100)).hash).not.toBe(chain.block(100)?.hash);
    expect((await at(101)).previous).not.toBe((await at(100)).hash);
  });
});

describe('omissions', () => {
  it('leave transactions out of history and status, but return their bytes', async () => {
    chain.pay([{ script, valueSat: 6_000 }]);
    const [, other] = chain.history(scripthash);
    server.inject({ kind: 'omit', txids: [txid] });
    expect((await history()).map(({ tx_hash }) => tx_hash)).toEqual([other?.txid]);
    expect(await status()).toBe(statusOf(other ? [other] : []));
    expect((await client.call(rawMethod, txid)).error).toBeUndefined();
  });

  it('can deny the transaction altogether', async () => {
    server.inject({ kind: 'omit', txids: [txid], deny: true });
    expect(await history()).toEqual([]);
    expect((await client.call(rawMethod, txid)).error?.code).toBe(2);
    expect((await client.call(merkleMethod, txid, 111)).error?.code).toBe(1);
  });

  it('can leave a script without history', async () => {
    await status();
    server.inject({ kind: 'omit', scripthashes: [scripthash] });
    server.notifyAll();
    expect((await client.message()).params).toEqual([scripthash, null]);
    expect(await history()).toEqual([]);
    server.heal();
    server.notifyAll();
    expect((await client.message()).params).toEqual([
      scripthash,
      statusOf(chain.history(scripthash)),
    ]);
  });
});

describe('a server that lags', () => {
  it('serves the chain without its last blocks, whose payments are unconfirmed', async () => {
    server.inject({ kind: 'lag', blocks: 1 });
    expect(await client.result(headersMethod)).toMatchObject({ height: 110 });
    expect((await client.call('blockchain.block.header', 111)).error?.code).toBe(1);
    const fee = chain.transaction(txid)?.feeSat;
    expect(await history()).toEqual([{ tx_hash: txid, height: 0, fee }]);
    expect((await client.call(merkleMethod, txid, 111)).error?.code).toBe(1);
    expect(await client.result('blockchain.scripthash.get_balance', scripthash)).toEqual({
      confirmed: 0,
      unconfirmed: 5_000,
    });
    const coinbase = chain.tip.txids[0];
    expect((await client.call(rawMethod, coinbase)).error?.code).toBe(2);
    expect((await client.call('blockchain.transaction.id_from_pos', 111, 0)).error?.code).toBe(1);
  });

  it('has height -1 if the parent is in a block that it lacks', async () => {
    const child = chain.pay([{ script: merchant(2).script, valueSat: 900 }], {
      inputs: [{ txid, vout: 1 }],
    });
    chain.mine();
    server.inject({ kind: 'lag', blocks: 2 });
    const items = (await client.result(historyMethod, merchant(2).scripthash)) as WireItem[];
    expect(items).toMatchObject([{ tx_hash: child, height: -1 }]);
  });

  it('gets a block when the next one comes', async () => {
    server.inject({ kind: 'lag', blocks: 1 });
    await client.result(headersMethod);
    await status();
    chain.mine();
    const told = [await client.message(), await client.message()];
    expect(told.map(({ method }) => method)).toEqual([headersMethod, scripthashMethod]);
    expect(told[0]?.params).toMatchObject([{ height: 111 }]);
    expect(told[1]?.params).toEqual([scripthash, statusOf([{ txid, height: 111 }])]);
  });
});

describe('a server with a rival block', () => {
  it('confirms the transactions of its block, and has those of the other one in the mempool', async () => {
    const early = chain.pay([{ script, valueSat: 1_000 }]);
    const block = chain.rival('all');
    const late = chain.pay([{ script: merchant(2).script, valueSat: 2_000 }], {
      inputs: 'confirmed',
    });
    chain.evict(early);
    server.inject({ kind: 'rival', block });
    expect(await client.result(headersMethod)).toMatchObject({ height: 111 });
    await status();
    chain.mine();
    const told = [await client.message(), await client.message()];
    expect(told[0]?.params).toEqual([{ height: 112, hex: bytesToHex(block.header) }]);
    expect(told[1]?.method).toBe(scripthashMethod);
    expect(await history()).toEqual([
      { tx_hash: txid, height: 111 },
      { tx_hash: early, height: 112 },
    ]);
    expect(await client.result(rawMethod, early, true)).toMatchObject({ blockhash: block.hash });
    const proof = (await client.result(merkleMethod, early, 112)) as {
      merkle: string[];
      pos: number;
    };
    const root = parseHeader(block.header).merkleRoot;
    expect(rootFromBranch(early, proof.merkle, proof.pos)).toEqual(root);
    const fee = chain.transaction(late)?.feeSat;
    const other = await client.result(historyMethod, merchant(2).scripthash);
    expect(other).toEqual([{ tx_hash: late, height: 0, fee }]);
    expect((await client.call(rawMethod, chain.tip.txids[0])).error?.code).toBe(2);

    chain.mine();
    expect(await client.message()).toMatchObject({ params: [{ height: 113 }] });
    expect(await client.message()).toMatchObject({ params: [scripthash, expect.any(String)] });
    expect(await history()).toEqual([{ tx_hash: txid, height: 111 }]);
    const after = (await client.result(historyMethod, merchant(2).scripthash)) as WireItem[];
    expect(after).toEqual([{ tx_hash: late, height: 112 }]);
  });

  it('has no transaction that conflicts with its block', async () => {
    const early = chain.pay([{ script, valueSat: 1_000 }]);
    const block = chain.rival('all');
    const rival = chain.replace(early);
    const child = chain.pay([{ script, valueSat: 300 }], { inputs: [{ txid: rival, vout: 1 }] });
    server.inject({ kind: 'rival', block });
    chain.mine(1, { include: 'none' });
    const heights = (await history()).map(({ tx_hash, height }) => [tx_hash, height]);
    expect(heights).toEqual([
      [txid, 111],
      [early, 112],
    ]);
    for (const gone of [rival, child]) {
      expect((await client.call(rawMethod, gone)).error?.code).toBe(2);
    }
  });
});

describe('connections', () => {
  it('are refused', async () => {
    const end = server.inject({ kind: 'refuse' });
    const refused = served.bare();
    await refused.closed;
    expect(await client.result('server.ping')).toBeNull();
    end();
    await served.client();
    expect(server.connections).toBe(2);
  });

  it('are all cut', async () => {
    const second = await served.client();
    server.disconnectAll();
    await Promise.all([client.closed, second.closed]);
    await until(() => server.connections === 0);
  });

  it('get no notification while those are stopped', async () => {
    await client.result(headersMethod);
    await status();
    const end = server.inject({ kind: 'stopNotifications' });
    chain.pay([{ script, valueSat: 6_000 }]);
    chain.mine();
    expect(await client.result('server.ping')).toBeNull();
    end();
    // What was missed stays missed.
    expect(await client.result('server.ping')).toBeNull();
    chain.mine();
    expect((await client.message()).method).toBe(headersMethod);
  });

  it('get nothing while the server pauses, and everything afterwards', async () => {
    await client.result(headersMethod);
    server.pause();
    chain.mine();
    const id = client.send('server.ping');
    await until(() => server.count('server.ping') === 1);
    const late = served.bare();
    late.send('server.version', 'late', '1.4');
    await until(() => server.count('server.version') === 2);
    server.resume();
    expect((await client.message()).method).toBe(headersMethod);
    expect((await client.message()).id).toBe(id);
    expect((await late.message()).result).toEqual(['paygate sandbox 1', '1.4']);
  });

  it('get whatever bytes a test sends', async () => {
    server.send(Buffer.from('{"id":7}\n'));
    expect(await client.line()).toBe('{"id":7}');
  });
});

describe('the log', () => {
  it('counts and stores requests', async () => {
    server.clearLog();
    await client.result('server.ping');
    await history();
    await history();
    expect(server.count(historyMethod)).toBe(2);
    expect(server.count(rawMethod)).toBe(0);
    expect(server.requests).toEqual([
      { method: 'server.ping', params: [] },
      { method: historyMethod, params: [scripthash] },
      { method: historyMethod, params: [scripthash] },
    ]);
    server.clearLog();
    expect([server.requests.length, server.count(historyMethod)]).toEqual([0, 0]);
  });
});
