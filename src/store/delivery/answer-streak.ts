// A streak of a shop's answers: a column of its store, from the first of them to the answer that
// ends it. Written in the commit that records the attempt, because no index leads from a store to
// its last good answer.

import { and, eq, isNotNull, sql } from 'drizzle-orm';
import type { Orm } from '../db/orm.ts';
import { placeholder } from '../db/placeholder.ts';
import { prepared } from '../db/prepared.ts';
import { stores } from '../schema/schema.ts';

export type StreakColumn = 'failingCallbacks' | 'failingEvents' | 'doubtfulAnswers';

/** The value of the column, as JSON. */
export interface Streak {
  /** When the first of them was asked for, epoch milliseconds. */
  readonly since: number;
  readonly answers: number;
  /** What the last one was. */
  readonly text: string;
}

/** `extend` begins a streak where there is none. Both take `storeId`; `extend` also `since`, `text`. */
export function prepareStreak(orm: Orm, name: StreakColumn) {
  const column = stores[name];
  const isStore = eq(stores.id, placeholder('storeId'));
  const begun = sql`coalesce(${column}, json_object('since', ${placeholder('since')}, 'answers', 0))`;
  return {
    extend: prepared(() =>
      orm
        .update(stores)
        .set({
          [name]: sql`json_set(${begun}, '$.answers', coalesce(${column} ->> 'answers', 0) + 1,
          '$.text', ${placeholder('text')})`,
        })
        .where(isStore),
    ),
    end: prepared(() =>
      orm
        .update(stores)
        .set({ [name]: null })
        .where(and(isStore, isNotNull(column))),
    ),
  };
}
