// Another server, asked for what the one that named it refuses to show. A public one bills each answer, and a refusal
// a hundred times as much: who names what is not there, or has nothing to do with us, must not have us spend what
// the other one forgives, which may be needed soon.

import { refusalCost } from '../electrum/budget.ts';
import { ServerError } from '../electrum/framing.ts';
import type { Session } from '../electrum/session.ts';
import { PaygateError } from '../errors.ts';
import { hourMs } from '../time.ts';
import type { World } from '../world.ts';
import { Lie } from './lie.ts';

export interface Elsewhere {
  /** What another server makes of it; undefined where none does, or may be asked now. */
  ask<T>(session: Session, work: (another: Session) => Promise<T>): Promise<T | undefined>;
}

/** In an hour, in what an ElectrumX bills: half of what it forgives meanwhile. 20 refusals, or 900 answers. */
const mostBilled = 2_000;
/** A transaction, mostly with its place in a block. */
const answerBill = 2;

/** No server, for what another one has named. */
export const nobodyElse: Elsewhere = { ask: () => Promise.resolve(undefined) };

/** @param other than this one, whose word counts */
export function createElsewhere(
  world: Pick<World, 'monotonic'>,
  other: (session: Session) => Session | undefined,
): Elsewhere {
  const bills: { readonly at: number; readonly bill: number }[] = [];
  /** Of all of them: all that wait ask for it each time that one has ended. */
  let billed = 0;
  let underWay = 0;
  let waiting: (() => void)[] = [];

  function charge(bill: number): void {
    billed += bill;
    bills.push({ at: world.monotonic(), bill });
  }

  /** How many may be asked for: all may be refused. */
  function left(): number {
    const since = world.monotonic() - hourMs;
    for (let [first] = bills; first !== undefined && first.at <= since; [first] = bills) {
      billed -= first.bill;
      bills.shift();
    }
    return Math.floor((mostBilled - billed) / refusalCost);
  }

  return {
    async ask(session, work) {
      // Those under way may all be refused.
      while (left() > 0 && underWay >= left()) {
        await new Promise<void>((done) => waiting.push(done));
      }
      const another = left() > 0 ? other(session) : undefined;
      if (another === undefined) return undefined;
      underWay += 1;
      try {
        const answer = await work(another);
        charge(answerBill);
        return answer;
      } catch (error) {
        // Nor is it a lie: it was asked about a place that another server named.
        if (!isSilence(error) && !(error instanceof Lie)) throw error;
        charge(refusalCost);
        return undefined;
      } finally {
        underWay -= 1;
        const woken = waiting;
        waiting = [];
        for (const done of woken) done();
      }
    },
  };
}

/** No answer, or one that says nothing. */
export const isSilence = (error: unknown): boolean =>
  error instanceof PaygateError && (error instanceof ServerError || error.code === 'unavailable');
