// The body of a new invoice, as plugins send it, and the order that it asks for. Amounts are
// rounded to their currency. What has no meaning here is answered as it was sent.

import { utf8ToBytes } from '@noble/hashes/utils.js';
import * as z from 'zod';
import type { CallbackFlags } from '../domain/delivery/callback-url-policy.ts';
import { BodyProblems, isPlainText } from '../domain/order/body-fields.ts';
import {
  type InvoiceRequest,
  lightningMethodId,
  type MethodId,
  methodId,
} from '../domain/order/invoice.ts';
import {
  maxReferenceBytes,
  minExpirySeconds,
  type OrderBody,
  parseLanguage,
  parseReturnUrl,
} from '../domain/order/order-input.ts';
import { minOrderSat } from '../domain/order/quote.ts';
import { parseCurrency } from '../domain/payment/currency.ts';
import { formatMoney, minorDigitsOf } from '../domain/payment/money.ts';
import { PaygateError } from '../lib/errors.ts';

const maxMetadataBytes = 16_384;

const text = z.string();
/** Sent as a number or as text; both are read exactly. */
const decimal = z.union([z.string(), z.number()]).transform(String);
const metadata = z.record(z.string(), z.unknown());

export const invoiceBody = z.object({
  amount: decimal.optional().describe('Rounded to the currency'),
  currency: text.optional().describe('ISO 4217, BTC or SATS; the currency of the store by default'),
  metadata: metadata.optional().describe('Kept as it is; orderId is how the shop finds it'),
  checkout: z
    .object({
      speedPolicy: z
        .enum(['HighSpeed', 'MediumSpeed', 'LowMediumSpeed', 'LowSpeed'])
        .optional()
        .describe('Ignored: the store has its confirmations'),
      paymentMethods: z
        .array(text)
        .optional()
        .describe('The page shows Lightning first for `BTC-LN` alone'),
      defaultPaymentMethod: text.optional().describe('`BTC-LN`: the page shows Lightning first'),
      expirationMinutes: decimal.optional(),
      paymentTolerance: decimal.optional().describe('Percent, 0 to 10'),
      redirectURL: text.optional().describe('May hold {InvoiceId} and {OrderId}'),
      redirectAutomatically: z.boolean().optional(),
      defaultLanguage: text.optional(),
    })
    .optional(),
  orderId: z.unknown().optional(),
  buyerEmail: z.unknown().optional(),
  redirectURL: text.optional(),
});

export interface AskedInvoice {
  readonly body: OrderBody;
  readonly request: InvoiceRequest;
  readonly metadata: string;
}

interface Surroundings {
  readonly publicId: string;
  /** The body as it was sent. */
  readonly sent: string;
  readonly currency: string | null;
  readonly flags: CallbackFlags;
  /** Whether the store has a Lightning node. */
  readonly hasLightning: boolean;
}

/** @throws BodyProblems; PaygateError invalid with a reason that plugins show */
export function askedInvoice(
  { checkout = {}, ...given }: Body,
  { publicId, sent, currency, flags, hasLightning }: Surroundings,
): AskedInvoice {
  const { expirationMinutes, paymentTolerance, ...asked } = checkout;
  const paymentMethods = askedMethods(asked.paymentMethods ?? [], hasLightning);
  const defaultPaymentMethod = methodNamed(asked.defaultPaymentMethod ?? '');
  const { metadata, buyerEmail, orderId: besideId } = given;
  const { orderId, text } = metadataOf({ metadata, buyerEmail, orderId: besideId }, sent);
  const redirectURL = asked.redirectURL ?? given.redirectURL;
  const { unit, ...price } = priceOf(given.amount, given.currency ?? currency ?? 'EUR');
  const minutes = expirationMinutes === undefined ? undefined : Number(expirationMinutes);
  return {
    metadata: text,
    request: {
      ...asked,
      paymentMethods,
      defaultPaymentMethod,
      redirectURL,
      ...(unit !== undefined && { unit }),
    },
    body: {
      ...price,
      reference: isReference(orderId) ? orderId : null,
      return_url: redirectURL && returnUrlOf(redirectURL, publicId, orderId, flags),
      language: orIgnored(() =>
        parseLanguage((asked.defaultLanguage ?? '').split(/[-_]/)[0] ?? ''),
      ),
      expires_in: minutes && Math.max(minExpirySeconds, Math.round(minutes * 60)),
      tolerance_percent: paymentTolerance === undefined ? null : Number(paymentTolerance),
    },
  };
}

const problem = (path: string, message: string): BodyProblems =>
  new BodyProblems([[path, message]]);

/** BTCPay also writes a method with `_`, and has more names of the chain and of Lightning. */
const methodNames: readonly (readonly [MethodId, RegExp])[] = [
  [methodId, /^BTC(?:[-_](?:CHAIN|OnChain))?$/i],
  [lightningMethodId, /^BTC[-_](?:LN|LightningNetwork|LightningLike|LNURLPAY|LNURL)$/i],
];
/** Lightning of other coins. A list that suits all servers may have it. */
const foreign = /^[A-Z0-9]+[-_](?:LN|LightningNetwork|LNURLPAY|LNURL)$/i;

const methodNamed = (name: string): MethodId | undefined =>
  methodNames.find(([, pattern]) => pattern.test(name))?.[0];

