// A paygate as a merchant runs it: the built `./paygate`, a process of its own, a file of its own.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { atEnd } from './ending.mjs';
import { accountKey } from './keys.mjs';

/**
 * Makes a database with one store, which issues from an index, 0 if none is named, without a scan.
 * @param {import('../bench.mjs').Context} context
 * @param {string} name of the file
 * @param {string} [callbackUrl]
 * @param {number} [startIndex]
 * @returns {Promise<{ path: string, apiKey: string }>}
 */
export async function addStore(
  { folder, checkout },
  name,
  callbackUrl = 'http://127.0.0.1:9/',
  startIndex = 0,
) {
  const path = join(folder, `${name}.db`);
  const { stdout } = await promisify(execFile)(join(checkout, 'paygate'), [
    ...['store', 'add', '--db', path, '--network', 'regtest', '--name', 'Bench', '--json'],
    ...['--xpub', accountKey('regtest'), '--script', 'p2wpkh', '--start-index', String(startIndex)],
    ...['--callback-url', callbackUrl, '--allow-private-callback'],
  ]);
  return { path, apiKey: JSON.parse(stdout).api_key };
}

/**
 * Runs `paygate serve` until the bench is over.
 * @param {import('../bench.mjs').Context} context
 * @param {string} path the database
 * @param {string} electrum URL of the Electrum server
 * @param {string[]} [more] settings
 * @returns {Promise<string>} its origin
 */
export async function serve({ checkout }, path, electrum, more = []) {
  return startServer(join(checkout, 'paygate'), serveArguments(path, electrum, more));
}

/**
 * @param {string} path the database
 * @param {string} electrum URL of the Electrum server
 * @param {string[]} [more] settings
 */
export const serveArguments = (path, electrum, more = []) => [
  ...['serve', '--db', path, '--network', 'regtest', '--listen', '127.0.0.1:0'],
  ...['--limit-new-address', 'off', '--limit-balance', 'off', '--limit-search-history', 'off'],
  ...['--limit-price', 'off', '--electrum', electrum, '--log-level', 'error', ...more],
];

/**
 * Starts a server that prints where it listens, and ends it when the bench is over.
 * @param {string} command
 * @param {string[]} args
 * @returns {Promise<string>} its origin
 */
export async function startServer(command, args) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  exited.catch(() => {}); // one that could not be started is told below, as one that ended
  atEnd(async () => {
    child.kill('SIGTERM');
    await exited;
  });
  for await (const line of createInterface(child.stdout)) {
    const [origin] = /http:\/\/127\.0\.0\.1:\d+/.exec(line) ?? [];
    if (origin !== undefined) {
      child.stdout.resume();
      return origin;
    }
  }
  throw new Error(`${command} ended before it listened`);
}
