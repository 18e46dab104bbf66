// What prepared statements are given each time they run.

import { type Placeholder, type SQL, sql } from 'drizzle-orm';

/** In a LIMIT, where drizzle's types take nothing else. */
export const givenLimit = (name: string): Placeholder => sql.placeholder(name);

/** Everywhere else, as SQL: with a bare one drizzle hands on the column's encoder. */
export const given = (name: string): SQL => sql`${givenLimit(name)}`;
