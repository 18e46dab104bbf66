import { eq } from 'drizzle-orm';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { eventId } from '../../../src/domain/delivery/callback.ts';
import type { AttemptOutcome } from '../../../src/domain/delivery/retry.ts';
import type { AttemptRecord } from '../../../src/store/delivery/attempts.ts';
import type { ClaimedDelivery, ClaimedRow } from '../../../src/store/delivery/delivery-claims.ts';
import { createOutbox } from '../../../src/store/delivery/outbox.ts';
import { deliveries } from '../../../src/store/schema/delivery-schema.ts';
import { stores } from '../../../src/store/schema/schema.ts';
import { type Owed, openOwed, webhookSecret, withStatus } from '../../delivery/owed.ts';
import { statementsOf, walksOfDeliveries } from '../../support/plans.ts';

const now = 1_763_650_000_000;
const leaseMs = 30_000;
const opened: Owed[] = [];

afterEach(async () => {
  for (const owed of opened.splice(0)) await owed.close();
});

function open(): Owed {
  const owed = openOwed();
  opened.push(owed);
  return owed;
}

const attemptOf = (outcome: AttemptOutcome): AttemptRecord => ({
  ...{ startedAt: now, durationMs: 5, outcome, httpStatus: 500, reason: 'no', body: 'sorry' },
  ...{ address: '127.0.0.1', phases: { connect: 1.5 }, doubt: null },
});

const claim = ({ database, outbox }: Owed, at = now, limit = 64, afterReceiverId = 0) =>
  database.write((tx) => outbox.claim(tx, at, { limit, perReceiver: 2, leaseMs, afterReceiverId }));

const nobody: ClaimedRow = { id: 0, storeId: 0, receiverId: 0, step: 0, dueAt: 0 };

/** As if it had been claimed just now. */
function rowOf({ outbox }: Owed, id: number): ClaimedRow {
  const { storeId, step, nextAttemptAt: dueAt } = outbox.callback(id);
  return { id, storeId, receiverId: storeId, step, dueAt };
}

const record = (
  { database, outbox }: Owed,
  claimed: ClaimedDelivery | undefined,
  outcome: AttemptOutcome,
  nextAttemptAt?: number,
  at = now,
) =>
  database.write((tx) =>
    outbox.record(tx, at, claimed ?? nobody, attemptOf(outcome), {
      step: (claimed?.step ?? 0) + 1,
      at: nextAttemptAt,
    }),
  );

const states = ({ outbox }: Owed) =>
  outbox
    .list({ limit: 1000 })
    .reverse()
    .map((row) => row.state);

