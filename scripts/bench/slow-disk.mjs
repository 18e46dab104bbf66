// Makes each fsync of a process take longer, with a preloaded library that gcc builds
// (slow-disk.c).

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/**
 * @param {string} folder of the library
 * @param {number} ms added to each fsync and fdatasync
 * @param {number} [stallMs] added to every fiftieth instead
 * @returns {Record<string, string>} environment of the process that is slowed down
 */
export function slowDisk(folder, ms, stallMs = ms) {
  const source = join(import.meta.dirname, 'slow-disk.c');
  const library = join(folder, 'slow-disk.so');
  const warnings = ['-Wall', '-Wextra', '-Werror'];
  execFileSync('gcc', ['-shared', '-fPIC', '-O2', ...warnings, '-o', library, source, '-ldl']);
  return { LD_PRELOAD: library, SLOW_DISK_MS: `${ms}`, SLOW_DISK_STALL_MS: `${stallMs}` };
}
