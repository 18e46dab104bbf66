// Medians, percentiles, and contenders that take turns: a disturbance of the machine then
// disturbs all of them.

/**
 * @param {readonly number[]} values
 * @param {number} share 0 to 1
 */
export function percentile(values, share) {
  const sorted = values.toSorted((a, b) => a - b);
  const value = sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
  if (value === undefined) throw new Error('no values');
  return value;
}

/** @param {readonly number[]} values */
export function median(values) {
  return (percentile(values, 0.5) + percentile(values, 0.5 - 1e-9)) / 2;
}

/**
 * The median of the ratios of pairs. A slow moment disturbs it less than a ratio of medians.
 * @param {readonly number[]} ours
 * @param {readonly number[]} theirs of the same rounds
 */
export function pairedRatio(ours, theirs) {
  return median(ours.map((value, round) => value / (theirs[round] ?? Number.NaN)));
}

/**
 * Lets each contender measure itself once a round, in every other round in the opposite order.
 * @template {string} Name
 * @param {number} rounds
 * @param {Record<Name, () => number | Promise<number>>} contenders
 * @returns {Promise<Record<Name, number[]>>} by contender, one value a round
 */
export async function takeTurns(rounds, contenders) {
  const names = /** @type {Name[]} */ (Object.keys(contenders));
  const results = /** @type {Record<Name, number[]>} */ ({});
  for (const name of names) results[name] = [];
  for (let round = 0; round < rounds; round += 1) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      results[name].push(await contenders[name]());
    }
  }
  return results;
}
