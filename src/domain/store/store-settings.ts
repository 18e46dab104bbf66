// Every setting of a store that its merchant may change, in one table. Command-line options, the
// form of the dashboard and the API take names, texts, bounds, defaults and checks from here. The
// API never changes a webhook or the terms of orders: a stolen key must not redirect them.

import { PaygateError, reasonOf } from '../../lib/errors.ts';
import { checkCallbackUrl, checkWebhookUrl } from '../delivery/callback.ts';
import type { CallbackSender } from '../delivery/callback-url-policy.ts';
import type { LatePolicy } from '../order/order.ts';
import {
  maxAdjustPercent,
  orderDefaults,
  parseAdjustment,
  parseExpirySeconds,
  parseQuoteSeconds,
  parseReturnUrl,
  parseTolerance,
} from '../order/order-input.ts';
import {
  checkPolicy,
  defaultConfirmations,
  maxConfirmations,
  policyOf,
} from '../payment/confirmation-policy.ts';
import { namedCurrencies, parseCurrency } from '../payment/currency.ts';
import { languages, parseKnownLanguage } from '../text/language.ts';
import { parseCallbackUrl, trimUrl } from '../text/url-text.ts';
import { checkEmbedOrigins, parseEmbedOrigins } from './embed-origins.ts';
import type { StoreSetting } from './setting-kinds.ts';
import { parseContact, parseReceiptAddress } from './store-contact.ts';

export interface StoreSettings {
  readonly name: string;
  readonly callbackUrl: string;
  readonly requiredConfirmations: number;
  /** As JSON: `readBands` reads it. */
  readonly confirmationBands: string;
  readonly minimumSat: number | null;
  readonly currency: string | null;
  readonly omitRbf: boolean;
  readonly reversalCallback: boolean;
  readonly allowPrivateCallback: boolean;
  readonly allowHttpCallback: boolean;
  readonly webhookUrl: string | null;
  readonly webhookEvents: WebhookEvents;
  readonly latePolicy: LatePolicy;
  /** 0 for an order that never expires. */
  readonly orderSeconds: number;
  readonly quoteSeconds: number;
  readonly toleranceBasisPoints: number;
  readonly adjustBasisPoints: number;
  readonly returnUrl: string | null;
  readonly autoReturn: boolean;
  readonly receiptAddress: string | null;
  readonly contact: string | null;
  readonly language: string | null;
  /** See `parseEmbedOrigins`. */
  readonly embedOrigins: string;
}

/** Which events a store's webhook receives. */
export type WebhookEvents = 'order' | 'payment' | 'order,payment';

