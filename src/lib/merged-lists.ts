// The first entries of several sorted lists together. Each list is read in parts, and hardly
// further than its entries are needed.

/** Reads at most `limit` entries behind an entry, or the first ones. */
export type ReadList<T> = (after: T | undefined, limit: number) => readonly T[];

interface OpenList<T> {
  readonly read: ReadList<T>;
  part: readonly T[];
  /** The first entry of the part that is not taken. */
  at: number;
  /** How many entries the part was asked for. */
  size: number;
}

/** @param compare the order of each list, in which no two entries are equal */
export function mergeLists<T>(
  lists: readonly ReadList<T>[],
  compare: (one: T, other: T) => number,
  limit: number,
): T[] {
  const size = Math.ceil(limit / Math.max(1, lists.length)) + 1;
  const open = lists.map(
    (read): OpenList<T> => ({ read, part: read(undefined, size), at: 0, size }),
  );
  const found: T[] = [];
  while (found.length < limit) {
    const first = firstOf(open, compare);
    if (first === undefined) break;
    found.push(first.part[first.at] as T);
    first.at += 1;
    if (first.at === first.size && found.length < limit) readOn(first);
  }
  return found;
}

/** The list with the entry that comes first. */
function firstOf<T>(
  open: readonly OpenList<T>[],
  compare: (one: T, other: T) => number,
): OpenList<T> | undefined {
  let first: OpenList<T> | undefined;
  for (const list of open) {
    if (list.at === list.part.length) continue;
    const isFirst =
      first === undefined || compare(list.part[list.at] as T, first.part[first.at] as T) < 0;
    if (isFirst) first = list;
  }
  return first;
}

function readOn<T>(list: OpenList<T>): void {
  list.size *= 2;
  list.part = list.read(list.part.at(-1), list.size);
  list.at = 0;
}
