// BTCPay's plugins for PrestaShop (6.1.3), Magento 2 (2.0.11) and OpenCart (4.2.2, and that of 2026),
// and Coincharge's for Shopware 6 (1.1.4).

import {
  findOrMakeHook,
  type Json,
  mail,
  makeHook,
  needEqual,
  type Plugin,
  permissionsOf,
  type Sale,
  type ShopSide,
} from './plugin.ts';

const five =
  'canviewinvoices cancreateinvoice webhooks.canmodifywebhooks canviewstoresettings canmodifyinvoices';

async function needServer(shop: ShopSide): Promise<void> {
  const { version, fullySynched } = await shop.api('GET', '/server/info');
  if (Number.parseInt(version, 10) < 2 || fullySynched !== true) throw new Error('not synched');
}

/** Books each settled payment once, by its transaction. */
function bookPayments(sale: Sale, [{ rate, payments }]: Json): void {
  for (const { id, value, status } of payments) {
    const [txid] = id.split('-');
    if (status !== 'Settled' || sale.booked.has(txid)) continue;
    sale.booked.add(txid);
    sale.effects.push(`payment ${(Number(value) * Number(rate)).toFixed(2)}`);
  }
}

/**
 * The order of the shop is made at the first payment. _Protect order status_ is on: nothing leaves
 * "paid" for a failure.
 */
export const prestaShop: Plugin = {
  name: 'PrestaShop',
  keyPlugin: 'prestashop',
  firstState: 'cart',
  hook: 'own secret',
  async connect(shop) {
    needEqual(await permissionsOf(shop), `${five} canmodifystoresettings`);
    await needServer(shop);
    const methods = await shop.api('GET', '/stores/{s}/payment-methods');
    // The library of this version adds `data` to each, which must be an object.
    for (const method of Object.values<Json>(methods)) Object.keys(method.data);
    if (methods.BTC?.enabled !== true) throw new Error('There is no wallet');
    await findOrMakeHook(shop, prestaShop);
  },
  async before(shop) {
    await needServer(shop);
    await shop.api('GET', '/stores/{s}');
    const [chain] = await shop.api('GET', '/stores/{s}/payment-methods/OnChain');
    const lightning = await shop.api('GET', '/stores/{s}/payment-methods/LightningNetwork');
    if (chain?.cryptoCode !== 'BTC' || lightning.length > 0) throw new Error('no payment option');
    await findOrMakeHook(shop, prestaShop);
  },
  asks: ({ id, total }) => ({
    ...{ amount: total.toFixed(2), currency: 'EUR' },
    metadata: {
      ...{ orderId: `Ab3dEf6hIj9kLm2nOp${id}`, buyerEmail: 'a@shop.example', posData: 'c0ffee' },
      ...{ itemCode: null, itemDesc: null, taxIncluded: 3.19 },
    },
    checkout: { speedPolicy: 'MediumSpeed', redirectURL: 'https://shop.example/back' },
  }),
  wrongSignature: 401,
  unknownInvoice: 200,
  async books({ event, sale, shop, invoice, methods }) {
    await needServer(shop);
    const { status, additionalStatus, metadata } = await invoice();
    if (metadata.posData !== 'c0ffee') throw new Error('the customer is unknown');
    const makes = /ReceivedPayment|Processing/.test(event.type);
    if (sale.state === 'cart' && !makes) return undefined;
    if (event.type === 'InvoicePaymentSettled') bookPayments(sale, await methods());
    const isPaid = status === 'Settled' || additionalStatus === 'PaidLate';
    if (event.type === 'InvoiceSettled' && !isPaid) sale.effects.push('error: not settled');
    if (isPaid) sale.state = 'paid';
    else if (status === 'Processing') sale.state = 'confirming';
    else if (status === 'New') sale.state = 'waiting';
    else if (sale.state === 'paid') sale.effects.push('note: not failed');
    else sale.state = 'failed';
    return undefined;
  },
};

const magentoStore = 'payment/btcpay/store';

/** Deletes by value: every setting that equals the id of a store that is not of the key. */
function forgetStore({ settings }: ShopSide): void {
  const stored = settings.get(magentoStore);
  for (const [name, value] of settings) if (value === stored) settings.delete(name);
}

