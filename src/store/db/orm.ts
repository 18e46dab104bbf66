// drizzle on the connection of the database. A statement that runs often is prepared once, with
// `.prepare()`, and takes its values as placeholders (placeholder.ts).

import { drizzle } from 'drizzle-orm/better-sqlite3';
import type { Sqlite } from './driver.ts';

export type Orm = ReturnType<typeof ormOf>;

export const ormOf = (sqlite: Sqlite) => drizzle(sqlite);
