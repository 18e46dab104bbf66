import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { BlockHash } from '../../../src/bitcoin/ids.ts';
import {
  type Block,
  type CallbackStatus,
  decide,
  depthOf,
  type Payment,
  type PaymentDecision,
  type PaymentFact,
  type PaymentRules,
  type PaymentState,
} from '../../../src/domain/payment/payment.ts';

const blockA: Block = { height: 100, hash: 'aa'.repeat(32) as BlockHash };
/** The same height on another branch. */
const blockB: Block = { height: 100, hash: 'bb'.repeat(32) as BlockHash };

const cycle = 3;
const current = {
  none: undefined,
  unconfirmed: { state: 'unconfirmed', block: null, status: 0, cycle },
  confirming: { state: 'confirming', block: blockA, status: 1, cycle },
  confirmed: { state: 'confirmed', block: blockA, status: 2, cycle },
  settled: { state: 'settled', block: blockA, status: 2, cycle },
  'dropped after 0': { state: 'dropped', block: null, status: 0, cycle },
  'dropped after 1': { state: 'dropped', block: null, status: 1, cycle },
  'dropped after 2': { state: 'dropped', block: null, status: 2, cycle },
  'dropped, never told': { state: 'dropped', block: null, status: null, cycle },
} satisfies Record<string, Payment | undefined>;

const proven = (block: Block, depth: number): PaymentFact => ({ kind: 'proven', block, depth });
const mempool = (blockLeft: boolean): PaymentFact => ({ kind: 'mempool', isBlockGone: blockLeft });

/** With 3 confirmations required. */
const facts = {
  mempool: mempool(false),
  'mempool, block left': mempool(true),
  'A 1 deep': proven(blockA, 1),
  'A 2 deep': proven(blockA, 2),
  'A 3 deep': proven(blockA, 3),
  'A 144 deep': proven(blockA, 144),
  'A 145 deep': proven(blockA, 145),
  'B 1 deep': proven(blockB, 1),
  'B 3 deep': proven(blockB, 3),
  'B 145 deep': proven(blockB, 145),
  gone: { kind: 'gone' },
} satisfies Record<string, PaymentFact>;

const required = 3;
const rules: PaymentRules = {
  requiredConfirmations: required,
  isCoinbase: false,
  sendsReversal: false,
  isHeld: false,
};

type From = keyof typeof current;
type What = keyof typeof facts;
/** A cell of the table: nothing, or the next state with the status that is sent, if any. */
type Outcome = '-' | `${PaymentState}` | `${PaymentState}, ${CallbackStatus}`;

