import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js';
import { afterEach, describe, expect, it } from 'vitest';
import { parseHeader } from '../../../src/bitcoin/header.ts';
import { displayHex, type Txid } from '../../../src/bitcoin/ids.ts';
import { parseTransaction } from '../../../src/bitcoin/transaction.ts';
import { statusOf } from '../../../src/sandbox/electrum/history-results.ts';
import type { SimulatedServerOptions } from '../../../src/sandbox/electrum/simulated-server.ts';
import { rootFromBranch } from '../../support/merkle.ts';
import { chainOf, merchant, outputTo, type Served, serve } from '../support.ts';

const { script, scripthash, privateKey } = merchant();

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

describe('headers', () => {
  it('come as one string before 1.6 and as a list since', async () => {
    const { chain, client } = await start();
    const raw = (height: number) => bytesToHex(chain.header(height) ?? new Uint8Array());
    const method = 'blockchain.block.headers';
    expect(await (await client('1.4')).result(method, 5, 3)).toEqual({
      count: 3,
      max: 2016,
      hex: raw(5) + raw(6) + raw(7),
    });
    const connection = await client('1.6');
    expect(await connection.result(method, 5, 3)).toEqual({
      count: 3,
      max: 2016,
      headers: [raw(5), raw(6), raw(7)],
    });
    expect(await connection.result(method, 109, 9)).toMatchObject({ count: 2 });
    expect(await connection.result(method, 111, 9)).toEqual({ count: 0, max: 2016, headers: [] });
    expect(await connection.result('blockchain.block.header', 0)).toBe(raw(0));
    expect((await connection.call('blockchain.block.header', 111)).error?.code).toBe(1);
    expect((await connection.call('blockchain.block.header', -1)).error?.code).toBe(1);
    expect((await connection.call(method, 0, 'x')).error?.code).toBe(1);
  });

  it('come 2016 at a time', async () => {
    const { client } = await start({}, 2_100);
    const result = await (await client('1.6')).result('blockchain.block.headers', 0, 5_000);
    expect(result).toMatchObject({ count: 2_016, max: 2_016 });
  });

  it('are proven up to a checkpoint', async () => {
    const { chain, client } = await start();
    const connection = await client();
    const one = (await connection.result('blockchain.block.header', 70, 100)) as Record<
      string,
      never
    >;
    const { header, branch, root } = one;
    const hash = parseHeader(hexToBytes(header ?? '')).hash as unknown as Txid;
    expect(hash).toBe(chain.block(70)?.hash);
    expect(displayHex(rootFromBranch(hash, branch ?? [], 70))).toBe(root);
    expect(await connection.result('blockchain.block.headers', 60, 11, 100)).toMatchObject({
      branch,
      root,
    });
    expect((await connection.call('blockchain.block.header', 70, 69)).error?.code).toBe(1);
    expect((await connection.call('blockchain.block.header', 70, 111)).error?.code).toBe(1);
  });
});

describe('histories', () => {
  it('match the chain, with the mempool in the order of the version', async () => {
    const { chain, client } = await start();
    const mined = chain.pay([{ script, valueSat: 5_000 }]);
    chain.mine();
    for (let at = 0; at < 4; at++) chain.pay([{ script, valueSat: 6_000 + at }]);
    chain.pay([{ script, valueSat: 7_000 }], { inputs: 'unconfirmed' });
    const wire = chain.history(scripthash).map(({ txid, height, feeSat }) => ({
      tx_hash: txid,
      height,
      ...(feeSat !== undefined && { fee: feeSat }),
    }));
    const newer = await client('1.6');
    const older = await client('1.4');
    const get = 'blockchain.scripthash.get_history';
    expect(wire[0]).toEqual({ tx_hash: mined, height: 111 });
    expect(await newer.result(get, scripthash)).toEqual(wire);
    expect(await newer.result('blockchain.scripthash.get_mempool', scripthash)).toEqual(
      wire.slice(1),
    );
    const undefinedOrder = (await older.result(get, scripthash)) as typeof wire;
    expect(undefinedOrder).not.toEqual(wire);
    expect(new Set(undefinedOrder)).toEqual(new Set(wire));
    const items = undefinedOrder.map(({ tx_hash, height }) => ({ txid: tx_hash, height }));
    expect(await older.result('blockchain.scripthash.subscribe', scripthash)).toBe(statusOf(items));
    expect((await newer.call(get, 'xyz')).error).toEqual({
      code: 1,
      message: 'xyz is not a valid script hash',
    });
  });

  it('come with coins and a balance', async () => {
    const { chain, client } = await start();
    const connection = await client();
    const a = chain.pay([
      { script, valueSat: 50_000 },
      { script, valueSat: 7_000 },
    ]);
    chain.mine();
    const b = chain.spend([{ txid: a, vout: 0 }], { privateKey, change: script });
    const left = chain.transaction(b)?.outputs[0]?.valueSat ?? 0;
    expect(await connection.result('blockchain.scripthash.listunspent', scripthash)).toEqual([
      { tx_hash: a, tx_pos: 1, height: 111, value: 7_000 },
      { tx_hash: b, tx_pos: 0, height: 0, value: left },
    ]);
    expect(await connection.result('blockchain.scripthash.get_balance', scripthash)).toEqual({
      confirmed: 57_000,
      unconfirmed: left - 50_000,
    });
  });
});

