// Payments whose transactions spend the same output, whichever of our addresses each pays. It
// compares the stored bytes of the newest payments: a replacement appears about when the replaced
// one goes.

import { and, desc, eq, gte, min, sql } from 'drizzle-orm';
import { LRUCache } from 'lru-cache';
import type { Txid } from '../../bitcoin/ids.ts';
import { parseTransaction } from '../../bitcoin/transaction.ts';
import type { PaymentState } from '../../domain/payment/payment.ts';
import { PaygateError } from '../../lib/errors.ts';
import { lazy } from '../../lib/lazy.ts';
import { equals, type Orm, placeholder, prepared } from '../db/orm.ts';
import { payments } from '../schema/schema.ts';
import { prepareRaw } from './payment-records.ts';

/** A payment with what decides which of two that spend the same output counts. */
interface Spending {
  readonly txid: string;
  readonly state: PaymentState;
  readonly replacedBy: string | null;
}

export interface ConflictingPayments {
  /**
   * Marks each unconfirmed payment as dropped whose input another payment of the list spends, in a
   * block or later. Servers report a replacement up to a minute before the loss of the original,
   * and at most one of both can confirm.
   * @param payments to one address, the oldest first
   */
  withoutReplaced<P extends Spending>(payments: readonly P[]): P[];
  /**
   * Rivals of the payments of one commit, among payments near them, which are read once.
   * @param gone what is found to be gone in it: none of these took anything
   */
  rivals(gone: readonly Txid[]): Rivals;
}

export interface Rivals {
  /**
   * The transaction of a payment that is there and took an input of this one; undefined where none
   * is known.
   */
  takerOf(txid: Txid): Txid | undefined;
  /**
   * Dropped payments without a known replacement whose inputs this transaction spends; each of them
   * once.
   */
  takenBy(txid: Txid): number[];
}

/** Payments that are looked through for some that are gone. */
const maxNear = 1_000;
/** And payments that are gone, for new ones. */
const maxGone = 500;
/** Max weight of the cache, in inputs. */
const maxCachedInputs = 50_000;

/** Outputs that a transaction spends, as `txid:vout`. */
type Inputs = readonly string[];

export function createConflictingPayments(orm: Orm): ConflictingPayments {
  const statements = prepare(orm);
  const known = new LRUCache<Txid, Inputs>({
    maxSize: maxCachedInputs,
    sizeCalculation: (inputs) => 1 + inputs.length,
  });

  function inputsOf(txid: Txid): Inputs {
    const before = known.get(txid);
    if (before !== undefined) return before;
    const raw = statements.rawOf.get({ txid })?.raw;
    if (raw === undefined) return [];
    const inputs = spentBy(raw);
    known.set(txid, inputs);
    return inputs;
  }

  function bySpentInput<P extends { readonly txid: Txid }>(found: readonly P[]): Map<string, P[]> {
    const spenders = new Map<string, P[]>();
    for (const payment of found) {
      for (const input of inputsOf(payment.txid)) {
        const known = spenders.get(input);
        if (known === undefined) spenders.set(input, [payment]);
        else known.push(payment);
      }
    }
    return spenders;
  }

  return {
    withoutReplaced(payments) {
      const present = payments.filter(hasInputs);
      if (present.length < 2 || !present.some(isUnconfirmed)) return [...payments];
      const spenders = new Map<string, Spending>();
      let isContested = false;
      for (const payment of present) {
        for (const input of inputsOf(payment.txid as Txid)) {
          const before = spenders.get(input);
          if (before !== undefined) isContested = true;
          const isInBlock = before !== undefined && !isUnconfirmed(before);
          if (!isInBlock || !isUnconfirmed(payment)) spenders.set(input, payment);
        }
      }
      if (!isContested) return [...payments];
      return payments.map((payment) => {
        if (!isUnconfirmed(payment)) return payment;
        const rival = inputsOf(payment.txid as Txid)
          .map((input) => spenders.get(input))
          .find((spender) => spender !== payment);
        if (rival === undefined) return payment;
        return { ...payment, state: 'dropped', replacedBy: rival.txid };
      });
    },
    rivals(gone) {
      const isGone = new Set(gone);
      const spenders = lazy(() => {
        const since = statements.firstSeen.get({ txids: JSON.stringify(gone) })?.at ?? 0;
        const near = statesWithInputs.flatMap((state) => [
          ...statements.newest.all({ state, limit: maxNear }),
          ...statements.since.all({ state, since, limit: maxNear }),
        ]);
        return bySpentInput(near.filter(({ txid }) => !isGone.has(txid)));
      });
      const dropped = lazy(() => {
        const newest = statements.gone.all({ limit: maxGone });
        return bySpentInput(newest.filter(({ replacedBy }) => replacedBy === null));
      });
      const found = new Set<number>();
      return {
        takerOf: (txid) =>
          inputsOf(txid)
            .map((input) => spenders().get(input)?.[0]?.txid)
            .find((taker) => taker !== undefined),
        takenBy(txid) {
          const taken = inputsOf(txid).flatMap((input) => dropped().get(input) ?? []);
          return taken.flatMap((payment) => {
            if (found.has(payment.id)) return [];
            found.add(payment.id);
            // The transaction itself was gone, and is back.
            return payment.txid === txid ? [] : [payment.id];
          });
        },
      };
    },
  };
}

const isUnconfirmed = ({ state }: Pick<Spending, 'state'>): boolean => state === 'unconfirmed';

/** It is not gone, and its bytes are stored, which those of settled payments are not. */
const statesWithInputs: readonly PaymentState[] = ['unconfirmed', 'confirming', 'confirmed'];

const hasInputs = ({ state }: Pick<Spending, 'state'>): boolean => statesWithInputs.includes(state);

function spentBy(raw: Uint8Array): Inputs {
  try {
    const { isCoinbase: coinbase, inputs } = parseTransaction(raw);
    // All coinbases have the same input, which nothing takes from them.
    return coinbase ? [] : inputs.map(({ txid, vout }) => `${txid}:${vout}`);
  } catch (error) {
    if (error instanceof PaygateError) return [];
    throw error;
  }
}

function prepare(orm: Orm) {
  const limit = sql.placeholder('limit');
  const isInState = equals(payments.state, 'state');
  return {
    rawOf: prepareRaw(orm),
    firstSeen: prepared(() =>
      orm
        .select({ at: min(payments.firstSeenAt) })
        .from(payments)
        .where(sql`${payments.txid} in (select value from json_each(${placeholder('txids')}))`),
    ),
    newest: prepared(() =>
      orm
        .select({ txid: payments.txid })
        .from(payments)
        .where(isInState)
        .orderBy(desc(payments.firstSeenAt))
        .limit(limit),
    ),
    since: prepared(() =>
      orm
        .select({ txid: payments.txid })
        .from(payments)
        .where(and(isInState, gte(payments.firstSeenAt, placeholder('since'))))
        .orderBy(payments.firstSeenAt)
        .limit(limit),
    ),
    // A limit of the rows without a replacement would not limit the rows that are read.
    gone: prepared(() =>
      orm
        .select({ id: payments.id, txid: payments.txid, replacedBy: payments.replacedBy })
        .from(payments)
        .where(eq(payments.state, 'dropped'))
        .orderBy(desc(payments.firstSeenAt), desc(payments.id))
        .limit(limit),
    ),
  };
}
