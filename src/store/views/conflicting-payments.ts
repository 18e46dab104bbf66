// Payments whose transactions spend the same output, whichever of our addresses each pays. It
// compares the stored bytes of the newest payments: a replacement appears about when the replaced
// one goes.

import { and, desc, eq, gte, isNull, ne, sql } from 'drizzle-orm';
import { LRUCache } from 'lru-cache';
import type { Txid } from '../../bitcoin/ids.ts';
import { parseTransaction } from '../../bitcoin/transaction.ts';
import type { PaymentState } from '../../domain/payment.ts';
import { PaygateError } from '../../lib/errors.ts';
import type { Orm } from '../db/orm.ts';
import { placeholder } from '../db/placeholder.ts';
import { payments } from '../db/schema.ts';
import { prepareRaw } from '../records/payment-records.ts';

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
   * The transaction of a payment that is there and took an input of this one; undefined where none
   * is known.
   */
  takerOf(txid: Txid): Txid | undefined;
  /** Dropped payments without a known replacement whose inputs this transaction spends. */
  takenBy(txid: Txid): number[];
}

/** Payments that are looked through for one that is gone. */
const maxPresent = 1_000;
/** And payments that are gone, for each new one. */
const maxGone = 100;
/** Max weight of the cache, in inputs. */
const maxCachedInputs = 50_000;

type Inputs = ReadonlySet<string>;

export function createConflictingPayments(orm: Orm): ConflictingPayments {
  const statements = prepare(orm);
  const known = new LRUCache<Txid, Inputs>({
    maxSize: maxCachedInputs,
    sizeCalculation: (inputs) => 1 + inputs.size,
  });

  function inputsOf(txid: Txid): Inputs {
    const before = known.get(txid);
    if (before !== undefined) return before;
    const raw = statements.rawOf.get({ txid })?.raw;
    if (raw === undefined) return new Set();
    const inputs = spentBy(raw);
    known.set(txid, inputs);
    return inputs;
  }

  const takes = (one: Inputs, other: Txid): boolean =>
    [...inputsOf(other)].some((each) => one.has(each));

  return {
    takerOf(txid) {
      const inputs = inputsOf(txid);
      if (inputs.size === 0) return undefined;
      const since = statements.firstSeen.get({ txid })?.at ?? 0;
      const near = [
        ...statements.newest.all({ txid, limit: maxPresent }),
        ...statements.since.all({ txid, since, limit: maxPresent }),
      ];
      return near.find((each) => takes(inputs, each.txid))?.txid;
    },
    withoutReplaced(payments) {
      const present = payments.filter(({ state }) => state !== 'dropped');
      const isAlone = present.length < 2;
      return payments.map((payment) => {
        if (isAlone || payment.state !== 'unconfirmed') return payment;
        const inputs = inputsOf(payment.txid as Txid);
        const at = present.indexOf(payment);
        const rival = present.find(
          (other, place) =>
            (place > at || (place < at && other.state !== 'unconfirmed')) &&
            takes(inputs, other.txid as Txid),
        );
        if (rival === undefined) return payment;
        return { ...payment, state: 'dropped', replacedBy: rival.txid };
      });
    },
    takenBy(txid) {
      const gone = statements.gone.all({ txid, limit: maxGone });
      if (gone.length === 0) return [];
      const inputs = inputsOf(txid);
      return gone.filter((each) => takes(inputs, each.txid)).map(({ id }) => id);
    },
  };
}

function spentBy(raw: Uint8Array): Inputs {
  try {
    const { isCoinbase: coinbase, inputs } = parseTransaction(raw);
    // All coinbases have the same input, which nothing takes from them.
    return new Set(coinbase ? [] : inputs.map(({ txid, vout }) => `${txid}:${vout}`));
  } catch (error) {
    if (error instanceof PaygateError) return new Set();
    throw error;
  }
}

function prepare(orm: Orm) {
  const isOther = ne(payments.txid, placeholder('txid'));
  const isPresent = and(isOther, ne(payments.state, 'dropped').inlineParams());
  const limit = sql.placeholder('limit');
  return {
    rawOf: prepareRaw(orm),
    firstSeen: orm
      .select({ at: payments.firstSeenAt })
      .from(payments)
      .where(eq(payments.txid, placeholder('txid')))
      .prepare(),
    newest: orm
      .select({ txid: payments.txid })
      .from(payments)
      .where(isPresent)
      .orderBy(desc(payments.firstSeenAt))
      .limit(limit)
      .prepare(),
    since: orm
      .select({ txid: payments.txid })
      .from(payments)
      .where(and(isPresent, gte(payments.firstSeenAt, placeholder('since'))))
      .orderBy(payments.firstSeenAt)
      .limit(limit)
      .prepare(),
    // None of these has a height, so the index of both has them by their ids.
    gone: orm
      .select({ id: payments.id, txid: payments.txid })
      .from(payments)
      .where(
        and(
          eq(payments.state, 'dropped').inlineParams(),
          isNull(payments.height),
          isNull(payments.replacedBy),
          isOther,
        ),
      )
      .orderBy(desc(payments.id))
      .limit(limit)
      .prepare(),
  };
}
