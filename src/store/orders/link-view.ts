// Links as they are shown, with the counts of their orders.

import { and, desc, eq, lt, sql } from 'drizzle-orm';
import type { LinkInput } from '../../domain/order/link-input.ts';
import { type LinkCounts, type LinkJson, linkJson } from '../../domain/order/link-json.ts';
import { steppedValues } from '../../lib/stepped-values.ts';
import { equals, type Orm, placeholder, prepared } from '../db/orm.ts';
import { createStoreIds } from '../db/searched-list.ts';
import { links } from '../schema/order-schema.ts';

export type LinkRow = Omit<typeof links.$inferSelect, 'suggested'> & LinkInput;

export interface LinkQuery {
  readonly storeId?: number | undefined;
  readonly beforeId?: number | undefined;
  readonly limit: number;
}

export type LinkView = ReturnType<typeof createLinkView>;

export const linkRowOf = (row: typeof links.$inferSelect): LinkRow => ({
  ...row,
  suggested: JSON.parse(row.suggested) as number[],
});

/** @param baseUrl begins the URLs of links, and has no slash at its end */
export function createLinkView(orm: Orm, baseUrl: string) {
  const statements = prepare(orm);
  const storeIds = createStoreIds(orm);
  const rowOrNone = (row: typeof links.$inferSelect | undefined) => row && linkRowOf(row);
  function currenciesOf(storeId: number): (string | null)[] {
    const next = (last: string) =>
      statements.nextCurrency.get({ storeId, last })?.currency ?? undefined;
    const inSatoshis = statements.inSatoshis.get({ storeId });
    return [...(inSatoshis === undefined ? [] : [null]), ...steppedValues(next)];
  }

  function counts(id: number): LinkCounts {
    const row = statements.byId.get({ id });
    return { orders: row?.orderCount ?? 0, paid: row?.paidCount ?? 0 };
  }
  return {
    byPublicId: (publicId: string): LinkRow | undefined =>
      rowOrNone(statements.byPublicId.get({ publicId })),
    byId: (id: number): LinkRow | undefined => rowOrNone(statements.byId.get({ id })),
    list: ({ storeId, beforeId, limit }: LinkQuery): LinkRow[] =>
      orm
        .select()
        .from(links)
        .where(
          and(
            ...(storeId === undefined ? [] : [eq(links.storeId, storeId)]),
            ...(beforeId === undefined ? [] : [lt(links.id, beforeId)]),
          ),
        )
        .orderBy(desc(links.id))
        .limit(limit)
        .all()
        .map(linkRowOf),
    counts,
    json: (row: LinkRow): LinkJson => linkJson(row, counts(row.id), baseUrl),
    /** The stores and currencies of active links, each pair once. */
    activeCurrencies: (): { readonly storeId: number; readonly currency: string | null }[] =>
      storeIds().flatMap((storeId) =>
        currenciesOf(storeId).map((currency) => ({ storeId, currency })),
      ),
    /** The newest link that a request with this key made after a time, epoch milliseconds. */
    madeWith: (storeId: number, key: string, since: number): LinkRow | undefined =>
      rowOrNone(statements.madeWith.get({ storeId, key, since })),
  };
}

/** As the index has it. */
const isActiveOfStore = sql`${links.isActive} = 1 and ${links.storeId} = ${placeholder('storeId')}`;

const prepare = (orm: Orm) => ({
  byPublicId: prepared(() => orm.select().from(links).where(equals(links.publicId, 'publicId'))),
  byId: prepared(() => orm.select().from(links).where(equals(links.id, 'id'))),
  inSatoshis: prepared(() =>
    orm
      .select({ id: links.id })
      .from(links)
      .where(sql`${isActiveOfStore} and ${links.currency} is null`)
      .limit(1),
  ),
  nextCurrency: prepared(() =>
    orm
      .select({ currency: links.currency })
      .from(links)
      .where(sql`${isActiveOfStore} and ${links.currency} > ${placeholder('last')}`)
      .orderBy(links.currency)
      .limit(1),
  ),
  madeWith: prepared(() =>
    orm
      .select()
      .from(links)
      .where(
        and(
          equals(links.storeId, 'storeId'),
          equals(links.idempotencyKey, 'key'),
          sql`${links.createdAt} > ${placeholder('since')}`,
        ),
      )
      .orderBy(desc(links.id))
      .limit(1),
  ),
});
