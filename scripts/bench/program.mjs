// A program under measurement: spawned, asked over HTTP until it answers, looked at through /proc
// (https://docs.kernel.org/filesystems/proc.html), ended.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../ports.mjs';
import { atEnd } from './ending.mjs';

const POLL_MS = 2;
const ANSWER_TIMEOUT_MS = 60_000;
const LOOPBACK = '127.0.0.1';

/**
 * @typedef {object} Program
 * @property {number} pid
 * @property {number} port
 * @property {number} answeredMs from its spawning to its first HTTP answer
 * @property {number} startedAt of `performance.now()`
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
 * @returns {Promise<Program>}
 */
export async function startProgram(command, argsFor) {
  const port = await freePort();
  const startedAt = performance.now();
  const child = spawn(command, argsFor(port), { stdio: ['ignore', 'ignore', 'inherit'] });
  const exited = once(child, 'exit');
  exited.catch(() => {}); // one that could not be started is told below
  const end = async () => {
    child.kill('SIGTERM');
    await exited;
  };
  atEnd(end);
  while (!(await answers(port))) {
    if (child.exitCode !== null) throw new Error(`${command} ended before it answered`);
    if (performance.now() - startedAt > ANSWER_TIMEOUT_MS) throw new Error('no answer');
    await sleep(POLL_MS);
  }
  const answeredMs = performance.now() - startedAt;
  return { pid: child.pid ?? 0, port, answeredMs, startedAt, end };
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
 * @param {Program} program a paygate
 * @returns {Promise<any>} what its /healthz says
 */
export async function healthOf({ port }) {
  return (await fetch(`http://${LOOPBACK}:${port}/healthz`)).json();
}

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
