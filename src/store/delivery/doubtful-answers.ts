// The doubtful answers with status 200 of each shop: a streak from the first doubtful answer to the
// next good one. Another column records that a shop has accepted a callback explicitly.

import { and, eq, isNotNull } from 'drizzle-orm';
import type { AnswerVerdict } from '../../domain/delivery/callback-answer.ts';
import type { AttemptOutcome } from '../../domain/delivery/retry.ts';
import { equals, type Orm, prepared } from '../db/orm.ts';
import { stores } from '../schema/schema.ts';
import { prepareStreak, type Streak } from './answer-streak.ts';
import { isCalled } from './callback-queue.ts';

export interface DoubtfulAnswers {
  readonly storeId: number;
  readonly name: string;
  readonly since: number;
  readonly answers: number;
  readonly says: string;
}

interface AttemptAnswer {
  readonly startedAt: number;
  readonly outcome: AttemptOutcome;
  readonly doubt: string | null;
  readonly verdict?: AnswerVerdict | null;
}

export function createDoubtfulAnswers(orm: Orm) {
  const { streak, accepted, hasAccepted, list } = prepare(orm);
  return {
    note(storeId: number, { startedAt, outcome, doubt, verdict }: AttemptAnswer): void {
      if (outcome !== 'delivered') return;
      if (doubt !== null) streak.extend.run({ id: storeId, since: startedAt, text: doubt });
      else streak.end.run({ id: storeId });
      if (verdict === 'accepted') accepted.run({ storeId });
    },
    hasAccepted: (storeId: number): boolean => hasAccepted.get({ storeId })?.hasAccepted ?? false,
    /** Stores that are called. */
    list: (): DoubtfulAnswers[] =>
      list.all().map(({ streak, ...store }) => {
        const { since, answers, text } = JSON.parse(streak ?? '') as Streak;
        return { ...store, since, answers, says: text };
      }),
  };
}

function prepare(orm: Orm) {
  const isStore = equals(stores.id, 'storeId');
  return {
    streak: prepareStreak(orm, [stores, 'doubtfulAnswers']),
    accepted: prepared(() =>
      orm
        .update(stores)
        .set({ hasAccepted: true })
        .where(and(isStore, eq(stores.hasAccepted, false))),
    ),
    hasAccepted: prepared(() =>
      orm.select({ hasAccepted: stores.hasAccepted }).from(stores).where(isStore),
    ),
    list: prepared(() =>
      orm
        .select({ storeId: stores.id, name: stores.name, streak: stores.doubtfulAnswers })
        .from(stores)
        .where(and(isNotNull(stores.doubtfulAnswers), isCalled))
        .orderBy(stores.id),
    ),
  };
}
