// Which price several sources agree on. Pure: the median of those that are near to it, so that no
// single source can move it far, however it lies, nor by being named twice. Two alone have no middle that outvotes a
// lie: they must agree more closely.

export interface SourceQuote {
  /** Of its source: quotes that share it have one voice. */
  readonly label: string;
  readonly price: number;
}

export interface Consensus {
  /** Undefined when too few agree. */
  readonly price: number | undefined;
  /** Those that were too far off. */
  readonly excluded: readonly string[];
  /** Only two were near enough to count. */
  readonly isPair: boolean;
}

/** How far from the median of all a quote may be. */
const tolerance = 0.05;
/** How far two alone may lie apart: half of it is what one of them can move the price by. */
const pairTolerance = 0.01;

/** @param quorum how many must agree */
export function agree(quotes: readonly SourceQuote[], quorum: number): Consensus {
  const voices = onePerSource(quotes);
  const middle = median(voices);
  const near = voices.filter(({ price }) => isNear(price, middle));
  const isPair = near.length === 2;
  const counted = isPair && !isClosePair(near) ? [] : near;
  const heard = new Set(counted.map(({ label }) => label));
  const named = new Set(quotes.map(({ label }) => label));
  const price = counted.length < Math.max(1, quorum) ? undefined : cents(median(counted));
  return { price, excluded: [...named].filter((label) => !heard.has(label)), isPair };
}

function isClosePair(quotes: readonly SourceQuote[]): boolean {
  const prices = quotes.map(({ price }) => price);
  const lower = Math.min(...prices);
  return Math.max(...prices) - lower <= lower * pairTolerance;
}

/** What each source says; nothing where that is two things. */
function onePerSource(quotes: readonly SourceQuote[]): SourceQuote[] {
  const byLabel = Map.groupBy(quotes, ({ label }) => label);
  return [...byLabel].flatMap(([label, said]) => {
    const price = median(said);
    return said.every((each) => isNear(each.price, price)) ? [{ label, price }] : [];
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
