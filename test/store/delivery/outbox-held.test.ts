// What may go out and what waits, whatever becomes of payments and of their block meanwhile.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { CallbackStatus } from '../../../src/domain/payment/payment.ts';
import type { CallbackRow } from '../../../src/store/delivery/callback-view.ts';
import type { ClaimedRow } from '../../../src/store/delivery/delivery-claims.ts';
import { headers } from '../../../src/store/schema/schema.ts';
import { type Owed, openOwed, withStatus } from '../../delivery/owed.ts';

const now = 1_763_650_000_000;
const leaseMs = 30_000;
const everything = { limit: 64, perReceiver: 64, leaseMs, afterReceiverId: 0 };

/** Mostly of one, so that much happens to it. */
const payment = fc.constantFrom<number[]>(0, 0, 0, 1, 2);
const statuses: CallbackStatus[] = [-1, 0, 1, 2];
/** `last`: the callback is exhausted after that. */
const outcome = fc.constantFrom<string[]>('ok', 'no', 'last');
const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      ...{ do: fc.constant('enqueue' as const), payment },
      status: fc.constantFrom<CallbackStatus[]>(...statuses),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('claim' as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('answer' as const), outcome }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom('hold' as const, 'release' as const), payment }),
  },
  fc.record({ do: fc.constant('resend' as const), payment }),
  fc.record({ do: fc.constant('block' as const), onBest: fc.boolean() }),
  fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: leaseMs }) }),
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const rowsOf = ({ outbox }: Owed): CallbackRow[] => outbox.list({ limit: 1000 }).reverse();
const isOpen = ({ state }: CallbackRow) => ['owed', 'exhausted', 'held'].includes(state);
const coursesOf = (rows: readonly CallbackRow[]) =>
  rows.map(({ id, state, step, nextAttemptAt }) => ({ id, state, step, nextAttemptAt }));

const enqueue = (payment: number, status: CallbackStatus): Step => ({
  ...{ do: 'enqueue', payment, status },
});
const tryOnce = (outcome: string): Step[] => [{ do: 'claim' }, { do: 'answer', outcome }];

const resend: Step = { do: 'resend', payment: 0 };
const hold: Step = { do: 'hold', payment: 0 };
const release: Step = { do: 'release', payment: 0 };
const claim: Step = { do: 'claim' };
const blockLeft: Step = { do: 'block', onBest: false };
const refused: Step = { do: 'answer', outcome: 'no' };

/** What chance comes upon too seldom. */
const examples: [Step[]][] = [
  [[enqueue(0, 0), ...tryOnce('last'), hold, release]],
  [[enqueue(0, 0), claim, hold, refused]],
  [[enqueue(0, 1), hold, enqueue(0, -1), release]],
  [[enqueue(0, 0), ...tryOnce('ok'), enqueue(0, 1), release]],
  [[enqueue(0, 0), ...tryOnce('ok'), enqueue(0, 1), claim]],
  [[enqueue(0, 0), claim, enqueue(0, 1), refused]],
  [[enqueue(0, 2), enqueue(1, 0), blockLeft, claim]],
  [[enqueue(0, 1), blockLeft, resend]],
  [[enqueue(0, 0), ...tryOnce('no'), resend]],
  [[enqueue(0, 0), claim, { do: 'wait', ms: 10 }, resend, refused]],
];

/** Three payments of two stores, in one block. */
class Course {
  readonly #owed = openOwed();
  readonly #payments = [this.#owed.addStore(), this.#owed.addStore()].flatMap((store, index) =>
    Array.from({ length: 2 - index }, () => this.#owed.addPayment(store)),
  );
  #at = now;
  #cycle = 0;
  #onBest = true;
  #flying: ClaimedRow[] = [];
  /** Until when nothing else of its payment is sent, by callback. */
  readonly #leases = new Map<number, number>();

  close = () => this.#owed.close();

