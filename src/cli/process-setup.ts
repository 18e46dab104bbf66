// What this process needs before any command runs.

import { writeFileSync } from 'node:fs';
import { PaygateError } from '../lib/errors.ts';

/** @param onUnwritten is passed the error of an answer that could not be written */
export function prepareProcess(onUnwritten: (error: PaygateError) => void): void {
  // Files of paygate (database, mark file, lock) are readable by its own user only.
  process.umask(0o077);
  prepareThreads();
  ignoreClosedOutput(onUnwritten);
  ignoreDebuggerSignal();
  setProcessName();
}

/**
 * Keeps slow name servers from blocking other work. libuv gives at most half of its threads to DNS:
 * 32 stuck lookups block no others. The resolver tries 3 times 1 s, not 2 times 5 s. Both variables
 * are read when the first thread starts. https://docs.libuv.org/en/v1.x/threadpool.html,
 * https://man7.org/linux/man-pages/man5/resolv.conf.5.html
 */
export function prepareThreads(): void {
  process.env.UV_THREADPOOL_SIZE ??= '64';
  process.env.RES_OPTIONS ??= 'timeout:1 attempts:3';
}

/** A closed or full output must not end the process, least of all `serve`. */
function ignoreClosedOutput(onUnwritten: (error: PaygateError) => void): void {
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
    // The reader closed the pipe, as `head` does.
    if (code === 'EPIPE') return;
    onUnwritten(new PaygateError('unavailable', `the answer cannot be written (${code})`));
  });
  process.stderr.on('error', () => {});
}

/**
 * Ignores SIGUSR1, for which Node opens a debugger on a local port: any local user could read keys
 * there. Tools that rotate logs send this signal. https://nodejs.org/api/process.html#signal-events
 */
function ignoreDebuggerSignal(): void {
  process.on('SIGUSR1', () => {});
}

/** The name in `ps`, `top` and for `pgrep`; without it, Node's main thread is MainThread. */
function setProcessName(): void {
  try {
    writeFileSync('/proc/self/comm', 'paygate');
  } catch {
    // /proc is missing or read-only.
  }
}
