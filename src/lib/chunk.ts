// A list piece by piece.

/** @returns the list in pieces of a size, of which the last may be smaller */
export function* chunks<T>(list: readonly T[], size: number): Generator<readonly T[], void> {
  for (let at = 0; at < list.length; at += size) yield list.slice(at, at + size);
}
