// Links of mails that accept one order. A link has what it may do, until when, and a signature. The
// order must stand as it stood then: each event of it, the acceptance too, and a refund end the
// link. The key is the hash of the owner's password, so a new password ends all links
// (docs/decisions/063).

import { createHmac, timingSafeEqual } from 'node:crypto';
import { isId } from '../domain/order/order-id.ts';
import { maxSetBackMs } from '../domain/payment/clock-check.ts';
import { hourMs } from '../lib/time-units.ts';
import type { Records } from '../store/open-records.ts';
import type { OrderRow } from '../store/orders/order-view.ts';

export const decisionHours = 48;
const decisionMs = decisionHours * hourMs;

export interface AcceptedOrder {
  /** Its public id. */
  readonly order: string;
  readonly version: number;
}

/** @param since when the mail was written; undefined without a password of the dashboard */
export function decisionToken(
  { admin }: Pick<Records, 'admin'>,
  { order, version }: AcceptedOrder,
  since: number,
): string | undefined {
  const key = admin.operator()?.passwordHash;
  const content = `${order}.${version}.${since + decisionMs}`;
  return key && `${content}.${signatureOf(key, content)}`;
}

const signatureOf = (key: string, content: string): string =>
  createHmac('sha256', key).update(`accept an order ${content}`).digest('base64url');

/** The order that a link may accept at this moment; undefined if it may none. */
export function orderOfToken(
  { admin, orderView, refunds }: Pick<Records, 'admin' | 'orderView' | 'refunds'>,
  token: string,
  now: number,
): OrderRow | undefined {
  const [, content = '', order = '', version, until, signature = ''] =
    /^((ord_[a-zA-Z0-9]{1,40})\.(\d{1,9})\.(\d{1,15}))\.([\w-]{43})$/.exec(token) ?? [];
  const key = admin.operator()?.passwordHash;
  if (key === undefined || !isId('ord', order)) return undefined;
  const isOurs = timingSafeEqual(Buffer.from(signatureOf(key, content)), Buffer.from(signature));
  const leftMs = Number(until) - now;
  // Not by a clock that was ahead.
  if (!isOurs || leftMs <= 0 || leftMs > decisionMs + maxSetBackMs) return undefined;
  const row = orderView.byPublicId(order);
  const isSame = row?.version === Number(version) && refunds.of(row.id).length === 0;
  return isSame ? row : undefined;
}
