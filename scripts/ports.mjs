// Ports for whoever counts on one which nothing listens on, until a program of another process takes it, or
// for ever. The system gives every port that is free to whoever listens at port 0, and to connections: what
// was closed a moment ago may answer again. Those given here lie below all that it gives by itself, and each
// worker of a test run has its own.

import { createServer } from 'node:net';

/** Linux gives those from 32768 on by itself, macOS and Windows those from 49152 on. */
const FIRST = 20_000;
const EACH = 1_500;
const WORKERS = 8;

const first = FIRST + EACH * (Number(process.env.VITEST_POOL_ID ?? 0) % WORKERS);
// Two runs on one machine do not begin with the same one.
let next = Math.floor(Math.random() * EACH);

/** @returns a port of 127.0.0.1 on which nothing listens, and that is given again after all others only */
export async function freePort() {
  for (let tried = 0; tried < EACH; tried += 1) {
    const port = first + next;
    next = (next + 1) % EACH;
    if (await isFree(port)) return port;
  }
  throw new Error(`the ports from ${first} to ${first + EACH - 1} are taken`);
}

/**
 * @param {number} port
 * @returns {Promise<boolean>}
 */
function isFree(port) {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
