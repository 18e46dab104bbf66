// Processes that a bench starts beside its own: paygate with a setting of its environment, and helpers that
// talk with the bench. All end with the bench, or earlier when told.

import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { atEnd } from './ending.mjs';

/** Of `utime` and `stime`: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html */
const TICKS_A_SECOND = 100;

/**
 * @typedef {object} Running
 * @property {string} origin where it listens
 * @property {number} pid
 * @property {() => Promise<void>} end
 */

/**
 * Starts a server that prints where it listens.
 * @param {string} command
 * @param {string[]} args
 * @param {Record<string, string>} [env] besides this process's own
 * @returns {Promise<Running>}
 */
export async function startProcess(command, args, env = {}) {
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  });
  const exited = once(child, 'exit');
  exited.catch(() => {}); // one that could not be started is told below, as one that ended
  async function end() {
    child.kill('SIGTERM');
    await exited;
  }
  atEnd(end);
  for await (const line of createInterface(child.stdout)) {
    const [origin] = /http:\/\/127\.0\.0\.1:\d+/.exec(line) ?? [];
    if (origin !== undefined) {
      child.stdout.resume();
      return { origin, pid: child.pid ?? 0, end };
    }
  }
  throw new Error(`${command} ended before it listened`);
}

/**
 * `paygate serve` without the limits that protect a shop.
 * @param {import('../bench.mjs').Context} context
 * @param {string} path the database
 * @param {string} electrum URL of the Electrum server
 * @param {{ env?: Record<string, string>, more?: string[] }} [how] more settings
 */
export const startPaygate = ({ checkout }, path, electrum, { env = {}, more = [] } = {}) =>
  startProcess(
    join(checkout, 'paygate'),
    [
      ...['serve', '--db', path, '--network', 'regtest', '--listen', '127.0.0.1:0'],
      ...['--limit-new-address', 'off', '--price', 'off', '--log-level', 'error'],
      ...['--electrum', electrum, ...more],
    ],
    env,
  );

/**
 * Processor time of a process and all its threads until now, milliseconds.
 * @param {number} pid
 */
export function processorMs(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name before may hold spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS_A_SECOND;
}

/**
 * A program that is told things and answers each, in order.
 * @param {URL} program
 * @param {string[]} [args]
 */
export function startHelper(program, args = []) {
  const child = fork(program, args);
  function end() {
    child.kill('SIGKILL');
  }
  atEnd(end);
  return {
    end,
    pid: child.pid ?? 0,
    /**
     * @param {object} message
     * @returns {Promise<any>} its next answer
     */
    async ask(message) {
      const answer = this.next();
      child.send(message);
      return answer;
    },
    /** @returns {Promise<any>} what it says next */
    async next() {
      const stop = new AbortController();
      const { signal } = stop;
      const ended = once(child, 'exit', { signal }).then(() => {
        throw new Error(`${program.pathname} ended`);
      });
      try {
        const [answer] = await Promise.race([once(child, 'message', { signal }), ended]);
        return answer;
      } finally {
        stop.abort();
        ended.catch(() => {});
      }
    },
  };
}
