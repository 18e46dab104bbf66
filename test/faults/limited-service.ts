// The executable as a service with a memory limit (install-command.ts), and the memory that it
// uses.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemdUnit } from '../../src/cli/install/install-command.ts';
import { lazy } from '../../src/lib/lazy.ts';
import { makeAuthority } from '../support/authority.ts';
import { whenOver } from '../support/files.ts';
import type { MemoryLimit } from './memory-limit.ts';
import type { ServeProcess } from './serving.ts';

export const mebibyte = 1024 * 1024;
export const limitOfServiceBytes = Number(/^MemoryMax=(\d+)M$/m.exec(systemdUnit)?.[1]) * mebibyte;

/** On a disk: files of a tmpfs count as memory that the kernel cannot reclaim. */
const makeFolder = (): string => mkdtempSync('/var/tmp/paygate-memory-');

export function diskFolder(): string {
  const folder = makeFolder();
  whenOver(() => rmSync(folder, { recursive: true }));
  return folder;
}

const programFolder = lazy(makeFolder);

/** The path of the executable, which is built at the first call. */
export const executable = lazy(() => {
  const program = join(programFolder(), 'paygate');
  execFileSync(process.execPath, ['scripts/executable.mjs', '--out', program]);
  return program;
});

/** For `afterAll`. */
export const removeExecutable = (): void => rmSync(programFolder(), { recursive: true });

/** The arguments of `serve` for HTTPS. */
export function tlsArguments(folder: string): string[] {
  const authority = makeAuthority();
  whenOver(() => authority.remove());
  const { cert, key } = authority.issue('localhost', '20200101000000Z', '20400101000000Z');
  const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  writeFileSync(certFile, cert);
  writeFileSync(keyFile, key);
  return ['--tls-cert', certFile, '--tls-key', keyFile];
}

export interface Peaks {
  anonymousBytes: number;
  /** The kernel's peak of resident memory, with files and shared memory. */
  residentBytes: number;
}

export function watchMemory({ pid }: ServeProcess, limit: MemoryLimit): Peaks {
  const peaks: Peaks = { anonymousBytes: 0, residentBytes: 0 };
  const sample = () => {
    peaks.anonymousBytes = Math.max(peaks.anonymousBytes, limit.anonymousBytes());
    // The entry is absent if the process has just ended.
    const peak = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    if (peak !== undefined) peaks.residentBytes = Number(peak) * 1024;
  };
  const timer = setInterval(() => existsSync(`/proc/${pid}`) && sample(), 100);
  whenOver(() => clearInterval(timer));
  return peaks;
}
