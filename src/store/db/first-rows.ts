// Old rows that maintenance deletes, some thousand at once.

import { type SQL, sql } from 'drizzle-orm';
import { placeholder } from './orm.ts';

/**
 * The id of the last of the first `limit` rows, up to one that was made at `before` or later; null
 * without one. A row behind that looks old because the clock was behind, and stays.
 * @param table with rows in the order of their ids
 * @param time its column, epoch milliseconds
 * @param which of its rows, by an index in that order
 */
export const lastOldRow = (table: 'attempts' | 'deliveries', time: string, which: string): SQL =>
  sql`(select max(id) from (select id, max(${sql.raw(time)}) over (order by id) as newest
    from (select id, ${sql.raw(time)} from ${sql.raw(table)} where ${sql.raw(which)}
      order by id limit ${placeholder('limit')}))
    where newest < ${placeholder('before')})`;
