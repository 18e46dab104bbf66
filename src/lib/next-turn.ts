// The event loop's own measure of time: no clock, and nothing that a test would move.

/** Others get their turn of the event loop. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Asks once in each turn of the event loop: requests and callbacks come by dozens, and each would ask. */
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
