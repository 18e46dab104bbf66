// An order as an invoice of BTCPay's Greenfield API: its two states, and its JSON text. Amounts are
// decimal text, times Unix seconds. Client libraries declare exactly these types.

import { dayMs, unixSeconds } from '../../lib/time-units.ts';
import {
  exactBitcoin,
  formatMoney,
  formatPrice,
  satCentsOf,
  shortBitcoin,
  sumSat,
} from '../payment/money.ts';
import { isFinalState } from '../payment/payment.ts';
import { paymentUri } from '../payment/payment-uri.ts';
import { shownInvoice } from './lightning-invoice.ts';
import type { OrderStatus, PaymentStanding, Standing } from './order.ts';
import type { OrderDetails, ShownPayment } from './order-json.ts';
import type { Quote } from './quote.ts';

/** What the order itself does not have, as `orders.invoice` stores it. */
export interface InvoiceRequest {
  /** The key that made it, and its price: the same again is the same sale. */
  readonly sale?: string;
  /** In which unit a price in bitcoin was given. */
  readonly unit?: 'BTC' | 'SATS';
  readonly speedPolicy?: string | undefined;
  /** All that the store has without it. */
  readonly paymentMethods?: readonly MethodId[] | undefined;
  readonly defaultPaymentMethod?: MethodId | undefined;
  /** As it was sent. */
  readonly redirectURL?: string | undefined;
  readonly redirectAutomatically?: boolean | undefined;
  readonly defaultLanguage?: string | undefined;
  /** Lists leave it out. */
  readonly archived?: true;
}

export type InvoiceStatus = 'New' | 'Processing' | 'Settled' | 'Expired' | 'Invalid';
type AdditionalStatus = 'None' | 'PaidPartial' | 'PaidOver' | 'PaidLate' | 'Marked';

export interface InvoiceOrder extends OrderDetails {
  readonly toleranceBasisPoints: number;
  readonly firstPaidAt: number | null;
  readonly invoice: string | null;
  readonly invoiceMetadata: string | null;
}

export interface InvoiceReader {
  readonly storeId: string;
  readonly isPrestaShop: boolean;
  /** Begins the URL of its page, and has no slash at its end. */
  readonly baseUrl: string;
}

export const requestOf = ({ invoice }: Pick<InvoiceOrder, 'invoice'>): InvoiceRequest =>
  invoice === null ? {} : (JSON.parse(invoice) as InvoiceRequest);

/**
 * Clients read `Invalid` as "not paid after all", and `PaidLate` as "paid" whatever the status is.
 * So an order that was paid once is never `New` again, and only a settled one is `PaidLate`.
 */
export function invoiceStateOf(
  { acceptedAt, firstPaidAt }: Pick<InvoiceOrder, 'acceptedAt' | 'firstPaidAt'>,
  { status, receivedSat, excessSat, isLate }: Standing,
): readonly [InvoiceStatus, AdditionalStatus] {
  const over = excessSat > 0 ? 'PaidOver' : undefined;
  const settled = acceptedAt !== null ? 'Marked' : (over ?? (isLate ? 'PaidLate' : 'None'));
  const unpaid = receivedSat > 0 ? 'PaidPartial' : 'None';
  const additional = {
    open: unpaid,
    expired: unpaid,
    processing: over ?? 'None',
    paid: settled,
    canceled: 'Marked',
  } as const;
  return [invoiceStatusOf(firstPaidAt, status), additional[status]];
}

export function invoiceStatusOf(firstPaidAt: number | null, status: OrderStatus): InvoiceStatus {
  const wasPaid = firstPaidAt !== null;
  return {
    open: wasPaid ? 'Invalid' : 'New',
    expired: wasPaid ? 'Invalid' : 'Expired',
    processing: 'Processing',
    paid: 'Settled',
    canceled: 'Invalid',
  }[status] as InvoiceStatus;
}

/** `Settled` accepts what was received, `Invalid` cancels. */
export function manualStatuses({ status, receivedSat }: Standing): ('Settled' | 'Invalid')[] {
  const isDecided = status === 'paid' || status === 'processing';
  return [
    ...(receivedSat > 0 && !isDecided ? (['Settled'] as const) : []),
    ...(status === 'open' || status === 'expired' ? (['Invalid'] as const) : []),
  ];
}

/** Stands for the end of an order that never expires: clients declare a number. */
const endlessMs = 36_500 * dayMs;

