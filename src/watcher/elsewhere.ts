// Another server, asked for what the one that named it refuses to show. A public one bills each refusal: who
// invents transactions must not have us spend what the other one forgives, which may be needed soon.

import { ServerError } from '../electrum/framing.ts';
import type { Session } from '../electrum/session.ts';
import { PaygateError } from '../errors.ts';
import type { World } from '../world.ts';
import { Lie } from './lie.ts';

export interface Elsewhere {
  /** What another server makes of it; undefined where none does, or may be asked now. */
  ask<T>(session: Session, work: (another: Session) => Promise<T>): Promise<T | undefined>;
}

/** In an hour; at an ElectrumX half of what it forgives. What is answered does not count. */
const mostRefusals = 20;
const hourMs = 3_600_000;

/** No server, for what another one has named. */
export const nowhere: Elsewhere = { ask: () => Promise.resolve(undefined) };

/** @param other than this one, whose word counts */
export function createElsewhere(
  world: Pick<World, 'monotonic'>,
  other: (session: Session) => Session | undefined,
): Elsewhere {
  let refusedAt: number[] = [];
  let underWay = 0;
  let waiting: (() => void)[] = [];

  function left(): number {
    refusedAt = refusedAt.filter((at) => world.monotonic() - at < hourMs);
    return mostRefusals - refusedAt.length;
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
        return await work(another);
      } catch (error) {
        // Nor is it a lie: it was asked about a place that another server named.
        if (!isSilence(error) && !(error instanceof Lie)) throw error;
        refusedAt.push(world.monotonic());
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
