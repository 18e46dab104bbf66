// The way out for a process whose JavaScript is done.

import { collect } from './heap.ts';

/**
 * Ends the process, also where V8 compiles something in the background. Node joins those threads, and one that
 * waits for a garbage collection would wait for this thread while it is waited for, for ever:
 * https://github.com/nodejs/node/issues/54918. One collection before that lets all of them go on.
 */
export function exit(code: number): never {
  collect('regular');
  process.exit(code);
}
