// The doubtful answers with status 200 of each shop: a streak from the first doubtful answer to the
// next good one. Another row in the settings records the first answer with a text.

import { eq, sql } from 'drizzle-orm';
import type { AnswerVerdict } from '../../domain/delivery/callback-answer.ts';
import type { AttemptOutcome } from '../../domain/delivery/retry.ts';
import type { Orm } from '../db/orm.ts';
import { placeholder } from '../db/placeholder.ts';
import { prepared } from '../db/prepared.ts';
import { settings, stores } from '../schema/schema.ts';
import { prepareStreak } from './answer-streak.ts';
import { isCalled } from './callback-queue.ts';

export interface DoubtfulAnswers {
  readonly storeId: number;
  readonly name: string;
  /** When the first of them was asked for, epoch milliseconds. */
  readonly since: number;
  readonly answers: number;
  /** The last doubtful answer, or what it was. */
  readonly says: string;
}

/** What is read of an attempt. */
interface AttemptAnswer {
  readonly startedAt: number;
  readonly outcome: AttemptOutcome;
  readonly doubt: string | null;
  readonly verdict?: AnswerVerdict | null;
}

export function createDoubtfulAnswers(orm: Orm) {
  const { streak, spoken, hasSpoken, list } = prepare(orm);
  return {
    /** In the transaction that records it. */
    note(storeId: number, { startedAt, outcome, doubt, verdict }: AttemptAnswer): void {
      if (outcome !== 'delivered') return;
      const name = `doubted ${storeId}`;
      if (doubt !== null) streak.extend.run({ name, since: startedAt, text: doubt });
      else streak.end.run({ name });
      if (verdict === 'accepted') spoken.run({ name: `spoken ${storeId}` });
    },
    hasSpoken: (storeId: number): boolean =>
      hasSpoken.get({ name: `spoken ${storeId}` }) !== undefined,
    /** Stores that are called. */
    list: (): DoubtfulAnswers[] =>
      list
        .all()
        .map(({ kept, ...store }) => ({ ...store, ...(JSON.parse(kept) as DoubtfulRecord) })),
  };
}

/**
 * For the receiver of another Callback URL may always answer nothing. In the transaction that
 * changes it.
 */
export const forgetAnswers = (orm: Orm, storeId: number): void =>
  void orm
    .delete(settings)
    .where(eq(settings.name, `spoken ${storeId}`))
    .run();

type DoubtfulRecord = Pick<DoubtfulAnswers, 'since' | 'answers' | 'says'>;

function prepare(orm: Orm) {
  const name = placeholder('name');
  return {
    streak: prepareStreak(orm, { count: 'answers', text: 'says' }),
    spoken: prepared(() => orm.insert(settings).values({ name, value: '1' }).onConflictDoNothing()),
    hasSpoken: prepared(() => orm.select().from(settings).where(eq(settings.name, name))),
    list: prepared(() =>
      orm
        .select({ storeId: stores.id, name: stores.name, kept: settings.value })
        .from(stores)
        .innerJoin(settings, eq(settings.name, sql`'doubted ' || ${stores.id}`))
        .where(isCalled)
        .orderBy(stores.id),
    ),
  };
}
