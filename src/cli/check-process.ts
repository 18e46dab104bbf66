// `paygate check --quick` of a copy as a process of its own: to look at every page takes long, and holds whoever does it.

import { execFile } from 'node:child_process';
import { isSea } from 'node:sea';
import type { CopyCheck } from '../store/backup/daily-check.ts';
import type { FileReport } from '../store/backup/integrity-check.ts';

/** How this program is called again. */
export const ourselves = (): readonly string[] => (isSea() ? [] : process.argv.slice(1, 2));

/** Its signal ends the process at once. @param program what Node runs; nothing for what is no Node */
export const checkBeside =
  (program = ourselves(), env = process.env): CopyCheck =>
  (path, signal) =>
    new Promise((resolve, reject) => {
      const command = [...program, 'check', '--quick', '--json', path];
      const settings = { env: withoutOptions(env), signal, killSignal: 'SIGKILL' } as const;
      execFile(process.execPath, command, settings, (error, stdout, stderr) => {
        const report = reportIn(stdout);
        if (report !== undefined) resolve(report.damage);
        else reject(new Error(stderr.trim().split('\n')[0] || endOf(error)));
      });
    });

/** Those of `serve` say nothing of the file: it is checked by what stands in it. */
const withoutOptions = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('PAYGATE_')));

type Report = Pick<FileReport, 'damage'>;

function reportIn(text: string): Report | undefined {
  try {
    return JSON.parse(text) as Report;
  } catch {
    return undefined;
  }
}

function endOf(error: (Error & { code?: unknown; signal?: unknown }) | null): string {
  return `the check ended by ${error?.signal ?? error?.code ?? 'itself'} and said nothing`;
}
