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

/** `25.00 EUR`, `5.00 to 500.00 EUR`, `any, in sat`. */
export function linkAmount(link: LinkJson): string {
  const unit = link.currency ?? 'sat';
  const amount = link.amount ?? link.amount_sat;
  const min = link.min ?? link.min_sat;
  const max = link.max ?? link.max_sat;
  if (amount !== null) return `${amount} ${unit}`;
  if (min !== null && max !== null) return `${min} to ${max} ${unit}`;
  if (min !== null) return `from ${min} ${unit}`;
  return max === null ? `any, in ${unit}` : `to ${max} ${unit}`;
}
