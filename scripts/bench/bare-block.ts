// The peer of `full-block`, a helper process: subscribes to the scripts, and when their statuses
// change asks for the history and the merkle branch of each, with paygate's concurrency. It reads
// the answers and sends a callback for each with undici. It proves and decides nothing. If it has a
// file, it commits each payment before its callback and each answer after it, many in one commit.
// It reports when the last branch was read and when the last callback was answered.

import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { Agent, request } from 'undici';
import { openBare } from './bare-file.ts';
import type { Scene } from './full-block.ts';

const LOOKS = 100;
const CALLBACKS = 64;
const STATUS = 'blockchain.scripthash.subscribe';
const HISTORY = 'blockchain.scripthash.get_history';
/** The path is that of a file; without it nothing is stored. */
export type Place = Pick<Scene, 'port' | 'scripthashes' | 'callbackUrls'> & {
  readonly path?: string;
};
type History = [{ readonly tx_hash: string; readonly height: number }];
const agent = new Agent({ connections: 2, pipelining: 1 });

/** Works on some items at a time. @returns adds an item */
function inParallel(limit: number, work: (index: number) => Promise<void>) {
  const queue: number[] = [];
  let busy = 0;
  async function run() {
    busy += 1;
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
    busy -= 1;
  }
  return (index: number) => {
    queue.push(index);
    if (busy < limit) run();
  };
}

/** @returns resolves when the row is on the disk */
function openStore(path: string | undefined): (row: string) => Promise<void> {
  if (path === undefined) return async () => {};
  const commit = openBare(path);
  let rows: string[] = [];
  let next: Promise<void> | undefined;
  return (row) => {
    rows.push(row);
    next ??= new Promise((resolve) =>
      setImmediate(() => {
        const group = rows;
        [rows, next] = [[], undefined];
        commit(group);
        resolve();
      }),
    );
    return next;
  };
}

/** A bare Electrum client, which gathers the requests of one turn into one packet. */
function openClient(port: number, onStatus: (scripthash: string) => void) {
  const waiting = new Map<number, (result: unknown) => void>();
  const socket = connect(port, '127.0.0.1').setNoDelay(true);
  let lastId = 0;
  createInterface(socket).on('line', (line) => {
    const message = JSON.parse(line);
    if (message.method === STATUS) onStatus(message.params[0]);
    waiting.get(message.id)?.(message.result);
    waiting.delete(message.id);
  });
  return <Result>(method: string, params: readonly unknown[]): Promise<Result> =>
    new Promise((resolve) => {
      lastId += 1;
      waiting.set(lastId, resolve as (result: unknown) => void);
      if (socket.writableCorked === 0) {
        socket.cork();
        setImmediate(() => socket.uncork());
      }
      socket.write(`${JSON.stringify({ jsonrpc: '2.0', id: lastId, method, params })}\n`);
    });
}

const [{ port, scripthashes, callbackUrls, path }] = (await once(process, 'message')) as [Place];
const store = openStore(path);
let [proven, sent, provenAt] = [0, 0, 0];
const send = inParallel(CALLBACKS, async (index) => {
  const url = `${callbackUrls[index % callbackUrls.length]}?status=1&addr=${scripthashes[index]}`;
  const { body } = await request(url, { dispatcher: agent });
  await body.dump();
  await store(url);
  sent += 1;
  if (sent === scripthashes.length) process.send?.({ provenAt, sentAt: Date.now() });
});
const look = inParallel(LOOKS, async (index) => {
  const [{ tx_hash, height }] = await ask<History>(HISTORY, [scripthashes[index]]);
  await ask('blockchain.transaction.get_merkle', [tx_hash, height]);
  proven += 1;
  await store(JSON.stringify({ scripthash: scripthashes[index], tx_hash, height }));
  if (proven === scripthashes.length) provenAt = Date.now();
  send(index);
});
const places = new Map(scripthashes.map((scripthash, index) => [scripthash, index]));
const ask = openClient(port, (scripthash) => look(places.get(scripthash) ?? 0));
await ask('server.version', ['paygate-bench', ['1.4', '1.6']]);
await Promise.all(scripthashes.map((scripthash) => ask(STATUS, [scripthash])));
process.send?.({ isReady: true });
