// What prepared statements are given each time they run.

import { type SQL, sql } from 'drizzle-orm';

/** Everywhere but in a LIMIT, where drizzle's types take a bare placeholder alone. */
export const given = (name: string): SQL => sql`${sql.placeholder(name)}`;
