// Runs `paygate check --quick` of a copy in a process of its own: checking every page blocks a
// thread for long. The process gets what others leave of the processor.

import { execFile } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import type { CopyCheck } from '../../store/backup/daily-check.ts';
import type { FileReport } from '../../store/backup/integrity-check.ts';
import { ownArguments } from '../own-program.ts';

/** An abort kills the process. @param program what Node runs, as `ownArguments` */
export const checkInProcess =
  (program = ownArguments(), env = process.env): CopyCheck =>
  (path, signal) =>
    new Promise((resolve, reject) => {
      const command = [...program, 'check', '--quick', '--json', path];
      const settings = { env: withoutOptions(env), signal, killSignal: 'SIGKILL' } as const;
      const child = execFile(process.execPath, command, settings, (error, stdout, stderr) => {
        const report = reportIn(stdout);
        if (report !== undefined) resolve(report.damage);
        else reject(new Error(errorIn(stderr) || endOf(error)));
      });
      yieldProcessor(child.pid);
    });

/** @param pid undefined for a process that could not be started */
function yieldProcessor(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW);
  } catch {
    // It has ended already, or the system forbids it: then the check runs as before.
  }
}

/** The options of `serve` may be of another database; the file alone decides how it is checked. */
const withoutOptions = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('PAYGATE_')));

type DamageReport = Pick<FileReport, 'damage'>;

function reportIn(text: string): DamageReport | undefined {
  try {
    return JSON.parse(text) as DamageReport;
  } catch {
    return undefined;
  }
}

/** The error of a check in one line: its JSON as a person would read it, else the first line. */
function errorIn(text: string): string {
  const [line = ''] = text.trim().split('\n');
  try {
    const { error } = JSON.parse(line) as { error: { message: string } };
    return `paygate: ${error.message}`;
  } catch {
    return line;
  }
}

function endOf(error: (Error & { code?: unknown; signal?: unknown }) | null): string {
  return `the check ended with ${error?.signal ?? error?.code ?? 'no error'} and printed no report`;
}
