#!/usr/bin/env node
// `npm run e2e`: the end-to-end test on a real node and two real Electrum servers, ElectrumX and electrs.
// While electrs is not built (or with PAYGATE_E2E_SECOND=electrumx), the second one is another ElectrumX.
// Builds paygate, starts a regtest network of its own (PAYGATE_E2E_NETWORK names it), runs test/e2e with
// vitest (arguments go to it: `npm run e2e -- storm`), and takes the network down again, whatever happens.
// PAYGATE_E2E_PROGRAM is another paygate than the built one, such as a copy of dist/paygate. PAYGATE_E2E_ARCH (arm64)
// is the executable for that processor, if need be under qemu. When a test fails, the logs are kept.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { emulatorsFor } from './executable/emulator.mjs';
import { hasElectrs } from './regtest/electrs.mjs';
import { down, names, runDir, up } from './regtest/network.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const bin = join(root, 'node_modules/.bin');
const ownNode = join(bin, 'node');
const node = existsSync(ownNode) ? ownNode : process.execPath;
const vitest = join(root, 'node_modules/vitest/vitest.mjs');
const network = process.env.PAYGATE_E2E_NETWORK || `e2e-${process.pid}`;
const arch = process.env.PAYGATE_E2E_ARCH;
/** An emulated paygate takes this many times as long to start; the tests wait as much longer. */
const emulatedSlowness = 6;
const howToBuild = 'node scripts/regtest.mjs install-electrs';

/** @type {NodeJS.Signals | undefined} */
let interruptedBy;
/** @type {import('node:child_process').ChildProcess | undefined} */
let running;

for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
  process.on(signal, () => {
    interruptedBy ??= signal;
    signalGroup('SIGTERM');
  });
}

/** @param {string} message */
function progress(message) {
  process.stdout.write(`e2e: ${message}\n`);
}

/**
 * Runs a script to its end, in a process group of its own, of which nothing is left afterwards.
 * @param {string[]} args
 * @param {Record<string, string>} [env]
 * @returns {Promise<boolean>} whether it went well
 */
async function run(args, env = {}) {
  if (interruptedBy) return false;
  const child = spawn(node, args, {
    cwd: root,
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ...env, PATH: `${bin}${delimiter}${process.env.PATH}` },
  });
  running = child;
  const [code] = await once(child, 'exit');
  signalGroup('SIGKILL');
  running = undefined;
  return code === 0 && !interruptedBy;
}

/** @param {NodeJS.Signals} signal */
function signalGroup(signal) {
  if (running?.pid === undefined) return;
  try {
    process.kill(-running.pid, signal);
  } catch {
    // nobody is left in it
  }
}

/** Takes down what was left by runs that were killed. */
async function removeAbandoned() {
  for (const name of names()) {
    const pid = /^e2e-(\d+)$/.exec(name)?.[1];
    if (pid === undefined || existsSync(`/proc/${pid}`)) continue;
    progress(`taking down "${name}", whose run has ended…`);
    await down({ name });
  }
}

/** Says which it is: a run on two servers of one kind shows less. */
function chooseSecond() {
  const asked = process.env.PAYGATE_E2E_SECOND || (hasElectrs() ? 'electrs' : 'electrumx');
  if (asked !== 'electrs' && asked !== 'electrumx') {
    throw new Error(`PAYGATE_E2E_SECOND is electrs or electrumx, not "${asked}"`);
  }
  if (asked === 'electrs' && !hasElectrs()) throw new Error(`electrs is not built: ${howToBuild}`);
  if (asked === 'electrs') progress('the Electrum servers are ElectrumX and electrs');
  else if (hasElectrs()) progress('the second Electrum server is another ElectrumX, as asked');
  else {
    progress(
      `ELECTRS IS NOT BUILT: the second Electrum server is another ElectrumX (${howToBuild})`,
    );
  }
  return asked;
}

/**
 * What is tested: the built paygate, or the executable for PAYGATE_E2E_ARCH, emulated if need be.
 * @param {string} logs
 * @returns {Promise<{ name: string, variables: Record<string, string> }[]>} none where it cannot be made
 */
