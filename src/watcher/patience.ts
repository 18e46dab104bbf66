// How long something that failed is left alone before it is tried again.

const minuteMs = 60_000;
/** What has not come right by then seldom does soon, and a public server bills each refusal. */
const eagerTries = 10;

/**
 * Each minute at first, then every ten minutes.
 * @param failures in a row
 */
export const tryAgainMs = (failures: number): number =>
  failures < eagerTries ? minuteMs : 10 * minuteMs;