describe('claiming', () => {
  it('returns everything that an attempt needs', async () => {
    const owed = open();
    const storeId = owed.addStore({
      callbackUrl: 'https://shop.example/cb',
      allowHttpCallback: true,
    });
    const callback = { ...owed.addPayment(storeId), rbf: true };
    await owed.enqueue(now, callback);
    const { address, txid, valueSat } = callback;
    expect(await claim(owed)).toEqual([
      {
        id: 1,
        addressId: 1,
        storeId,
        receiverId: storeId,
        webhook: null,
        invoice: { invoiceMetadata: null, metadata: '{}', reference: null },
        eventId: eventId(callback),
        state: 'owed',
        type: null,
        content: `status=0&addr=${address}&value=${valueSat}&txid=${txid}&rbf=1`,
        attemptCount: 0,
        step: 0,
        dueAt: now,
        createdAt: now,
        url: 'https://shop.example/cb',
        callbackCa: null,
        webhookSecret,
        previousWebhookSecret: null,
        previousSecretUntil: null,
        allowPrivateCallback: true,
        allowHttpCallback: true,
      },
    ]);
  });

  it('leases a callback: no other claim gets it before the lease ends', async () => {
    const owed = open();
    await owed.enqueue(now, owed.addPayment(owed.addStore()));
    const [first] = await claim(owed);
    expect(await claim(owed, now + leaseMs - 1)).toEqual([]);
    expect(owed.outbox.nextDueAt(now + leaseMs - 1)).toBeUndefined();
    expect(await claim(owed, now + leaseMs)).toEqual([first]);
  });

  it('after a crash starts with free leases and the same event ids', async () => {
    const owed = open();
    await owed.enqueue(now, owed.addPayment(owed.addStore()));
    const [before] = await claim(owed);
    const again = owed.reopen();
    expect(await claim(again)).toEqual([]);
    await again.database.write((tx) => again.outbox.releaseLeases(tx));
    expect(await claim(again)).toEqual([before]);
    await again.database.close();
  });

  it('waits until a callback is due', async () => {
    const owed = open();
    await owed.enqueue(now, owed.addPayment(owed.addStore()));
    const [claimed] = await claim(owed);
    expect(await record(owed, claimed, 'status', now + 4000)).toBe('owed');
    expect(owed.outbox.nextDueAt(now)).toBe(now + 4000);
    expect(await claim(owed, now + 3999)).toEqual([]);
    expect(await claim(owed, now + 4000)).toMatchObject([{ attemptCount: 1 }]);
  });

  it('waits for the first due one of all stores, without those of a blocked host', async () => {
    const owed = open();
    for (const [host, wait] of [
      ['a', 9000],
      ['b', 4000],
      ['c', 6000],
    ] as const) {
      const storeId = owed.addStore({ callbackUrl: `https://${host}.example/` });
      await owed.enqueue(now, owed.addPayment(storeId));
      const [claimed] = await claim(owed);
      await record(owed, claimed, 'status', now + wait);
    }
    expect(owed.outbox.nextDueAt(now)).toBe(now + 4000);
    expect(owed.outbox.nextDueAt(now, (url) => url.includes('b.example'))).toBe(now + 6000);
    expect(owed.outbox.nextDueAt(now, () => true)).toBeUndefined();
  });

  it('shortens delays and leases that are longer than their maximum', async () => {
    const owed = open();
    const storeId = owed.addStore();
    const [least, most] = [1000, 5000];
    const cases = [
      { step: 0, wait: least, leased: 0, isDue: false },
      { step: 0, wait: least + 1, leased: 0, isDue: true },
      { step: 1, wait: most, leased: 0, isDue: false },
      { step: 1, wait: most + 1, leased: 0, isDue: true },
      // From the last on all waits are as long.
      { step: 2, wait: most, leased: 0, isDue: false },
      { step: 9, wait: most + 1, leased: 0, isDue: true },
      { step: 0, wait: 0, leased: leaseMs, isDue: false },
      { step: 0, wait: 0, leased: leaseMs + 1, isDue: true },
    ];
    for (const [at, { step, wait, leased }] of cases.entries()) {
      await owed.enqueue(now, owed.addPayment(storeId));
      owed.database.orm
        .update(deliveries)
        .set({ step, nextAttemptAt: now + wait, leasedUntil: leased === 0 ? null : now + leased })
        .where(eq(deliveries.id, at + 1))
        .run();
    }
    await owed.database.write((tx) =>
      owed.outbox.recall(tx, now, { retryMs: [least, most], confirmMs: most }, leaseMs),
    );
    const claimed = await owed.database.write((tx) =>
      owed.outbox.claim(tx, now, { limit: 64, perReceiver: 64, leaseMs, afterReceiverId: 0 }),
    );
    const due = claimed.map(({ id }) => id).sort();
    expect(due).toEqual(cases.flatMap(({ isDue }, at) => (isDue ? [at + 1] : [])));
  });

  it('skips a store whose callbacks were stopped', async () => {
    const owed = open();
    await owed.enqueue(now, owed.addPayment(owed.addStore({ callbacksStopped: true })));
    expect(await claim(owed)).toEqual([]);
    expect(owed.outbox.nextDueAt(now)).toBeUndefined();
  });

  it('counts no callback of such a store as pending or exhausted', async () => {
    const owed = open();
    const storeId = owed.addStore();
    await owed.enqueue(now, owed.addPayment(storeId), owed.addPayment(storeId));
    const [first] = await claim(owed, now, 1);
    await record(owed, first, 'status');
    expect(owed.outbox.counts()).toEqual({ owed: 1, exhausted: 1 });
    expect(owed.outbox.exhaustedSince()).toBe(now);
    owed.database.orm.update(stores).set({ callbacksStopped: true }).run();
    expect(owed.outbox.counts()).toEqual({ owed: 0, exhausted: 0 });
    expect(owed.outbox.exhaustedSince()).toBeUndefined();
  });

  it('continues for an archived store', async () => {
    const owed = open();
    await owed.enqueue(now, owed.addPayment(owed.addStore({ archivedAt: now })));
    expect(await claim(owed)).toHaveLength(1);
  });
});