/** Every row of the table. A trailing number is a callback. */
const table: Record<From, Record<What, Outcome>> = {
  none: {
    mempool: 'unconfirmed, 0',
    'mempool, block left': 'unconfirmed, 0',
    'A 1 deep': 'confirming, 1',
    'A 2 deep': 'confirming, 1',
    'A 3 deep': 'confirmed, 2',
    'A 144 deep': 'confirmed, 2',
    'A 145 deep': 'settled, 2',
    'B 1 deep': 'confirming, 1',
    'B 3 deep': 'confirmed, 2',
    'B 145 deep': 'settled, 2',
    gone: '-',
  },
  unconfirmed: {
    mempool: '-',
    'mempool, block left': '-',
    'A 1 deep': 'confirming, 1',
    'A 2 deep': 'confirming, 1',
    'A 3 deep': 'confirmed, 2',
    'A 144 deep': 'confirmed, 2',
    'A 145 deep': 'settled, 2',
    'B 1 deep': 'confirming, 1',
    'B 3 deep': 'confirmed, 2',
    'B 145 deep': 'settled, 2',
    gone: 'dropped',
  },
  confirming: {
    mempool: '-',
    'mempool, block left': 'unconfirmed, 0',
    'A 1 deep': '-',
    'A 2 deep': '-',
    'A 3 deep': 'confirmed, 2',
    'A 144 deep': 'confirmed, 2',
    'A 145 deep': 'settled, 2',
    'B 1 deep': 'confirming',
    'B 3 deep': 'confirmed, 2',
    'B 145 deep': 'settled, 2',
    gone: 'dropped',
  },
  confirmed: {
    mempool: '-',
    'mempool, block left': 'unconfirmed, 0',
    'A 1 deep': '-',
    'A 2 deep': '-',
    'A 3 deep': '-',
    'A 144 deep': '-',
    'A 145 deep': 'settled',
    'B 1 deep': 'confirming, 1',
    'B 3 deep': 'confirmed',
    'B 145 deep': 'settled',
    gone: 'dropped',
  },
  settled: {
    mempool: '-',
    'mempool, block left': '-',
    'A 1 deep': '-',
    'A 2 deep': '-',
    'A 3 deep': '-',
    'A 144 deep': '-',
    'A 145 deep': '-',
    'B 1 deep': 'confirming, 1',
    'B 3 deep': 'confirmed',
    'B 145 deep': 'settled',
    gone: '-',
  },
  'dropped after 0': {
    mempool: 'unconfirmed',
    'mempool, block left': 'unconfirmed',
    'A 1 deep': 'confirming, 1',
    'A 2 deep': 'confirming, 1',
    'A 3 deep': 'confirmed, 2',
    'A 144 deep': 'confirmed, 2',
    'A 145 deep': 'settled, 2',
    'B 1 deep': 'confirming, 1',
    'B 3 deep': 'confirmed, 2',
    'B 145 deep': 'settled, 2',
    gone: '-',
  },
  'dropped after 1': {
    mempool: 'unconfirmed, 0',
    'mempool, block left': 'unconfirmed, 0',
    'A 1 deep': 'confirming',
    'A 2 deep': 'confirming',
    'A 3 deep': 'confirmed, 2',
    'A 144 deep': 'confirmed, 2',
    'A 145 deep': 'settled, 2',
    'B 1 deep': 'confirming',
    'B 3 deep': 'confirmed, 2',
    'B 145 deep': 'settled, 2',
    gone: '-',
  },
  'dropped after 2': {
    mempool: 'unconfirmed, 0',
    'mempool, block left': 'unconfirmed, 0',
    'A 1 deep': 'confirming, 1',
    'A 2 deep': 'confirming, 1',
    'A 3 deep': 'confirmed',
    'A 144 deep': 'confirmed',
    'A 145 deep': 'settled',
    'B 1 deep': 'confirming, 1',
    'B 3 deep': 'confirmed',
    'B 145 deep': 'settled',
    gone: '-',
  },
  'dropped, never told': {
    mempool: 'unconfirmed, 0',
    'mempool, block left': 'unconfirmed, 0',
    'A 1 deep': 'confirming, 1',
    'A 2 deep': 'confirming, 1',
    'A 3 deep': 'confirmed, 2',
    'A 144 deep': 'confirmed, 2',
    'A 145 deep': 'settled, 2',
    'B 1 deep': 'confirming, 1',
    'B 3 deep': 'confirmed, 2',
    'B 145 deep': 'settled, 2',
    gone: '-',
  },
};

const statusOf: Record<PaymentState, CallbackStatus | undefined> = {
  unconfirmed: 0,
  confirming: 1,
  confirmed: 2,
  settled: 2,
  dropped: undefined,
};

function outcomeOf(decision: PaymentDecision | undefined): Outcome {
  if (decision === undefined) return '-';
  const { next, callback } = decision;
  return callback === undefined ? next.state : `${next.state}, ${callback}`;
}

const rows = Object.entries(table).flatMap(([from, row]) =>
  Object.entries(row).map(([what, outcome]) => [from as From, what as What, outcome] as const),
);

describe('P-101 the table of payments', () => {
  it.each(rows)('%s · %s → %s', (from, what, outcome) => {
    const decision = decide(current[from], facts[what], rules);
    expect(outcomeOf(decision)).toBe(outcome);
    if (decision === undefined) return;
    const fact: PaymentFact = facts[what];
    expect(decision.next.block).toEqual(fact.kind === 'proven' ? fact.block : null);
    const kept = current[from]?.status ?? null;
    expect(decision.next.status).toBe(fact.kind === 'gone' ? kept : statusOf[decision.next.state]);
    const told = current[from]?.status ?? null;
    const taken = told !== null && (decision.next.status ?? 0) < told;
    expect(decision.next.cycle).toBe((current[from]?.cycle ?? 0) + (taken ? 1 : 0));
  });

  it('does not treat two blocks of one height as the same', () => {
    expect(blockA.height).toBe(blockB.height);
    const moved = decide(current.confirmed, proven(blockB, 3), rules);
    expect(moved).toEqual({ next: { ...current.confirmed, block: blockB } });
  });
});

