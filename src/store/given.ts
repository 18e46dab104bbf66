// What prepared statements are given each time they run.

import { type Placeholder, type SQL, sql } from 'drizzle-orm';

/** Everywhere but in a LIMIT. */
export const given = (name: string): SQL => sql`${sql.placeholder(name)}`;

/** In a LIMIT, where drizzle's types take nothing else. */
export const givenLimit = (name: string): Placeholder => sql.placeholder(name);
