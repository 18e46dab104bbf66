// The small machine: a quarter of one core, 256 MiB, and a card whose fsync takes 20 ms longer,
// every fiftieth 100 ms. The executable and its peers run there. What asks and pays them does not.

import { existsSync, readFileSync } from 'node:fs';
import { buildExecutable } from '../build-executable.mjs';
import { addStore } from '../database.mjs';
import { bareServer } from '../executable.mjs';
import { startPriceSource } from '../orders.mjs';
import { serveArguments, startServer } from '../server.mjs';
import { slowDisk } from '../slow-disk.mjs';
import { makeGroup } from './group.mjs';

const MEBIBYTE = 1024 * 1024;
const CORE = 0.25;
const MEMORY_MIB = 256;
const SYNC_MS = 20;
const STALL_MS = 100;
const SAMPLE_MS = 200;
/** What a person takes for an answer. */
export const MAX_WAIT_MS = 1_000;

/**
 * @typedef {import('../../bench.mjs').Context} Context
 * @typedef {import('../server.mjs').Server} Server
 * @typedef {Pick<import('../server.mjs').Options, 'readsLog'>} Options
 *
 * @typedef {object} Machine
 * @property {Record<string, string>} env of a process with the slow card
 * @property {import('./group.mjs').Group} group
 * @property {{ residentMib: number, anonymousMib: number }} peaks of all rows until now: resident
 *   memory of a paygate with the pages of its file, and anonymous memory of all processes
 * @property {(path: string, electrum: string, options?: Options) => Promise<Server>} serve starts a
 *   paygate with rates
 * @property {() => Promise<Server>} serveBare starts the peer
 */

/** @type {Promise<Machine> | undefined} */
let machine;

/**
 * @param {Context} context
 * @returns {Promise<Machine>} the same in each row
 */
export function smallMachine(context) {
  machine ??= build(context);
  return machine;
}

/**
 * @param {Context} context
 * @returns {Promise<Machine>}
 */
async function build(context) {
  const group = makeGroup({ core: CORE, bytes: MEMORY_MIB * MEBIBYTE });
  process.once('exit', () => {
    try {
      group.remove();
    } catch {
      // A process in it is still ending. An empty group takes nothing.
    }
  });
  const env = slowDisk(context.folder, SYNC_MS, STALL_MS);
  const executable = await buildExecutable(context);
  const bare = await bareServer(context);
  const peaks = { residentMib: 0, anonymousMib: 0 };
  /** @type {Set<number>} */
  const served = new Set();
  setInterval(() => {
    peaks.anonymousMib = Math.max(peaks.anonymousMib, group.anonymousBytes() / MEBIBYTE);
    const resident = [...served].map(peakMibOf);
    peaks.residentMib = Math.max(peaks.residentMib, ...resident);
  }, SAMPLE_MS).unref();

  /**
   * @param {string} program
   * @param {(port: number) => string[]} argsFor
   * @param {Options} [options]
   */
  function start(program, argsFor, options) {
    const [shell, before] = group.within([program]);
    return startServer(shell, (port) => [...before, ...argsFor(port)], { env, ...options });
  }
  return {
    env,
    group,
    peaks,
    async serve(path, electrum, options) {
      const flags = ['--price', 'own', '--price-source', await startPriceSource()];
      const logLevel = options?.readsLog ? 'info' : 'error';
      const args = serveArguments(path, electrum, logLevel, flags);
      const server = await start(executable, args, options);
      served.add(server.pid);
      return server;
    },
    serveBare: () => start(process.execPath, bare),
  };
}

/** @param {number} pid */
function peakMibOf(pid) {
  const path = `/proc/${pid}/status`;
  // The entry is absent if the process has just ended.
  const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
  return Number(/VmHWM:\s+(\d+) kB/.exec(text)?.[1] ?? 0) / 1024;
}

let files = 0;

/**
 * A new file with one store.
 * @param {Context} context
 * @param {string} [callbackUrl]
 */
export function newShop(context, callbackUrl) {
  files += 1;
  return addStore(context, `small-${files}`, callbackUrl === undefined ? {} : { callbackUrl });
}
