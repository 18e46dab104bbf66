// paygate as its user has it: the built `./paygate`, commands run to their end and `serve` as a child
// process that is talked to over HTTP, told to stop, or killed. All that serves print goes to one log.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync } from 'node:fs';
import { expect, vi } from 'vitest';

/** Or another, such as a copy of dist/paygate somewhere else. */
const program = process.env.PAYGATE_E2E_PROGRAM || './paygate';
const startLimitMs = 20_000;
/** No command takes nearly that long; one that does not end by itself is killed. */
const commandLimitMs = 30_000;
/** What paygate promises for a SIGTERM. */
const stopLimitMs = 10_000;

/** A server that is away is tried again at least each minute. */
export const untilReconnected = { timeout: 75_000 };

/**
 * A script whose servers disagree is looked at again each minute, or when the tip moves. What both leave out is
 * gone half a minute later.
 */
export const untilLookedAtAgain = { timeout: 110_000 };

export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: an answer's shape is what the test looks at.
  readonly body: any;
}

/** A running `paygate serve`. */
export interface Server {
  readonly port: number;
  /** All that it has printed. */
  output(): string;
  /** The payments that it says are gone, by txid, and what has replaced each. */
  gone(): Record<string, string | null>;
  /** Asks its HTTP server. */
  ask(path: string, init?: RequestInit): Promise<Reply>;
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  health(): Promise<any>;
  /**
   * Until it is connected, has compared every address, and owes no callback.
   * @param warnings what it goes on to warn of
   */
  settled(warnings?: readonly string[]): Promise<void>;
  /** As a crash or the kernel does. */
  kill(): Promise<void>;
  /** As an operator does; it must end in time and well. */
  stop(): Promise<void>;
}

/** Without what this process's environment says about paygate or Node. */
const environment = { PATH: process.env.PATH, HOME: process.env.HOME, TZ: 'UTC' };

const start = (args: readonly string[], timeout?: number): ChildProcess =>
  spawn(program, args, { env: environment, timeout, killSignal: 'SIGKILL' });

/** Runs a command to its end. */
export async function runPaygate(args: readonly string[], input = ''): Promise<Outcome> {
  const child = start(args, commandLimitMs);
  const printed = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream]?.setEncoding('utf8').on('data', (text: string) => {
      printed[stream] += text;
    });
  }
  child.stdin?.on('error', () => {}); // it may end without having read
  child.stdin?.end(input);
  const [code] = await once(child, 'close');
  return { code, ...printed };
}

/** Starts `serve` and waits until its API answers. */
export async function servePaygate(args: readonly string[], logFile: string): Promise<Server> {
  const child = start(['serve', ...args]);
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

/** The port that the system has chosen, told in the log line that ends the start. */
const portOf = (child: ChildProcess, output: () => string): Promise<number> =>
  vi.waitUntil(
    () => {
      if (child.exitCode !== null) throw new Error(`serve has ended:\n${output()}`);
      return Number(/"port":(\d+),"message":"paygate is up"/.exec(output())?.[1]);
    },
    { timeout: startLimitMs, interval: 20 },
  );
