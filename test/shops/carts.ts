// Blockonomics' plugins for OpenCart 3 (3.2.4), WHMCS and PrestaShop. A row has the status of the
// last callback, -1 before the first one. None of them knows `rbf`.

import {
  type Admin,
  common,
  type Family,
  htmlPage,
  percentOf,
  phpNotice,
  setState,
  worth,
} from './family.ts';

const form = 'application/x-www-form-urlencoded';

export const openCart: Family = {
  ...common,
  name: 'OpenCart 3',
  hook: () => '/index.php?route=extension/payment/blockonomics/callback',
  firstState: 'none',
  matches: 'secret',
  asks: 'price first',
  answers: {
    noSecret: 'Invalid secret',
    wrongSecret: 'Invalid secret',
    unknownAddress: '',
    pluginOff: htmlPage(404, 'The page you requested cannot be found!'),
    elsewhere: htmlPage(404, 'The page you requested cannot be found!'),
    // OpenCart prints notices by its own handler, which calls a deprecation so.
    notice:
      '<b>Unknown</b>: Creation of dynamic property ControllerExtensionPaymentBlockonomics::$logger is deprecated in <b>/var/www/catalog/controller/extension/payment/blockonomics.php</b> on line <b>24</b>',
  },
  explain: () => 'Could not generate new bitcoin address.',
  socket: (address, placedAt) => `/payment/${address}?timestamp=${Math.floor(placedAt / 1000)}`,
  page: ([row]) => row ?? 'new address',
  visit: (order) => {
    order.state = 'Pending';
  },
  book(handling) {
    const { row, callback } = handling;
    if (callback.status <= row.status && callback.txid === row.txid) return undefined;
    row.status = callback.status;
    row.txid = callback.txid;
    row.paidSat = callback.value;
    if (callback.status === 0) setState(handling, 'Pending');
    if (callback.status === 2) {
      const least = row.expectedSat - percentOf(row.expectedSat, handling);
      setState(handling, callback.value < least ? 'Canceled' : 'Complete');
    }
    if (callback.status >= 0 && callback.status <= 2) return undefined;
    return { status: 302, headers: { Location: '/index.php?route=checkout/checkout' } };
  },
  async testSetup(admin) {
    const { callbackUrl } = admin;
    const found = await callbacksOf(admin);
    if (typeof found === 'string') return found;
    const [only, second] = found;
    // The last 48 characters are the secret and its parameter.
    const base = callbackUrl.slice(0, -48);
    if (only !== undefined && second === undefined && only.callback !== callbackUrl) {
      if (only.callback && !only.callback.includes(base)) return 'existingCallbackUrl';
      await updateCallback(admin, only.address);
    }
    if (second !== undefined && !found.some(({ callback }) => callback === callbackUrl)) {
      return 'multipleXpubs';
    }
    return testAddress(admin);
  },
};

/**
 * Plugin 4.0.1. OpenCart 4 writes a method behind a bare `|`, and the plugin compares the URLs that
 * the API shows with its own.
 */
export const openCart4: Family = {
  ...openCart,
  name: 'OpenCart 4',
  hook: () => '/index.php?route=extension/blockonomics/payment/blockonomics|callback',
};