async function magentoHook(shop: ShopSide): Promise<void> {
  const { api, typed, settings } = shop;
  needEqual(await permissionsOf(shop), five);
  const stores: Json[] = await api('GET', '/stores');
  if (!stores.some(({ id }) => id === (settings.get(magentoStore) ?? id))) forgetStore(shop);
  if (!stores.some(({ id }) => id === typed.storeId)) throw new Error('the store is not there');
  settings.set(magentoStore, typed.storeId);
  const hooks: Json[] = await api('GET', '/stores/{s}/webhooks');
  const isOwn = ({ id, url, enabled, automaticRedelivery, authorizedEvents }: Json): boolean =>
    id === shop.hook?.id &&
    url === shop.hookUrl &&
    enabled === true &&
    automaticRedelivery === true &&
    authorizedEvents.everything === true;
  if (!hooks.some(isOwn)) await makeHook(shop, magento);
}

export const magento: Plugin = {
  name: 'Magento 2',
  firstState: 'pending payment',
  hook: 'own secret',
  connect: magentoHook,
  async before(shop) {
    await magentoHook(shop);
    await shop.api('GET', '/stores/{s}/payment-methods');
  },
  asks: ({ id, total }) => ({
    ...{ amount: total.toFixed(8), currency: 'EUR' },
    metadata: {
      ...{ orderId: String(id).padStart(9, '0'), buyerEmail: 'a@shop.example', physical: true },
      ...{ taxIncluded: true, magentoOrderId: String(id), magentoStoreId: 1 },
    },
    checkout: {
      ...{ redirectURL: 'https://shop.example/btcpay/return/{InvoiceId}/' },
      ...{ redirectAutomatically: true, defaultLanguage: 'de-DE' },
    },
  }),
  async after(_shop, { invoice, id }) {
    const { magentoStoreId, magentoOrderId } = invoice.metadata;
    if (magentoStoreId !== 1 || magentoOrderId !== String(id)) throw new Error('not stored');
  },
  async cron(shop, sale) {
    await updateMagento(sale, await shop.api('GET', `/stores/{s}/invoices/${sale.invoice.id}`));
  },
  wrongSignature: 500,
  unknownInvoice: 200,
  async books({ event, sale, invoice, methods }) {
    if (event.type === 'InvoiceReceivedPayment') {
      const { rate, totalPaid } = (await methods()).at(-1);
      sale.effects.push(`to the customer: ${totalPaid} BTC at ${rate}`);
    }
    await updateMagento(sale, await invoice());
    return undefined;
  },
};

async function updateMagento(sale: Sale, invoice: Json): Promise<void> {
  const { status, metadata } = invoice;
  if (metadata.magentoOrderId === undefined) throw new Error('not an order of this shop');
  if (status === sale.invoice.status) return;
  sale.invoice = invoice;
  const states: Record<string, string> = {
    ...{ Processing: 'paid, unconfirmed', Settled: 'processing' },
    Invalid: 'waiting for confirmation',
  };
  sale.state = states[status] ?? sale.state;
  if (status === 'Settled' && !sale.effects.includes('captured')) sale.effects.push('captured');
}

const openCart = {
  firstState: 'pending',
  asks: ({ id, total }: Sale) => ({
    ...{ amount: (total * 1.0000000001).toFixed(8), currency: 'EUR' },
    metadata: { orderId: id },
    checkout: { redirectURL: 'https://shop.example/back?token=t' },
  }),
  hook: 'secret of the server',
  events: 'ReceivedPayment PaymentSettled Processing Settled Expired Invalid'
    .split(' ')
    .map((name) => `Invoice${name}`),
  wrongSignature: 403,
  unknownInvoice: 200,
} as const satisfies Partial<Plugin>;

