// WHMCS (BTCPay's module of 2026), FOSSBilling, XenForo 2.2, Phoca Cart 1.3.0, Medusa 0.0.6, and
// Zapier 1.0.10.

import { platforms } from '../../../src/dashboard/pages/stores/plugin-platforms.ts';
import {
  hookBody,
  invoiceEvents,
  type Json,
  mail,
  makeHook,
  type Plugin,
  permissionsOf,
  type Sale,
  type ShopSide,
} from './plugin.ts';

/** The events of the webhook that the dashboard adds for a plugin that makes none. */
const addedByHand = (platform: string): Pick<Plugin, 'events'> => {
  const events = platforms[platform]?.webhook?.events;
  return events === undefined ? {} : { events };
};

const credited = ({ effects }: Sale): boolean => effects.some((each) => each.startsWith('credit'));

/** Credits once, and reverses nothing. It counts on a retry for what it has not stored yet. */
export const whmcs: Plugin = {
  name: 'WHMCS',
  firstState: 'unpaid',
  hook: 'own secret',
  events: invoiceEvents(
    'Created ReceivedPayment PaymentSettled Processing Settled Expired Invalid',
  ),
  async connect(shop) {
    const found = await permissionsOf(shop);
    for (const name of ['cancreateinvoice', 'canviewinvoices', 'webhooks.canmodifywebhooks']) {
      if (!found.includes(name)) throw new Error(`The key has no ${name}`);
    }
    await shop.api('GET', '/stores/{s}/invoices?take=1&skip=0');
    const hooks: Json[] = await shop.api('GET', '/stores/{s}/webhooks');
    const known = hooks.find(({ id }) => id === shop.hook?.id);
    if (known === undefined) return makeHook(shop, whmcs);
    const body = hookBody(whmcs, shop.hookUrl, shop.hook?.secret);
    await shop.api('PUT', `/stores/{s}/webhooks/${known.id}`, body);
  },
  asks: ({ id, total }) => ({
    ...{ amount: total.toFixed(2), currency: 'EUR' },
    metadata: {
      ...{ orderId: String(id), orderUrl: 'https://shop.example/1', itemDesc: `Invoice #${id}` },
      integration: 'whmcs',
    },
    checkout: {
      ...{ speedPolicy: 'MediumSpeed', redirectURL: 'https://shop.example/' },
      ...{ redirectAutomatically: true, paymentTolerance: 0 },
    },
  }),
  async after(_shop, { invoice }) {
    const isId = (id: string) => /^[\w.~-]{1,128}$/.test(id);
    if (invoice.type !== 'Standard' || !isId(invoice.id)) throw new Error('not this invoice');
  },
  wrongSignature: 401,
  unknownInvoice: 503,
  async books({ event, sale, shop, invoice }) {
    if (event.storeId !== shop.typed.storeId || event.webhookId !== shop.hook?.id) return 409;
    const { status, additionalStatus, amount, metadata } = await invoice();
    if (metadata.orderId !== String(sale.id) || Number(amount) !== sale.total) return 409;
    if (status === 'Settled') {
      if (!['None', 'PaidOver', 'Marked', 'PaidLate'].includes(additionalStatus)) return 409;
      if (!credited(sale)) sale.effects.push(`credit ${amount}`);
      sale.state = 'paid';
    } else if (['Expired', 'Invalid'].includes(status) && credited(sale)) {
      sale.effects.push('manual review');
    }
    return undefined;
  },
};

/** Adds to the customer's balance, unless the last event that it stored has the same name. */
export const fossBilling: Plugin = {
  ...addedByHand('fossbilling'),
  name: 'FOSSBilling',
  firstState: 'unpaid',
  asks: ({ id, total }) => ({
    ...{ amount: total.toFixed(2), currency: 'EUR' },
    metadata: { orderId: `65f0c0ffee#${id}`, physical: false, taxIncluded: 0.5 },
    checkout: {
      ...{ speedPolicy: 'HighSpeed', paymentMethods: ['BTC'] },
      redirectURL: 'https://shop.example/',
    },
  }),
  wrongSignature: 500,
  unknownInvoice: 200,
  books({ event, sale }) {
    if (event.type !== 'InvoiceSettled' || sale.lastType === event.type) return undefined;
    sale.effects.push(`credit ${sale.total}`);
    sale.state = 'paid';
    return undefined;
  },
};