describe('while the servers disagree', () => {
  const held = { ...rules, isHeld: true };

  it('no payment becomes final, and final ones stay final', () => {
    expect(decide(undefined, proven(blockA, 200), held)).toMatchObject({
      next: { state: 'confirming' },
      callback: 1,
    });
    expect(decide(current.confirming, proven(blockA, 200), held)).toBeUndefined();
    expect(decide(current.confirmed, proven(blockA, 4), held)).toBeUndefined();
    expect(decide(current.confirming, proven(blockA, 200), rules)).toMatchObject({ callback: 2 });
  });

  it.each(['confirmed', 'settled'] as const)(
    'a payment that was %s stays so in another block of the same depth',
    (from) => {
      const again = decide(current[from], proven(blockB, required), held);
      expect(again).toEqual({ next: { ...current.confirmed, block: blockB } });
      expect(decide(current[from], proven(blockB, required - 1), held)).toMatchObject({
        next: { state: 'confirming' },
        callback: 1,
      });
    },
  );

  it('a payment that fell back meanwhile is not promoted again', () => {
    const fallen = decide(current.confirmed, mempool(true), held)?.next;
    expect(decide(fallen, proven(blockB, 200), held)).toMatchObject({ callback: 1 });
  });
});

describe('a payment that is gone', () => {
  const wanted = { ...rules, sendsReversal: true };

  it.each(['confirming', 'confirmed'] as const)('sends -1 after %s, once', (from) => {
    const decision = decide(current[from], { kind: 'gone' }, wanted);
    expect(decision).toMatchObject({ callback: -1, next: { state: 'dropped', cycle: cycle + 1 } });
    expect(decide(decision?.next, { kind: 'gone' }, wanted)).toBeUndefined();
  });

  it.each([
    ['in its first block', { ...current.confirming, cycle: 0 }],
    ['after it was taken back to 0', { ...current.unconfirmed, cycle: 1 }],
  ])('sends -1 %s', (_when, payment) => {
    const decision = decide(payment, { kind: 'gone' }, wanted);
    expect(decision).toMatchObject({ callback: -1, next: { state: 'dropped' } });
  });

  it('sends nothing if it never was in a block', () => {
    const fresh = { ...current.unconfirmed, cycle: 0 };
    expect(decide(fresh, { kind: 'gone' }, wanted)).toEqual({
      next: { ...fresh, state: 'dropped' },
    });
  });
});

describe('depth', () => {
  it('is 1 for the block of the tip itself, 0 above it', () => {
    expect([depthOf(100, 100), depthOf(99, 100), depthOf(101, 100)]).toEqual([1, 2, 0]);
  });

  it.each([
    [1, 1, 2],
    [2, 1, 1],
    [2, 2, 2],
    [100, 99, 1],
    [100, 100, 2],
  ])('%i required, %i deep: %i', (requiredConfirmations, depth, status) => {
    const decision = decide(undefined, proven(blockA, depth), {
      requiredConfirmations,
      isCoinbase: false,
      sendsReversal: false,
      isHeld: false,
    });
    expect(decision?.callback).toBe(status);
  });

  it.each([
    [1, 99, 1],
    [1, 100, 2],
    [2, 144, 2],
  ])('a coinbase, %i required, %i deep: %i', (requiredConfirmations, depth, status) => {
    const coinbase = {
      requiredConfirmations,
      isCoinbase: true,
      sendsReversal: false,
      isHeld: false,
    };
    expect(decide(undefined, proven(blockA, depth), coinbase)?.callback).toBe(status);
  });
});

const anyStatus = fc.constantFrom<CallbackStatus | null>(null, 0, 1, 2);
const anyBlock = fc.constantFrom(blockA, blockB);
/** Includes impossible payments, which a damaged database may contain. */
const anyPayment: fc.Arbitrary<Payment | undefined> = fc.option(
  fc.record({
    state: fc.constantFrom<PaymentState>(
      'unconfirmed',
      'confirming',
      'confirmed',
      'settled',
      'dropped',
    ),
    block: fc.option(anyBlock),
    status: anyStatus,
    cycle: fc.nat(5),
  }),
  { nil: undefined },
);
const anyDepth = fc.oneof(fc.integer({ min: -2, max: 6 }), fc.integer({ min: 95, max: 150 }));
const anyFact: fc.Arbitrary<PaymentFact> = fc.oneof(
  fc.boolean().map(mempool),
  fc.tuple(anyBlock, anyDepth).map(([block, depth]) => proven(block, depth)),
  fc.constant<PaymentFact>({ kind: 'gone' }),
);
const anyRules: fc.Arbitrary<PaymentRules> = fc.record({
  requiredConfirmations: fc.integer({ min: 1, max: 100 }),
  isCoinbase: fc.boolean(),
  sendsReversal: fc.boolean(),
  isHeld: fc.constant(false),
});