/** It asks for the invoice, and acts on the name of the event. */
export const openCart422: Plugin = {
  ...openCart,
  name: 'OpenCart 4.2.2',
  async connect(shop) {
    await shop.api('GET', '/stores/{s}');
    if (shop.hook === undefined) await makeHook(shop, openCart422);
  },
  async books({ event, sale, invoice }) {
    const { status, additionalStatus } = await invoice();
    const unconfirmed = 'paid (unconfirmed)';
    const states: Record<string, string> = {
      InvoiceReceivedPayment: unconfirmed,
      InvoiceProcessing: unconfirmed,
      InvoicePaymentSettled:
        status === 'Expired' && additionalStatus === 'PaidLate' ? 'settled' : unconfirmed,
      InvoiceSettled: additionalStatus === 'PaidOver' ? 'settled (paid over)' : 'settled',
      InvoiceExpired: event.partiallyPaid ? 'expired (partial)' : 'expired',
      InvoiceInvalid: 'invalid',
    };
    sale.state = states[event.type] ?? sale.state;
    if (sale.state.startsWith('settled')) mail(sale, sale.state);
    return undefined;
  },
};

/** The state comes from the invoice alone, which must be the one that was made. */
export const openCart2026: Plugin = {
  ...openCart,
  name: 'OpenCart of 2026',
  connect: (shop) => findOrMakeHook(shop, openCart2026),
  asks: (sale) => ({
    ...openCart.asks(sale),
    ...{ amount: sale.total.toFixed(2), metadata: { orderId: String(sale.id) } },
  }),
  async books({ event, sale, shop, invoice }) {
    if (event.webhookId !== shop.hook?.id || event.storeId !== shop.typed.storeId) return 403;
    const found = await invoice();
    const isSame = [
      found.id === sale.invoice.id,
      Number(found.amount).toFixed(8) === sale.total.toFixed(8),
      found.currency === 'EUR',
      found.metadata.orderId === String(sale.id),
    ].every(Boolean);
    if (!isSame) return 500;
    const { status, additionalStatus } = found;
    const states: Record<string, string> = {
      Processing: 'paid',
      Settled: additionalStatus === 'PaidOver' ? 'paid over' : 'completed',
      Expired: additionalStatus === 'PaidPartial' ? 'expired (partial)' : 'expired',
      Invalid: 'invalid',
    };
    const next = states[status] ?? sale.state;
    const isBack =
      ['completed', 'paid over'].includes(sale.state) && !/^(Settled|Invalid)$/.test(status);
    if (isBack) sale.effects.push(`comment: ${next}`);
    else sale.state = next;
    return undefined;
  },
};

/** It asks for the invoice, and acts on the name of the event, by a machine of states. */
export const shopware: Plugin = {
  name: 'Shopware 6',
  firstState: 'open',
  hook: 'secret of the server',
  async connect(shop) {
    await shop.api('GET', '/stores/{s}/invoices');
    if (shop.hook === undefined) {
      const { id, secret } = await shop.api('POST', '/stores/{s}/webhooks', { url: shop.hookUrl });
      shop.hook = { id, secret };
    } else await findOrMakeHook(shop, shopware);
    const methods = await shop.api('GET', '/stores/{s}/payment-methods');
    if (methods.length === 0) throw new Error('no payment method');
  },
  asks: ({ id, total }) => ({
    ...{ amount: total - 0.01, currency: 'EUR' },
    metadata: { orderId: `${id}`.padStart(32, 'a'), orderNumber: `${id}`, transactionId: 'b' },
    checkout: { redirectURL: 'https://shop.example/', redirectAutomatically: true },
  }),
  wrongSignature: 401,
  unknownInvoice: 200,
  async books({ event, sale, invoice }) {
    const { metadata } = await invoice();
    if (metadata.transactionId !== 'b') return 500;
    const states: Record<string, string> = {
      ...(event.afterExpiration && { InvoiceReceivedPayment: 'paid partially' }),
      ...{ InvoiceProcessing: 'in progress', InvoiceSettled: 'paid', InvoiceInvalid: 'failed' },
      InvoiceExpired: event.partiallyPaid ? 'paid partially' : 'failed',
    };
    const next = states[event.type];
    if (next === undefined || next === sale.state) return undefined;
    // Its machine has no way back from "paid".
    if (sale.state === 'paid') return 500;
    sale.state = next;
    return undefined;
  },
};
