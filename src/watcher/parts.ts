// What was learnt of one script, in parts that are recorded one after the other.

import type { Observation } from '../store/records/ledger.ts';

/** Payments in one commit: some 20 ms of work. */
const recordedAtOnce = 200;

/**
 * A flood of payments to one address is recorded in several commits, so that nothing else waits for
 * all of it. Only the last one has the status: should it not come to that, the whole is looked at again.
 */
export function* partsOf(observation: Observation): Generator<Observation> {
  const { seen } = observation;
  let from = 0;
  for (; from + recordedAtOnce < seen.length; from += recordedAtOnce) {
    const part = seen.slice(from, from + recordedAtOnce);
    yield { ...observation, seen: part, gone: [], statusHash: undefined };
  }
  yield { ...observation, seen: seen.slice(from) };
}