describe('fairness between stores', () => {
  async function backlog(storeCount: number, each: number): Promise<Owed> {
    const owed = open();
    const ids = Array.from({ length: storeCount }, () => owed.addStore());
    const callbacks = ids.flatMap((id) => Array.from({ length: each }, () => owed.addPayment(id)));
    await owed.enqueue(now, ...callbacks);
    return owed;
  }
  const storesOf = (claimed: ClaimedDelivery[]) => claimed.map((each) => each.storeId);

  it('gives each at most two at a time, over several claims', async () => {
    const owed = await backlog(2, 5);
    const first = await claim(owed);
    expect(storesOf(first)).toEqual([1, 1, 2, 2]);
    expect(await claim(owed)).toEqual([]);
    await record(owed, first[1], 'delivered');
    expect(storesOf(await claim(owed))).toEqual([1]);
  });

  it('alternates if there are not enough slots for all', async () => {
    const owed = await backlog(3, 5);
    expect(storesOf(await claim(owed, now, 3))).toEqual([1, 1, 2]);
    expect(storesOf(await claim(owed, now, 2, 2))).toEqual([3, 3]);
    expect(storesOf(await claim(owed, now, 9, 3))).toEqual([2]);
  });

  it('serves the longest due first within a store', async () => {
    const owed = open();
    const storeId = owed.addStore();
    const [late, early] = [owed.addPayment(storeId), owed.addPayment(storeId)];
    await owed.enqueue(now, late);
    await owed.enqueue(now - 1, early);
    expect(await claim(owed, now, 1)).toMatchObject([{ eventId: eventId(early) }]);
  });
});

describe('the callbacks of one address', () => {
  /** Three payments to one address, and one to another, of a store. */
  async function siblings() {
    const owed = open();
    const storeId = owed.addStore();
    const first = owed.addPayment(storeId);
    const [second, third] = [owed.addPayment(storeId, first), owed.addPayment(storeId, first)];
    const other = owed.addPayment(storeId);
    await owed.enqueue(now, first, second, third, other);
    return { owed, storeId, first, second, third, other };
  }
  const ids = (claimed: ClaimedDelivery[]) => claimed.map(({ id }) => id);

  it('P-67 are claimed one at a time, in the order of their events, beside those of others', async () => {
    const { owed } = await siblings();
    const claimed = await claim(owed);
    expect(ids(claimed)).toEqual([1, 4]);
    expect(await claim(owed)).toEqual([]);
    expect(owed.outbox.nextDueAt(now)).toBeUndefined();
    await record(owed, claimed[0], 'delivered');
    const next = await claim(owed);
    expect(ids(next)).toEqual([2]);
    await record(owed, next[0], 'delivered');
    expect(ids(await claim(owed))).toEqual([3]);
  });

  it('wait while one is in flight whose lease has ended', async () => {
    const { owed } = await siblings();
    const [first] = await claim(owed);
    const later = now + leaseMs;
    const onWire = [first?.addressId ?? 0];
    const limits = { limit: 64, perReceiver: 2, leaseMs, afterReceiverId: 0, onWire: () => onWire };
    const claimed = await owed.database.write((tx) => owed.outbox.claim(tx, later, limits));
    expect(ids(claimed)).toEqual([4]);
    expect(owed.outbox.nextDueAt(later, undefined, [[1, onWire[0] ?? 0]])).toBeUndefined();
    expect(owed.outbox.nextDueAt(later)).toBe(now);
  });

  it('P-67 do not wait for one that failed, and go after it once both are due', async () => {
    const { owed } = await siblings();
    const [first] = await claim(owed);
    await record(owed, first, 'status', now + 4000);
    const second = await claim(owed);
    expect(ids(second)).toEqual([2]);
    await record(owed, second[0], 'delivered');
    // The third has been due for longer.
    expect(ids(await claim(owed, now + 4000))).toEqual([1]);
  });

  it('P-67 are in the order of their events after a restart, and after a resend by hand', async () => {
    const { owed } = await siblings();
    await claim(owed);
    const again = owed.reopen();
    await again.database.write((tx) => again.outbox.releaseLeases(tx));
    const [first, other] = await claim(again);
    expect(ids([first, other] as ClaimedDelivery[])).toEqual([1, 4]);
    await record(again, first, 'delivered');
    await again.database.write((tx) => again.outbox.resend(tx, now + 1, 1));
    expect(ids(await claim(again, now + 1))).toEqual([1]);
    expect(await claim(again, now + 1)).toEqual([]);
    await again.database.close();
  });

  it('are sent by their newest status alone, after the others of its address', async () => {
    const { owed, first } = await siblings();
    await owed.enqueue(now, withStatus(first, 1));
    expect(ids(await claim(owed))).toEqual([2, 4]);
  });
});