  async take(step: Step): Promise<void> {
    const wanted = await this.#take(step, rowsOf(this.#owed));
    const after = rowsOf(this.#owed);
    expect(coursesOf(after)).toEqual(coursesOf(wanted));
    for (const { state, settledAt } of after) {
      const isSettled = state !== 'owed' && state !== 'held';
      expect([state, settledAt !== null]).toEqual([state, isSettled]);
    }
    const due = this.#free(after).map(({ nextAttemptAt }) => nextAttemptAt);
    expect(this.#owed.outbox.nextDueAt(this.#at)).toBe(due.sort((a, b) => a - b)[0]);
  }

  /** @returns how the rows should be then */
  async #take(step: Step, rows: readonly CallbackRow[]): Promise<readonly CallbackRow[]> {
    const { outbox, database, enqueue } = this.#owed;
    switch (step.do) {
      case 'enqueue': {
        const callback = withStatus(this.#of(step.payment), step.status, this.#cycle++);
        await enqueue(this.#at, callback);
        const fresh = { id: rows.length + 1, state: 'owed', step: 0, nextAttemptAt: this.#at };
        return [
          ...this.#changed(rows, step.payment, isOpen, { state: 'superseded' }),
          fresh as CallbackRow,
        ];
      }
      case 'hold':
        await database.write((tx) => outbox.hold(tx, this.#of(step.payment).paymentId));
        return this.#changed(rows, step.payment, isOpen, { state: 'held' });
      case 'release':
        await database.write((tx) => outbox.release(tx, this.#of(step.payment).paymentId));
        return this.#changed(rows, step.payment, (row) => row.state === 'held', { state: 'owed' });
      case 'resend':
        return this.#resend(rows, step.payment);
      case 'block':
        this.#onBest = step.onBest;
        database.orm.update(headers).set({ onBest: step.onBest }).run();
        return rows;
      case 'claim':
        await this.#claim(rows);
        return rows;
      case 'answer':
        return this.#answer(rows, step.outcome);
      default:
        this.#at += step.ms;
        return rows;
    }
  }

  async #claim(rows: readonly CallbackRow[]): Promise<void> {
    const { outbox, database } = this.#owed;
    const claimed = await database.write((tx) => outbox.claim(tx, this.#at, everything));
    const due = this.#free(rows).filter(({ nextAttemptAt }) => nextAttemptAt <= this.#at);
    const ids = claimed.map(({ id }) => id);
    expect(ids.sort((a, b) => a - b)).toEqual(due.map(({ id }) => id));
    this.#flying.push(...claimed);
    for (const id of ids) this.#leases.set(id, this.#at + leaseMs);
  }

  async #answer(rows: readonly CallbackRow[], outcome: string) {
    const claimed = this.#flying.shift();
    if (claimed === undefined) return rows;
    const { id: callbackId, step, dueAt } = claimed;
    this.#leases.delete(callbackId);
    const isDelivered = outcome === 'ok';
    const attempt = {
      ...{ startedAt: this.#at, durationMs: 5, httpStatus: 500, reason: 'no', body: 'sorry' },
      ...{ address: '127.0.0.1', phases: {}, doubt: null },
      outcome: isDelivered ? ('delivered' as const) : ('status' as const),
    };
    const next = { step: step + 1, at: outcome === 'no' ? this.#at + 4000 : undefined };
    const { outbox, database } = this.#owed;
    await database.write((tx) => outbox.record(tx, this.#at, claimed, attempt, next));
    return rows.map((row) => {
      const isOther = row.step !== step || row.nextAttemptAt !== dueAt;
      if (row.id !== callbackId || (isOther && !isDelivered)) return row;
      const course = { ...row, step: next.step, nextAttemptAt: next.at ?? row.nextAttemptAt };
      if (isDelivered) return { ...course, state: 'delivered' as const };
      if (row.state !== 'owed') return course;
      return { ...course, state: next.at === undefined ? ('exhausted' as const) : row.state };
    });
  }

  /** Resends the newest of a payment, which is refused if its block has left the chain. */
  async #resend(rows: readonly CallbackRow[], payment: number) {
    const { paymentId } = this.#of(payment);
    const newest = rows.findLast((row) => row.paymentId === paymentId);
    if (newest === undefined) return rows;
    const { outbox, database } = this.#owed;
    const resent = database.write((tx) => outbox.resend(tx, this.#at, newest.id));
    if (newest.status > 0 && !this.#onBest) {
      await expect(resent).rejects.toThrow('left the chain');
      return rows;
    }
    await resent;
    const anew = { state: 'owed', step: 0, nextAttemptAt: this.#at } as const;
    return this.#changed(rows, payment, (row) => row === newest, anew);
  }

  /** Callbacks that are pending and true, with no request of their payment in flight. */
  #free(rows: readonly CallbackRow[]): CallbackRow[] {
    const isUnderWay = ({ paymentId }: CallbackRow) =>
      rows.some((row) => row.paymentId === paymentId && (this.#leases.get(row.id) ?? 0) > this.#at);
    return rows.filter(
      (row) => row.state === 'owed' && (row.status < 1 || this.#onBest) && !isUnderWay(row),
    );
  }

  #changed(
    rows: readonly CallbackRow[],
    payment: number,
    which: (row: CallbackRow) => boolean,
    change: Partial<CallbackRow>,
  ): CallbackRow[] {
    const { paymentId } = this.#of(payment);
    return rows.map((row) =>
      row.paymentId === paymentId && which(row) ? { ...row, ...change } : row,
    );
  }

  #of(payment: number) {
    const found = this.#payments[payment];
    if (found === undefined) throw new Error(`no payment ${payment}`);
    return found;
  }
}

it('only the newest status of a payment is sent, while it is true', async () => {
  const courses = fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
    const course = new Course();
    try {
      for (const each of steps) await course.take(each);
    } finally {
      await course.close();
    }
  });
  await fc.assert(courses, { numRuns: 60, examples });
});
