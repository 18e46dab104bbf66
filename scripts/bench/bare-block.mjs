// The peer of `full-block`, a helper process: subscribes to the scripts, and when their statuses
// change asks for the history and the merkle branch of each, with paygate's concurrency. It reads
// the answers and sends a callback for each with undici. It proves and decides nothing. If it has a
// file, it commits each payment before its callback and each answer after it, many in one commit.
// It reports when the last branch was read and when the last callback was answered.

import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { Agent, request } from 'undici';
import { openBare } from './bare-file.mjs';

const LOOKS = 100;
const CALLBACKS = 64;
const STATUS = 'blockchain.scripthash.subscribe';

const agent = new Agent({ connections: 2, pipelining: 1 });
/** @type {Map<number, (result: any) => void>} */
const waiting = new Map();
/** @type {{ scripthash: string, url: string }[]} */
let scripts = [];
/** @type {import('node:net').Socket} */
let socket;
let lastId = 0;

/**
 * @param {string} method
 * @param {unknown[]} params
 * @returns {Promise<any>}
 */
function ask(method, params) {
  return new Promise((resolve) => {
    lastId += 1;
    waiting.set(lastId, resolve);
    if (socket.writableCorked === 0) {
      socket.cork();
      setImmediate(() => socket.uncork());
    }
    socket.write(`${JSON.stringify({ jsonrpc: '2.0', id: lastId, method, params })}\n`);
  });
}

/**
 * @template T
 * @param {number} limit how many items are worked on at a time
 * @param {(item: T) => Promise<void>} work
 * @returns {(item: T) => void} adds an item
 */
function inParallel(limit, work) {
  /** @type {T[]} */
  const queue = [];
  let busy = 0;
  async function run() {
    busy += 1;
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
    busy -= 1;
  }
  return (/** @type {T} */ item) => {
    queue.push(item);
    if (busy < limit) run();
  };
}

/**
 * @param {string | undefined} path of a file; without it nothing is stored
 * @returns {(row: string) => Promise<unknown>} resolves when the row is on the disk
 */
function openStore(path) {
  if (path === undefined) return async () => {};
  const commit = openBare(path);
  /** @type {string[]} */
  let rows = [];
  /** @type {Promise<void> | undefined} */
  let next;
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

/**
 * @param {number} port
 * @param {string} [path]
 */
async function begin(port, path) {
  const store = openStore(path);
  socket = connect(port, '127.0.0.1').setNoDelay(true);
  let [proven, sent, provenAt] = [0, 0, 0];
  const send = inParallel(CALLBACKS, async (/** @type {string} */ url) => {
    const { body } = await request(url, { dispatcher: agent });
    await body.dump();
    await store(url);
    sent += 1;
    if (sent === scripts.length) process.send?.({ provenAt, sentAt: Date.now() });
  });
  const look = inParallel(LOOKS, async (/** @type {number} */ index) => {
    const { scripthash, url } = /** @type {any} */ (scripts[index]);
    const [{ tx_hash, height }] = await ask('blockchain.scripthash.get_history', [scripthash]);
    await ask('blockchain.transaction.get_merkle', [tx_hash, height]);
    proven += 1;
    await store(JSON.stringify({ scripthash, tx_hash, height }));
    if (proven === scripts.length) provenAt = Date.now();
    send(`${url}?status=1&addr=${scripthash}&value=10000&txid=${tx_hash}`);
  });
  const places = new Map(scripts.map(({ scripthash }, index) => [scripthash, index]));
  createInterface(socket).on('line', (line) => {
    const message = JSON.parse(line);
    if (message.method === STATUS) look(places.get(message.params[0]) ?? 0);
    else if (message.id !== undefined) {
      const resolve = waiting.get(message.id);
      waiting.delete(message.id);
      resolve?.(message.result);
    }
  });
  await ask('server.version', ['paygate-bench', ['1.4', '1.6']]);
  await Promise.all(scripts.map(({ scripthash }) => ask(STATUS, [scripthash])));
  process.send?.({ isReady: true });
}

/** @typedef {{ port: number, scripts: typeof scripts, path?: string }} Start */
process.once('message', (/** @type {Start} */ message) => {
  scripts = message.scripts;
  begin(message.port, message.path);
});
