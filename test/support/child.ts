// Child processes, for tests of two processes on one file and of a kill.

import { type ChildProcess, spawn } from 'node:child_process';
import { bundleEnv, bundleOf } from './bundle.ts';
import { whenOver } from './files.ts';

export interface Child {
  /** The next line that it printed; undefined once it has ended. */
  line(): Promise<string | undefined>;
  /** All lines until it ends. */
  rest(): Promise<string[]>;
  say(text: string): void;
  kill(): void;
  /** SIGTERM. */
  stop(): void;
  readonly pid: number;
  /** The signal or code that it ended with, and what it complained of. */
  readonly ended: Promise<{ readonly by: string | number | null; readonly errors: string }>;
}

/** Starts a TypeScript program; it is killed when the test is over. */
export const startChild = (program: string, ...args: string[]): Child =>
  startChildWith({}, program, ...args);

/** With more in its environment. */
export const startChildWith = (
  env: Record<string, string>,
  program: string,
  ...args: string[]
): Child => start({ env }, program, args);

/** In a folder of its own. */
export const startChildIn = (cwd: string, program: string, ...args: string[]): Child =>
  start({ cwd }, program, args);

function start(
  { env, cwd }: { env?: Record<string, string>; cwd?: string },
  program: string,
  args: readonly string[],
): Child {
  const bundle = bundleOf(program);
  const child = spawn(process.execPath, [bundle, ...args], {
    env: { ...process.env, ...bundleEnv(bundle), ...env },
    cwd,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const { lines, waiting } = readLines(child);
  let errors = '';
  child.stderr?.on('data', (text: Buffer) => {
    errors += text;
  });
  // The child may exit before it has read its input.
  child.stdin?.on('error', () => {});
  const ended = new Promise<{ by: string | number | null; errors: string }>((resolve) => {
    child.once('close', (code, signal) => {
      for (const wake of waiting.splice(0)) wake(undefined);
      resolve({ by: signal ?? code, errors });
    });
  });
  let isOver = false;
  ended.then(() => {
    isOver = true;
  });
  whenOver(async () => {
    child.kill('SIGKILL');
    await ended;
  });

  function line(): Promise<string | undefined> {
    const next = lines.shift();
    if (next !== undefined || isOver) return Promise.resolve(next);
    return new Promise((resolve) => waiting.push(resolve));
  }
  return {
    line,
    async rest() {
      await ended;
      return lines.splice(0);
    },
    say: (text) => void child.stdin?.write(`${text}\n`),
    kill: () => void child.kill('SIGKILL'),
    stop: () => void child.kill('SIGTERM'),
    pid: child.pid ?? 0,
    ended,
  };
}

function readLines(child: ChildProcess) {
  const lines: string[] = [];
  const waiting: ((line: string | undefined) => void)[] = [];
  let rest = '';
  child.stdout?.on('data', (text: Buffer) => {
    const whole = `${rest}${text}`.split('\n');
    rest = whole.pop() ?? '';
    for (const line of whole) {
      const wake = waiting.shift();
      if (wake) wake(line);
      else lines.push(line);
    }
  });
  return { lines, waiting };
}