export const storeSettings = {
  name: {
    kind: 'text',
    field: 'name',
    label: 'Name',
    option: '--name <text>',
    help: 'name, for people',
    parse: parseName,
    maxLength: 100,
  },
  callbackUrl: {
    kind: 'text',
    field: 'callback-url',
    label: 'Callback URL',
    option: '--callback-url <url>',
    help: 'URL that receives the callbacks',
    noHelp: 'no callbacks',
    parse: parseCallbackUrl,
    none: '',
  },
  requiredConfirmations: {
    kind: 'count',
    field: 'confirmations',
    label: 'Confirmations until a payment is final',
    option: '--confirmations <n>',
    help: 'confirmations from which a payment is final',
    min: 1,
    max: maxConfirmations,
    default: defaultConfirmations,
  },
  confirmationBands: {
    kind: 'bands',
    field: 'confirmations-above',
    label: 'Larger amounts',
    option: '--confirmations-above <sat:n>',
    help: 'more confirmations above an amount, such as 5000000:6; repeatable',
    noHelp: 'the same number of confirmations for every amount',
  },
  minimumSat: {
    kind: 'amount',
    field: 'minimum',
    label: 'Send callbacks only for payments of at least (BTC)',
    hint: 'If empty, every payment has callbacks. Smaller payments are recorded in any case.',
    option: '--minimum <sat>',
    help: 'smaller payments are recorded, but get no callback from now on',
    noHelp: 'every payment gets its callbacks',
  },
  currency: {
    kind: 'text',
    field: 'currency',
    label: 'Currency',
    hint: 'The value of each payment is saved when it is first seen. Without one, no price is requested.',
    option: '--currency <code>',
    help: 'ISO 4217, such as EUR: records the worth of a payment when it is first seen',
    noHelp: 'no price is asked for when a payment is seen',
    parse: parseCurrency,
    offered: () => [['', 'None'], ...namedCurrencies()],
    none: null,
  },
  omitRbf: {
    kind: 'switch',
    field: 'omit-rbf',
    label: 'Leave rbf=1 out of callbacks, for plugins that do not count such payments',
    option: '--rbf-parameter',
    help: 'send rbf=1 for a payment that can be replaced (the default)',
    noHelp: 'leave rbf out, for plugins that do not count such payments',
    isOptionInverted: true,
  },
  reversalCallback: {
    kind: 'switch',
    field: 'reversal-callback',
    label: 'Send status -1 for a payment that is reversed after status 1 or 2',
    option: '--reversal-callback',
    help: 'send status -1 for a payment that vanished after 1 or 2',
    noHelp: 'never send -1',
  },
  allowPrivateCallback: {
    kind: 'switch',
    field: 'allow-private',
    label: 'URLs may lead to a private or loopback address',
    option: '--allow-private-callback',
    help: 'the callback URL may lead to a private or loopback address',
    noHelp: 'it may not',
  },
  allowHttpCallback: {
    kind: 'switch',
    field: 'allow-http',
    label: 'URLs may be plain http on the public internet',
    option: '--allow-http-callback',
    help: 'the callback URL may be plain http on the public internet',
    noHelp: 'it may not',
  },
  webhookUrl: {
    kind: 'text',
    field: 'webhook-url',
    label: 'Webhook URL',
    hint: 'Where your shop receives events of orders and payments, as JSON. If empty, none are sent.',
    option: '--webhook-url <url>',
    help: 'URL that receives events as JSON',
    noHelp: 'send no events',
    parse: trimUrl,
    none: null,
  },
  webhookEvents: {
    kind: 'choice',
    field: 'webhook-events',
    label: 'Webhook events',
    option: '--webhook-events <kinds>',
    help: 'events that the webhook receives',
    choices: { order: 'Orders', payment: 'Payments', 'order,payment': 'Orders and payments' },
  },
  latePolicy: {
    kind: 'choice',
    field: 'late',
    label: 'Late payments to an order',
    option: '--late <policy>',
    help: 'late money counts at its worth, or counts nothing until you accept it',
    choices: { worth: 'Count at their worth', ask: 'Count only when you accept them' },
  },
  orderSeconds: {
    kind: 'number',
    field: 'order-expires',
    label: 'Orders expire after (minutes)',
    hint: '0: never.',
    option: '--order-expires <seconds>',
    help: 'new orders expire after this time; 0 for never',
    parse: (text) => parseExpirySeconds(numberIn(text)),
    show: String,
    form: inMinutes(parseExpirySeconds, '5 minutes to 366 days, or 0 for never'),
  },
  quoteSeconds: {
    kind: 'number',
    field: 'quote-seconds',
    label: 'A quote holds for (minutes)',
    option: '--quote-seconds <seconds>',
    help: 'how long the rate of an order holds',
    parse: (text) => parseQuoteSeconds(numberIn(text)),
    show: String,
    form: inMinutes(parseQuoteSeconds, '5 to 60 minutes'),
  },
  toleranceBasisPoints: {
    kind: 'number',
    field: 'tolerance',
    label: 'Tolerance (percent)',
    hint: 'An order is paid when this share of its price is missing at most.',
    option: '--tolerance <percent>',
    help: 'share of an order that may be missing, such as 0.5',
    parse: (text) => parseTolerance(numberIn(text)),
    show: (basisPoints) => String(basisPoints / 100),
  },
  adjustBasisPoints: {
    kind: 'number',
    field: 'adjust-percent',
    label: 'Discount or surcharge (percent)',
    hint: `From -${maxAdjustPercent} to ${maxAdjustPercent}: -5 is a discount of 5 %. Never on prices in satoshis.`,
    option: '--adjust-percent <percent>',
    help: 'discount (-5) or surcharge (5) on prices in a currency',
    parse: (text) => parseAdjustment(signedNumberIn(text)),
    show: (basisPoints) => String(basisPoints / 100),
  },
  returnUrl: {
    kind: 'text',
    field: 'return-url',
    label: 'Return URL',
    hint: 'The link back to your shop on the page of an order.',
    option: '--return-url <url>',
    help: 'link back to the shop on the page of an order',
    noHelp: 'no link back',
    parse: trimUrl,
    none: null,
  },
  autoReturn: {
    kind: 'switch',
    field: 'auto-return',
    label: 'After the payment, the page of an order leads to the return URL by itself',
    option: '--auto-return',
    help: 'the page of an order leads to the return URL after the payment',
    noHelp: 'the customer follows the link',
  },
  receiptAddress: {
    kind: 'text',
    field: 'receipt-address',
    label: 'Name and address on receipts',
    hint: 'For example Café Möwe, Hafenstr. 1, 20457 Hamburg, VAT DE123456789.',
    option: '--receipt-address <text>',
    help: 'name and address of the merchant on receipts',
    noHelp: 'the name of the store alone',
    parse: parseReceiptAddress,
    maxLength: 300,
    none: null,
  },
  contact: {
    kind: 'text',
    field: 'contact',
    label: 'Contact for customers',
    hint: 'A mail address, a phone number or a URL. It stands on each page for customers that sends them to you.',
    option: '--contact <text>',
    help: 'mail, phone or URL of the shop on pages for customers',
    noHelp: 'no contact on pages for customers',
    parse: parseContact,
    maxLength: 200,
    none: null,
  },
  language: {
    kind: 'text',
    field: 'language',
    label: 'Language',
    hint: 'Of the pages for customers.',
    option: '--language <tag>',
    help: 'language of the pages for customers, such as de',
    noHelp: 'the language of the browser',
    parse: parseKnownLanguage,
    offered: () => [['', 'That of the browser'], ...Object.entries(languages)],
    none: null,
  },
  embedOrigins: {
    kind: 'text',
    field: 'embed',
    label: 'Sites that may show the pages for customers in a frame',
    hint: 'For example https://shop.example; several are separated by spaces.',
    option: '--embed <origin>',
    help: 'site that may show the pages for customers in a frame; repeatable',
    noHelp: 'no site may',
    parse: parseEmbedOrigins,
    maxLength: 2_000,
    none: '',
    isRepeatable: true,
  },
} as const satisfies Record<keyof StoreSettings, StoreSetting>;

