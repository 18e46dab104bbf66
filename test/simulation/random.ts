// Random choices from a seed: the same seed gives the same choices on every machine. Each step has
// its own source, so that an extra choice in a step does not change later steps.

export interface Random {
  /** A fraction in [0, 1). */
  fraction(): number;
  /** A whole number from `low` to `high`, both included. */
  int(low: number, high: number): number;
  chance(probability: number): boolean;
  /** @throws Error when there is nothing to pick from */
  pick<T>(from: readonly T[]): T;
  /** Prefers the end of the list, which has the newest items; undefined if the list is empty. */
  recent<T>(from: readonly T[]): T | undefined;
  /** Picks a name by weight. */
  weighted<T extends string>(weights: Readonly<Record<T, number>>): T;
}

export function createRandom(seed: number, step = 0): Random {
  const fraction = mulberry32(Math.imul(seed, 0x9e3779b1) ^ Math.imul(step + 1, 0x85ebca6b));
  const int = (low: number, high: number) => low + Math.floor(fraction() * (high - low + 1));
  function pick<T>(from: readonly T[]): T {
    if (from.length === 0) throw new Error('nothing to pick from');
    return from[int(0, from.length - 1)] as T;
  }
  return {
    fraction,
    int,
    chance: (probability) => fraction() < probability,
    pick,
    recent: (from) => from[from.length - 1 - Math.floor(fraction() ** 2 * from.length)],
    weighted<T extends string>(weights: Readonly<Record<T, number>>): T {
      const entries = Object.entries(weights) as [T, number][];
      let left = fraction() * entries.reduce((sum, [, weight]) => sum + weight, 0);
      for (const [name, weight] of entries) {
        left -= weight;
        if (left < 0) return name;
      }
      return pick(entries)[0];
    },
  };
}

function mulberry32(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
