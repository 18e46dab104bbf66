// Lists of the API: their parameters, and one page of what a key may see.

import * as z from 'zod';
import { PaygateError } from '../lib/errors.ts';
import type { Key } from '../store/access/api-keys.ts';
import type { Records } from '../store/open-records.ts';
import { wholeNumber } from './shared-schemas.ts';
import { id, ownStores } from './store-list.ts';

const maxLimit = 100;
const defaultLimit = 20;

export const listQuery = (entry: string) => ({
  limit: wholeNumber(1, maxLimit, `a whole number from 1 to ${maxLimit} is expected`)
    .default(defaultLimit)
    .describe(`1 to ${maxLimit}`),
  after: z.string().optional().describe(`The id of the last ${entry} of the page before`),
  store_id: id.optional().describe('Only of this store'),
});

export const pageOf = <T extends z.ZodType>(entry: T, order: string) =>
  z.object({
    data: z.array(entry).describe(order),
    has_more: z.boolean().describe('Whether more follow; ask with `after`'),
  });

interface ListQuery {
  readonly limit: number;
  readonly store_id?: number | undefined;
}

export interface ListPlace {
  /** Undefined for those of all stores. */
  readonly storeId: number | undefined;
  readonly limit: number;
}

/**
 * One page of the rows of a store, or of all stores of a key.
 * @param read in the order of the list
 * @throws PaygateError not_found for a store of other keys
 */
export function listed<T>(
  records: Pick<Records, 'catalog'>,
  key: Pick<Key, 'storeId'>,
  { limit, store_id: asked }: ListQuery,
  read: (place: ListPlace) => readonly T[],
): { data: T[]; has_more: boolean } {
  const storeId = storeIdOf(records, key, asked);
  const rows = read({ storeId, limit: limit + 1 });
  return { data: rows.slice(0, limit), has_more: rows.length > limit };
}

/**
 * The store whose rows a key asks for; undefined for those of all stores.
 * @throws PaygateError not_found for a store of other keys
 */
export function storeIdOf(
  { catalog }: Pick<Records, 'catalog'>,
  key: Pick<Key, 'storeId'>,
  asked: number | undefined,
): number | undefined {
  // Orders and events of a removed store stay visible.
  const own = ownStores(catalog.stores({ archived: true }), key);
  if (asked !== undefined && !own.some(({ id }) => id === asked)) {
    throw new PaygateError('not_found', `There is no store ${asked}`);
  }
  return asked ?? key.storeId ?? undefined;
}
