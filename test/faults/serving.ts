// `paygate serve` as a process with a real clock, on a simulated chain, with a shop's receiver: for
// faults of a process or a disk. Other tests run in one process whose clock they control.

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect } from 'vitest';
import { SimulatedChain } from '../../src/sandbox/chain/simulated-chain.ts';
import { SimulatedServer } from '../../src/sandbox/electrum/simulated-server.ts';
import { createNodeWorld } from '../../src/world/node-world.ts';
import { bundleEnv, bundleOf } from '../support/bundle.ts';
import { connectionOf, whenOver } from '../support/files.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { openTestStore } from '../support/store.ts';

const program = join(import.meta.dirname, '../../src/main.ts');

export interface ServeSetup {
  readonly path: string;
  readonly apiKey: string;
  readonly chain: SimulatedChain;
  readonly receiver: Receiver;
  /** The arguments of `serve`. */
  readonly args: readonly string[];
}

/**
 * Prepares a database with a store, an Electrum server on a chain, and the shop's receiver.
 * @param at path of the database; by default in a new folder
 */
export async function prepareServe(at?: string): Promise<ServeSetup> {
  const world = createNodeWorld({ logLevel: 'silent' });
  const receiver = await startReceiver();
  whenOver(() => receiver.close());
  const chain = new SimulatedChain({ seed: 'faults', now: () => Date.now() / 1000 - 3_600 });
  chain.mine(110);
  const server = new SimulatedServer({ chain, timer: world });
  const listening = await server.listen({ host: '127.0.0.1', port: 0 });
  whenOver(() => listening.close());
  const { path, ...records } = await openTestStore(at === undefined ? {} : { path: at });
  await records.addWallet();
  await records.addStore({
    callbackUrl: `${receiver.origin}/cb`,
    allowPrivateCallback: true,
    allowHttpCallback: true,
  });
  const apiKey = await records.write((tx) =>
    records.keys.rotateMerchantKey(tx, Date.now(), new Uint8Array(32).fill(9), 0),
  );
  connectionOf(records.database).pragma('wal_checkpoint(TRUNCATE)');
  await records.database.close();
  const limits = ['--limit-new-address', 'off', '--price', 'off', '--log-level', 'warn'];
  const electrum = ['--electrum', `tcp://127.0.0.1:${listening.port}`];
  const args = ['serve', '--db', path, ...electrum, '--listen', '127.0.0.1:0', ...limits];
  return { path, apiKey, chain, receiver, args };
}

export interface ServeProcess {
  readonly origin: string;
  /** Requests an address; undefined if there was no response. */
  newAddress(): Promise<{ readonly status: number; readonly address?: string } | undefined>;
  /** The body of /healthz. */
  // biome-ignore lint/suspicious/noExplicitAny: the shape of the response is what the test checks.
  health(): Promise<any>;
  kill(signal?: NodeJS.Signals): void;
  readonly pid: number;
  readonly ended: Promise<{ readonly by: string | number | null; readonly errors: string }>;
}

/** Starts `serve`, by default as a bundle, and waits until it listens. */
export async function serve(
  { args, apiKey }: Pick<ServeSetup, 'args' | 'apiKey'>,
  env: Record<string, string> = {},
  command: readonly string[] = [process.execPath, bundleOf(program)],
): Promise<ServeProcess> {
  const [file = '', ...before] = command;
  const child = spawn(file, [...before, ...args], {
    env: { PATH: process.env.PATH, ...bundleEnv(bundleOf(program)), ...env },
  });
  let errors = '';
  child.stderr.on('data', (text: Buffer) => {
    errors += text;
  });
  const ended = new Promise<{ by: string | number | null; errors: string }>((resolve) => {
    child.once('close', (code, signal) => resolve({ by: signal ?? code, errors }));
  });
  whenOver(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  let origin: string | undefined;
  for await (const line of createInterface(child.stdout)) {
    [, origin] = /^ *Health +(https?:\S+)\/healthz$/.exec(line) ?? [];
    if (origin !== undefined) break;
  }
  if (origin === undefined) throw new Error(`it does not start: ${(await ended).errors}`);
  // The rest of its output is read and dropped, so that a full pipe never blocks it.
  child.stdout.resume();
  const headers = { Authorization: `Bearer ${apiKey}` };
  return {
    origin,
    async newAddress() {
      try {
        const answer = await fetch(`${origin}/api/new_address`, { headers });
        const body = (await answer.json()) as { address?: string };
        return { status: answer.status, ...body };
      } catch {
        return undefined;
      }
    },
    health: async () => (await fetch(`${origin}/healthz`)).json(),
    kill: (signal = 'SIGKILL') => void child.kill(signal),
    pid: child.pid ?? 0,
    ended,
  };
}

/** Polls a condition that another process fulfils in its own time. */
export async function eventually(
  what: string,
  isFulfilled: () => boolean | Promise<boolean>,
  withinMs = 60_000,
) {
  const until = performance.now() + withinMs;
  while (!(await isFulfilled())) {
    if (performance.now() > until) throw new Error(`timed out waiting for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Not on a tmpfs: these tests depend on the inodes and times of a disk. */
export function diskFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'paygate-folder-'));
  whenOver(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export const at = (setup: ServeSetup, path: string): ServeSetup => ({
  ...setup,
  path,
  args: setup.args.map((arg) => (arg === setup.path ? path : arg)),
});

export async function issue(paygate: ServeProcess, count: number): Promise<string[]> {
  const issued: string[] = [];
  await eventually(`${count} addresses`, async () => {
    const { address } = (await paygate.newAddress()) ?? {};
    if (address !== undefined) issued.push(address);
    return issued.length === count;
  });
  return issued;
}

export const isCopy = async (paygate: ServeProcess): Promise<boolean> =>
  (await paygate.health()).warnings.join().includes('is a copy');

export async function end(paygate: ServeProcess, signal: NodeJS.Signals): Promise<void> {
  paygate.kill(signal);
  await paygate.ended;
}

export function expectOnce(...addresses: string[][]): void {
  const all = addresses.flat();
  expect(all.filter((address, place) => all.indexOf(address) !== place)).toEqual([]);
}