/** Those of the list that the store has; undefined without a list. */
function askedMethods(
  names: readonly string[],
  hasLightning: boolean,
): readonly MethodId[] | undefined {
  for (const [at, name] of names.entries()) {
    if (methodNamed(name) === undefined && !foreign.test(name)) {
      throw problem(`checkout.paymentMethods[${at}]`, 'an unknown payment method');
    }
  }
  if (names.length === 0) return undefined;
  const asked = new Set(names.map(methodNamed));
  const taken = methodNames.flatMap(([id]) =>
    asked.has(id) && (id === methodId || hasLightning) ? [id] : [],
  );
  if (taken.length > 0) return taken;
  const why = asked.has(lightningMethodId)
    ? 'this store has no Lightning node'
    : 'only Bitcoin is taken here';
  throw new PaygateError('invalid', `No payment method: ${why}`);
}

type AskedPrice = Pick<OrderBody, 'amount' | 'currency' | 'amount_sat'> & {
  readonly unit?: 'BTC' | 'SATS' | undefined;
};

function priceOf(amount: string | undefined, asked: string): AskedPrice {
  const code = asked.trim().toUpperCase();
  const units = { BTC: 'BTC', SATS: 'SATS', SAT: 'SATS' } as const;
  const unit = Object.hasOwn(units, code) ? units[code as keyof typeof units] : undefined;
  const currency = unit ?? parseCurrency(code);
  const digits = unit === 'BTC' ? 8 : unit === 'SATS' ? 0 : minorDigitsOf(currency);
  const minor = amount === undefined ? undefined : rounded(amount, digits);
  if (minor === undefined || minor <= 0n) {
    const without = 'an amount above 0 is needed: an invoice without one is not possible here';
    throw problem('amount', amount === undefined ? without : 'a number above 0 is expected');
  }
  if (unit === undefined) return { unit, currency, amount: formatMoney(minor, currency) };
  if (minor >= minOrderSat && minor <= Number.MAX_SAFE_INTEGER) {
    return { unit, amount_sat: Number(minor) };
  }
  throw problem('amount', `an invoice has at least ${minOrderSat} sat, and less than all bitcoins`);
}

/** In units of the last decimal, rounded half up; undefined for what is no number. */
export function rounded(number: string, digits: number): bigint | undefined {
  const [, sign, whole = '', decimals = '', exponent = '0'] =
    /^\s*(-?)(\d{1,30})(?:\.(\d{0,30}))?(?:e([+-]?\d{1,2}))?\s*$/i.exec(number) ?? [];
  if (whole === '') return undefined;
  const shift = digits + Number(exponent) - decimals.length;
  const units = BigInt(whole + decimals);
  const half = shift < 0 ? 10n ** BigInt(-shift) / 2n : 0n;
  const value = shift < 0 ? (units + half) / 10n ** BigInt(-shift) : units * 10n ** BigInt(shift);
  return sign === '-' ? -value : value;
}

/** The metadata as it was sent. Coinsnap's plugins name the order beside it. */
function metadataOf({ metadata, ...beside }: Pick<Body, 'metadata' | Beside>, sent: string) {
  const missing = Object.entries(beside).filter(
    ([name, value]) => value !== undefined && metadata?.[name] === undefined,
  );
  const raw = memberText(sent, 'metadata') ?? '{}';
  const joined = () => JSON.stringify({ ...JSON.parse(raw), ...Object.fromEntries(missing) });
  const text = missing.length === 0 ? raw : joined();
  checkMetadata(text);
  const id = metadata?.orderId ?? beside.orderId;
  return { text, orderId: typeof id === 'string' ? id : '' };
}

type Body = z.infer<typeof invoiceBody>;
type Beside = 'orderId' | 'buyerEmail';

/** @throws BodyProblems */
export function checkMetadata(text: string): void {
  const { length } = utf8ToBytes(text);
  if (length <= maxMetadataBytes && text.isWellFormed()) return;
  throw problem('metadata', `has ${length} bytes; at most ${maxMetadataBytes} are allowed`);
}

/** Whether an order can have it as its reference. */
const isReference = (orderId: string): boolean =>
  orderId !== '' && isPlainText(orderId) && utf8ToBytes(orderId).length <= maxReferenceBytes;

/** Placeholders are replaced before the URL is read. A URL that cannot be a link is ignored. */
function returnUrlOf(url: string, publicId: string, orderId: string, flags: CallbackFlags) {
  const filled = url
    .replaceAll(/\{InvoiceId\}/gi, publicId)
    .replaceAll(/\{OrderId\}/gi, () => encodeURIComponent(orderId.toWellFormed()))
    .replaceAll(/\{Status\}/gi, '');
  return orIgnored(() => parseReturnUrl(filled, flags));
}

function orIgnored<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof PaygateError) return null;
    throw error;
  }
}

/**
 * The text of a member of a JSON object, as it was written; undefined without it. The last of two
 * with one name counts, as for `JSON.parse`.
 * @param json valid
 */
export function memberText(json: string, name: string): string | undefined {
  let depth = 0;
  let start: number | undefined;
  let found: string | undefined;
  let last = '';
  for (const { 0: token, index } of json.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{},:]/g)) {
    const isEnd = depth === 1 && (token === ',' || token === '}');
    if (isEnd && start !== undefined) {
      found = json.slice(start, index).trim();
      start = undefined;
    }
    if (token === ':' && depth === 1) {
      const isNamed = String(JSON.parse(last)).toLowerCase() === name;
      if (isNamed) start = index + 1;
    }
    depth += token === '{' || token === '[' ? 1 : token === '}' || token === ']' ? -1 : 0;
    last = token;
  }
  return found === 'null' ? undefined : found;
}
