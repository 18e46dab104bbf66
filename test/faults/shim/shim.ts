// Builds the preloaded library (disk.c) that writes down what a process does to its files.

import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';

const source = join(import.meta.dirname, 'disk.c');

/** Why there can be no shim here; undefined where there can. */
export const noShim: string | undefined =
  process.platform !== 'linux'
    ? 'the shim is for Linux'
    : spawnSync('gcc', ['--version']).status === 0
      ? undefined
      : 'there is no gcc to build the shim with';

/** Builds it in a folder. @returns the path to preload */
export function buildShim(folder: string): string {
  const library = join(folder, 'disk.so');
  const warnings = ['-Wall', '-Wextra', '-Werror'];
  execFileSync('gcc', ['-shared', '-fPIC', '-O2', ...warnings, '-o', library, source, '-ldl']);
  return library;
}
