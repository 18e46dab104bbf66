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
  /** With it, the webhook is made by hand, and its secret typed here. */
  readonly secret?: string;
  /** What stands before the key in its field. */
  readonly keyPrefix?: string;
  readonly plugin?: KeyPlugin;
  /** How the URL of a webhook that is made by hand is found. */
  readonly webhook?: string;
  /** The events of that webhook; all without it. */
  readonly events?: readonly string[];
  /** After the fields: sentences, with the labels of buttons between `*`. */
  readonly steps: readonly string[];
}

const coinsnap = (name: string, label: string): Platform => ({
  name: `${name} (Coinsnap)`,
  at: `${name} → settings of the gateway Coinsnap → Payment provider: BTCPay Server`,
  url: 'BTCPay server URL*',
  key: 'API Key*',
  store: 'Store ID*',
  steps: [
    'Save, then press *Check connection*. It must say that the BTCPay server is connected.',
    `Customers see “${label}”: change it in the settings or by a translation.`,
  ],
});

const lightning = 'Bitcoin + Lightning';

/** By the last part of the path of their page. */
export const platforms: Readonly<Record<string, Platform>> = {
  woocommerce: {
    name: 'WooCommerce',
    at: 'WooCommerce → Settings → BTCPay Settings → tick Advanced settings',
    url: 'BTCPay Server URL',
    key: 'BTCPay API Key',
    store: 'Store ID',
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
    name: 'Shopware 6',
    at: 'Extensions → BTCPay Bitcoin Zahlung → Configure',
    url: 'BTCPay Server URL',
    key: 'BTCPay API Key',
    store: 'BTCPay Server Store Id',
    steps: [
      'Press *Test*. It must say “Connected to the BTCPay Server”.',
      'Under Payment methods, enable *Bitcoin* or *Bitcoin, crypto*, and not Lightning.',
    ],
  },
  opencart: {
    name: 'OpenCart',
    at: 'Extensions → Payments → BTCPay Server',
    url: 'BTCPay Server URL',
    key: 'BTCPay API Key',
    store: 'BTCPay Store ID',
    steps: [
      'Choose every status, switch *Payment Method Enabled* on, and save.',
      '*Webhook Data* must be filled then.',
    ],
  },
  whmcs: {
    name: 'WHMCS',
    at: 'Payment gateways → BTCPay Server',
    url: 'BTCPay Server URL',
    key: 'Greenfield API Key',
    store: 'Store ID',
    steps: [
      'Leave *Manual Webhook Secret (optional)* empty, and save.',
      'Press *Set up / repair webhook*.',
    ],
  },
  givewp: coinsnap('GiveWP', lightning),
  edd: coinsnap('Easy Digital Downloads', lightning),
  wpforms: coinsnap('WPForms', lightning),
  'ninja-forms': coinsnap('Ninja Forms', lightning),
  'paid-memberships-pro': coinsnap('Paid Memberships Pro', lightning),
  getpaid: coinsnap('GetPaid', lightning),
  'woocommerce-coinsnap': coinsnap('WooCommerce', lightning),
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
    secret: 'Secret',
    webhook:
      'https://FORUM/payment_callback.php?_xfProvider=btcPayServer, with the host of your forum',
    events: ['InvoiceSettled'],
    steps: ['Save the profile.'],
  },
  'phoca-cart': {
    name: 'Phoca Cart',
    at: 'Components → Phoca Cart → Payment methods → BTCPay Server',
    url: 'BTCPay Server URL',
    key: 'API Key',
    store: 'Store ID',
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
    secret: 'webhook_secret',
    webhook: 'the webhook of the payment provider in your Medusa',
    events: ['InvoiceProcessing', 'InvoiceSettled', 'InvoiceExpired', 'InvoiceInvalid'],
    steps: ['Restart Medusa. Send refunds from your wallet: paygate refuses those of Medusa.'],
  },
  fossbilling: {
    name: 'FOSSBilling',
    at: 'System → Payment gateways → BTCPay',
    url: 'Host url',
    key: 'Api key',
    store: 'Store id',
    secret: 'IPN webhook secret key',
    webhook: 'the IPN URL that FOSSBilling shows at the gateway',
    // It credits again if any other event comes between two of these.
    events: ['InvoiceSettled'],
    steps: ['Choose *Payment method* BTC, and save.'],
  },
  zapier: {
    name: 'Zapier',
    at: 'My Apps → Add connection → BTCPay Server',
    url: 'BTCPay Server URL',
    key: 'API Key',
    store: 'Store ID',
    steps: ['Type the store’s id in each step of a Zap.'],
  },
};
