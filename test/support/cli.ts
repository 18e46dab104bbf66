// `paygate` as a command line runs it. Most commands run in this process, because a process takes
// longer to start than they to run. A process of its own is for what only that shows: standard
// input, signals, other users, an exit while something is open.

import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { commands } from '../../src/cli/commands.ts';
import { launch } from '../../src/cli/launcher.ts';
import { bundleEnv, bundleOf } from './bundle.ts';

export const program = join(import.meta.dirname, '../../src/main.ts');

export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Commands share `process`, so they run one after the other. */
let last: Promise<unknown> = Promise.resolve();

/** Runs a command to its end, in this process. Nothing is typed. */
export function runCli(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Outcome> {
  const outcome = last.then(() => runHere(args, env));
  last = outcome.catch(() => {});
  return outcome;
}

/**
 * Runs a command to its end, in a process of its own.
 * @param input what is typed
 * @param bundle of another `src/main.ts`
 */
export function runProcess(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  input = '',
  bundle = bundleOf(program),
): Promise<Outcome> {
  return new Promise<Outcome>((resolve) => {
    const child = spawn(process.execPath, [bundle, ...args], { env: environment(env, bundle) });
    // It may have ended before it has read that.
    child.stdin.on('error', () => {}).end(input);
    const printed = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr'] as const) {
      child[stream].setEncoding('utf8').on('data', (text: string) => {
        printed[stream] += text;
      });
    }
    child.once('close', (code) => resolve({ code, ...printed }));
  });
}

const environment = (env: Readonly<Record<string, string>>, bundle: string) => ({
  PATH: process.env.PATH,
  ...bundleEnv(bundle),
  ...{ TZ: 'UTC', ...env },
});

/** The command called `process.exit`. */
class Exit extends Error {}

/** The arguments, output and exit of `process` are those of the command until it ends. */
async function runHere(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Outcome> {
  const [stdout, stderr] = [collected(), collected()];
  const bundle = bundleOf(program);
  const found = { name: nameOf(), umask: process.umask(), exitCode: process.exitCode };
  const before = process.listeners('SIGUSR1');
  // A command that calls `process.exit` is over there, whatever it still does.
  let exited: Outcome | undefined;
  const outcome = (): Outcome => ({
    code: Number(process.exitCode ?? 0),
    stdout: stdout.text(),
    stderr: stderr.text(),
  });
  const putBack = replace({
    argv: [process.execPath, bundle, ...args],
    env: environment(env, bundle),
    stdout: stdout.stream,
    stderr: stderr.stream,
    exit(code?: number): never {
      if (code !== undefined) process.exitCode = code;
      exited ??= outcome();
      throw new Exit();
    },
  });
  process.exitCode = undefined;
  try {
    await launch(commands);
    return exited ?? outcome();
  } finally {
    putBack();
    process.exitCode = found.exitCode;
    process.umask(found.umask);
    for (const each of process.listeners('SIGUSR1')) {
      if (!before.includes(each)) process.off('SIGUSR1', each);
    }
    if (found.name !== '') writeFileSync(nameFile, found.name);
  }
}

const nameFile = '/proc/self/comm';

const nameOf = (): string => (existsSync(nameFile) ? readFileSync(nameFile, 'utf8').trim() : '');

/** @returns puts back what was there */
function replace(values: Readonly<Record<string, unknown>>): () => void {
  const names = Object.keys(values);
  const before = names.map((name) => Object.getOwnPropertyDescriptor(process, name));
  for (const name of names) {
    Object.defineProperty(process, name, {
      value: values[name],
      configurable: true,
      writable: true,
    });
  }
  return () => {
    for (const [at, name] of names.entries()) {
      Object.defineProperty(process, name, before[at] as PropertyDescriptor);
    }
  };
}

function collected() {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _, done) {
      chunks.push(chunk);
      done();
    },
  });
  return { stream, text: () => Buffer.concat(chunks).toString() };
}
