// How much two short texts differ.

/** The fewest characters to insert, delete or replace that make one text of the other. */
export function editDistance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (const [at, letter] of [...one].entries()) {
    const next = [at + 1];
    for (let to = 0; to < other.length; to += 1) {
      const replaced = (row[to] as number) + (letter === other[to] ? 0 : 1);
      next.push(Math.min(replaced, (row[to + 1] as number) + 1, (next[to] as number) + 1));
    }
    row = next;
  }
  return row[other.length] as number;
}