async function makePrograms(logs) {
  if (!arch) return [{ name: process.env.PAYGATE_E2E_PROGRAM || './paygate', variables: {} }];
  if (arch !== 'x64' && arch !== 'arm64') {
    throw new Error(`PAYGATE_E2E_ARCH is x64 or arm64, not "${arch}"`);
  }
  const executable = `dist/paygate-${arch}`;
  if (!(await run(['scripts/executable.mjs', '--arch', arch, '--out', executable]))) return [];
  return Promise.all(
    emulatorsFor(arch).map(async (emulator, index) => {
      const command = [...emulator, executable].join(' ');
      const script = join(logs, `paygate-${index}`);
      await writeFile(script, `#!/bin/sh\nexec ${command} "$@"\n`, { mode: 0o755 });
      const slowness = emulator.length > 0 ? emulatedSlowness : 1;
      const variables = { PAYGATE_E2E_PROGRAM: script, PAYGATE_E2E_SLOWNESS: `${slowness}` };
      return { name: command, variables };
    }),
  );
}

/**
 * @param {string} logs folder for what paygate prints and for vitest's reports
 * @returns {Promise<boolean>}
 */
async function test(logs) {
  progress('building paygate…');
  if (!(await run(['build.mjs']))) return false;
  const programs = await makePrograms(logs);
  await removeAbandoned();
  const kind = chooseSecond();
  progress(`starting the regtest network "${network}"…`);
  await down({ name: network });
  const { addElectrum } = await up({ name: network });
  await addElectrum('second', kind);
  const options = ['--config', 'test/e2e/vitest.config.ts', ...process.argv.slice(2)];
  let passed = programs.length > 0;
  for (const [index, { name, variables }] of programs.entries()) {
    progress(`testing ${name}…`);
    const folder = join(logs, `${index}`);
    await mkdir(folder);
    const ofRun = {
      PAYGATE_E2E_NETWORK: network,
      PAYGATE_E2E_DIR: folder,
      PAYGATE_E2E_RESULT: resultFile(folder),
    };
    passed = (await run([vitest, 'run', ...options], { ...variables, ...ofRun })) && passed;
  }
  return passed;
}

/**
 * What vitest has counted; nothing where it did not come to that.
 * @param {string} logs
 * @returns {Promise<{ passed: number, failed: number }>}
 */
async function readResults(logs) {
  const sum = { passed: 0, failed: 0 };
  for (const folder of await readdir(logs)) {
    const text = await readFile(resultFile(join(logs, folder)), 'utf8').catch(() => '{}');
    const { numPassedTests: passed = 0, numFailedTests: failed = 0 } = JSON.parse(text);
    sum.passed += passed;
    sum.failed += failed;
  }
  return sum;
}

/** @param {string} folder of one run of vitest */
const resultFile = (folder) => join(folder, 'result.json');

/** @param {string} logs */
async function keepServerLogs(logs) {
  const files = ['bitcoind.log', ...['electrumx', 'electrs'].flatMap(logsOf)];
  for (const file of files) {
    const from = join(runDir(network), file);
    if (existsSync(from)) await cp(from, join(logs, file));
  }
}

/** @param {string} program */
const logsOf = (program) => ['first', 'second'].map((name) => `electrum-${name}/${program}.log`);

async function main() {
  const startedAt = Date.now();
  const logs = await mkdtemp(join(tmpdir(), 'paygate-e2e-'));
  let passed = false;
  try {
    passed = await test(logs);
  } catch (error) {
    progress(/** @type {Error} */ (error).message);
  } finally {
    if (!passed) await keepServerLogs(logs);
    progress(`taking the regtest network "${network}" down…`);
    await down({ name: network });
  }
  const result = await readResults(logs);
  if (interruptedBy) progress(`interrupted by ${interruptedBy}`);
  if (passed) await rm(logs, { recursive: true });
  else progress(`the logs of paygate, the node and the Electrum servers are in ${logs}`);
  progress(`took ${Math.round((Date.now() - startedAt) / 1000)} s`);
  // What failed outside of a test counts as well.
  const failed = passed ? 0 : Math.max(1, result.failed);
  process.stdout.write(`${result.passed} passed, ${failed} failed\n`);
  process.exitCode = passed ? 0 : 1;
}

await main();