export const prestaShop: Family = {
  ...common,
  name: 'PrestaShop',
  settings: { secret: '0e4a8b3c5d7f9a1b2c3d4e5f60718293' },
  hook: () => '/modules/blockonomics/callback.php',
  firstState: 'Awaiting Bitcoin Payment',
  matches: 'secret',
  asks: 'price first',
  post: { body: 'dummy', type: form },
  answers: {
    noSecret: 'Secret not matching',
    wrongSecret: 'Secret not matching',
    unknownAddress: 'Order not found',
    pluginOff: htmlPage(404, 'Page not found'),
    elsewhere: htmlPage(404, 'Page not found'),
    notice: phpNotice,
  },
  explain: () => 'Unable to generate bitcoin address.',
  page: ([row]) => (row === undefined ? 'new address' : row.status === -1 ? row : 'thanks'),
  book(handling) {
    const { row, callback } = handling;
    row.status = callback.status;
    row.txid = callback.txid;
    row.paidSat = callback.value;
    if (callback.status !== 2) return undefined;
    setState(handling, row.expectedSat > row.paidSat ? 'Payment error' : 'Payment accepted');
    return undefined;
  },
  async testSetup(admin) {
    const { callbackUrl } = admin;
    const found = await callbacksOf(admin);
    if (typeof found === 'string') return found;
    if (!found.some(({ callback }) => callback === callbackUrl)) {
      const base = callbackUrl.replace(/^https?:\/\//, '').replace('/callback.php', '');
      const hook = base.slice(0, base.indexOf('?'));
      const free = found.find(({ callback }) => !callback || callback.includes(hook));
      if (free === undefined) return 'Please add a new store';
      await updateCallback(admin, free.address);
    }
    return testAddress(admin);
  },
};

export const whmcs: Family = {
  ...common,
  name: 'WHMCS',
  hook: () => '/modules/gateways/callback/blockonomics.php',
  firstState: 'Unpaid',
  matches: 'url',
  asks: 'address first',
  answers: {
    noSecret: 'Secret verification failure',
    wrongSecret: 'Secret verification failure',
    unknownAddress: '',
    pluginOff: { status: 200, body: 'Module Not Activated' },
    elsewhere: htmlPage(404, 'Page not found'),
    notice: phpNotice,
  },
  // It shows the message of the service.
  explain: (message) => message,
  page(rows) {
    if (rows.some(({ status }) => status === 0 || status === 1)) return 'wait';
    return rows.find(({ status }) => status === -1) ?? 'new address';
  },
  book(handling) {
    const { order, row, callback, effect } = handling;
    row.status = callback.status;
    row.txid = callback.txid;
    row.paidSat = callback.value;
    if (callback.status < 2) return undefined;
    const slack = percentOf(row.expectedSat, handling);
    const isAsAsked =
      callback.value >= row.expectedSat - slack && callback.value <= row.expectedSat;
    const amount = isAsAsked ? row.expected : worth(handling);
    const transaction = `btc - ${callback.txid} - ${callback.address}`;
    if (transaction in order.credits) return undefined;
    order.credits = { ...order.credits, [transaction]: amount };
    row.paid += amount;
    effect(`credited ${amount.toFixed(2)}`);
    const credited = Object.values(order.credits).reduce((sum, each) => sum + each, 0);
    if (credited >= order.total) order.state = 'Paid';
    return undefined;
  },
  async testSetup(admin) {
    const { ask, callbackUrl } = admin;
    const wallets = await ask('/api/v2/wallets');
    if (wallets.status === 401) return 'API Key is incorrect';
    if (wallets.body.data.length === 0) return 'Please add a wallet';
    const { data } = (await ask('/api/v2/stores?wallets=true')).body;
    const bare = (url: string) => url.replace(/^https?:\/\//, '').replace(/\?.*/, '');
    const exact = data.find((each: StoreReply) => each.http_callback === callbackUrl);
    const store =
      exact ?? data.find((each: StoreReply) => bare(each.http_callback) === bare(callbackUrl));
    if (store === undefined) return 'Please add a Store';
    if (exact === undefined) {
      const body = JSON.stringify({ name: store.name, http_callback: callbackUrl });
      const changed = await ask(`/api/v2/stores/${store.id}`, { type: 'application/json', body });
      if (changed.status !== 200) return 'Could not update store callback';
    }
    if (store.wallets.length === 0) return 'No crypto enabled for this store';
    const match = encodeURIComponent(callbackUrl);
    const made = await ask(`/api/new_address?match_callback=${match}&reset=1&crypto=BTC`, {});
    return made.status === 200 ? 'green' : made.body.message;
  },
};

interface StoreReply {
  readonly http_callback: string;
}

/** Older calls, with JSON that is sent as a form. */
async function callbacksOf({
  ask,
}: Admin): Promise<string | { readonly callback: string | null; readonly address: string }[]> {
  const path = '/api/address?&no_balance=true&only_xpub=true&get_callback=true';
  const { status, body } = await ask(path);
  if (status === 401) return 'API Key is incorrect';
  return body.length === 0 ? 'Please add a new store' : body;
}

/** It does not look at the answer. */
async function updateCallback({ ask, callbackUrl }: Admin, xpub: string): Promise<void> {
  const body = JSON.stringify({ callback: callbackUrl, xpub });
  await ask('/api/update_callback', { type: form, body });
}

async function testAddress({ ask, settings }: Admin): Promise<string> {
  const path = `/api/new_address?match_callback=${settings.secret}&reset=1`;
  const { status, body } = await ask(path, { type: form, body: 'dummy' });
  return status === 200 ? 'Setup is all done!' : body.message;
}
