// Builds the library (slow-disk.c) that makes each fsync of a process take longer, with the system's C
// compiler. It slows down nothing but processes that are started with the environment it gives.

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const source = fileURLToPath(new URL('slow-disk.c', import.meta.url));

/**
 * @param {string} folder where the library goes
 * @param {number} ms added to each fsync and fdatasync
 * @returns {Record<string, string>} what a child's environment needs besides its own
 */
export function slowDisk(folder, ms) {
  const library = join(folder, 'slow-disk.so');
  const warnings = ['-Wall', '-Wextra', '-Werror'];
  execFileSync('gcc', ['-shared', '-fPIC', '-O2', ...warnings, '-o', library, source, '-ldl']);
  return { LD_PRELOAD: library, SLOW_DISK_MS: String(ms) };
}
