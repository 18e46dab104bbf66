// `paygate` as a command line runs it: bundled, each command a process of its own.

import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { bundleEnv, bundleOf } from './bundle.ts';

export const program = join(import.meta.dirname, '../../src/main.ts');

export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command to its end. @param input what is typed @param bundle of another `src/main.ts` */
export const runCli = (
  args: readonly string[],
  env: Record<string, string> = {},
  input = '',
  bundle = bundleOf(program),
): Promise<Outcome> =>
  new Promise<Outcome>((resolve) => {
    const child = spawn(process.execPath, [bundle, ...args], {
      env: { PATH: process.env.PATH, ...bundleEnv(bundle), TZ: 'UTC', ...env },
    });
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
