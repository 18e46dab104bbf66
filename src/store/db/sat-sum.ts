// Sums of satoshis in SQL. A server can invent unconfirmed payments of all bitcoins each: SQLite's
// `sum` fails when such values leave 64 bits.

import { type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import { maxMoneySat } from '../../bitcoin/transaction.ts';

/**
 * The sum of a column, at most all bitcoins; 0 without rows. `total` adds floats, which are exact
 * up to far above that limit.
 * @param which only these rows
 */
export const satSum = (column: SQLWrapper, which?: SQL): SQL<number> =>
  sql<number>`min(total(${column})${which && sql` filter (where ${which})`},
    ${sql.raw(String(maxMoneySat))})`;
