// Tracks work in the background, so that `idle` can wait for its end.

export interface BackgroundTasks {
  /** Starts work without waiting for it; `onError` receives its failure. */
  run(work: () => Promise<void>): void;
  /** Resolves when no work is running, including work that starts meanwhile. */
  idle(): Promise<void>;
}

export function createBackgroundTasks(onError: (error: unknown) => void): BackgroundTasks {
  const running = new Set<Promise<void>>();
  return {
    run(work) {
      const task = work()
        .catch(onError)
        .finally(() => running.delete(task));
      running.add(task);
    },
    async idle() {
      while (running.size > 0) await Promise.all(running);
    },
  };
}
