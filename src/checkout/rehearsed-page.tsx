// The pages that a customer sees of an order, for one that the merchant rehearses. Its record is
// made here and not stored. They have no code, no address and no link to a wallet.

import type { Context } from 'hono';
import type { ShownPayment } from '../domain/order/order-json.ts';
import { orderExpiryOf, quoteAt, satoshisOf } from '../domain/order/quote.ts';
import { rehearsalMark } from '../domain/order/rehearsal.ts';
import { policyOf } from '../domain/payment/confirmation-policy.ts';
import { pageScript } from '../web/hashed-asset.ts';
import type { RehearsedOrder } from '../web/rehearsed-order.ts';
import { beginPage } from './checkout-frame.tsx';
import { CustomerPage } from './customer-page.tsx';
import { ReceiptPage } from './receipt-page.tsx';
import { type ShownRecord, shownOrder } from './shown-order.ts';

/** The markup of a step. Sets the headers of its page. */
export function rehearsedPage(context: Context, asked: RehearsedOrder) {
  const { store, step, now, panel, receiptUrl } = asked;
  // No site may frame it, because its form is the merchant's.
  const reading = beginPage(context, { ...store, embedOrigins: '' });
  const scripts = [`../../../o/assets/${pageScript.name()}`];
  const rehearsal = { panel, receiptUrl, scripts };
  const payment = paymentOf(asked);
  if (step !== 'receipt') {
    const shown = shownOrder(recordOf(asked, step === 'waiting' ? [] : [payment]), now);
    return <CustomerPage shown={shown} reading={reading} rehearsal={rehearsal} />;
  }
  const { currency, requiredConfirmations: confirmations } = store;
  const receipt = { ...payment, currency, address: rehearsalMark };
  const shown = { receipt, state: 'confirmed', confirmations, owner: store } as const;
  return <ReceiptPage shown={shown} reading={reading} rehearsal={rehearsal} />;
}

function paymentOf({ store, price, rateCents, step, now }: RehearsedOrder): ShownPayment {
  const isSeen = step === 'seen';
  return {
    txid: rehearsalMark,
    valueSat: satoshisOf(price, rateCents),
    state: isSeen ? 'unconfirmed' : 'confirmed',
    replacedBy: null,
    priceCents: price.kind === 'sat' ? null : rateCents,
    firstSeenAt: now,
    interruptedAt: null,
    firstBlockAt: null,
    minedAt: isSeen ? null : now,
    height: null,
    confirmations: isSeen ? 0 : store.requiredConfirmations,
    signalsRbf: false,
    preimage: null,
  };
}

function recordOf(
  { store, price, rateCents, step, now }: RehearsedOrder,
  payments: readonly ShownPayment[],
): ShownRecord {
  const isFiat = price.kind === 'fiat';
  const expiresAt = orderExpiryOf(now, store.orderSeconds);
  const { adjustBasisPoints, latePolicy, minimumSat, toleranceBasisPoints } = store;
  const times = { createdAt: now, expiresAt, canceledAt: null, acceptedAt: null };
  return {
    row: { amountSat: satoshisOf(price, rateCents), invoice: null },
    details: {
      ...times,
      publicId: rehearsalMark,
      storeId: store.id,
      storeName: store.name,
      linkPublicId: null,
      address: rehearsalMark,
      version: 1,
      currency: isFiat ? price.currency : null,
      amountMinor: isFiat ? Number(price.minor) : null,
      adjustBasisPoints: isFiat ? adjustBasisPoints : 0,
      reference: rehearsalMark,
      description: null,
      metadata: '{}',
      returnUrl: store.returnUrl,
      language: null,
      customerEmail: null,
      paidAt: step === 'paid' ? now : null,
      lightning: null,
      refunds: [],
    },
    contact: store.contact,
    receiptAddress: store.receiptAddress,
    autoReturn: false,
    policy: policyOf(store),
    isDonation: false,
    facts: {
      ...times,
      price,
      toleranceBasisPoints,
      latePolicy,
      minimumSat,
      acceptedSat: null,
      scannedAt: now,
    },
    quotes: isFiat ? [quoteAt(price, rateCents, now, store.quoteSeconds, expiresAt)] : [],
    payments,
  };
}
