// A value that is computed at its first use, and only once.

/** Returns a getter that calls `make` the first time and returns that value from then on. */
export function lazy<T>(make: () => T): () => T {
  // Dropping `make` frees what it closes over.
  let state: { readonly make: () => T } | { readonly made: T } = { make };
  return () => {
    if ('make' in state) state = { made: state.make() };
    return state.made;
  };
}
