// The single executable and its peer, the same Node with hono and the SQLite driver (bare-server.ts).
// Rows `first-answer` and `memory-10k`: it has 10,000 issued addresses in its file.

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { build, type Plugin } from 'esbuild';
import { bundling } from '../bundling.mjs';
import { issuedFile } from './database.ts';
import { startChain } from './helper.ts';
import { median, pairedRatio, type Row, takeTurns } from './row.ts';
import { checkout, folder, progress } from './run.ts';
import {
  NO_ELECTRUM,
  residentMib,
  type Server,
  serveArguments,
  startServer,
  untilCaughtUp,
} from './server.ts';

const ADDRESSES = 10_000;
const STARTS = 15;
const MAX_RATIO = 2.7;
const IDLE_MS = 10_000;
const MAX_RESIDENT_MIB = 128;
const run = promisify(execFile);

let built: Promise<string> | undefined;

/** Builds it once a run. @returns its path */
export function buildExecutable(): Promise<string> {
  built ??= makeExecutable();
  return built;
}

/**
 * A file that was just written lies in the page cache in large pieces, of which a process maps more
 * than it reads. The executable is dropped from the cache, so that it is read as after a boot.
 */
async function makeExecutable(): Promise<string> {
  progress('building the executable');
  const path = join(folder, 'paygate-executable');
  await run(process.execPath, ['scripts/executable.mjs', '--out', path], { cwd: checkout });
  await run('sync', [path]);
  await run('dd', [`if=${path}`, 'iflag=nocache', 'count=0', 'status=none']);
  return path;
}

/**
 * Bundles a program of the checkout beside paygate's own bundle, where it finds the SQLite driver.
 * @returns path of the bundle
 */
export async function bundle(entry: string, name: string, plugins: Plugin[] = []): Promise<string> {
  const outfile = join(checkout, 'dist', name);
  await build({ ...bundling, entryPoints: [join(checkout, entry)], outfile, plugins });
  return outfile;
}

/** @returns the arguments of Node */
export async function bareServer(): Promise<(port: number) => string[]> {
  const program = await bundle('scripts/bench/bare-server.ts', 'bench-bare.cjs');
  return (port) => [program, join(folder, 'bare.db'), `${port}`];
}

/**
 * Starts until the first HTTP answer, in turns.
 * @param holds by the median ratio and the longest start
 */
export async function firstAnswers(
  about: Pick<Row, 'name' | 'floor'>,
  starts: number,
  serve: (path: string) => Promise<Server>,
  serveBare: () => Promise<Server>,
  holds: (ratio: number, longestMs: number) => boolean,
): Promise<Row> {
  const { path } = await issuedFile(ADDRESSES);
  const { ours, bare } = await takeTurns(starts, {
    ours: () => answeredMs(serve(path)),
    bare: () => answeredMs(serveBare()),
  });
  const [ratio, longest] = [pairedRatio(ours, bare), Math.max(...ours)];
  const peer = { name: 'bare Node', figure: median(bare) };
  const details = [`longest ${longest.toFixed(0)} ms`];
  const figure = median(ours);
  return { ...about, unit: 'ms', figure, peer, ratio, holds: holds(ratio, longest), details };
}

async function answeredMs(starting: Promise<Server>): Promise<number> {
  const server = await starting;
  await server.end();
  return server.answeredMs;
}

export async function benchFirstAnswer(): Promise<Row> {
  const executable = await buildExecutable();
  const bare = await bareServer();
  return firstAnswers(
    { name: 'first-answer', floor: `≤ ${MAX_RATIO} × bare Node` },
    STARTS,
    (path) => startServer(executable, serveArguments(path, NO_ELECTRUM)),
    () => startServer(process.execPath, bare),
    (ratio) => ratio <= MAX_RATIO,
  );
}

export async function benchMemory(): Promise<Row> {
  const { path } = await issuedFile(ADDRESSES);
  const { electrum } = await startChain();
  const server = await startServer(await buildExecutable(), serveArguments(path, electrum));
  await untilCaughtUp(server);
  await sleep(IDLE_MS);
  const figure = residentMib(server, 'VmRSS');
  return {
    name: 'memory-10k',
    unit: 'MiB',
    figure,
    floor: `≤ ${MAX_RESIDENT_MIB} MiB resident`,
    holds: figure <= MAX_RESIDENT_MIB,
    details: [],
  };
}
