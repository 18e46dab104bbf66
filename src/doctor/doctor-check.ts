// What a check of the doctor is and how one is made: by itself, under a deadline, and never with a fault
// that ends the others. It changes nothing, neither in the file nor elsewhere.

import { reasonOf } from '../lib/errors.ts';
import type { World } from '../world/world.ts';

/** `warn` wants a look; `fail` keeps paygate from its work, or puts money or secrets at risk. */
export type State = 'ok' | 'warn' | 'fail' | 'skip';

export interface CheckResult {
  readonly state: State;
  /** For a person: what was seen, and what to do about it. */
  readonly text: string;
}

export interface Check {
  /** The same word for all checks of a kind, such as `electrum`. */
  readonly name: string;
  readonly run: (signal: AbortSignal) => CheckResult | Promise<CheckResult>;
}

export interface Checked extends CheckResult {
  readonly check: string;
}

export const ok = (text: string): CheckResult => ({ state: 'ok', text });
export const warn = (text: string): CheckResult => ({ state: 'warn', text });
export const fail = (text: string): CheckResult => ({ state: 'fail', text });
export const skip = (text: string): CheckResult => ({ state: 'skip', text });

/** For one check, whatever it waits for; what it opened ends with the signal. */
const deadlineMs = 20_000;

/** All at once; the answers come in the order of the checks. */
export const examine = (
  world: Pick<World, 'after'>,
  checks: readonly Check[],
): Promise<Checked[]> =>
  Promise.all(
    checks.map(async ({ name, run }) => ({ check: name, ...(await inTime(world, run)) })),
  );

async function inTime(world: Pick<World, 'after'>, run: Check['run']): Promise<CheckResult> {
  const ending = new AbortController();
  const late = Promise.withResolvers<CheckResult>();
  const cancel = world.after(deadlineMs, () => {
    late.resolve(fail(`it was not done after ${deadlineMs / 1000} seconds`));
    ending.abort(new Error('the check took too long'));
  });
  const work = (async () => run(ending.signal))().catch((error) => fail(reasonOf(error)));
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    cancel();
  }
}