/** It finds its purchase by the metadata of the event, and asks nothing. */
export const xenForo: Plugin = {
  ...addedByHand('xenforo'),
  name: 'XenForo',
  firstState: 'pending',
  connect: (shop) => shop.api('GET', '/stores/{s}'),
  asks: ({ id, total }) => ({
    ...{ amount: total.toFixed(8), currency: 'EUR' },
    metadata: { request_key: `key${id}`, purchase_request_id: id, itemDesc: 'Upgrade' },
    checkout: { redirectURL: 'https://shop.example/', redirectAutomatically: true },
  }),
  finds: ({ id }, { metadata }) => metadata.request_key === `key${id}`,
  wrongSignature: 403,
  unknownInvoice: 200,
  books({ event, sale }) {
    if (event.type === 'InvoiceSettled') sale.state = 'received';
    return undefined;
  },
};

/** Each combination of the two states has a state of the shop, and a mail. */
export const phocaCart: Plugin = {
  name: 'Phoca Cart',
  firstState: 'pending',
  hook: 'secret of the server',
  events: invoiceEvents('Created ReceivedPayment PaymentSettled Settled Expired Invalid'),
  async connect(shop) {
    if (shop.hook === undefined) return makeHook(shop, phocaCart);
    const body = hookBody(phocaCart, shop.hookUrl);
    try {
      await shop.api('PUT', `/stores/{s}/webhooks/${shop.hook.id}`, body);
    } catch {
      await makeHook(shop, phocaCart);
    }
  },
  asks: ({ id, total }) => ({
    ...{ amount: String(total), currency: 'EUR' },
    metadata: { orderId: String(id), buyerEmail: 'a@shop.example', buyerPhone: null },
    checkout: { redirectURL: 'https://shop.example/' },
  }),
  wrongSignature: 200,
  unknownInvoice: 200,
  async books({ sale, invoice, methods }) {
    const { status, additionalStatus } = await invoice();
    const [{ totalPaid, rate }] = await methods();
    // It computes with `bcmul`, which knows no exponent.
    if (!/^[\d.]+ [\d.]+$/.test(`${totalPaid} ${rate}`)) throw new Error('no number');
    const own = additionalStatus === 'None' || status === 'Processing' || status === 'New';
    const next = own || status === 'Invalid' ? status : `${status}, ${additionalStatus}`;
    if (next !== sale.state) mail(sale, next);
    sale.state = next;
    return undefined;
  },
};

export const medusa: Plugin = {
  ...addedByHand('medusa'),
  name: 'Medusa',
  firstState: 'pending',
  asks: ({ total }) => ({
    ...{ amount: String(total), currency: 'eur', additionalSearchTerms: ['medusa'] },
    checkout: { redirectURL: 'https://shop.example/' },
  }),
  before: (shop) => shop.api('GET', '/stores/{s}'),
  async after(shop, { invoice }) {
    const at = `/stores/{s}/invoices/${invoice.id}`;
    const { metadata } = await shop.api('GET', at);
    const body = { metadata: { ...metadata, medusa_payment_session_id: 'payses_1' } };
    await shop.api('PUT', at, body);
  },
  // It reads the answer as JSON.
  afterCancel: (shop, { invoice }) => shop.api('DELETE', `/stores/{s}/invoices/${invoice.id}`),
  wrongSignature: 401,
  unknownInvoice: 200,
  async books({ event, sale, invoice }) {
    const { metadata, amount } = await invoice();
    const hasSession = metadata.medusa_payment_session_id === 'payses_1';
    const states: Record<string, string> = {
      ...{ InvoiceReceivedPayment: 'authorised', InvoiceProcessing: 'authorised' },
      ...{ InvoicePaymentSettled: `captured ${amount}`, InvoiceSettled: `captured ${amount}` },
      ...{ InvoiceExpired: 'failed', InvoiceInvalid: 'failed' },
    };
    sale.state = hasSession ? (states[event.type] ?? sale.state) : 'failed';
    return undefined;
  },
};

/** One webhook a trigger; here the trigger is a settled invoice. */
export const zapier: Plugin = {
  name: 'Zapier',
  firstState: 'waiting',
  hook: 'secret of the server',
  events: invoiceEvents('Settled'),
  async connect(shop) {
    await shop.api('GET', '/server/info');
    await shop.api('GET', '/stores');
    if (shop.hook !== undefined) await removeHook(shop);
    await makeHook(shop, zapier);
  },
  asks: ({ id, total }) => ({
    ...{ amount: total, currency: 'EUR', metadata: { orderId: String(id) } },
  }),
  wrongSignature: 401,
  unknownInvoice: 200,
  async books({ sale, shop }) {
    const [found] = await shop.api('GET', `/stores/{s}/invoices?orderId[]=${sale.id}`);
    sale.state = found.status;
    return undefined;
  },
};

/** A Zap that is switched off; the body of its DELETE is not empty. */
const removeHook = async (shop: ShopSide): Promise<void> => {
  await shop.api('DELETE', `/stores/{s}/webhooks/${shop.hook?.id}`, {});
};
