#!/usr/bin/env node
// `npm run e2e`: the end-to-end test on a real node and two real Electrum servers, ElectrumX and electrs.
// While electrs is not built, the second one is another ElectrumX.
// Builds paygate, starts a regtest network of its own (PAYGATE_E2E_NETWORK names it), runs test/e2e with
// vitest (arguments go to it: `npm run e2e -- storm`), and takes the network down again, whatever happens.
// PAYGATE_E2E_PROGRAM is another paygate than the built one, such as a copy of dist/paygate. PAYGATE_E2E_ARCH (arm64)
// is the executable for that processor, if need be under qemu. When a test fails, the logs are kept.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { emulatorsFor } from './executable/emulator.mjs';
import { hasElectrs } from './regtest/electrs.mjs';
import { hasLnd } from './regtest/lnd.mjs';
import { down, names, runDir, up } from './regtest/network.ts';

const network = process.env.PAYGATE_E2E_NETWORK || `e2e-${process.pid}`;
const arch = process.env.PAYGATE_E2E_ARCH;
type Variables = Readonly<Record<string, string>>;
const howToBuild = 'node scripts/regtest.mjs install-electrs';
const howToBuildLnd = 'node scripts/regtest.mjs install-lnd';

let interruptedBy: NodeJS.Signals | undefined;
let running: ChildProcess | undefined;

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    interruptedBy ??= signal;
    signalGroup('SIGTERM');
  });
}

const progress = (message: string) => process.stdout.write(`e2e: ${message}\n`);

/**
 * Runs a script to its end, in a process group of its own, of which nothing is left afterwards.
 * @returns whether it succeeded
 */
async function run(args: readonly string[], env: Variables = {}): Promise<boolean> {
  if (interruptedBy) return false;
  const stdio = ['ignore' as const, 'inherit' as const, 'inherit' as const];
  const options = { detached: true, stdio, env: { ...process.env, ...env } };
  const child = spawn(process.execPath, args, options);
  running = child;
  const [code] = await once(child, 'exit');
  signalGroup('SIGKILL');
  running = undefined;
  return code === 0 && !interruptedBy;
}

function signalGroup(signal: NodeJS.Signals) {
  if (running?.pid === undefined) return;
  try {
    process.kill(-running.pid, signal);
  } catch {
    // No process is left in it.
  }
}

/** Takes down what was left by runs that were killed. */
async function removeAbandoned() {
  for (const name of names()) {
    const pid = /^e2e-(\d+)$/.exec(name)?.[1];
    if (pid === undefined || existsSync(`/proc/${pid}`)) continue;
    progress(`taking down "${name}", whose run has ended…`);
    await down(name);
  }
}

/**
 * What is tested: the built paygate, or the executable for PAYGATE_E2E_ARCH, emulated if need be.
 * @returns none if it cannot be made
 */
async function makePrograms(logs: string): Promise<{ name: string; variables: Variables }[]> {
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
      // An emulated paygate takes six times as long to start; the tests wait as much longer.
      const slowness = emulator.length > 0 ? 6 : 1;
      const variables = { PAYGATE_E2E_PROGRAM: script, PAYGATE_E2E_SLOWNESS: `${slowness}` };
      return { name: command, variables };
    }),
  );
}

/** @param logs folder for what paygate prints and for vitest's reports */
async function test(logs: string): Promise<boolean> {
  progress('building paygate…');
  if (!(await run(['build.mjs']))) return false;
  const programs = await makePrograms(logs);
  await removeAbandoned();
  const kind = hasElectrs() ? 'electrs' : 'electrumx';
  if (kind === 'electrumx')
    progress(`ELECTRS IS NOT BUILT, BOTH SERVERS ARE ELECTRUMX: ${howToBuild}`);
  if (!hasLnd()) progress(`LND IS NOT BUILT, NO TEST OF LIGHTNING RUNS: ${howToBuildLnd}`);
  progress(`starting the regtest network "${network}"…`);
  await down(network);
  const { addElectrum } = await up(network);
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
    passed =
      (await run(['node_modules/vitest/vitest.mjs', 'run', ...options], {
        ...variables,
        ...ofRun,
      })) && passed;
  }
  return passed;
}

/** What vitest has counted; nothing if it did not come to that. */
async function readResults(logs: string) {
  const sum = { passed: 0, failed: 0 };
  for (const folder of await readdir(logs)) {
    const text = await readFile(resultFile(join(logs, folder)), 'utf8').catch(() => '{}');
    const { numPassedTests: passed = 0, numFailedTests: failed = 0 } = JSON.parse(text);
    sum.passed += passed;
    sum.failed += failed;
  }
  return sum;
}

/** @param folder of one run of vitest */
const resultFile = (folder: string) => join(folder, 'result.json');

async function copyServerLogs(logs: string) {
  const files = ['bitcoind.log', ...['electrumx', 'electrs'].flatMap(logsOf)];
  for (const file of files) {
    const from = join(runDir(network), file);
    if (existsSync(from)) await cp(from, join(logs, file));
  }
}

const logsOf = (program: string) =>
  ['first', 'second'].map((name) => `electrum-${name}/${program}.log`);

async function main() {
  const startedAt = Date.now();
  const logs = await mkdtemp(join(tmpdir(), 'paygate-e2e-'));
  let passed = false;
  try {
    passed = await test(logs);
  } catch (error) {
    progress((error as Error).message);
  } finally {
    if (!passed) await copyServerLogs(logs);
    progress(`taking the regtest network "${network}" down…`);
    await down(network);
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
