// A server under measurement: spawned, asked over HTTP until it answers, observed through /proc
// (https://docs.kernel.org/filesystems/proc.html), and ended with the bench at the latest.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../ports.mjs';
import { atEnd } from './cleanup.mjs';

const LOOPBACK = '127.0.0.1';
/** An Electrum server that is out of reach. */
export const NO_ELECTRUM = `tcp://${LOOPBACK}:1`;
const POLL_MS = 2;
const HEALTH_POLL_MS = 50;
const TIMEOUT_MS = 120_000;

/**
 * @typedef {object} Server
 * @property {number} pid
 * @property {number} port
 * @property {string} origin
 * @property {number} answeredMs from its spawning to its first HTTP answer
 * @property {(text: string) => Promise<void>} logged resolves at the next log line with this text;
 *   only of a server whose log is read
 * @property {() => Promise<void>} end
 *
 * @typedef {object} Options
 * @property {Record<string, string>} [env] in addition to this process's own
 * @property {string[]} [flags] of `paygate serve`, after all others
 * @property {boolean} [readsLog] otherwise the log goes to standard error
 */

/**
 * Resolves when the server answered GET /healthz, with whatever status.
 * @param {string} command
 * @param {(port: number) => string[]} argsFor
 * @param {Options} [options]
 * @returns {Promise<Server>}
 */
export async function startServer(command, argsFor, { env = {}, readsLog = false } = {}) {
  const port = await freePort();
  const startedAt = performance.now();
  const child = spawn(command, argsFor(port), {
    stdio: ['ignore', 'ignore', readsLog ? 'pipe' : 'inherit'],
    env: { ...process.env, ...env },
  });
  const exited = once(child, 'exit');
  exited.catch(() => {}); // the loop below reports a command that could not be started
  const end = async () => {
    child.kill('SIGTERM');
    await exited;
  };
  atEnd(end);
  const lines = child.stderr ? createInterface(child.stderr) : undefined;
  while (!(await answers(port))) {
    if (child.pid === undefined || child.exitCode !== null) {
      throw new Error(`${command} ended before it answered`);
    }
    if (performance.now() - startedAt > TIMEOUT_MS) throw new Error(`${command} does not answer`);
    await sleep(POLL_MS);
  }
  return {
    pid: child.pid ?? 0,
    port,
    origin: `http://${LOOPBACK}:${port}`,
    answeredMs: performance.now() - startedAt,
    logged(text) {
      return new Promise((resolve, reject) => {
        const late = () => reject(new Error(`the log does not say: ${text}`));
        const timer = setTimeout(late, TIMEOUT_MS);
        lines?.on('line', function look(line) {
          if (!line.includes(text)) return;
          lines.off('line', look);
          clearTimeout(timer);
          resolve();
        });
      });
    },
    end,
  };
}

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

/** @param {import('../bench.mjs').Context} context */
export const launcher = ({ checkout }) => join(checkout, 'paygate');

/**
 * The arguments of a paygate without rate limits.
 * @param {string} path of the database
 * @param {string} electrum URL of the Electrum server
 * @param {string} [logLevel]
 * @param {string[]} [flags]
 * @returns {(port: number) => string[]}
 */
export const serveArguments =
  (path, electrum, logLevel = 'error', flags = ['--price', 'off']) =>
  (port) => [
    ...['serve', '--db', path, '--network', 'regtest', '--listen', `${LOOPBACK}:${port}`],
    ...['--limit-new-address', 'off', '--limit-balance', 'off'],
    ...['--electrum', electrum, '--log-level', logLevel, ...flags],
  ];

/**
 * @param {import('../bench.mjs').Context} context
 * @param {string} path of the database
 * @param {string} electrum URL of the Electrum server
 * @param {Options} [options]
 */
export const serve = (context, path, electrum, options) =>
  startServer(
    launcher(context),
    serveArguments(path, electrum, options?.readsLog ? 'info' : 'error', options?.flags),
    options,
  );

/**
 * Resolves when a paygate has compared every address with its Electrum server.
 * @param {Server} server
 */
export async function untilCaughtUp({ origin }) {
  const deadline = performance.now() + TIMEOUT_MS;
  for (;;) {
    const health = /** @type {any} */ (await (await fetch(`${origin}/healthz`)).json());
    if (health.electrum.caught_up) return;
    if (performance.now() > deadline) {
      throw new Error(`paygate is not ready: ${health.warnings.join('; ')}`);
    }
    await sleep(HEALTH_POLL_MS);
  }
}

/**
 * The resident memory of a process.
 * @param {Server} server
 * @returns {number} MiB
 */
export function residentMib({ pid }) {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  return Number(/^Rss:\s+(\d+) kB/m.exec(rollup)?.[1]) / 1024;
}

/**
 * The processor time that all threads of a process have used until now.
 * @param {Pick<Server, 'pid'>} server
 * @returns {number} milliseconds
 */
export function cpuMs({ pid }) {
  const folder = `/proc/${pid}/task`;
  return readdirSync(folder)
    .map((thread) => Number(readFileSync(`${folder}/${thread}/schedstat`, 'utf8').split(' ')[0]))
    .reduce((sum, each) => sum + each / 1e6, 0);
}
