// Parses the log of the shim (disk.c): file operations and output of a process, in order.

import { readFileSync } from 'node:fs';

export type Step =
  /** A new file under a name. */
  | { readonly kind: 'create'; readonly inode: string; readonly path: string }
  | { readonly kind: 'write'; readonly inode: string; readonly at: number; readonly data: Buffer }
  | { readonly kind: 'truncate'; readonly inode: string; readonly length: number }
  /** The inode of a file or of a folder. */
  | { readonly kind: 'sync'; readonly inode: string }
  | { readonly kind: 'rename' | 'link'; readonly from: string; readonly to: string }
  | { readonly kind: 'unlink'; readonly path: string }
  /** On standard output: from here on the fact is acknowledged. */
  | { readonly kind: 'print'; readonly text: string };

export function readLog(path: string): Step[] {
  const log = readFileSync(path);
  const steps: Step[] = [];
  for (let at = 0; at < log.length; ) {
    const end = log.indexOf('\n', at);
    const [what = '', inode = '', number, length] = log.toString('latin1', at, end).split(' ');
    const data = log.subarray(end + 1, end + 1 + Number(length));
    at = end + 1 + data.length;
    steps.push(stepOf(what, inode, Number(number), data));
  }
  return steps;
}

function stepOf(kind: string, inode: string, number: number, data: Buffer): Step {
  const text = data.toString();
  if (kind === 'create') return { kind, inode, path: text };
  if (kind === 'write') return { kind, inode, at: number, data };
  if (kind === 'truncate') return { kind, inode, length: number };
  if (kind === 'sync') return { kind, inode };
  if (kind === 'unlink') return { kind, path: text };
  if (kind === 'print') return { kind, text };
  const [from = '', to = ''] = text.split('\0');
  if (kind === 'rename' || kind === 'link') return { kind, from, to };
  throw new Error(`unknown step ${kind} in the log`);
}
