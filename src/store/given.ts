// What prepared statements are given each time they run.

import { type SQL, sql } from 'drizzle-orm';

/** For where drizzle takes a value or SQL, and no bare placeholder. */
export const given = (name: string): SQL => sql`${sql.placeholder(name)}`;
