// A streak of a shop's answers: a row in the settings, from the first of them to the answer that
// ends it. Written in the commit that records the attempt, because no index leads from a store to
// its last good answer.

import { eq, sql } from 'drizzle-orm';
import type { Orm } from '../db/orm.ts';
import { placeholder } from '../db/placeholder.ts';
import { prepared } from '../db/prepared.ts';
import { settings } from '../schema/schema.ts';

/** The value is JSON: `since` of the first answer, and these two. */
export interface StreakFields {
  /** How many answers there are. */
  readonly count: string;
  /** The text of the last one. */
  readonly text: string;
}

/** `extend` begins a streak where there is none. Both take `name`; `extend` also `since`, `text`. */
export function prepareStreak(orm: Orm, fields: StreakFields) {
  const name = placeholder('name');
  const text = placeholder('text');
  const [count, last] = [sql.raw(fields.count), sql.raw(fields.text)];
  return {
    extend: prepared(() =>
      orm
        .insert(settings)
        .values({
          name,
          value: sql`json_object('since', ${placeholder('since')}, '${count}', 1, '${last}', ${text})`,
        })
        .onConflictDoUpdate({
          target: settings.name,
          set: {
            value: sql`json_set(${settings.value}, '$.${count}', (${settings.value} ->> '${count}') + 1,
            '$.${last}', ${text})`,
          },
        }),
    ),
    end: prepared(() => orm.delete(settings).where(eq(settings.name, name))),
  };
}
