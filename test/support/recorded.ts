// The rows of payments, whole: what the code reads of them leaves out what no decision asks for.

import { asc, eq } from 'drizzle-orm';
import { payments } from '../../src/store/db/schema.ts';
import type { Store } from '../../src/store/open-store.ts';

export type RecordedPayment = typeof payments.$inferSelect;

/** An address's, oldest first. */
export const recorded = (
  { database }: Pick<Store, 'database'>,
  addressId: number,
): RecordedPayment[] =>
  database.orm
    .select()
    .from(payments)
    .where(eq(payments.addressId, addressId))
    .orderBy(asc(payments.id))
    .all();
