// What one server refuses or leaves unanswered is asked of another one. Other servers are the connected ones whose word counts,
// then one of the list that is not connected, for this alone. A server that the operator has not named is never asked.

import { refusalCost } from '../electrum/budget.ts';
import type { Pool } from '../electrum/pool.ts';
import {
  isNoAnswer,
  type RequestError,
  RequestTimeout,
  ServerError,
} from '../electrum/requests.ts';
import type { Session } from '../electrum/session.ts';
import { PaygateError } from '../lib/errors.ts';
import { hourMs } from '../lib/time-units.ts';
import type { Cancel, World } from '../world/world.ts';
import { Lie } from './proofs.ts';
import type { ServerChoice } from './server-choice.ts';

export interface Fallback {
  /**
   * What a server makes of it, and where that one refuses or does not answer in time, what another one does.
   * @param onFault told of each refusal and overdue request of the first one, and whether another server made up for it
   * @returns undefined where the first one refuses, and no other one makes anything of it or may be asked now
   * @throws RequestTimeout where the first one does not answer, and no other one does
   */
  ask<T>(
    session: Session,
    work: (session: Session) => Promise<T>,
    onFault: OnFault,
  ): Promise<T | undefined>;
  /** What another server makes of it; undefined where none does, or may be asked now. */
  askOther<T>(session: Session, work: (another: Session) => Promise<T>): Promise<T | undefined>;
}

export type OnFault = (by: Session, error: RequestError, isMadeUp: boolean) => void;

/** In an hour, in what an ElectrumX bills: half of what it forgives meanwhile. 20 refusals, or 900 answers. */
const maxHourlyCost = 2_000;
/** A transaction, mostly with its place in a block. */
const answerCost = 2;

/** No server, for what another one has named. */
export const noFallback: Fallback = {
  ask: (session, work, onFault) => orElse(session, work, onFault, async () => undefined),
  askOther: async () => undefined,
};

/** Another server than this one, for as long as it is used. */
export interface BorrowedSession {
  readonly session: Session;
  release(): void;
}

/** Other servers than this one, the connected ones whose word counts first. */
export type OtherServers = (session: Session) => AsyncIterable<BorrowedSession>;

async function orElse<T>(
  session: Session,
  work: (session: Session) => Promise<T>,
  onFault: OnFault,
  another: () => Promise<T | undefined>,
): Promise<T | undefined> {
  try {
    return await work(session);
  } catch (error) {
    if (!isNoAnswer(error)) throw error;
    const answer = await another();
    onFault(session, error, answer !== undefined);
    if (answer === undefined && error instanceof RequestTimeout) throw error;
    return answer;
  }
}

export function createFallback(world: Pick<World, 'monotonic'>, others: OtherServers): Fallback {
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
    return Math.floor((maxHourlyCost - billed) / refusalCost);
  }

  async function askOne<T>(another: Session, work: (session: Session) => Promise<T>) {
    try {
      const answer = await work(another);
      charge(answerCost);
      return answer;
    } catch (error) {
      // Nor is it a lie: it was asked about a place that another server named.
      if (!isUnanswered(error) && !(error instanceof Lie)) throw error;
      charge(refusalCost);
      return undefined;
    }
  }

  async function askInTurn<T>(session: Session, work: (session: Session) => Promise<T>) {
    for await (const { session: another, release } of others(session)) {
      try {
        const answer = await askOne(another, work);
        if (answer !== undefined) return answer;
      } finally {
        release();
      }
      // This one is under way itself.
      if (left() < underWay) return undefined;
    }
    return undefined;
  }

  async function askOthers<T>(session: Session, work: (session: Session) => Promise<T>) {
    // Those under way may all be refused.
    while (left() > 0 && underWay >= left()) {
      await new Promise<void>((done) => waiting.push(done));
    }
    if (left() <= 0) return undefined;
    underWay += 1;
    try {
      return await askInTurn(session, work);
    } finally {
      underWay -= 1;
      const woken = waiting;
      waiting = [];
      for (const done of woken) done();
    }
  }

  return {
    ask: (session, work, onFault) => orElse(session, work, onFault, () => askOthers(session, work)),
    askOther: askOthers,
  };
}

/**
 * What a server makes of it, and where that one refuses or does not answer in time, what a connected one does.
 * @param another a server whose word counts
 * @param onMadeUp told of the failure that another one has made up for
 * @throws what the first one throws, where no other one makes anything of it
 */
export async function withFallback<T>(
  session: Session,
  another: (session: Session) => Session | undefined,
  work: (session: Session) => Promise<T>,
  onMadeUp: (error: RequestError) => void = () => {},
): Promise<T> {
  try {
    return await work(session);
  } catch (error) {
    if (!isNoAnswer(error)) throw error;
    const other = another(session);
    if (other === undefined) throw error;
    const made = await work(other).catch((failure: unknown) => {
      throw failure instanceof PaygateError || failure instanceof Lie ? error : failure;
    });
    onMadeUp(error);
    return made;
  }
}

/** No answer, or one that says nothing. */
export const isUnanswered = (error: unknown): boolean =>
  error instanceof PaygateError && (error instanceof ServerError || error.code === 'unavailable');

export function createOtherServers(
  world: Pick<World, 'after'>,
  roster: Pick<ServerChoice, 'healthy'>,
  pool: () => Pick<Pool, 'borrow'>,
): OtherServers {
  const borrow = shareConnection(world, () => pool().borrow());
  return async function* (session: Session) {
    for (const each of roster.healthy()) {
      if (each !== session) yield { session: each, release: () => {} };
    }
    const borrowed = await borrow(undefined);
    if (borrowed !== undefined) yield borrowed;
  };
}

/** One fresh connection for all who ask meanwhile: a lost mempool has hundreds of payments asked about at once. */
export function shareConnection<T>(
  world: Pick<World, 'after'>,
  open: (whom: T) => Promise<Session | undefined>,
): (whom: T) => Promise<BorrowedSession | undefined> {
  let opened: Promise<Session | undefined> | undefined;
  let asking = 0;
  let cancelRest: Cancel = () => {};

  function release(): void {
    asking -= 1;
    if (asking > 0) return;
    const rested = opened;
    cancelRest = world.after(idleMs, () => {
      opened = undefined;
      rested?.then((again) => again?.close('heard'));
    });
  }

  return async (whom) => {
    cancelRest();
    asking += 1;
    const before = opened;
    let again = await before;
    if (again === undefined || again.closed) {
      if (opened === before) opened = open(whom);
      again = await opened;
    }
    if (again !== undefined) return { session: again, release };
    release();
    return undefined;
  };
}

/** How long a fresh connection stays when nobody asks it. */
const idleMs = 5_000;
