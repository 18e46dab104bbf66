// An order and its payments as shops receive them, from the API and in events. Times are Unix
// seconds, satoshis are integers, amounts and rates are decimal text.

import { unixSeconds } from '../../lib/time-units.ts';
import { formatMoney, formatPrice } from '../payment/money.ts';
import type { PaymentState } from '../payment/payment.ts';
import { paymentUri } from '../payment/payment-uri.ts';
import { type OrderInvoice, shownInvoice } from './lightning-invoice.ts';
import type { OrderPayment, PaymentStanding, Standing } from './order.ts';
import { dueText, type StoredPrice } from './quote.ts';
import { refundStateOf, type ShownRefund } from './refund.ts';

export interface OrderDetails extends StoredPrice {
  readonly publicId: string;
  readonly storeId: number;
  readonly storeName: string;
  /** `lnk_…` of the link that made it; null for an order of the shop. */
  readonly linkPublicId: string | null;
  readonly address: string;
  readonly version: number;
  readonly reference: string | null;
  readonly description: string | null;
  /** JSON: pairs of text. */
  readonly metadata: string;
  readonly returnUrl: string | null;
  readonly language: string | null;
  readonly customerEmail: string | null;
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly paidAt: number | null;
  readonly canceledAt: number | null;
  readonly acceptedAt: number | null;
  readonly lightning: OrderInvoice | null;
  /** The oldest first. */
  readonly refunds: readonly ShownRefund[];
}

export interface ShownPayment extends OrderPayment {
  readonly height: number | null;
  readonly confirmations: number;
  readonly signalsRbf: boolean;
  /** Hex, of a settled Lightning invoice, whose payment hash is the `txid`; else null. */
  readonly preimage: string | null;
}

export type PaymentJson = ReturnType<typeof paymentJson>;
export type PaymentLine = ReturnType<typeof paymentLine>;

export type OrderJson = ReturnType<typeof orderJson>;

/** Payments that an order shows. Its sums count all. */
const maxShownPayments = 200;

/** @param baseUrl begins the URL of the order's page, and has no slash at its end */
export function orderJson(order: OrderDetails, standing: Standing<ShownPayment>, baseUrl: string) {
  const { publicId, address, currency, amountMinor, storeName } = order;
  const { quote, missingSat } = standing;
  return {
    id: publicId,
    store_id: order.storeId,
    link_id: order.linkPublicId,
    version: order.version,
    status: standing.status,
    late: standing.isLate,
    amount:
      currency === null || amountMinor === null ? null : formatMoney(BigInt(amountMinor), currency),
    currency,
    adjust_percent: order.adjustBasisPoints / 100,
    amount_due: dueText(order),
    amount_sat: standing.amountSat,
    received_sat: standing.receivedSat,
    confirmed_sat: standing.confirmedSat,
    missing_sat: missingSat,
    excess_sat: standing.excessSat,
    quote: quote && {
      rate: formatPrice(quote.rateCents),
      amount_sat: quote.amountSat,
      created_at: unixSeconds(quote.createdAt),
      expires_at: unixSeconds(quote.expiresAt),
    },
    address,
    uri: missingSat ? paymentUri(address, { amountSat: missingSat, label: storeName }) : null,
    lightning: lightningJson(shownInvoice(order.lightning, standing)),
    page_url: `${baseUrl}/o/${publicId}`,
    reference: order.reference,
    description: order.description,
    metadata: JSON.parse(order.metadata) as Record<string, string>,
    return_url: order.returnUrl,
    language: order.language,
    customer_email: order.customerEmail,
    created_at: unixSeconds(order.createdAt),
    expires_at: unixSeconds(order.expiresAt),
    paid_at: unixSeconds(order.paidAt),
    canceled_at: unixSeconds(order.canceledAt),
    accepted_at: unixSeconds(order.acceptedAt),
    payments: standing.payments.slice(-maxShownPayments).reverse().map(paymentJson),
    refunds: order.refunds.toReversed().map(refundJson),
  };
}

export type RefundJson = ReturnType<typeof refundJson>;

const refundJson = (refund: ShownRefund) => ({
  amount_sat: refund.amountSat,
  address: refund.address,
  state: refundStateOf(refund),
  txid: refund.txid,
  created_at: unixSeconds(refund.createdAt),
  sent_at: unixSeconds(refund.doneAt),
});

const statusNumbers: Readonly<Record<PaymentState, 0 | 1 | 2>> = {
  dropped: 0,
  unconfirmed: 0,
  confirming: 1,
  confirmed: 2,
  settled: 2,
};

const lightningJson = (shown: OrderInvoice | undefined) =>
  shown === undefined
    ? null
    : {
        invoice: shown.invoice,
        amount_sat: shown.amountSat,
        expires_at: unixSeconds(shown.expiresAt),
      };

/** @param standing with a null rate for a payment without an order */
export function paymentJson({
  payment,
  rateCents,
  isLate,
}: Pick<PaymentStanding<ShownPayment>, 'payment' | 'rateCents' | 'isLate'>) {
  const rate = rateCents === null ? null : formatPrice(rateCents);
  if (payment.preimage !== null) {
    return {
      kind: 'lightning' as const,
      payment_hash: payment.txid,
      preimage: payment.preimage,
      value_sat: payment.valueSat,
      rate,
      late: isLate,
      settled_at: unixSeconds(payment.firstSeenAt),
    };
  }
  return {
    kind: 'onchain' as const,
    txid: payment.txid,
    value_sat: payment.valueSat,
    rate,
    late: isLate,
    status: statusNumbers[payment.state],
    confirmations: payment.confirmations,
    first_seen_at: unixSeconds(payment.firstSeenAt),
    height: payment.height,
    rbf: payment.signalsRbf,
    gone: payment.state === 'dropped',
    replaced_by: payment.replacedBy,
  };
}

/** What lists show of a payment. A paid invoice is final, and its hash stands for a transaction. */
export const paymentLine = (payment: PaymentJson) =>
  payment.kind === 'onchain'
    ? payment
    : {
        ...payment,
        txid: payment.payment_hash,
        status: 2 as const,
        confirmations: 0,
        first_seen_at: payment.settled_at,
        height: null,
        gone: false,
        replaced_by: null,
      };
