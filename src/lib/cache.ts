// Remembers what took long to get, up to a weight, and forgets what was remembered first. It knows nothing of
// what it holds, and keeps nothing beyond this process.

export interface Memory<K, V> {
  get(key: K): V | undefined;
  /** Forgets the oldest until there is room; what is too heavy by itself is not kept. */
  set(key: K, value: V): void;
}

/** @param most weight of all together, where one value weighs 1 and what it holds besides; nothing without `heldBy` */
export function createMemory<K, V>(most: number, heldBy = (_value: V) => 0): Memory<K, V> {
  const values = new Map<K, { readonly value: V; readonly weight: number }>();
  let total = 0;

  function forget(key: K): void {
    total -= values.get(key)?.weight ?? 0;
    values.delete(key);
  }

  return {
    get: (key) => values.get(key)?.value,
    set(key, value) {
      forget(key);
      const weight = 1 + heldBy(value);
      if (weight > most) return;
      for (const oldest of values.keys()) {
        if (total + weight <= most) break;
        forget(oldest);
      }
      values.set(key, { value, weight });
      total += weight;
    },
  };
}
