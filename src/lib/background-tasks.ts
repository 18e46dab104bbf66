// Work under way in the background: tracked, so that `idle` can say when all of it has ended.

export interface BackgroundTasks {
  /** Starts work that nobody awaits; its failure goes to `onError`. */
  run(work: () => Promise<void>): void;
  /** Resolves when nothing is under way, also of what was started meanwhile. */
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
