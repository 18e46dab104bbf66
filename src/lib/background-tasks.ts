// Work in the background, tracked so that `idle` can report when all of it has ended.

export type BackgroundTasks = ReturnType<typeof createBackgroundTasks>;

export function createBackgroundTasks(onError: (error: unknown) => void) {
  const running = new Set<Promise<void>>();
  return {
    /** Starts work without waiting for it; a failure goes to `onError`. */
    run(work: () => Promise<void>): void {
      const task = work()
        .catch(onError)
        .finally(() => running.delete(task));
      running.add(task);
    },
    /** Resolves when no work runs, including work that began meanwhile. */
    async idle(): Promise<void> {
      while (running.size > 0) await Promise.all(running);
    },
  };
}
