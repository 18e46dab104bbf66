// Plugins of WordPress: BTCPay's for WooCommerce (2.8.0), and those of Coinsnap whose payment
// provider is "BTCPay Server" (WooCommerce 1.6.3, EDD 1.3.1, GiveWP 1.4.6).

import {
  findOrMakeHook,
  type Handling,
  invoiceEvents,
  type Json,
  makeHook,
  needEqual,
  type Plugin,
  permissionsOf,
  refusedOnly,
  type Sale,
  type ShopSide,
} from './plugin.ts';

const isSettled = ({ status, additionalStatus }: Json): boolean =>
  status === 'Settled' || additionalStatus === 'PaidLate';

const standardFour = 'canviewinvoices cancreateinvoice canviewstoresettings canmodifyinvoices';
const optional = ['cancreatenonapprovedpullpayments', 'webhooks.canmodifywebhooks'];

/** Goods leave the stock once. */
function completePayment(sale: Sale): void {
  sale.state = 'processing';
  if (!sale.effects.includes('stock -1')) sale.effects.push('stock -1');
}

/** @param isProtected _Protect order status_, on once the form was saved */
const wooCommerceWith = (name: string, isProtected: boolean): Plugin => ({
  name,
  firstState: 'pending',
  hook: 'secret of the server',
  events: invoiceEvents('ReceivedPayment PaymentSettled Processing Settled Expired Invalid'),
  async connect(shop) {
    const found = (await permissionsOf(shop)).filter((each) => !optional.includes(each));
    needEqual(found, standardFour);
    const { version, fullySynched } = await shop.api('GET', '/server/info');
    if (!fullySynched || Number.parseInt(version, 10) < 2) throw new Error('server not ready');
    await findOrMakeHook(shop, this);
    const methods = await shop.api('GET', '/stores/{s}/payment-methods');
    if (methods.length === 0) throw new Error('No payment methods are enabled');
  },
  async before(shop) {
    await shop.api('GET', '/stores/{s}/payment-methods');
  },
  asks: ({ id, total }) => ({
    ...{ amount: total.toFixed(2), currency: 'EUR' },
    metadata: {
      ...{ orderId: String(id), taxIncluded: '3.19', orderUrl: 'https://shop.example/1' },
      posData: JSON.stringify({ WooCommerce: { 'Order ID': id, 'Plugin Version': '2.8.0' } }),
    },
    checkout: {
      ...{ redirectURL: 'https://shop.example/thanks', paymentMethods: ['BTC_CHAIN'] },
      ...{ speedPolicy: null, defaultLanguage: null, expirationMinutes: null },
    },
    ...{ receipt: null, additionalSearchTerms: null },
  }),
  wrongSignature: 500,
  unknownInvoice: 200,
  async books({ event, sale, invoice, methods }) {
    const set = (state: string): void => {
      if (isProtected && sale.state === 'processing') sale.effects.push(`note: not ${state}`);
      else sale.state = state;
    };
    switch (event.type) {
      case 'InvoiceReceivedPayment':
        if (event.afterExpiration) set('failed');
        await methods();
        return undefined;
      case 'InvoicePaymentSettled':
        if (['cancelled', 'failed'].includes(sale.state)) {
          sale.state = isSettled(await invoice()) ? 'processing' : 'failed';
        }
        await methods();
        return undefined;
      case 'InvoiceProcessing':
        set('on-hold');
        return undefined;
      case 'InvoiceSettled':
        completePayment(sale);
        return undefined;
      case 'InvoiceExpired':
        set(event.partiallyPaid ? 'failed' : 'cancelled');
        return undefined;
      default:
        set('failed');
        return undefined;
    }
  },
});

export const wooCommerce = wooCommerceWith('WooCommerce', true);
export const wooCommerceUnsaved = wooCommerceWith('WooCommerce, unprotected', false);

/** The connection check of Coinsnap's plugins. */
async function checkCoinsnap(shop: ShopSide, plugin: Plugin): Promise<void> {
  await shop.api('GET', '/stores/{s}');
  if ((await shop.api('GET', '/stores/{s}/payment-methods')).length === 0) throw new Error('none');
  if (shop.hook !== undefined) {
    const at = `/stores/{s}/webhooks/${shop.hook.id}`;
    const found = await shop.api('GET', at).catch((error: unknown) => refusedOnly(error, 404));
    if (found?.id === shop.hook.id) return;
  }
  for (const { id, url } of await shop.api('GET', '/stores/{s}/webhooks')) {
    if (url.includes(shop.hookUrl)) await shop.api('DELETE', `/stores/{s}/webhooks/${id}`);
  }
  await makeHook(shop, plugin);
}

const coinsnap = (
  name: string,
  events: string,
  books: (handling: Handling) => Promise<undefined> | undefined,
): Plugin => ({
  name,
  firstState: 'new',
  hook: 'secret of the server',
  events: invoiceEvents(events),
  connect(shop) {
    return checkCoinsnap(shop, this);
  },
  async before(shop) {
    await shop.api('GET', `/stores/{s}/webhooks/${shop.hook?.id}`);
    await shop.api('GET', '/stores/{s}/payment-methods');
    const [{ rate }] = await shop.api('GET', '/stores/{s}/rates?currencyPair=BTC_EUR');
    if (rate === null) throw new Error('the plugin would convert the price itself');
  },
  asks: ({ id, total }) => ({
    ...{ amount: total.toFixed(2), currency: 'EUR' },
    metadata: { orderNumber: id, customerName: 'Ada L', orderId: id },
    checkout: { redirectUrl: 'https://shop.example/thanks', redirectAutomatically: true },
    ...{ buyerEmail: 'a@shop.example', orderId: id, redirectUrl: 'https://shop.example/thanks' },
    ...{ redirectAutomatically: true, referralCode: 'D1', walletMessage: null },
  }),
  wrongSignature: 401,
  unknownInvoice: 200,
  books,
});

/** It takes the state from the body, and every expiry for one of a part. */
export const coinsnapWooCommerce = coinsnap(
  'WooCommerce (Coinsnap)',
  'Created Processing Settled Expired Invalid',
  ({ event, sale }) => {
    const states: Record<string, string> = {
      InvoiceProcessing: 'processing',
      InvoiceSettled: 'settled',
      InvoiceExpired: 'partiallyPaid' in event ? 'failed' : 'cancelled',
      InvoiceInvalid: 'failed',
    };
    sale.state = states[event.type] ?? sale.state;
    return undefined;
  },
);

const byStatus =
  (states: Readonly<Record<string, string>>) =>
  async ({ sale, invoice }: Handling): Promise<undefined> => {
    const { status, metadata } = await invoice();
    if (typeof metadata.orderId !== 'number') throw new Error('the metadata has another type');
    sale.state = states[status] ?? sale.state;
  };

export const coinsnapEdd = coinsnap(
  'Easy Digital Downloads',
  'Created Processing Settled Expired Invalid',
  byStatus({
    ...{ New: 'pending', Processing: 'processing', Settled: 'complete' },
    ...{ Expired: 'cancelled', Invalid: 'pending' },
  }),
);

/** It does not ask for InvoiceInvalid. */
export const coinsnapGiveWp = coinsnap(
  'GiveWP',
  'Created Processing Settled Expired',
  byStatus({ Processing: 'processing', Settled: 'complete', Expired: 'cancelled' }),
);
