// The empty log that a stop leaves. SQLite removes its log with the last connection, and takes an empty one for none. But who
// brings a copy of the folder up to date by a tool that removes nothing (rsync, cp) would keep the copy's older log, which
// would be played into the file: the empty one takes its place.

import { closeSync, existsSync, openSync, statSync } from 'node:fs';
import { truePath } from './file-path.ts';

export function leaveEmptyLog(path: string, logPath: string): void {
  // Somebody has the file open, and its log was deleted: another one in its place would hide that (`refuseLostLog`).
  if (existsSync(`${path}-shm`)) return;
  try {
    closeSync(openSync(logPath, 'wx', statSync(path).mode & 0o777));
  } catch {
    // Another process has the file open still, or there is no room: it is closed all the same.
  }
}

/** @returns what leaves one where a log stood before: for who opens a file to look at it, and closes it */
export function logAsFound(given: string): () => void {
  const path = truePath(given);
  const logPath = `${path}-wal`;
  const hadLog = existsSync(logPath);
  return () => {
    if (hadLog) leaveEmptyLog(path, logPath);
  };
}
