// Work in the background, tracked so that `idle` can report when all of it has ended.

export interface BackgroundTasks {
  /** Starts work without waiting for it; a failure goes to `onError`. */
  run(work: () => Promise<void>): void;
  /** Resolves when no work runs, including work that began meanwhile. */
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
