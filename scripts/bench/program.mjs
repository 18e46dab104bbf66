// A program under measurement: spawned, asked over HTTP until it answers, looked at through /proc
// (https://docs.kernel.org/filesystems/proc.html), ended.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../ports.mjs';
import { atEnd } from './ending.mjs';

const POLL_MS = 2;
const CAUGHT_UP_POLL_MS = 50;
const ANSWER_TIMEOUT_MS = 60_000;
const LOG_TIMEOUT_MS = 300_000;
const HEALTH_TIMEOUT_MS = 60_000;
const LOOPBACK = '127.0.0.1';

/**
 * @typedef {object} Program
 * @property {number} pid
 * @property {number} port
 * @property {string} origin
 * @property {number} answeredMs from its spawning to its first HTTP answer
 * @property {number} startedAt of `performance.now()`
 * @property {Promise<number>} logged how long after its spawning the line came that its log is read for
 * @property {() => Promise<void>} end
 *
 * @typedef {object} Held MiB
 * @property {number} anonymous
 * @property {number} resident
 */

/**
 * Resolves once it has answered GET /healthz.
 * @param {string} command
 * @param {(port: number) => string[]} argsFor
 * @param {string} [awaited] what a line of its log has in it
 * @returns {Promise<Program>}
 */
export async function startProgram(command, argsFor, awaited) {
  const port = await freePort();
  const startedAt = performance.now();
  const log = awaited === undefined ? 'inherit' : 'pipe';
  const child = spawn(command, argsFor(port), { stdio: ['ignore', 'ignore', log] });
  const exited = once(child, 'exit');
  exited.catch(() => {}); // one that could not be started is told below
  const end = async () => {
    child.kill('SIGTERM');
    await exited;
  };
  atEnd(end);
  const logged = lineOf(child.stderr, awaited).then(() => performance.now() - startedAt);
  logged.catch(() => {}); // told to who waits for it
  while (!(await answers(port))) {
    if (child.exitCode !== null) throw new Error(`${command} ended before it answered`);
    if (performance.now() - startedAt > ANSWER_TIMEOUT_MS) throw new Error('no answer');
    await sleep(POLL_MS);
  }
  const answeredMs = performance.now() - startedAt;
  const origin = `http://${LOOPBACK}:${port}`;
  return { pid: child.pid ?? 0, port, origin, answeredMs, startedAt, logged, end };
}

/**
 * Resolves once a line with it came; then nothing more is read.
 * @param {import('node:stream').Readable | null} log
 * @param {string} [awaited]
 */
async function lineOf(log, awaited) {
  if (log === null || awaited === undefined) throw new Error('its log is not read');
  const signal = AbortSignal.timeout(LOG_TIMEOUT_MS);
  for await (const line of createInterface({ input: log, signal })) {
    if (!line.includes(awaited)) continue;
    log.resume();
    return;
  }
  throw new Error(`its log never said: ${awaited}`);
}

/**
 * The arguments of a paygate that nothing limits.
 * @param {string} path the database
 * @param {string} electrum URL of the Electrum server
 * @returns {(port: number) => string[]}
 */
export const serveArguments = (path, electrum) => (port) => [
  ...['serve', '--db', path, '--network', 'regtest', '--listen', `${LOOPBACK}:${port}`],
  ...['--limit-new-address', 'off', '--electrum', electrum, '--log-level', 'error'],
];

/** @param {import('../bench.mjs').Context} context */
export const launcher = ({ checkout }) => join(checkout, 'paygate');

/**
 * @param {number} port
 * @returns {Promise<boolean>}
 */
function answers(port) {
  return new Promise((resolve) => {
    const socket = connect(port, LOOPBACK);
    socket.once('error', () => resolve(false));
    socket.once('close', () => resolve(false));
    socket.once('data', () => {
      resolve(true);
      socket.destroy();
    });
    socket.write('GET /healthz HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n');
  });
}

/**
 * Waits until a paygate's /healthz says so.
 * @param {string} origin
 * @param {number} everyMs how often it is asked
 * @param {(electrum: any) => boolean} isSo by what it says of its Electrum server
 */
export async function untilElectrum(origin, everyMs, isSo) {
  const deadline = performance.now() + HEALTH_TIMEOUT_MS;
  for (;;) {
    const health = /** @type {any} */ (await (await fetch(`${origin}/healthz`)).json());
    if (isSo(health.electrum)) return;
    if (performance.now() > deadline)
      throw new Error(`paygate is not ready: ${health.warnings.join('; ')}`);
    await sleep(everyMs);
  }
}

/**
 * Waits until a paygate has compared every address with its Electrum server.
 * @param {string} origin
 * @param {number} [everyMs] how often it is asked
 */
export const untilCaughtUp = (origin, everyMs = CAUGHT_UP_POLL_MS) =>
  untilElectrum(origin, everyMs, ({ caught_up }) => caught_up);

/**
 * @param {Program} program
 * @returns {Held}
 */
export function memoryOf({ pid }) {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  /** @param {string} name */
  const of = (name) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(rollup)?.[1]) / 1024;
  return { anonymous: of('Anonymous'), resident: of('Rss') };
}

/**
 * What all its threads have used until now.
 * @param {Program} program
 * @returns {number} milliseconds
 */
export function cpuOf({ pid }) {
  const folder = `/proc/${pid}/task`;
  return readdirSync(folder)
    .map((thread) => Number(readFileSync(`${folder}/${thread}/schedstat`, 'utf8').split(' ')[0]))
    .reduce((sum, each) => sum + each / 1e6, 0);
}
