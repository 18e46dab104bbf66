// What is made late, and once: with its first use instead of at a start.

/** @returns what makes it when it is first asked for, and the same one from then on */
export function lazy<T>(make: () => T): () => T {
  // What it was made of is kept no longer than that.
  let state: { readonly make: () => T } | { readonly made: T } = { make };
  return () => {
    if ('make' in state) state = { made: state.make() };
    return state.made;
  };
}
