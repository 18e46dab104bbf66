// Mails to the customer of an order that has their address. One is due when money is seen for
// the first time, one when the order is paid. They hold no text that a stranger typed.

import type { OrderJson } from '../order/order-json.ts';
import { customerMailWords } from '../text/customer-mail-words.ts';
import { plainText } from '../text/format.ts';
import { languageOf } from '../text/language.ts';
import { type CustomerNoticeType, dueOf, lightningShareOf, type Notice } from './notice.ts';

export interface CustomerNews {
  /** After the change. */
  readonly order: OrderJson;
  readonly storeName: string;
  /** The order before: its fingerprint is empty until money is seen. */
  readonly before: { readonly fingerprint: string; readonly firstPaidAt: number | null };
}

/** Undefined if the change is no news for a customer, or the order has no mail address. */
export function customerNotice(news: CustomerNews): Notice | undefined {
  const { order, storeName } = news;
  const type = order.customer_email === null ? undefined : typeOf(news);
  if (type === undefined) return undefined;
  const language = languageOf(order.language ?? '') ?? 'en';
  const words = customerMailWords[language];
  const shop = plainText(storeName, maxShopLength);
  const price = dueOf(order);
  const isLightning = lightningShareOf(order).isAll;
  const [title, line] =
    type === 'customer.paid'
      ? [words.paidTitle(price, shop), isLightning ? words.paidByLightning : words.paid]
      : [words.seenTitle(price, shop), isLightning ? words.arrivedByLightning : words.seen];
  return {
    type,
    title,
    lines: [line(shop), words.page],
    path: `/o/${order.id}`,
    data: {},
    customer: { language, orderId: order.id, shop, footer: words.footer },
  };
}

const maxShopLength = 80;

function typeOf({ order, before }: CustomerNews): CustomerNoticeType | undefined {
  if (before.firstPaidAt !== null) return undefined;
  if (order.status === 'paid') return 'customer.paid';
  const isFirst = before.fingerprint === '' && order.received_sat > 0;
  return isFirst ? 'customer.seen' : undefined;
}
