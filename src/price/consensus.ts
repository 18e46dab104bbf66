// Which price several sources agree on. Pure: the median of those that are near to it, so that no
// single source can move it far, however it lies.

export interface Quote {
  readonly label: string;
  readonly price: number;
}

export interface Consensus {
  /** Undefined when too few agree. */
  readonly price: number | undefined;
  /** Those that were too far off. */
  readonly leftOut: readonly string[];
}

/** How far from the median of all a quote may be. */
const tolerance = 0.05;

/** @param quorum how many must agree */
export function agree(quotes: readonly Quote[], quorum: number): Consensus {
  const middle = median(quotes);
  const isNear = ({ price }: Quote): boolean => Math.abs(price - middle) <= middle * tolerance;
  const near = quotes.filter(isNear);
  const leftOut = quotes.filter((quote) => !isNear(quote)).map(({ label }) => label);
  const price = near.length < Math.max(1, quorum) ? undefined : cents(median(near));
  return { price, leftOut };
}

function median(quotes: readonly Quote[]): number {
  const prices = quotes.map(({ price }) => price).sort((one, other) => one - other);
  const [low = 0, high = 0] = [prices[(prices.length - 1) >> 1], prices[prices.length >> 1]];
  return (low + high) / 2;
}

const cents = (price: number): number => Number(price.toFixed(2));
