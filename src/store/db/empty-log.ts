// Leaves an empty WAL after a stop. SQLite removes its WAL with the last connection, and ignores an
// empty one. A tool that updates a copy of the folder without removing files (rsync, cp) would
// leave the copy's older WAL. SQLite would replay that; the empty one replaces it.

import { closeSync, existsSync, openSync, statSync } from 'node:fs';
import { truePath } from './file-path.ts';

export function leaveEmptyLog(path: string, logPath: string): void {
  // Somebody has the file open, and its log was deleted: another one in its place would hide that
  // (`refuseLostLog`).
  if (existsSync(`${path}-shm`)) return;
  try {
    closeSync(openSync(logPath, 'wx', statSync(path).mode & 0o777));
  } catch {
    // Another process still has the file open, or the disk is full. Closing goes on in any case.
  }
}

/**
 * @returns what leaves one where a log stood before: for who opens a file to look at it, and closes
 * it
 */
export function logAsFound(given: string): () => void {
  const path = truePath(given);
  const logPath = `${path}-wal`;
  const hadLog = existsSync(logPath);
  return () => {
    if (hadLog) leaveEmptyLog(path, logPath);
  };
}
