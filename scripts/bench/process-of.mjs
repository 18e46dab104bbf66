// The process that serves a database, found by its command line: what a bench started is a shell first.

import { readdirSync, readFileSync } from 'node:fs';

/**
 * @param {string} path the database
 * @returns {number} its pid
 */
export function pidOf(path) {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      if (words.includes('serve') && words.includes(path)) return Number(pid);
    } catch {
      // It has just ended.
    }
  }
  throw new Error(`no process serves ${path}`);
}
