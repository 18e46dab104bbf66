// Splits a list into chunks.

/** Yields slices of `size` items; the last one may be shorter. */
export function* chunks<T>(list: readonly T[], size: number): Generator<readonly T[], void> {
  for (let at = 0; at < list.length; at += size) yield list.slice(at, at + size);
}