describe('the order of one payment', () => {
  async function overtaken(claimFirst: boolean) {
    const owed = open();
    const first = owed.addPayment(owed.addStore());
    await owed.enqueue(now, first);
    const claimed = claimFirst ? (await claim(owed))[0] : undefined;
    await owed.enqueue(now, withStatus(first, 1));
    return { owed, first, claimed };
  }

  it('supersedes an unsent callback when a newer status comes', async () => {
    const { owed, first } = await overtaken(false);
    expect(states(owed)).toEqual(['superseded', 'owed']);
    expect(await claim(owed)).toMatchObject([{ eventId: eventId(withStatus(first, 1)) }]);
  });

  it('never has two requests in flight', async () => {
    const { owed, first, claimed } = await overtaken(true);
    expect(await claim(owed)).toEqual([]);
    expect(owed.outbox.nextDueAt(now)).toBeUndefined();
    await record(owed, claimed, 'delivered');
    expect(states(owed)).toEqual(['delivered', 'owed']);
    expect(await claim(owed)).toMatchObject([{ eventId: eventId(withStatus(first, 1)) }]);
  });

  it('does not retry a callback that was superseded in flight', async () => {
    const { owed, claimed } = await overtaken(true);
    expect(await record(owed, claimed, 'timeout', now + 4000)).toBe('superseded');
    expect(await claim(owed)).toMatchObject([{ id: 2 }]);
    expect(await claim(owed, now + 9000)).toEqual([]);
  });

  it('sends only the newest after a crash', async () => {
    const { owed } = await overtaken(true);
    await owed.database.write((tx) => owed.outbox.releaseLeases(tx));
    expect(await claim(owed)).toMatchObject([{ id: 2 }]);
  });

  it('supersedes an exhausted callback when a newer status comes', async () => {
    const owed = open();
    const first = owed.addPayment(owed.addStore());
    await owed.enqueue(now, first);
    const [claimed] = await claim(owed);
    expect(await record(owed, claimed, 'status')).toBe('exhausted');
    expect(owed.outbox.counts()).toEqual({ owed: 0, exhausted: 1 });
    await owed.enqueue(now, withStatus(first, 1));
    expect(owed.outbox.counts()).toEqual({ owed: 1, exhausted: 0 });
  });

  it('holds a pending or exhausted callback back while its payment is gone, and no longer', async () => {
    const owed = open();
    const first = owed.addPayment(owed.addStore());
    const { paymentId } = first;
    await owed.enqueue(now, first);
    const [claimed] = await claim(owed);
    await owed.database.write((tx) => owed.outbox.hold(tx, paymentId));
    expect(await record(owed, claimed, 'status', now + 4000)).toBe('held');
    expect(owed.outbox.callback(1).settledAt).toBeNull();
    expect(await claim(owed, now + 9000)).toEqual([]);
    expect(owed.outbox.nextDueAt(now)).toBeUndefined();
    await owed.database.write((tx) => owed.outbox.release(tx, paymentId));
    const [again] = await claim(owed, now + 9000);
    expect(again).toMatchObject({ step: 1, dueAt: now + 4000 });
    expect(await record(owed, again, 'status')).toBe('exhausted');
    await owed.database.write((tx) => owed.outbox.hold(tx, paymentId));
    expect(owed.outbox.counts()).toEqual({ owed: 0, exhausted: 0 });
    await owed.database.write((tx) => owed.outbox.release(tx, paymentId));
    expect(await claim(owed, now + 9000)).toMatchObject([{ step: 2 }]);
  });

  it('is correct for every sequence of events', async () => {
    const step = fc.oneof(
      fc.record({ do: fc.constant('enqueue'), payment: fc.nat(3) }),
      fc.record({ do: fc.constant('claim'), limit: fc.integer({ min: 1, max: 4 }) }),
      fc.record({ do: fc.constant('answer'), ok: fc.boolean(), next: fc.boolean() }),
      fc.record({ do: fc.constant('wait'), ms: fc.integer({ min: 1, max: 2 * leaseMs }) }),
      fc.record({ do: fc.constant('crash') }),
    );
    const course = fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const owed = open();
      const stores = [owed.addStore(), owed.addStore()] as const;
      const payments = [0, 0, 1].map((store) => owed.addPayment(stores[store] ?? 0));
      if (payments[0]) payments.push(owed.addPayment(stores[0], payments[0]));
      const busy = new Map<number, number>();
      const sent = new Map<number, number>();
      let underWay: ClaimedDelivery[] = [];
      let [at, cycle] = [now, 0];
      for (const each of steps) {
        if ('payment' in each) {
          const payment = payments[each.payment];
          if (payment) await owed.enqueue(at, withStatus(payment, 0, cycle++));
        } else if ('limit' in each) {
          const claimed = await claim(owed, at, each.limit);
          for (const { addressId, id } of claimed) {
            const { paymentId } = owed.outbox.callback(id);
            expect(busy.get(addressId) ?? 0).toBeLessThanOrEqual(at);
            busy.set(addressId, at + leaseMs);
            expect(id).toBeGreaterThanOrEqual(sent.get(paymentId) ?? 0);
            sent.set(paymentId, id);
          }
          underWay = [
            ...underWay.filter((old) => !claimed.some((c) => c.id === old.id)),
            ...claimed,
          ];
        } else if ('ok' in each) {
          const next = each.next ? at + 4000 : undefined;
          const ended = underWay.shift();
          if (ended) busy.delete(ended.addressId);
          await record(owed, ended, each.ok ? 'delivered' : 'status', next, at).catch(() => {});
        } else if ('ms' in each) {
          at += each.ms;
        } else {
          underWay = [];
          busy.clear();
          await owed.database.write((tx) => owed.outbox.releaseLeases(tx));
        }
      }
      expectOneOpenRowAPayment(owed);
    });
    await fc.assert(course, { numRuns: 60 });
  });
});