/** The JSON text of an invoice. Its metadata is the text that the shop sent. */
export function invoiceText(
  order: InvoiceOrder,
  standing: Standing<ShownPayment>,
  { storeId, isPrestaShop, baseUrl }: InvoiceReader,
  more: object = {},
): string {
  const request = requestOf(order);
  const { publicId, createdAt, returnUrl, language } = order;
  const nameOf = (id: MethodId): string => (isPrestaShop ? oldMethodIds[id] : id);
  const { paymentMethods = methodsOf(order, standing, standing.payments) } = request;
  const [status, additionalStatus] = invoiceStateOf(order, standing);
  const expiresAt = order.expiresAt ?? createdAt + endlessMs;
  const monitored = unixSeconds(expiresAt + dayMs);
  const invoice = {
    id: publicId,
    storeId,
    amount: amountOf(order, standing.amountSat, request),
    paidAmount: paidAmount(order, standing, request),
    currency: order.currency ?? request.unit ?? 'BTC',
    type: 'Standard',
    checkoutLink: `${baseUrl}/i/${publicId}`,
    createdTime: unixSeconds(createdAt),
    expirationTime: unixSeconds(expiresAt),
    monitoringExpiration: monitored,
    // Its name in older versions.
    monitoringTime: monitored,
    status,
    additionalStatus,
    availableStatusesForManualMarking: manualStatuses(standing),
    archived: request.archived ?? false,
    checkout: {
      speedPolicy: request.speedPolicy ?? 'MediumSpeed',
      // Plugins compare it with what they asked for.
      paymentMethods: paymentMethods.map(nameOf),
      defaultPaymentMethod: request.defaultPaymentMethod ?? null,
      expirationMinutes: Math.round((expiresAt - createdAt) / 60_000),
      monitoringMinutes: 1440,
      paymentTolerance: order.toleranceBasisPoints / 100,
      redirectURL: request.redirectURL ?? returnUrl,
      redirectAutomatically: request.redirectAutomatically ?? false,
      defaultLanguage: request.defaultLanguage ?? language,
      lazyPaymentMethods: false,
    },
    receipt: { enabled: true, showQR: true, showPayments: true },
    ...more,
  };
  return withMetadata(invoice, metadataOf(order));
}

/** A JSON text with the text of the metadata as its last field. */
export const withMetadata = (value: object, metadata: string): string =>
  `${JSON.stringify(value).slice(0, -1)},"metadata":${metadata}}`;

/** An order that was not made below `/api/v1` has its pairs, and its reference as `orderId`. */
export function metadataOf({
  invoiceMetadata,
  metadata,
  reference,
}: Pick<InvoiceOrder, 'invoiceMetadata' | 'metadata' | 'reference'>): string {
  if (invoiceMetadata !== null) return invoiceMetadata;
  const orderId = reference === null ? {} : { orderId: reference };
  return JSON.stringify({ ...(JSON.parse(metadata) as object), ...orderId });
}

export const methodId = 'BTC-CHAIN' as const;
export const lightningMethodId = 'BTC-LN' as const;
/** The names of both in BTCPay Server 1. */
export const oldMethodIds = { [methodId]: 'BTC', [lightningMethodId]: 'BTC-LightningNetwork' };

export type MethodId = keyof typeof oldMethodIds;

/** How a payment came. */
export const methodOf = ({ preimage }: Pick<ShownPayment, 'preimage'>): MethodId =>
  preimage === null ? methodId : lightningMethodId;

type Priced = Pick<InvoiceOrder, 'currency' | 'amountMinor'>;

function amountOf(order: Priced, amountSat: number, { unit }: InvoiceRequest): string {
  const { currency, amountMinor } = order;
  if (currency !== null && amountMinor !== null) return formatMoney(BigInt(amountMinor), currency);
  return unit === 'SATS' ? String(amountSat) : exactBitcoin(amountSat);
}

/** What was received, at the rates that hold for it, rounded half up. */
function paidAmount({ currency }: Priced, standing: Standing, { unit }: InvoiceRequest): string {
  const { payments, receivedSat } = standing;
  if (currency === null) return unit === 'SATS' ? String(receivedSat) : exactBitcoin(receivedSat);
  const minor = satCentsOf(1n, currency);
  const worth = payments
    .filter(({ payment }) => payment.state !== 'dropped')
    .reduce((sum, each) => sum + BigInt(each.payment.valueSat) * BigInt(each.rateCents ?? 0), 0n);
  return formatMoney((worth + minor / 2n) / minor, currency);
}

