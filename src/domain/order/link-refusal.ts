// Why a link makes no order now.

import { type ErrorCode, PaygateError } from '../../lib/errors.ts';

export type LinkRefusalReason =
  /** It is switched off, or its store issues no addresses. */
  | 'inactive'
  /** As many of its orders as it may have are paid. */
  | 'used-up'
  /** Too many addresses in a row are unpaid: strangers must not widen the gap. */
  | 'gap'
  /** As many orders of the customer's network as may be are unpaid. */
  | 'network'
  /** The customer's network gave as many mail addresses as it may. */
  | 'emails'
  | 'no-price'
  /** The amount comes to less than dust, or to more than all bitcoins. */
  | 'too-small'
  | 'too-large';

const refusals: Readonly<Record<LinkRefusalReason, readonly [ErrorCode, string]>> = {
  inactive: ['gone', 'this link is switched off; ask the shop'],
  'used-up': ['gone', 'this link has had all its orders; ask the shop'],
  gap: ['unavailable', 'too many orders of this shop wait for a payment; ask the shop'],
  network: ['limited', 'too many orders from your network wait for a payment; pay one of them'],
  emails: ['limited', 'too many mail addresses came from your network; give none'],
  'no-price': ['unavailable', 'there is no price right now; try again in a minute'],
  'too-small': ['invalid', 'the amount is too small to be sent'],
  'too-large': ['invalid', 'the amount is more than all bitcoins'],
};

/** A page says it in its own words, by the reason. */
export class LinkRefusal extends PaygateError {
  readonly reason: LinkRefusalReason;

  constructor(reason: LinkRefusalReason) {
    super(...refusals[reason]);
    this.reason = reason;
  }
}