describe('transactions', () => {
  it('come raw, with their proof', async () => {
    const { chain, client } = await start();
    const connection = await client();
    const txid = chain.pay([{ script, valueSat: 5_000 }]);
    const raw = (await connection.result('blockchain.transaction.get', txid)) as string;
    expect(parseTransaction(hexToBytes(raw)).txid).toBe(txid);
    const getMerkle = 'blockchain.transaction.get_merkle';
    expect((await connection.call(getMerkle, txid, 111)).error?.message).toBe(
      `tx ${txid} not in block at height 111`,
    );
    chain.mine();
    const proof = (await connection.result(getMerkle, txid, 111)) as {
      merkle: string[];
      pos: number;
    };
    expect(proof).toMatchObject({ block_height: 111, pos: 1 });
    const { merkleRoot } = parseHeader(chain.tip.header);
    expect(rootFromBranch(txid, proof.merkle, proof.pos)).toEqual(merkleRoot);
    const idFromPos = 'blockchain.transaction.id_from_pos';
    expect(await connection.result(idFromPos, 111, 1)).toBe(txid);
    expect(await connection.result(idFromPos, 111, 1, true)).toEqual({
      tx_hash: txid,
      merkle: proof.merkle,
    });
    expect((await connection.call(idFromPos, 111, 2)).error?.code).toBe(1);
    expect((await connection.call(idFromPos, 111, 1, 'yes')).error?.code).toBe(1);
  });

  it('are refused if they are unknown', async () => {
    const { client } = await start();
    const connection = await client();
    const get = 'blockchain.transaction.get';
    const unknown = await connection.call(get, '00'.repeat(32));
    expect(unknown.error?.code).toBe(2);
    expect(unknown.error?.message).toContain('No such mempool or blockchain transaction');
    expect((await connection.call(get, 'x')).error?.message).toBe('x should be a transaction hash');
  });

  it('have the block of the node in the verbose form, also an orphaned one', async () => {
    const { chain, client } = await start();
    const connection = await client();
    const get = 'blockchain.transaction.get';
    const txid = chain.pay([{ script, valueSat: 5_000 }]);
    const hex = bytesToHex(chain.transaction(txid)?.raw ?? new Uint8Array());
    expect(await connection.result(get, txid, true)).toEqual({ txid, hex });
    const [block] = chain.mine();
    const blockhash = block?.hash;
    chain.mine();
    expect(await connection.result(get, txid, true)).toEqual({
      ...{ txid, hex, blockhash },
      confirmations: 2,
    });
    chain.reorganise(2, { transactions: 'drop' });
    expect(await connection.result(get, txid, true)).toEqual({
      ...{ txid, hex, blockhash },
      confirmations: 0,
    });
    expect(await connection.result(get, txid)).toBe(hex);
  });

  it('are broadcast, by the rules of the network', async () => {
    const { chain, client } = await start();
    const connection = await client();
    const txid = chain.pay([{ script, valueSat: 5_000 }]);
    const raw = bytesToHex(chain.transaction(txid)?.raw ?? new Uint8Array());
    const broadcast = 'blockchain.transaction.broadcast';
    expect(await connection.result(broadcast, raw)).toBe(txid);
    chain.evict(txid);
    expect(await connection.result(broadcast, raw)).toBe(txid);
    expect(chain.transaction(txid)).toBeDefined();
    chain.mine();
    expect((await connection.call(broadcast, raw)).error).toEqual({
      code: 1,
      message: `the transaction was rejected by network rules.\n\nTransaction outputs already in utxo set\n[${raw}]`,
    });
    expect((await connection.call(broadcast, 'abc')).error?.code).toBe(1);
    expect((await connection.call(broadcast, 'abcd')).error?.code).toBe(1);
    expect(outputTo(chain, txid, script).vout).toBe(0);
  });

  it('in the mempool make a histogram', async () => {
    const { chain, client } = await start();
    const connection = await client();
    for (const feeRate of [2, 20, 20, 5]) chain.pay([{ script, valueSat: 5_000 }], { feeRate });
    const histogram = await connection.result('mempool.get_fee_histogram');
    const vsize = chain.mempool()[0]?.vsize ?? 0;
    expect(histogram).toEqual([
      [20, expect.any(Number)],
      [5, expect.any(Number)],
      [2, vsize],
    ]);
  });
});
