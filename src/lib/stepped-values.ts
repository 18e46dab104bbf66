// Distinct values of a sorted source that has many entries of each: one step for each value.

/** @param next the first value behind another one, which is '' for the first step */
export function steppedValues(next: (last: string) => string | undefined): string[] {
  const found: string[] = [];
  for (let value = next(''); value !== undefined; value = next(value)) found.push(value);
  return found;
}