export const storeSettingNames = Object.keys(storeSettings) as (keyof StoreSettings)[];

/**
 * What a new store has where nothing else is chosen; its name and Callback URL are always chosen.
 */
export const defaultStoreSettings: Omit<StoreSettings, 'name' | 'callbackUrl'> = {
  requiredConfirmations: defaultConfirmations,
  confirmationBands: '[]',
  minimumSat: null,
  currency: null,
  omitRbf: false,
  reversalCallback: false,
  allowPrivateCallback: false,
  allowHttpCallback: false,
  webhookUrl: null,
  webhookEvents: 'order',
  latePolicy: 'worth',
  orderSeconds: orderDefaults.expiresInSeconds,
  quoteSeconds: orderDefaults.quoteSeconds,
  toleranceBasisPoints: orderDefaults.toleranceBasisPoints,
  adjustBasisPoints: orderDefaults.adjustBasisPoints,
  returnUrl: null,
  autoReturn: false,
  receiptAddress: null,
  contact: null,
  language: orderDefaults.language,
  embedOrigins: '',
};

export const storeSettingsOf = (row: StoreSettings): StoreSettings =>
  Object.fromEntries(storeSettingNames.map((name) => [name, row[name]])) as never;

type Checks = Readonly<Partial<Record<keyof StoreSettings, () => void>>>;

/**
 * Checks of what no single value shows: the URLs under the store's permissions, and more
 * confirmations for larger amounts. Each stands under the setting that it refuses, and throws a
 * PaygateError `invalid`. What does not change is not checked again.
 * @param change values that were parsed already
 * @param before undefined for a new store
 */
export function settingChecks(
  change: Partial<StoreSettings>,
  before: StoreSettings | undefined,
  here: CallbackSender,
): Checks {
  const after = { ...defaultStoreSettings, callbackUrl: '', ...before, ...change };
  const hasOtherFlags =
    after.allowPrivateCallback !== before?.allowPrivateCallback ||
    after.allowHttpCallback !== before.allowHttpCallback;
  return {
    // Links, and plugins with a webhook of their own, need none.
    callbackUrl: () => {
      if (after.callbackUrl !== '') checkCallbackUrl(after.callbackUrl, after, before, here);
    },
    webhookUrl() {
      const { webhookUrl } = after;
      if (webhookUrl === null || (!hasOtherFlags && webhookUrl === before?.webhookUrl)) return;
      checkWebhookUrl(webhookUrl, after, here);
    },
    returnUrl() {
      const { returnUrl } = after;
      if (returnUrl === null || (!hasOtherFlags && returnUrl === before?.returnUrl)) return;
      try {
        parseReturnUrl(returnUrl, after);
      } catch (error) {
        throw new PaygateError('invalid', `the return URL ${reasonOf(error)}`);
      }
    },
    embedOrigins() {
      if (!hasOtherFlags && after.embedOrigins === before?.embedOrigins) return;
      checkEmbedOrigins(after.embedOrigins, after);
    },
    confirmationBands() {
      const { requiredConfirmations, confirmationBands } = change;
      if (requiredConfirmations === undefined && confirmationBands === undefined) return;
      checkPolicy(policyOf(after));
    },
  };
}

export function checkStoreSettings(...settings: Parameters<typeof settingChecks>): void {
  for (const check of Object.values(settingChecks(...settings))) check();
}

/** NaN for a text that is no number. */
const numberIn = (text: string): number =>
  /^\d{1,9}([.,]\d{1,9})?$/.test(text.trim()) ? Number(text.trim().replace(',', '.')) : Number.NaN;

/** NaN for a text that is no number. People also type the minus of a text. */
export const signedNumberIn = (text: string): number => {
  const [, sign = '', digits = ''] = /^([-−+]?)(.*)$/s.exec(text.trim()) ?? [];
  return numberIn(digits) * (sign === '' || sign === '+' ? 1 : -1);
};

/** A time of the form, as seconds. @param expected the times that are allowed */
function inMinutes(parse: (seconds: number) => number, expected: string) {
  return {
    parse(text: string): number {
      try {
        return parse(Math.round(numberIn(text) * 60));
      } catch {
        throw new PaygateError('invalid', `${expected} expected`);
      }
    },
    // Two decimals are enough for each second.
    show: (seconds: number) => String(Math.round((seconds * 100) / 60) / 100),
  };
}

function parseName(text: string): string {
  const name = text.trim();
  if (/^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]{1,100}$/u.test(name)) return name;
  throw new PaygateError(
    'invalid',
    'name: 1 to 100 characters without control characters expected',
  );
}
