// Builds the preloaded library (disk.c) that records the file operations of a process.

import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';

const source = join(import.meta.dirname, 'disk.c');

/** Why no shim can be built here; undefined if one can. */
export const noShim: string | undefined =
  process.platform !== 'linux'
    ? 'the shim is for Linux'
    : spawnSync('gcc', ['--version']).status === 0
      ? undefined
      : 'there is no gcc to build the shim with';

/** Builds the library in a folder. @returns its path, for LD_PRELOAD */
export function buildShim(folder: string): string {
  const library = join(folder, 'disk.so');
  const warnings = ['-Wall', '-Wextra', '-Werror'];
  execFileSync('gcc', ['-shared', '-fPIC', '-O2', ...warnings, '-o', library, source, '-ldl']);
  return library;
}
