// Whole rows of payments, including the columns that the code itself does not read.

import { asc, eq } from 'drizzle-orm';
import type { Records } from '../../src/store/open-records.ts';
import { payments } from '../../src/store/schema/schema.ts';

export type RecordedPayment = typeof payments.$inferSelect;

/** An address's, oldest first. */
export const recorded = (
  { database }: Pick<Records, 'database'>,
  addressId: number,
): RecordedPayment[] =>
  database.orm
    .select()
    .from(payments)
    .where(eq(payments.addressId, addressId))
    .orderBy(asc(payments.id))
    .all();
