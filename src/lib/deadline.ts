// Waiting with a deadline.

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
