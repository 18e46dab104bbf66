// `node scripts/executable/prove.mjs DATABASE PROGRAM [ARGUMENT…]`: a program, or one behind another
// (chroot, qemu), works: it makes the database, adds a store, serves, issues an address, says that it
// lives, and ends when told to. Prints JSON: what it issued, how long its start took, what memory it holds.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { freePort } from '../ports.mjs';

const [database = '', program = '', ...before] = process.argv.slice(2);
// BIP84's own vector, whose first address every wallet shows.
const account =
  'zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs';
const firstAddress = 'bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu';

/** @param {string[]} words */
async function paygate(...words) {
  const { stdout } = await promisify(execFile)(program, [...before, ...words]);
  return stdout;
}

/**
 * @param {string} url
 * @param {Record<string, string>} headers
 * @returns {Promise<any>}
 */
async function ask(url, headers = {}) {
  const answer = await fetch(url, { headers });
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

/** @param {number} pid */
function residentBytes(pid) {
  const [, kibibytes] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kibibytes) * 1024;
}

const store = ['--name', 'Proof', '--callback-url', 'https://shop.example/callback'];
const wallet = ['--xpub', account, '--start-index', '0'];
const added = await paygate('store', 'add', '--db', database, ...store, ...wallet, '--json');
const { api_key: apiKey } = JSON.parse(added);

const listen = `127.0.0.1:${await freePort()}`;
// Nobody listens there: an address needs no server, and this must not reach out.
const server = ['--electrum', 'tcp://127.0.0.1:1', '--log-level', 'error'];
const startedAt = performance.now();
const child = spawn(
  program,
  [...before, 'serve', '--db', database, '--listen', listen, ...server],
  {
    stdio: ['ignore', 'pipe', 'inherit'],
  },
);
const ended = once(child, 'exit');
try {
  await Promise.race([once(child.stdout, 'data'), ended]);
  const startMs = Math.round(performance.now() - startedAt);
  const headers = { Authorization: `Bearer ${apiKey}` };
  const { address } = await ask(`http://${listen}/api/new_address`, headers);
  if (address !== firstAddress) throw new Error(`issued ${address}, not ${firstAddress}`);
  const { version } = await ask(`http://${listen}/healthz`);
  const residentMegabytes = Math.round(residentBytes(child.pid ?? 0) / 1e6);
  console.log(JSON.stringify({ address, version, startMs, residentMegabytes }));
} finally {
  child.kill('SIGTERM');
}
const [code] = await ended;
if (code !== 0) throw new Error(`it ended with ${code}`);
