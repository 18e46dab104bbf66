// paygate as users run it: the built `./paygate`. Commands run to their end. `serve` is a child
// process that tests call over HTTP, stop or kill. The output of every `serve` goes to one log.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync } from 'node:fs';
import { expect, vi } from 'vitest';
import type { Clock } from './clock.ts';
import { waitLimit } from './slowness.ts';

/** PAYGATE_E2E_PROGRAM replaces it, for example with a copy of dist/paygate. */
const program = process.env.PAYGATE_E2E_PROGRAM || './paygate';
/** Runs on the clock of a test. The executable cannot, because it ignores NODE_OPTIONS. */
const bundle = './paygate';
const startLimitMs = waitLimit(20_000);
/** Far longer than any command takes; a command that does not end by then is killed. */
const commandLimitMs = waitLimit(30_000);
/** paygate promises to end within this time of a SIGTERM. */
const stopLimitMs = waitLimit(10_000);

/** paygate tries to reconnect to an Electrum server at least each minute. */
export const untilReconnected = { timeout: waitLimit(75_000) };

/**
 * paygate checks a script whose servers disagree each minute, and when the tip moves. A payment
 * that both omit is gone half a minute later.
 */
export const untilCheckedAgain = { timeout: waitLimit(110_000) };

export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: the shape of the response is what the test checks.
  readonly body: any;
}

/** A running `paygate serve`. */
export interface Server {
  readonly port: number;
  /** Its whole output so far. */
  output(): string;
  /** The payments that it logged as gone, by txid, each with the txid of its replacement. */
  gone(): Record<string, string | null>;
  /** Sends a request to its HTTP server. */
  ask(path: string, init?: RequestInit): Promise<Reply>;
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  health(): Promise<any>;
  /**
   * Waits until it is connected, every address is compared, and no callback is pending.
   * @param warnings the warnings that remain
   */
  settled(warnings?: readonly string[]): Promise<void>;
  /** SIGSTOP: it does nothing more, but for SIGKILL. */
  suspend(): void;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** SIGTERM; it must end in time and with exit code 0. */
  stop(): Promise<void>;
}

/** Without the variables of this process that concern paygate or Node. */
const environment = { PATH: process.env.PATH, HOME: process.env.HOME, TZ: 'UTC' };

function start(args: readonly string[], clock?: Clock, timeout?: number): ChildProcess {
  const env = { ...environment, ...clock?.environment };
  return spawn(clock ? bundle : program, args, { env, timeout, killSignal: 'SIGKILL' });
}

/** Runs a command to its end. */
export async function runPaygate(
  args: readonly string[],
  input = '',
  clock?: Clock,
): Promise<Outcome> {
  const child = start(args, clock, commandLimitMs);
  const printed = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream]?.setEncoding('utf8').on('data', (text: string) => {
      printed[stream] += text;
    });
  }
  child.stdin?.on('error', () => {}); // the command may end before it reads
  child.stdin?.end(input);
  const [code] = await once(child, 'close');
  return { code, ...printed };
}

/** Starts `serve` and waits until its API answers. */
export async function servePaygate(
  args: readonly string[],
  logFile: string,
  clock?: Clock,
): Promise<Server> {
  const child = start(['serve', ...args], clock);
  const ended = once(child, 'close');
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      appendFileSync(logFile, text);
    });
  }

  async function end(signal: NodeJS.Signals): Promise<unknown[]> {
    child.kill(signal);
    return ended;
  }

  const port = await portOf(child, () => output).catch(async (error: unknown) => {
    await end('SIGKILL');
    throw error;
  });
  const origin = `http://127.0.0.1:${port}`;

  const server: Server = {
    port,
    output: () => output,
    gone() {
      const lines = output.split('\n').filter((line) => line.includes('"a payment is gone"'));
      return Object.fromEntries(
        lines.map((line) => JSON.parse(line)).map(({ txid, replacedBy }) => [txid, replacedBy]),
      );
    },
    async ask(path, init) {
      const response = await fetch(`${origin}${path}`, init);
      return { status: response.status, headers: response.headers, body: await response.json() };
    },
    health: async () => (await server.ask('/healthz')).body,
    async settled(warnings = []) {
      const status = warnings.length === 0 ? 'ok' : 'degraded';
      await expect
        .poll(() => server.health(), untilReconnected)
        .toMatchObject({ status, warnings, callbacks: { owed: 0, exhausted: 0 } });
    },
    suspend() {
      child.kill('SIGSTOP');
    },
    async kill() {
      await end('SIGKILL');
    },
    async stop() {
      const startedAt = performance.now();
      const [code, signal] = await end('SIGTERM');
      expect({ code, signal }).toEqual({ code: 0, signal: null });
      expect(performance.now() - startedAt).toBeLessThan(stopLimitMs);
    },
  };
  return server;
}

/** The port that the system has chosen; the last log line of the start names it. */
const portOf = (child: ChildProcess, output: () => string): Promise<number> =>
  vi.waitUntil(
    () => {
      if (child.exitCode !== null) throw new Error(`serve has ended:\n${output()}`);
      return Number(/"port":(\d+),"message":"paygate is up"/.exec(output())?.[1]);
    },
    { timeout: startLimitMs, interval: 20 },
  );
