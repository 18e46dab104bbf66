import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js';
import { afterEach, describe, expect, it } from 'vitest';
import { scripthash as nameOf } from '../../../src/bitcoin/address.ts';
import { networks } from '../../../src/bitcoin/network.ts';
import { statusOf } from '../../../src/sandbox/electrum/history-results.ts';
import type { SimulatedServerOptions } from '../../../src/sandbox/electrum/simulated-server.ts';
import { chainOf, merchant, type Served, serve } from '../support.ts';

const { script, scripthash } = merchant();
const headersMethod = 'blockchain.headers.subscribe';
const scripthashMethod = 'blockchain.scripthash.subscribe';

let served: Served | undefined;

async function start(options: Partial<SimulatedServerOptions> = {}, blocks = 110) {
  const chain = chainOf(blocks);
  served = await serve(chain, options);
  return { chain, ...served };
}

afterEach(async () => {
  await served?.close();
  served = undefined;
});

describe('negotiation', () => {
  it.each([
    [['1.4', '1.6'], ['1.4', '1.6'], '1.6'],
    [['1.4', '1.6'], ['1.4', '1.4'], '1.4'],
    [['1.4', '1.6'], '1.4', '1.4'],
    [['1.4', '1.6'], ['1.1', '1.4.2'], '1.4.2'],
    [['1.4', '1.6'], ['1.6', '2.0'], '1.6'],
    [['1.4', '1.4.3'], ['1.4', '1.6'], '1.4.3'],
    [['1.4', '1.4'], ['1.4', '1.6'], '1.4'],
    [['1.6', '1.6'], ['1.4', '1.6'], '1.6'],
  ] as const)('of %j with %j is %s', async (protocols, client, version) => {
    const { bare } = await start({ protocols }, 0);
    expect(await bare().result('server.version', 'test', client)).toEqual([
      'paygate sandbox 1',
      version,
    ]);
  });

  it.each([
    [
      ['1.4', '1.4'],
      ['1.6', '1.6'],
    ],
    [['1.6', '1.6'], '1.4'],
    [
      ['1.4', '1.6'],
      ['1.7', '2.0'],
    ],
    [['1.4', '1.6'], 'newest'],
    [['1.4', '1.6'], 1.4],
  ] as const)('of %j with %j fails and closes', async (protocols, client) => {
    const { bare } = await start({ protocols }, 0);
    const connection = bare();
    const { error } = await connection.call('server.version', 'test', client);
    expect(error?.code).toBe(1);
    expect(error?.message).toContain('unsupported protocol version');
    await connection.closed;
  });

  it('must come first if the server speaks 1.6', async () => {
    const { bare } = await start({}, 0);
    const connection = bare();
    const { error } = await connection.call('server.ping');
    expect(error).toEqual({ code: 1, message: 'use server.version to identify client' });
    await connection.closed;
  });

  it('may be omitted otherwise', async () => {
    const { bare } = await start({ protocols: ['1.4', '1.4.3'] }, 0);
    expect(await bare().result('server.ping')).toBeNull();
  });

  it('happens once', async () => {
    const { client } = await start({}, 0);
    const { error } = await (await client()).call('server.version', 'test', '1.4');
    expect(error).toEqual({ code: 1, message: 'server.version already sent' });
  });
});

describe('the server', () => {
  it('names its software', async () => {
    const { client, port } = await start({ banner: 'hello' }, 0);
    const connection = await client();
    expect(await connection.result('server.features')).toEqual({
      genesis_hash: networks.regtest.genesisHash,
      hash_function: 'sha256',
      server_version: 'paygate sandbox 1',
      protocol_min: '1.4',
      protocol_max: '1.6',
      pruning: null,
      hosts: { '127.0.0.1': { tcp_port: port } },
    });
    expect(await connection.result('server.banner')).toBe('hello');
    expect(await connection.result('server.ping')).toBeNull();
    expect(await connection.result('blockchain.estimatefee', 6)).toBe(0.0001);
  });

  it('has only the methods of the version', async () => {
    const { client } = await start({}, 0);
    const has = async (version: string, method: string, ...params: unknown[]) =>
      (await (await client(version)).call(method, ...params)).error?.code !== -32601;
    expect(await has('1.4', 'blockchain.relayfee')).toBe(true);
    expect(await has('1.6', 'blockchain.relayfee')).toBe(false);
    expect(await has('1.4', 'mempool.get_info')).toBe(false);
    expect(await has('1.6', 'mempool.get_info')).toBe(true);
    expect(await has('1.4', 'blockchain.scripthash.unsubscribe', scripthash)).toBe(false);
    expect(await has('1.4.2', 'blockchain.scripthash.unsubscribe', scripthash)).toBe(true);
    expect(await has('1.6', 'blockchain.address.subscribe')).toBe(false);
  });

  it('answers pipelined requests in order, however the bytes arrive', async () => {
    const { client } = await start();
    const connection = await client();
    const line = (id: number) =>
      `${JSON.stringify({ jsonrpc: '2.0', id, method: 'blockchain.block.header', params: [id] })}\n`;
    const text = Array.from({ length: 100 }, (_, at) => line(at + 10)).join('');
    for (let at = 0; at < text.length; at += 333) {
      connection.write(text.slice(at, at + 333));
      // A turn of the loop, so that the pieces travel apart.
      await new Promise(setImmediate);
    }
    for (let id = 10; id < 110; id++) {
      const message = await connection.message();
      expect(message.id).toBe(id);
      expect(message.result).toHaveLength(160);
    }
  });

  it.each([
    ['{', -32700, null],
    ['[]', -32600, null],
    ['"text"', -32600, null],
    ['null', -32600, null],
    ['{"id":1,"params":[]}', -32600, null],
    ['{"id":1,"method":"server.ping","params":{}}', -32602, null],
    ['{"id":1,"method":"server.ping","params":[1]}', -32602, 1],
    ['{"id":"x","method":"blockchain.block.header","params":[]}', -32602, 'x'],
    ['{"id":1,"method":"no.such","params":[]}', -32601, 1],
  ])('answers %s with error %i', async (line, code, id) => {
    const { client } = await start({}, 0);
    const connection = await client();
    connection.write(`${line}\n`);
    expect(await connection.message()).toMatchObject({ id, error: { code } });
    expect(await connection.result('server.ping')).toBeNull();
  });

  it('answers no notification', async () => {
    const { client } = await start({}, 0);
    const connection = await client();
    connection.write('{"jsonrpc":"2.0","method":"server.ping"}\n');
    expect(await connection.result('server.ping')).toBeNull();
  });

  it('closes on an endless line', async () => {
    const { client } = await start({}, 0);
    const connection = await client();
    connection.write('x'.repeat(5_000_001));
    await connection.closed;
  });

  it('closes, frees its port and can listen again', async () => {
    const { client, server, port, close } = await start();
    const connection = await client();
    expect(server.connections).toBe(1);
    await close();
    await connection.closed;
    const again = await server.listen({ host: '127.0.0.1', port });
    expect(again.port).toBe(port);
    expect(await (await client()).result('server.ping')).toBeNull();
    await again.close();
  });

  it('refuses to listen on a taken port', async () => {
    const { server, port } = await start({}, 0);
    await expect(server.listen({ host: '127.0.0.1', port })).rejects.toThrow('EADDRINUSE');
  });
});

