// What prepared statements are given each time they run.

import { type SQL, sql } from 'drizzle-orm';

/**
 * As SQL: with a bare placeholder drizzle hands on the column's encoder. A LIMIT takes `sql.placeholder` itself, for
 * drizzle's types take nothing else there.
 */
export const given = (name: string): SQL => sql`${sql.placeholder(name)}`;
