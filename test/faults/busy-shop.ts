// `busy-shop.ts DATABASE CALLBACK_URL COUNT`: writes the file of a shop with months of sales, row by
// row, and serves its chain by the Electrum protocol. A process of its own, because its memory must
// not count as paygate's. It prints a `BusyShop` as JSON, then answers each line of input: `pay COUNT`
// and `pay ADDRESS…` with `paid`, `mine` with `mined`, and `asked` with a number. That is how many
// hot addresses paygate has requested so far.

import { randomBytes } from 'node:crypto';
import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { scripthash, scriptToAddress } from '../../src/bitcoin/address.ts';
import type { Scripthash } from '../../src/bitcoin/ids.ts';
import { networks } from '../../src/bitcoin/network.ts';
import { SimulatedChain } from '../../src/sandbox/chain/simulated-chain.ts';
import { statusOf } from '../../src/sandbox/electrum/history-results.ts';
import { SimulatedServer } from '../../src/sandbox/electrum/simulated-server.ts';
import { type HighWaterMark, openHighWaterMark } from '../../src/store/mark/high-water-mark.ts';
import { createNodeWorld } from '../../src/world/node-world.ts';
import { connectionOf, type Sqlite } from '../support/files.ts';
import { markOf, openTestStore } from '../support/store.ts';

const [path = '', callbackUrl = '', counted = ''] = process.argv.slice(2);

/** Its first line of output. */
export interface BusyShop {
  readonly port: number;
  readonly apiKey: string;
  /** The number of addresses that were issued in the last week. */
  readonly hot: number;
  /** The number of callbacks that are due. */
  readonly owed: number;
}

const count = Number(counted);
const hot = 0.3 * count;
const owed = 0.04 * count;
/** Every fifth address is unpaid; the others have one payment. */
const unpaidEvery = 5;
const paidAtOnce = 2_000;
/** All payments are final. */
const settledBlocks = 150;
/** Together 25 attempts for each payment, so 20 for each address. */
const callbacksEach = 5;
const attemptsEach = 5;
const dayMs = 86_400_000;
const hotDays = 6;
const coldDays = 120;

const print = (text: string): void => void writeSync(1, `${text}\n`);

interface Given {
  readonly address: string;
  readonly script: Uint8Array;
  readonly scripthash: Scripthash;
  readonly issuedAt: number;
}

/** Oldest first. The scripts are random, so no wallet derives these addresses. */
function makeAddresses(now: number): Given[] {
  const cold = count - hot;
  return Array.from({ length: count }, (_, index) => {
    const script = Buffer.concat([Buffer.from([0, 20]), randomBytes(20)]);
    const days =
      index < cold
        ? coldDays - ((coldDays - hotDays - 2) * index) / cold
        : hotDays - (hotDays * (index - cold)) / hot;
    return {
      script,
      address: scriptToAddress(script, networks.regtest),
      scripthash: scripthash(script),
      issuedAt: Math.floor(now - days * dayMs),
    };
  });
}

function makeChain(given: readonly Given[]): SimulatedChain {
  const chain = new SimulatedChain({ seed: 'crowd', now: () => Date.now() / 1000 - 3_600 });
  chain.mine(110);
  const paid = given.filter((_, index) => index % unpaidEvery !== 0);
  for (let from = 0; from < paid.length; from += paidAtOnce) {
    chain.pay(
      paid.slice(from, from + paidAtOnce).map(({ script }) => ({ script, valueSat: 10_000 })),
    );
    chain.mine();
  }
  chain.mine(settledBlocks);
  return chain;
}

function fillAddresses(sqlite: Sqlite, given: readonly Given[], chain: SimulatedChain): void {
  const address = sqlite.prepare(
    `INSERT INTO addresses (id, wallet_id, branch, derivation_index, address, script, scripthash, origin, store_id, issued_at, status_hash)
       VALUES (?, 1, 0, ?, ?, ?, ?, 'issued', 1, ?, ?)`,
  );
  const payment = sqlite.prepare(
    `INSERT INTO payments (address_id, txid, value_sat, state, height, block_hash, status, first_seen_at, changed_at)
       VALUES (?, ?, 10000, 'settled', ?, ?, 2, ?, ?)`,
  );
  for (const [index, each] of given.entries()) {
    const id = index + 1;
    const history = chain.history(each.scripthash);
    const { address: text, script, scripthash, issuedAt } = each;
    address.run(id, index, text, script, scripthash, issuedAt, statusOf(history));
    for (const { txid, height } of history) {
      payment.run(id, txid, height, chain.block(height)?.hash, issuedAt, issuedAt);
    }
  }
}

