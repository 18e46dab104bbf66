// Waiting with a deadline.

interface DeadlineTimer {
  /** @returns what cancels it */
  after(delayMs: number, run: () => void): () => void;
}

/** Resolves with the end of the work, or after the timeout; the work itself goes on. */
export function waitAtMost(
  timer: DeadlineTimer,
  work: Promise<void>,
  timeoutMs: number,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = timer.after(timeoutMs, resolve);
    work.then(resolve, reject).finally(cancel);
  });
}
