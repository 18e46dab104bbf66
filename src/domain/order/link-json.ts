// A link as the API and commands show it.

import { unixSeconds } from '../../lib/time-units.ts';
import { type LinkInput, linkBodyOf } from './link-input.ts';

export interface LinkDetails extends LinkInput {
  readonly publicId: string;
  readonly storeId: number;
  readonly createdAt: number;
}

export interface LinkCounts {
  readonly orders: number;
  readonly paid: number;
}

export type LinkJson = Readonly<ReturnType<typeof linkBodyOf>> & {
  readonly id: string;
  readonly store_id: number;
  readonly order_count: number;
  readonly paid_count: number;
  readonly url: string;
  readonly created_at: number;
};

/** @param baseUrl begins the URL of the link, and has no slash at its end */
export function linkJson(link: LinkDetails, counts: LinkCounts, baseUrl: string): LinkJson {
  return {
    id: link.publicId,
    store_id: link.storeId,
    ...linkBodyOf(link),
    order_count: counts.orders,
    paid_count: counts.paid,
    url: `${baseUrl}/l/${link.publicId}`,
    created_at: unixSeconds(link.createdAt),
  };
}
