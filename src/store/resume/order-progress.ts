// How far the orders of a file went: a copy lacks what its original did since.

import { desc, max } from 'drizzle-orm';
import { isEvent } from '../delivery/event-records.ts';
import type { Records } from '../open-records.ts';
import { deliveries } from '../schema/delivery-schema.ts';
import { orders } from '../schema/order-schema.ts';

export interface NewestEvent {
  readonly id: number;
  readonly createdAt: number;
}

/** Undefined without any. Events are deleted after 90 days. */
export const newestEvent = ({ database: { orm } }: Pick<Records, 'database'>) =>
  orm
    .select({ id: deliveries.id, createdAt: deliveries.createdAt })
    .from(deliveries)
    .where(isEvent)
    .orderBy(desc(deliveries.id))
    .limit(1)
    .get() satisfies NewestEvent | undefined;

export const highestVersion = ({ database: { orm } }: Pick<Records, 'database'>): number =>
  orm
    .select({ version: max(orders.version) })
    .from(orders)
    .get()?.version ?? 0;
