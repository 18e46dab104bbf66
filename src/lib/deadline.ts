// Waiting with a deadline, and for a while.

interface DeadlineTimer {
  /** @returns what cancels it */
  after(delayMs: number, run: () => void): () => void;
}

/** Settles as the work does, or after the timeout as `late` says; the work itself goes on. */
export function withDeadline<T>(
  timer: DeadlineTimer,
  timeoutMs: number,
  work: Promise<T>,
  late: () => T | Promise<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = timer.after(timeoutMs, () => resolve(late()));
    work.then(resolve, reject).finally(cancel);
  });
}

/** Resolves after the delay, or as soon as the signal aborts. */
export const pause = (timer: DeadlineTimer, delayMs: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const cancel = timer.after(delayMs, () => end());
    const end = (): void => {
      cancel();
      signal.removeEventListener('abort', end);
      resolve();
    };
    if (signal.aborted) end();
    else signal.addEventListener('abort', end);
  });
