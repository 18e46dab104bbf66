// A streak of a shop's answers: a column of its store or webhook, from the first of them to the
// answer that ends it. Written in the commit that records the attempt, because no index leads from
// there to its last good answer.

import { and, isNotNull, sql } from 'drizzle-orm';
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core';
import { equals, type Orm, placeholder, prepared } from '../db/orm.ts';
import type { stores, webhooks } from '../schema/schema.ts';

export type StreakColumn =
  | readonly [typeof stores, 'failingCallbacks' | 'doubtfulAnswers']
  | readonly [typeof webhooks, 'failingEvents'];

export interface Streak {
  /** When the first of them was asked for, epoch milliseconds. */
  readonly since: number;
  readonly answers: number;
  readonly text: string;
}

/**
 * `extend` begins a streak where there is none. Both take the `id` of a row; `extend` also `since`
 * and `text`.
 */
export function prepareStreak(orm: Orm, [table, name]: StreakColumn) {
  const column = table[name as keyof typeof table] as SQLiteColumn;
  const isRow = equals(table.id, 'id');
  const begun = sql`coalesce(${column}, json_object('since', ${placeholder('since')}, 'answers', 0))`;
  const extended = sql`json_set(${begun}, '$.answers', coalesce(${column} ->> 'answers', 0) + 1,
    '$.text', ${placeholder('text')})`;
  return {
    extend: prepared(() =>
      orm
        .update(table)
        .set({ [name]: extended })
        .where(isRow),
    ),
    end: prepared(() =>
      orm
        .update(table)
        .set({ [name]: null })
        .where(and(isRow, isNotNull(column))),
    ),
  };
}
