// A server under measurement: spawned, asked over HTTP until it answers, observed through /proc
// (https://docs.kernel.org/filesystems/proc.html), and ended with the row at the latest.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../ports.mjs';
import { atEnd, checkout } from './run.ts';

const LOOPBACK = '127.0.0.1';
/** An Electrum server that is out of reach. */
export const NO_ELECTRUM = `tcp://${LOOPBACK}:1`;
const POLL_MS = 2;
const HEALTH_POLL_MS = 50;
const TIMEOUT_MS = 120_000;

export interface Server {
  readonly pid: number;
  readonly port: number;
  readonly origin: string;
  /** From its spawning to its first HTTP answer. */
  readonly answeredMs: number;
  end(): Promise<void>;
}

export type Environment = Readonly<Record<string, string>>;

/** Resolves when the server answered GET /healthz, with whatever status. */
export async function startServer(
  command: string,
  argsFor: (port: number) => readonly string[],
  env: Environment = {},
): Promise<Server> {
  const port = await freePort();
  const startedAt = performance.now();
  const child = spawn(command, argsFor(port), {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, ...env },
  });
  const exited = once(child, 'exit');
  exited.catch(() => {}); // the loop below reports a command that could not be started
  const end = async () => {
    child.kill('SIGTERM');
    await exited;
  };
  atEnd(end);
  while (!(await answers(port))) {
    if (child.pid === undefined || child.exitCode !== null) {
      throw new Error(`${command} ended before it answered`);
    }
    if (performance.now() - startedAt > TIMEOUT_MS) throw new Error(`${command} does not answer`);
    await sleep(POLL_MS);
  }
  const answeredMs = performance.now() - startedAt;
  return { pid: child.pid ?? 0, port, origin: `http://${LOOPBACK}:${port}`, answeredMs, end };
}

const answers = (port: number) =>
  once(get({ host: LOOPBACK, port, path: '/healthz', agent: false }), 'response').then(
    ([response]) => response.destroy(),
    () => false,
  );

/** `./paygate`. */
export const launcher = join(checkout, 'paygate');

/**
 * The arguments of a paygate without rate limits.
 * @param path of the database
 * @param electrum URL of the Electrum server
 */
export const serveArguments =
  (path: string, electrum: string, flags = ['--price', 'off']) =>
  (port: number) => [
    ...['serve', '--db', path, '--network', 'regtest', '--listen', `${LOOPBACK}:${port}`],
    ...['--limit-new-address', 'off', '--limit-balance', 'off'],
    ...['--electrum', electrum, '--log-level', 'error', ...flags],
  ];

export const serve = (path: string, electrum: string, flags?: string[]) =>
  startServer(launcher, serveArguments(path, electrum, flags));

/** Resolves when a paygate has compared every address with its Electrum server, or has not yet. */
export async function untilCaughtUp({ origin }: Server, wanted = true): Promise<void> {
  const deadline = performance.now() + TIMEOUT_MS;
  for (;;) {
    const health = await (await fetch(`${origin}/healthz`)).json();
    const { electrum, warnings } = health as { electrum: { caught_up: boolean }; warnings: object };
    if (electrum.caught_up === wanted) return;
    if (performance.now() > deadline) throw new Error(`caught_up: ${JSON.stringify(warnings)}`);
    await sleep(HEALTH_POLL_MS);
  }
}

/** Its resident memory: now, or at its peak. */
export function residentMib({ pid }: Pick<Server, 'pid'>, field: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1]) / 1024;
}

/** The processor time that all its threads have used until now, in milliseconds. */
export function cpuMs({ pid }: Server): number {
  const folder = `/proc/${pid}/task`;
  return readdirSync(folder)
    .map((thread) => Number(readFileSync(`${folder}/${thread}/schedstat`, 'utf8').split(' ')[0]))
    .reduce((sum, each) => sum + each / 1e6, 0);
}
