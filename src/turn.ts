// The event loop's own measure of time: no clock, and nothing that a test would move.

/** Others get their turn of the event loop. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
