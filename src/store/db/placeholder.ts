// The placeholders of prepared statements.

// SQLite compiles a statement again if a parameter is bound that its plan might depend on. That is
// one which is compared with an indexed column, or a LIMIT (https://sqlite.org/c3ref/prepare.html,
// SQLITE_ENABLE_STAT4). A statement that runs for each payment or address therefore has constants
// as SQL (`inlineParams`). It reads one row by `get()`, without a LIMIT.

import { type Column, eq, type SQL, sql } from 'drizzle-orm';

/**
 * A value that is given by name each time the statement runs. It is SQL, because drizzle would
 * encode the value of a bare placeholder as its column does. The unary plus changes no value, and
 * keeps SQLite from compiling the statement again. drizzle's types take only `sql.placeholder`
 * itself as a LIMIT.
 */
export const placeholder = (name: string): SQL => sql`+${sql.placeholder(name)}`;

/** The values of these names, as the columns of a row. */
export const placeholders = <Name extends string>(...names: Name[]): Record<Name, SQL> =>
  Object.fromEntries(names.map((name) => [name, placeholder(name)])) as Record<Name, SQL>;

/** Whether a column has the value of this name. */
export const equals = (column: Column, name: string): SQL => eq(column, placeholder(name));
