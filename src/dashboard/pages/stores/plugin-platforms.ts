// What the settings of each plugin for BTCPay Server are called, for the steps that connect it. The
// labels are those of the plugins (docs/plugins.md names their versions).

import type { KeyPlugin } from '../../../domain/access/key-scope.ts';

export interface Platform {
  readonly name: string;
  /** The page of settings in the shop. */
  readonly at: string;
  /** Labels of fields there, by what is typed into them. */
  readonly url: string;
  /** Undefined if the plugin has no field for it and asks for its key itself. */
  readonly key?: string;
  readonly store?: string;
  /** What stands before the key in its field. */
  readonly keyPrefix?: string;
  readonly plugin?: KeyPlugin;
  /** The webhook of a plugin that makes none itself. */
  readonly webhook?: {
    /** The label of the field for its secret. */
    readonly secret: string;
    /** How its URL is found. */
    readonly url: string;
    readonly events: readonly string[];
  };
  /** After the fields: sentences, with the labels of buttons between `*`. */
  readonly steps: readonly string[];
}

/** The labels that most have. */
const common = { url: 'BTCPay Server URL', key: 'BTCPay API Key', store: 'Store ID' };

/** @param processing status for an unconfirmed payment, if the plugin's own choice means paid */
const coinsnap = (name: string, processing?: string): Platform => ({
  name: `${name} (Coinsnap)`,
  at: `${name} → settings of the gateway Coinsnap → Payment provider: BTCPay Server`,
  url: 'BTCPay server URL*',
  key: 'API Key*',
  store: 'Store ID*',
  steps: [
    ...(processing === undefined
      ? []
      : [
          `Set *Processing Status* to “${processing}”: the plugin’s own choice means paid, and ` +
            'gives the goods before the payment is confirmed.',
        ]),
    'Save. The page must say that the BTCPay server is connected. *Check connection* asks paygate ' +
      'for a new key: you need it only if you do not type one.',
    'Customers see “Bitcoin + Lightning”: change it in the settings or by a translation.',
  ],
});

/** By the last part of the path of their page. */
export const platforms: Readonly<Record<string, Platform>> = {
  woocommerce: {
    ...common,
    name: 'WooCommerce',
    at: 'WooCommerce → Settings → BTCPay Settings → tick Advanced settings',
    steps: [
      'Leave *Webhook secret (optional)* empty, and save. The page must say “BTCPay Server ' +
        'connected.” and “Webhook setup automatically.”; a missing permission for refunds is right.',
      'Under Payments, enable *BTCPay (default)*. Change its *Title* to “Bitcoin”.',
    ],
  },
  prestashop: {
    name: 'PrestaShop',
    at: 'Payment → BTCPay Server',
    url: 'BTCPay Server URL',
    key: 'BTCPay Server API key',
    plugin: 'prestashop',
    steps: [
      'Save. The page must say “Your store and server have been linked!”.',
      'Choose *Order creation method*, and leave *Protect order status* on.',
    ],
  },
  magento: {
    name: 'Magento 2',
    at: 'Stores → Configuration → Sales → Payment Methods → BTC Pay Server',
    url: 'BTCPay Base Url',
    steps: [
      'Save, then press *Generate API Key*: paygate asks you for the store.',
      'Choose *Store* for each store view, and leave *Auto-cancel on Expiry* off.',
    ],
  },
  shopware: {
    ...common,
    name: 'Shopware 6',
    at: 'Extensions → BTCPay Bitcoin Zahlung → Configure',
    store: 'BTCPay Server Store Id',
    steps: [
      'Press *Test*. It must say “Connected to the BTCPay Server”.',
      'Under Payment methods, enable *Bitcoin* or *Bitcoin-Crypto*, and not Lightning.',
    ],
  },
  opencart: {
    ...common,
    name: 'OpenCart',
    at: 'Extensions → Payments → BTCPay Server',
    store: 'BTCPay Store ID',
    steps: [
      'Choose every status, switch *Payment Method Enabled* on, and save.',
      '*Webhook Data* must be filled then.',
    ],
  },
  whmcs: {
    ...common,
    name: 'WHMCS',
    at: 'Payment gateways → BTCPay Server',
    key: 'Greenfield API Key',
    steps: [
      'Leave *Manual Webhook Secret (optional)* empty, and save.',
      'Press *Set up / repair webhook*.',
    ],
  },
  givewp: coinsnap('GiveWP'),
  edd: coinsnap('Easy Digital Downloads', 'Processing'),
  wpforms: coinsnap('WPForms'),
  'ninja-forms': coinsnap('Ninja Forms'),
  'paid-memberships-pro': coinsnap('Paid Memberships Pro', 'pending'),
  getpaid: coinsnap('GetPaid'),
  'woocommerce-coinsnap': coinsnap('WooCommerce'),
  'opencart-coinsnap': {
    name: 'OpenCart (Coinsnap)',
    at: 'Extensions → Payments → Coinsnap → Provider: BTCPay Server',
    url: 'BTCPay server URL',
    key: 'BTCPay API Key',
    store: 'BTCPay Store ID',
    steps: ['Change *Method name* to “Bitcoin”, and save.'],
  },
  xenforo: {
    name: 'XenForo',
    at: 'Setup → Payment profiles → Add payment profile → BTCPay Server',
    url: 'Host',
    key: 'API key',
    store: 'Store id',
    webhook: {
      secret: 'Secret',
      url: 'https://FORUM/payment_callback.php?_xfProvider=btcPayServer, with the host of your forum',
      events: ['InvoiceSettled'],
    },
    steps: ['Save the profile.'],
  },
  'phoca-cart': {
    ...common,
    name: 'Phoca Cart',
    at: 'Components → Phoca Cart → Payment methods → BTCPay Server',
    key: 'API Key',
    steps: [
      'Press *Add Webhook*. It must say “Webhook successfully created”.',
      'Choose a status for each of the eight states: an overpaid order ships only with its own.',
    ],
  },
  medusa: {
    name: 'Medusa 2',
    at: 'medusa-config.ts → the provider medusa-plugin-btcpay',
    url: 'basePath',
    key: 'apiKey',
    keyPrefix: 'token ',
    store: 'default_store_id',
    webhook: {
      secret: 'webhook_secret',
      url: 'the webhook of the payment provider in your Medusa',
      events: ['InvoiceProcessing', 'InvoiceSettled', 'InvoiceExpired', 'InvoiceInvalid'],
    },
    steps: ['Restart Medusa. Send refunds from your wallet: paygate refuses those of Medusa.'],
  },
  fossbilling: {
    name: 'FOSSBilling',
    at: 'System → Payment gateways → BTCPay',
    url: 'Host url',
    key: 'Api key',
    store: 'Store id',
    webhook: {
      secret: 'IPN webhook secret key',
      url: 'the IPN URL that FOSSBilling shows at the gateway',
      // It credits again if any other event comes between two of these.
      events: ['InvoiceSettled'],
    },
    steps: ['Choose *Payment method* BTC, and save.'],
  },
  zapier: {
    ...common,
    name: 'Zapier',
    at: 'My Apps → Add connection → BTCPay Server',
    key: 'API Key',
    steps: ['Type the store’s id in each step of a Zap.'],
  },
};
