// Runs work one at a time, in the order in which it arrives.

export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve();
  #size = 0;

  /** How much work waits or runs. */
  get size(): number {
    return this.#size;
  }

  /** @returns the outcome of this work; a failure of earlier work does not stop it */
  run<T>(work: () => Promise<T>): Promise<T> {
    this.#size += 1;
    const done = this.#last.then(work).finally(() => {
      this.#size -= 1;
    });
    this.#last = done.catch(() => {});
    return done;
  }

  /** Resolves when all work that was added until now has ended; never rejects. */
  async settled(): Promise<void> {
    await this.#last;
  }
}
