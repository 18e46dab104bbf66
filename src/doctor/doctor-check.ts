// What a check of the doctor is, and how checks run: all at once, each with a deadline. An error
// fails only its own check. A check changes nothing.

import { withDeadline } from '../lib/deadline.ts';
import { reasonOf } from '../lib/errors.ts';
import type { World } from '../world/world.ts';

/** `warn`: somebody should look; `fail`: paygate cannot work, or money or secrets are at risk. */
export type CheckState = 'ok' | 'warn' | 'fail' | 'skip';

export interface CheckResult {
  readonly state: CheckState;
  /** What the check found, and what to do about it. */
  readonly text: string;
}

export interface Check {
  /** All checks of a kind have the same name, such as `electrum`. */
  readonly name: string;
  readonly run: (signal: AbortSignal) => CheckResult | Promise<CheckResult>;
}

export interface NamedResult extends CheckResult {
  readonly check: string;
}

export const ok = (text: string): CheckResult => ({ state: 'ok', text });
export const warn = (text: string): CheckResult => ({ state: 'warn', text });
export const fail = (text: string): CheckResult => ({ state: 'fail', text });
export const skip = (text: string): CheckResult => ({ state: 'skip', text });

/** Deadline of one check; its signal closes the connections that it opened. */
const deadlineMs = 20_000;

/** Runs all checks at once. The results are in the order of the checks. */
export const runChecks = (
  world: Pick<World, 'after'>,
  checks: readonly Check[],
): Promise<NamedResult[]> =>
  Promise.all(
    checks.map(async ({ name, run }) => ({ check: name, ...(await runCheck(world, run)) })),
  );

function runCheck(world: Pick<World, 'after'>, run: Check['run']): Promise<CheckResult> {
  const ending = new AbortController();
  const work = (async () => run(ending.signal))().catch((error) => fail(reasonOf(error)));
  return withDeadline(world, deadlineMs, work, () => {
    ending.abort(new Error('the check took too long'));
    return fail(`the check was not done after ${deadlineMs / 1000} seconds`);
  });
}