/** @param isAll with payments that are gone */
export function invoiceMethods(
  order: MethodOrder,
  { quotes, ...standing }: Standing<ShownPayment> & { readonly quotes: readonly Quote[] },
  { isPrestaShop }: Pick<InvoiceReader, 'isPrestaShop'>,
  isAll: boolean,
) {
  const { address, currency, storeName } = order;
  const { receivedSat, amountSat, excessSat, missingSat } = standing;
  const shown = standing.payments.filter(({ payment }) => isAll || payment.state !== 'dropped');
  const rateCents = shown.findLast((each) => each.rateCents !== null)?.rateCents;
  const ownRate = requestOf(order).unit === 'SATS' ? '100000000' : '1';
  const due = missingSat ?? Math.max(0, amountSat - receivedSat);
  const invoice = shownInvoice(order.lightning, standing)?.invoice ?? '';
  const ofMethod = Map.groupBy(shown, ({ payment }) => methodOf(payment));
  const described = (id: MethodId, destination: string, paymentLink: string) => {
    const payments = ofMethod.get(id) ?? [];
    const paid = payments.filter(({ payment }) => payment.state !== 'dropped');
    return {
      activated: true,
      paymentMethodId: id,
      currency: 'BTC',
      destination,
      paymentLink,
      rate: currency === null ? ownRate : formatPrice(rateCents ?? quotes.at(-1)?.rateCents ?? 0),
      paymentMethodPaid: shortBitcoin(sumSat(paid.map(({ payment }) => payment.valueSat))),
      totalPaid: shortBitcoin(receivedSat),
      due: excessSat > 0 ? `-${shortBitcoin(excessSat)}` : shortBitcoin(due),
      amount: shortBitcoin(amountSat),
      paymentMethodFee: '0',
      ...(isPrestaShop && { networkFee: '0', paymentMethod: oldMethodIds[id] }),
      payments: payments.map((each) => invoicePayment(destination, each)),
      additionalData: {},
    };
  };
  const link = paymentUri(address, { amountSat: missingSat ?? 0, label: storeName });
  return methodsOf(order, standing, shown).map((id) =>
    id === methodId
      ? described(id, address, link)
      : described(id, invoice, invoice && `lightning:${invoice}`),
  );
}

type MethodOrder = OrderDetails & Pick<InvoiceOrder, 'invoice'>;

/** Those that were asked for and can be paid now, and those that were used; never none. */
function methodsOf(
  order: MethodOrder,
  standing: Pick<Standing, 'missingSat' | 'now'>,
  shown: readonly Pick<PaymentStanding<ShownPayment>, 'payment'>[],
): readonly MethodId[] {
  const all = [methodId, lightningMethodId] as const;
  const { paymentMethods: asked = all } = requestOf(order);
  const used = new Set(shown.map(({ payment }) => methodOf(payment)));
  const hasInvoice = shownInvoice(order.lightning, standing) !== undefined;
  const found = all.filter(
    (id) => used.has(id) || (asked.includes(id) && (id === methodId || hasInvoice)),
  );
  return found.length === 0 ? [methodId] : found;
}

/** Whether the page of an order shows Lightning before the address. */
export function isLightningFirst(order: Pick<InvoiceOrder, 'invoice'>): boolean {
  const { paymentMethods, defaultPaymentMethod } = requestOf(order);
  const isAlone = paymentMethods?.includes(methodId) === false;
  return isAlone || defaultPaymentMethod === lightningMethodId;
}

/**
 * A payment, also in a webhook. Its id is the transaction and the first output that pays, or the
 * payment hash of an invoice.
 */
export const invoicePayment = (
  destination: string,
  { payment }: Pick<PaymentStanding<ShownPayment>, 'payment'>,
) => ({
  id: payment.preimage === null ? `${payment.txid}-0` : payment.txid,
  receivedDate: unixSeconds(payment.firstSeenAt),
  value: shortBitcoin(payment.valueSat),
  fee: '0',
  status:
    payment.state === 'dropped'
      ? 'Invalid'
      : isFinalState(payment.state)
        ? 'Settled'
        : 'Processing',
  destination,
});