/** The callbacks of a shop that answers four attempts of five with an error. */
function fillCallbacks(sqlite: Sqlite): void {
  const numbers = (last: number) =>
    `WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ${last})`;
  sqlite.exec(`${numbers(callbacksEach)}
    INSERT INTO deliveries (channel, id, payment_id, address_id, store_id, version, event_id, status, content, state, attempt_count, step, next_attempt_at, created_at, settled_at)
      SELECT 'callback', row_number() OVER (ORDER BY payments.id, n), id, address_id, 1, n, lower(hex(randomblob(16))), 2,
        'status=2&addr=' || printf('%042d', id) || '&value=10000&txid=' || txid || '&rbf=0',
        'delivered', ${attemptsEach}, ${attemptsEach}, first_seen_at, first_seen_at, first_seen_at
      FROM payments, number ORDER BY payments.id, n`);
  sqlite.exec(`${numbers(attemptsEach)}
    INSERT INTO attempts (channel, delivery_id, started_at, duration_ms, phases, address, outcome, http_status, reason, body)
      SELECT channel, id, created_at + n * 60000, 180, '{"dns":12,"connect":31,"tls":64,"answer":73}', '203.0.113.7',
        iif(n < ${attemptsEach}, 'status', 'delivered'), iif(n < ${attemptsEach}, 503, 200),
        iif(n < ${attemptsEach}, 'it was answered with 503', NULL),
        iif(n < ${attemptsEach}, '<html><head><title>503 Service Temporarily Unavailable</title></head><body></body></html>', 'ok')
      FROM deliveries, number ORDER BY deliveries.created_at, n`);
  sqlite.exec(`UPDATE deliveries SET state = 'owed', settled_at = NULL, step = 1, next_attempt_at = created_at
    WHERE channel = 'callback' AND id IN (SELECT id FROM deliveries WHERE version = ${callbacksEach} ORDER BY id DESC LIMIT ${owed})`);
}

async function fill(given: readonly Given[], chain: SimulatedChain): Promise<string> {
  let mark: HighWaterMark | undefined;
  const records = await openTestStore({ path, beforeCommit: (raises) => mark?.raise(raises) });
  mark = openHighWaterMark(path, records.instance);
  await records.addWallet();
  await records.addStore({ callbackUrl, allowPrivateCallback: true, allowHttpCallback: true });
  const sqlite = connectionOf(records.database);
  await records.write((tx) => {
    tx.raise(markOf(), 0, count);
    sqlite.exec(`UPDATE wallets SET next_index = ${count}`);
    fillAddresses(sqlite, given, chain);
    fillCallbacks(sqlite);
  });
  const apiKey = await records.write((tx) =>
    records.keys.rotateMerchantKey(tx, Date.now(), new Uint8Array(32).fill(9), 0),
  );
  sqlite.pragma('wal_checkpoint(TRUNCATE)');
  await records.database.close();
  mark.close();
  return apiKey;
}

/** @returns a function that counts the hot addresses in requests to the server so far */
function watchRequests(server: SimulatedServer, given: readonly Given[]): () => number {
  const unasked = new Set<unknown>(given.slice(-hot).map((each) => each.scripthash));
  const readLog = () => {
    for (const { params } of server.requests) unasked.delete(params[0]);
    server.clearLog();
  };
  // The server's log of requests has a maximum length.
  setInterval(readLog, 100);
  return () => {
    readLog();
    return hot - unasked.size;
  };
}

async function run(): Promise<void> {
  const given = makeAddresses(Date.now());
  const chain = makeChain(given);
  const apiKey = await fill(given, chain);
  const server = new SimulatedServer({ chain, timer: createNodeWorld({ logLevel: 'error' }) });
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
  const asked = watchRequests(server, given);
  const shop: BusyShop = { port, apiKey, hot, owed };
  print(JSON.stringify(shop));

  function pay(words: readonly string[]): void {
    const [first = ''] = words;
    const chosen = /^\d+$/.test(first)
      ? given.slice(-Number(first)).map(({ address }) => address)
      : words;
    for (const address of chosen) chain.pay([{ address, valueSat: 20_000 }]);
  }
  for await (const line of createInterface(process.stdin)) {
    const [command, ...words] = line.split(' ');
    if (command === 'pay') pay(words);
    if (command === 'mine') chain.mine();
    print({ pay: 'paid', mine: 'mined' }[command ?? ''] ?? String(asked()));
  }
}

run().catch((error: unknown) => {
  print(`error: ${error instanceof Error ? error.stack : error}`);
  process.exit(1);
});
