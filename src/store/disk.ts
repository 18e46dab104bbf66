// What must last: a file's bytes, and the names that stand in a folder, which the kernel syncs as it does
// a file.

import { closeSync, fsyncSync, openSync } from 'node:fs';

/** Of a file or a folder: what was written, made or renamed there survives a power loss. */
export function syncPath(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
