// The load generator: a client with a number of keep-alive connections and one request at a time on
// each. It shares the cores with the server, so it parses no more of an answer than it must:
// 50 µs of processor a request instead of the 120 µs of undici. Any status but 200 is an error.

import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** Requests that are not counted: the connections are made and the first code is compiled. */
const LEAD_IN = 64;

/**
 * @typedef {object} Target
 * @property {string} origin
 * @property {string} path
 * @property {string} [apiKey]
 * @property {string} [basic] user:password
 * @property {string} [cookie]
 * @property {number} connections
 * @property {string} [body] JSON of a POST; a GET without it
 *
 * @typedef {object} Load
 * @property {number} rate answers a second
 * @property {number[]} latenciesMs of each request
 * @property {string[]} answers bodies
 */

/**
 * @param {Target} target
 * @param {() => boolean} goesOn is called before each request
 * @param {{ leadIn?: number, pauseMs?: number }} [options] pause: after each answer
 * @returns {Promise<Load>}
 */
export async function load(target, goesOn, { leadIn = LEAD_IN, pauseMs = 0 } = {}) {
  const lines = Array.from({ length: target.connections }, () => openConnection(target));
  /** @type {number[]} */
  const latenciesMs = [];
  /** @type {string[]} */
  const answers = [];

  /** @param {() => Promise<string>} get */
  async function measured(get) {
    while (goesOn()) {
      const askedAt = performance.now();
      answers.push(await get());
      latenciesMs.push(performance.now() - askedAt);
      if (pauseMs > 0) await sleep(pauseMs);
    }
  }

  /** @param {() => Promise<string>} get */
  async function warmUp(get) {
    for (let asked = 0; asked < leadIn / target.connections; asked += 1) await get();
  }

  const connections = await Promise.all(lines);
  try {
    await Promise.all(connections.map(({ get }) => warmUp(get)));
    const startedAt = performance.now();
    await Promise.all(connections.map(({ get }) => measured(get)));
    const seconds = (performance.now() - startedAt) / 1000;
    return { rate: answers.length / seconds, latenciesMs, answers };
  } finally {
    for (const { close } of connections) close();
  }
}

/**
 * A fixed number of requests.
 * @param {Target} target
 * @param {number} count
 * @param {{ leadIn?: number }} [options]
 */
export function burst(target, count, options) {
  let left = count;
  return load(
    target,
    () => {
      left -= 1;
      return left >= 0;
    },
    options,
  );
}

/**
 * Requests beside something else, until they are ended.
 * @param {Target} target
 * @param {{ pauseMs?: number }} [options]
 * @returns {() => Promise<Load>} ends them
 */
export function beginLoad(target, options) {
  let isOver = false;
  const run = load(target, () => !isOver, { leadIn: 0, ...options });
  run.catch(() => {}); // the caller that ends it gets the error
  return () => {
    isOver = true;
    return run;
  };
}

/**
 * @param {Target} target
 * @returns {Promise<{ get: () => Promise<string>, close: () => void }>}
 */
async function openConnection({ origin, path, apiKey, basic, cookie, body }) {
  const { host, hostname, port } = new URL(origin);
  const head = [
    `${body === undefined ? 'GET' : 'POST'} ${path} HTTP/1.1`,
    `host: ${host}`,
    ...(apiKey === undefined ? [] : [`authorization: Bearer ${apiKey}`]),
    ...(basic === undefined ? [] : [`authorization: Basic ${btoa(basic)}`]),
    ...(cookie === undefined ? [] : [`cookie: ${cookie}`]),
    ...(body === undefined ? [] : [`content-length: ${Buffer.byteLength(body)}`]),
    '\r\n',
  ].join('\r\n');
  const request = head + (body ?? '');
  // One character a byte: Content-Length counts bytes.
  const socket = connect(Number(port), hostname).setNoDelay().setEncoding('latin1');
  await once(socket, 'connect');
  let received = '';
  /** @type {PromiseWithResolvers<string> | undefined} */
  let awaited;
  const fail = (/** @type {Error} */ error) => awaited?.reject(error);
  socket.on('error', fail);
  socket.on('close', () => fail(new Error(`${origin}: the connection ended`)));
  socket.on('data', (piece) => {
    received += piece;
    const answer = bodyOf(received);
    if (answer === undefined) return;
    const status = received.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length);
    received = '';
    if (status === '200') awaited?.resolve(answer);
    else fail(new Error(`${path} answered ${status}: ${answer}`));
  });
  return {
    get() {
      awaited = Promise.withResolvers();
      socket.write(request);
      return awaited.promise;
    },
    close: () => void socket.destroy(),
  };
}

/**
 * @param {string} received
 * @returns {string | undefined} undefined while the answer is incomplete
 */
function bodyOf(received) {
  const head = received.indexOf('\r\n\r\n');
  if (head < 0) return undefined;
  const body = received.slice(head + 4);
  const length = /^content-length: (\d+)\r$/im.exec(received)?.[1];
  // An answer without a length is chunked: it is complete with its last, empty chunk.
  const isComplete =
    length === undefined ? body.endsWith('0\r\n\r\n') : body.length >= Number(length);
  return isComplete ? Buffer.from(body, 'latin1').toString() : undefined;
}