function expectOneOpenRowAPayment({ outbox }: Owed): void {
  const newest = new Set<number>();
  for (const { paymentId, state } of outbox.list({ limit: 1000 })) {
    if (newest.has(paymentId)) expect(['superseded', 'delivered']).toContain(state);
    newest.add(paymentId);
  }
}

describe('the lists for people', () => {
  it('lists newest first, by store, by state, page by page, with the last attempt', async () => {
    const owed = open();
    const [one, two] = [owed.addStore(), owed.addStore()];
    const first = owed.addPayment(one);
    await owed.enqueue(now, first, owed.addPayment(two), owed.addPayment(one));
    const [claimed] = await claim(owed);
    await record(owed, claimed, 'timeout', now + 1);
    const [again] = await claim(owed, now + 1);
    await record(owed, again, 'status', undefined, now + 2);
    const { list } = owed.outbox;
    expect(list({ limit: 10 }).map((row) => row.id)).toEqual([3, 2, 1]);
    expect(list({ limit: 1, beforeId: 3 }).map((row) => row.id)).toEqual([2]);
    expect(list({ limit: 10, storeId: one }).map((row) => row.id)).toEqual([3, 1]);
    expect(list({ limit: 10, state: 'superseded' })).toEqual([]);
    expect(list({ limit: 10, storeId: one, state: 'owed' }).map((row) => row.id)).toEqual([3]);
    expect(list({ limit: 10, state: 'exhausted' })).toMatchObject([
      {
        ...{ id: 1, storeId: one, status: 0, state: 'exhausted', eventId: eventId(first) },
        ...{ address: first.address, txid: first.txid, valueSat: first.valueSat },
        ...{ attemptCount: 2, createdAt: now, settledAt: now + 2 },
        ...{ outcome: 'status', reason: 'no' },
      },
    ]);
    expect(owed.outbox.counts()).toEqual({ owed: 2, exhausted: 1 });
  });
});