describe('laws of every decision', () => {
  it('a callback is sent exactly when the status differs from the last one', () => {
    fc.assert(
      fc.property(anyPayment, anyFact, anyRules, (payment, fact, rules) => {
        const decision = decide(payment, fact, rules);
        if (decision === undefined) return;
        const told = payment?.status ?? null;
        const { status } = decision.next;
        expect(decision.callback).toBe(status === told ? undefined : status);
        const lower = told !== null && status !== null && status < told;
        expect(decision.next.cycle).toBe((payment?.cycle ?? 0) + (lower ? 1 : 0));
      }),
      { numRuns: 2000 },
    );
  });

  it('state, block and status of the result are consistent', () => {
    fc.assert(
      fc.property(anyPayment, anyFact, anyRules, (payment, fact, rules) => {
        const decision = decide(payment, fact, rules);
        if (decision === undefined) return;
        const { state, block, status } = decision.next;
        if (state !== 'dropped') expect(status).toBe(statusOf[state]);
        expect(block === null).toBe(state === 'unconfirmed' || state === 'dropped');
      }),
      { numRuns: 2000 },
    );
  });

  it('no coinbase is final below 100', () => {
    fc.assert(
      fc.property(
        anyPayment,
        anyBlock,
        fc.integer({ min: -2, max: 99 }),
        (payment, block, depth) => {
          const coinbase = {
            requiredConfirmations: 1,
            isCoinbase: true,
            sendsReversal: false,
            isHeld: false,
          };
          expect(decide(payment, proven(block, depth), coinbase)?.callback).not.toBe(2);
        },
      ),
    );
  });

  it('a settled payment is never decided again in its own block', () => {
    fc.assert(
      fc.property(anyDepth, anyRules, fc.boolean(), (depth, rules, blockLeft) => {
        expect(decide(current.settled, proven(blockA, depth), rules)).toBeUndefined();
        expect(decide(current.settled, mempool(blockLeft), rules)).toBeUndefined();
      }),
    );
  });

  it('more required confirmations revert no 2 in the same block', () => {
    fc.assert(
      fc.property(anyDepth, anyRules, (depth, rules) => {
        const decision = decide(current.confirmed, proven(blockA, depth), rules);
        expect(decision?.callback).toBeUndefined();
        expect([undefined, 'settled']).toContain(decision?.next.state);
      }),
    );
  });

  it('-1 is sent only after 1 or 2, and only to a store that opted in', () => {
    fc.assert(
      fc.property(anyPayment, anyRules, (payment, rules) => {
        const decision = decide(payment, { kind: 'gone' }, rules);
        if (decision?.callback === undefined) return;
        expect(decision.callback).toBe(-1);
        expect(rules.sendsReversal).toBe(true);
        expect((payment?.status ?? 0) > 0 || (payment?.cycle ?? 0) > 0).toBe(true);
      }),
    );
  });

  it('the same fact again changes nothing', () => {
    fc.assert(
      fc.property(anyPayment, anyFact, anyRules, (payment, fact, rules) => {
        const decision = decide(payment, fact, rules);
        if (decision !== undefined) expect(decide(decision.next, fact, rules)).toBeUndefined();
      }),
      { numRuns: 2000 },
    );
  });

  it('over any history no event is sent twice, and each cycle only rises', () => {
    const step = fc.tuple(anyFact, anyRules);
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        let payment: Payment | undefined;
        const told: string[] = [];
        for (const [fact, rules] of steps) {
          const decision = decide(payment, fact, rules);
          if (decision === undefined) continue;
          payment = decision.next;
          const { callback, next } = decision;
          if (callback !== undefined)
            told.push(`${String(next.cycle).padStart(2, '0')} ${callback}`);
        }
        expect(new Set(told).size).toBe(told.length);
        expect(told).toEqual(told.toSorted());
      }),
      { numRuns: 1000 },
    );
  });
});