describe('subscriptions', () => {
  it('notify of every new tip, once for several blocks', async () => {
    const { chain, client } = await start();
    const connection = await client();
    const tip = () => ({ height: chain.tipHeight, hex: bytesToHex(chain.tip.header) });
    expect(await connection.result(headersMethod)).toEqual(tip());
    chain.mine();
    expect(await connection.message()).toEqual({
      jsonrpc: '2.0',
      method: headersMethod,
      params: [tip()],
    });
    chain.mine(5);
    expect((await connection.message()).params).toEqual([tip()]);
    // A tie has another header at the same height.
    chain.reorganise(2, { blocks: 2, transactions: 'mempool' });
    expect((await connection.message()).params).toEqual([tip()]);
  });

  it('notify of payments, blocks and reorganisations that change the status', async () => {
    const { chain, client } = await start();
    const connection = await client();
    const status = () => statusOf(chain.history(scripthash));
    const next = async () => (await connection.message()).params;
    expect(await connection.result(scripthashMethod, scripthash)).toBeNull();
    const txid = chain.pay([{ script, valueSat: 5_000 }]);
    expect(await next()).toEqual([scripthash, status()]);
    chain.mine();
    expect(await next()).toEqual([scripthash, status()]);
    // At the same height in another block: the status says nothing.
    chain.reorganise(1, { transactions: 'remine-same-height' });
    chain.mine(2);
    chain.reorganise(4, { transactions: 'mempool' });
    expect(await next()).toEqual([scripthash, status()]);
    chain.evict(txid);
    expect(await next()).toEqual([scripthash, null]);
    expect(await connection.result('server.ping')).toBeNull();
  });

  it('end when they are cancelled', async () => {
    const { chain, client } = await start();
    const connection = await client();
    const unsubscribe = () => connection.result('blockchain.scripthash.unsubscribe', scripthash);
    expect(await unsubscribe()).toBe(false);
    await connection.result(scripthashMethod, scripthash);
    expect(await unsubscribe()).toBe(true);
    chain.pay([{ script, valueSat: 5_000 }]);
    expect(await connection.result('server.ping')).toBeNull();
  });

  it('are separate for each connection', async () => {
    const { chain, client, server } = await start();
    const [first, second] = [await client(), await client()];
    await first.result(scripthashMethod, scripthash);
    expect(server.connections).toBe(2);
    chain.pay([{ script, valueSat: 5_000 }]);
    expect((await first.message()).method).toBe(scripthashMethod);
    expect(await second.result('server.ping')).toBeNull();
  });

  it('work for thousands of addresses in one large block', async () => {
    const { chain, client } = await start();
    const connection = await client();
    const many = Array.from({ length: 3_000 }, (_, at) => {
      const pad = at.toString(16).padStart(40, '0');
      return { script: hexToBytes(`0014${pad}`), valueSat: 1_000 };
    });
    for (const output of many) connection.send(scripthashMethod, nameOf(output.script));
    for (const _ of many) expect((await connection.message()).result).toBeNull();
    chain.pay(many.slice(0, 1_500));
    chain.pay(many.slice(1_500));
    for (const _ of many) expect((await connection.message()).method).toBe(scripthashMethod);
    chain.mine();
    for (const _ of many) expect((await connection.message()).method).toBe(scripthashMethod);
  });
});
