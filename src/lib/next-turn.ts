// Turns of the event loop. They need no clock, so they are no part of `World`.

/** Resolves in the next turn of the event loop, after pending I/O. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/**
 * Calls `ask` at most once in each turn of the event loop and reuses its result in that turn.
 * Dozens of requests and callbacks arrive in one turn.
 */
export function oncePerTurn<T>(ask: () => T): () => T {
  let answer: { readonly is: T } | undefined;
  return () => {
    if (answer === undefined) {
      answer = { is: ask() };
      setImmediate(() => {
        answer = undefined;
      });
    }
    return answer.is;
  };
}
