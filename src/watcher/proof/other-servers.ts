// Asks another server for what one server refuses or leaves unanswered. The healthy live servers
// come first, then one of the list that is connected for this alone. Only servers that the operator
// named are asked (docs/decisions/037). A public server bills a refusal as a hundred answers (see
// electrum/budget.ts). An hourly allowance limits what invented transactions can spend of that.

import { Allowance, refusalCost } from '../../electrum/budget.ts';
import type { Pool } from '../../electrum/pool.ts';
import {
  isNoAnswer,
  type RequestError,
  RequestTimeout,
  ServerError,
} from '../../electrum/requests.ts';
import type { Session } from '../../electrum/session.ts';
import { PaygateError } from '../../lib/errors.ts';
import type { Cancel, World } from '../../world/world.ts';
import type { ServerChoice } from '../server-choice.ts';
import { ServerLie } from './proofs.ts';

/** For all servers together: 20 refusals, or 1,000 answers. */
const maxHourlyCost = 20 * refusalCost;
/** A transaction, usually with its place in a block. */
const answerCost = 2;
/** How long a connection that was opened for one purpose stays open without requests. */
const idleMs = 5_000;

/** @param isMadeUp whether another server answered instead */
export type OnFault = (by: Session, error: RequestError, isMadeUp: boolean) => void;

export interface Fallback {
  /**
   * Asks a server, and another one where it refuses or does not answer in time. Without any answer,
   * a refusal gives undefined, and a timeout throws RequestTimeout. Each calls `onFault`.
   */
  ask<T>(
    session: Session,
    work: (session: Session) => Promise<T>,
    onFault: OnFault,
  ): Promise<T | undefined>;
  /** Asks servers other than this one; undefined where none answers, or may be asked now. */
  askOther<T>(session: Session, work: (another: Session) => Promise<T>): Promise<T | undefined>;
}

/** For what another server named already: no further server is asked. */
export const noFallback: Fallback = {
  ask: (session, work, onFault) => askOr(session, work, onFault, async () => undefined),
  askOther: async () => undefined,
};

/** A session to ask, until its release. */
export interface BorrowedSession {
  readonly session: Session;
  release(): void;
}

/** Servers other than this one, the healthy live ones first. */
export type OtherServers = (session: Session) => AsyncIterable<BorrowedSession>;

async function askOr<T>(
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
  const allowance = new Allowance(world, maxHourlyCost);
  let underWay = 0;
  let waiting: (() => void)[] = [];

  /** Reserves a refusal, as soon as requests under way leave one; undefined when none is left. */
  async function reserve(): Promise<(() => void) | undefined> {
    for (;;) {
      const end = allowance.reserve(refusalCost);
      const isSpent = allowance.left() + underWay * refusalCost < refusalCost;
      // Counted in the same turn: what is reserved but not counted would seem spent to the next.
      if (end !== undefined) underWay += 1;
      if (end !== undefined || isSpent) return end;
      await new Promise<void>((done) => waiting.push(done));
    }
  }

  async function askOne<T>(another: Session, work: (session: Session) => Promise<T>) {
    try {
      const answer = await work(another);
      allowance.charge(answerCost);
      return answer;
    } catch (error) {
      // A ServerLie is none here: the server was asked about a place that another server named.
      if (!isUnanswered(error) && !(error instanceof ServerLie)) throw error;
      allowance.charge(refusalCost);
      return undefined;
    }
  }

  async function askOthers<T>(session: Session, work: (session: Session) => Promise<T>) {
    let end = await reserve();
    if (end === undefined) return undefined;
    try {
      for await (const { session: another, release } of others(session)) {
        try {
          const answer = await askOne(another, work);
          if (answer !== undefined) return answer;
        } finally {
          release();
        }
        end();
        end = allowance.reserve(refusalCost);
        if (end === undefined) return undefined;
      }
      return undefined;
    } finally {
      end?.();
      underWay -= 1;
      const woken = waiting;
      waiting = [];
      for (const done of woken) done();
    }
  }

  return {
    ask: (session, work, onFault) => askOr(session, work, onFault, () => askOthers(session, work)),
    askOther: askOthers,
  };
}

/**
 * Asks a server, and one healthy live server where it refuses or does not answer in time. Without
 * any answer, throws the first failure; otherwise calls `onMadeUp` with it.
 */
export async function withFallback<T>(
  session: Session,
  servers: Pick<ServerChoice, 'other'>,
  work: (session: Session) => Promise<T>,
  onMadeUp: (error: RequestError) => void = () => {},
): Promise<T> {
  try {
    return await work(session);
  } catch (error) {
    if (!isNoAnswer(error)) throw error;
    const other = servers.other(session);
    if (other === undefined) throw error;
    const answer = await work(other).catch((failure: unknown) => {
      throw failure instanceof PaygateError || failure instanceof ServerLie ? error : failure;
    });
    onMadeUp(error);
    return answer;
  }
}

/** No answer, or a refusal. */
export const isUnanswered = (error: unknown): boolean =>
  error instanceof PaygateError && (error instanceof ServerError || error.code === 'unavailable');

export function createOtherServers(
  world: Pick<World, 'after'>,
  servers: Pick<ServerChoice, 'healthy'>,
  pool: Pick<Pool, 'borrow'>,
): OtherServers {
  const borrow = shareConnection(world, () => pool.borrow());
  return async function* (session: Session) {
    for (const each of servers.healthy()) {
      if (each !== session) yield { session: each, release: () => {} };
    }
    const borrowed = await borrow(undefined);
    if (borrowed !== undefined) yield borrowed;
  };
}

/**
 * One fresh connection for all requests: after a lost mempool, hundreds of payments are asked
 * about.
 */
export function shareConnection<T>(
  world: Pick<World, 'after'>,
  open: (target: T) => Promise<Session | undefined>,
): (target: T) => Promise<BorrowedSession | undefined> {
  let opened: Promise<Session | undefined> | undefined;
  let users = 0;
  let cancelIdle: Cancel = () => {};

  function release(): void {
    users -= 1;
    if (users > 0) return;
    const idle = opened;
    cancelIdle = world.after(idleMs, () => {
      opened = undefined;
      idle?.then((session) => session?.close('no longer needed'));
    });
  }

  return async (target) => {
    cancelIdle();
    users += 1;
    const before = opened;
    let session = await before;
    if (session === undefined || session.closed) {
      if (opened === before) opened = open(target);
      session = await opened;
    }
    if (session !== undefined) return { session, release };
    release();
    return undefined;
  };
}
