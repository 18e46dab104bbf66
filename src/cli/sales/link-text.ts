// Links as text for a terminal, from the JSON of the API.

import type { LinkJson } from '../../domain/order/link-json.ts';
import { formatTime } from '../../domain/text/format.ts';
import { type TextList, table } from '../command.ts';

export const linkList: TextList<LinkJson> = {
  none: 'There is no link.',
  columns: {
    id: (link) => link.id,
    store: (link) => link.store_id,
    title: (link) => link.title,
    amount: (link) => amountText(link),
    view: (link) => link.view,
    state: (link) => (link.active ? 'on' : 'off'),
    orders: (link) => link.order_count,
    paid: (link) => link.paid_count,
  },
  next: ({ id }) => `--after ${id}`,
};

export function renderLink(link: LinkJson): string {
  const { description, currency, most_orders: mostOrders } = link;
  const suggested = currency === null ? link.suggested_sat : link.suggested;
  return table([
    ['id', link.id],
    ['URL', link.url],
    ['store', String(link.store_id)],
    ['title', link.title],
    ...(description === null ? [] : [['description', description]]),
    ['amount', amountText(link)],
    ...(suggested.length === 0 ? [] : [['suggested', suggested.join(', ')]]),
    ['note', link.note],
    ['view', link.view],
    ['state', link.active ? 'on' : 'off'],
    ['orders', `${link.order_count}, ${link.paid_count} paid`],
    ...(mostOrders === null ? [] : [['ends after', `${mostOrders} paid orders`]]),
    ['created', formatTime(link.created_at * 1000)],
  ]);
}

/** `25.00 EUR`, `5.00 to 500.00 EUR`, `any, in sat`. */
function amountText(link: LinkJson): string {
  const unit = link.currency ?? 'sat';
  const amount = link.amount ?? link.amount_sat;
  const min = link.min ?? link.min_sat;
  const max = link.max ?? link.max_sat;
  if (amount !== null) return `${amount} ${unit}`;
  if (min !== null && max !== null) return `${min} to ${max} ${unit}`;
  if (min !== null) return `from ${min} ${unit}`;
  return max === null ? `any, in ${unit}` : `to ${max} ${unit}`;
}
