// What is made late, and once: with its first use instead of at a start.

/** @returns what makes it when it is first asked for, and the same one from then on */
export function once<T>(make: () => T): () => T {
  let made: { readonly is: T } | undefined;
  return () => {
    made ??= { is: make() };
    return made.is;
  };
}
