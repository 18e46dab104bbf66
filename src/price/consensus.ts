// The price on which several sources agree: the median of those near to the median of all. Pure.
// No single source can move the price far, whatever it answers, even if it is configured twice. Two
// sources have no median that outvotes one of them, so they must agree more closely.

export interface SourceQuote {
  /** The host of the source. Quotes of one host count once. */
  readonly label: string;
  readonly price: number;
}

export type Consensus = ReturnType<typeof agree>;

/** The largest distance from the median, as a fraction. See docs/decisions/022. */
const tolerance = 0.05;
/** The largest distance of two sources. One of them can move the price by half of it. */
const pairTolerance = 0.01;

/** @param quorum the number of sources that must agree */
export function agree(quotes: readonly SourceQuote[], quorum: number) {
  const distinct = onePerSource(quotes);
  const middle = median(distinct);
  const near = distinct.filter(({ price }) => isNear(price, middle));
  const isPair = near.length === 2;
  const agreed = isPair && !isClosePair(near) ? [] : near;
  const labels = new Set(agreed.map(({ label }) => label));
  const named = new Set(quotes.map(({ label }) => label));
  const price = agreed.length < Math.max(1, quorum) ? undefined : cents(median(agreed));
  const excluded = [...named].filter((label) => !labels.has(label));
  return {
    /** Undefined if too few sources agree. */
    price /** Labels of the sources behind the price, in the order of the alphabet. */,
    counted:
      price === undefined
        ? []
        : [...labels].sort() /** Labels of sources that are too far from the median. */,
    excluded /** Only two sources are near the median. */,
    isPair,
  };
}

function isClosePair(quotes: readonly SourceQuote[]): boolean {
  const prices = quotes.map(({ price }) => price);
  const lower = Math.min(...prices);
  return Math.max(...prices) - lower <= lower * pairTolerance;
}

/** One quote of each host; none if its quotes contradict each other. */
function onePerSource(quotes: readonly SourceQuote[]): SourceQuote[] {
  const byLabel = Map.groupBy(quotes, ({ label }) => label);
  return [...byLabel].flatMap(([label, same]) => {
    const price = median(same);
    return same.every((each) => isNear(each.price, price)) ? [{ label, price }] : [];
  });
}

const isNear = (price: number, middle: number): boolean =>
  Math.abs(price - middle) <= middle * tolerance;

function median(quotes: readonly SourceQuote[]): number {
  const prices = quotes.map(({ price }) => price).sort((one, other) => one - other);
  const [low = 0, high = 0] = [prices[(prices.length - 1) >> 1], prices[prices.length >> 1]];
  return (low + high) / 2;
}

const cents = (price: number): number => Number(price.toFixed(2));