describe('old attempts', () => {
  it('are replaced by their count, a few at once, and newer ones stay', async () => {
    const owed = open();
    await owed.enqueue(now, owed.addPayment(owed.addStore()));
    const days = [95, 91, 90, 10];
    for (const age of days) {
      const attempt = { ...attemptOf('status'), startedAt: now - age * 86_400_000 };
      await owed.database.write((tx) =>
        owed.outbox.record(tx, now, rowOf(owed, 1), attempt, { step: 1, at: now }),
      );
    }
    const before = now - 90 * 86_400_000;
    expect(await owed.database.write((tx) => owed.outbox.fold(tx, before))).toBe(false);
    const kept = owed.outbox.attempts(1).map(({ startedAt }) => (now - startedAt) / 86_400_000);
    expect(kept).toEqual([90, 10]);
    expect(owed.outbox.callback(1).attemptCount).toBe(days.length);
  });

  it('report whether there are more', async () => {
    const owed = open();
    await owed.enqueue(now, owed.addPayment(owed.addStore()));
    await owed.database.write((tx) => {
      for (let made = 0; made < 2_001; made += 1) {
        owed.outbox.record(tx, now, rowOf(owed, 1), attemptOf('status'), { step: 1, at: now });
      }
    });
    const fold = () => owed.database.write((tx) => owed.outbox.fold(tx, now + 1));
    expect([await fold(), await fold()]).toEqual([true, false]);
    expect(owed.outbox.attempts(1)).toEqual([]);
  });
});

it('counts no attempt of a callback whose record was lost with the process', async () => {
  const owed = open();
  await owed.enqueue(now, owed.addPayment(owed.addStore()));
  await claim(owed);
  await owed.database.write((tx) => owed.outbox.releaseLeases(tx));
  expect(await claim(owed)).toMatchObject([{ id: 1, attemptCount: 0 }]);
});

describe('the cost', () => {
  it('never includes a scan of delivered callbacks', async () => {
    const owed = open();
    const statements = await statementsOf(() => createOutbox(owed.database));
    expect(statements.length).toBeGreaterThan(12);
    expect(walksOfDeliveries(owed.path, statements)).toEqual([]);
  });
});

it('claims nothing of a store whose Callback URL was removed, and counts nothing', async () => {
  const owed = open();
  const storeId = owed.addStore();
  await owed.enqueue(now, owed.addPayment(storeId));
  const urlTo = (callbackUrl: string) =>
    owed.database.orm.update(stores).set({ callbackUrl }).run();
  urlTo('');
  expect(await claim(owed)).toEqual([]);
  expect([owed.outbox.nextDueAt(now), owed.outbox.counts().owed]).toEqual([undefined, 0]);
  await expect(owed.database.write((tx) => owed.outbox.resend(tx, 1, 1))).rejects.toThrow(
    'store 1 has no Callback URL',
  );
  urlTo('https://shop.example/callback');
  expect(await claim(owed)).toHaveLength(1);
});
