// WordPress with Blockonomics' plugins for WooCommerce (3.9.1 and 3.8.2) and for GiveWP (0.1.1).
// All are of one origin: a row has the status 0 (unpaid), 1 (seen) or 2 (final), and a callback
// with `rbf=1` is only noted.

import {
  type Admin,
  common,
  type Family,
  type Handling,
  htmlPage,
  percentOf,
  phpNotice,
  setState,
  worth,
} from './family.ts';

const json = 'application/json';

const inWordPress = {
  ...common,
  wantsNoRbf: true,
  firstState: 'pending',
  unpaid: 0,
  post: { type: json },
  round: Math.round,
  answers: {
    noSecret: '',
    wrongSecret: 'Error: secret does not match',
    unknownAddress: 'Error: Blockonomics order not found',
    // WC_API answers so if no plugin has the hook.
    pluginOff: { status: 400, body: '-1' },
    elsewhere: htmlPage(200, 'A shop'),
    notice: phpNotice,
  },
} as const;

/** The sentence of the settings page is for the merchant, but the customer sees it too. */
const generic =
  'Could not generate new address. If this continues, click Test Setup to diagnose the exact issue.';

function explain(message: string): string {
  const isOtherCoin = /add an xpub|Could not find matching xpub/.test(message);
  return isOtherCoin ? 'Please ensure callback URL on bch.blockonomics.co matches' : generic;
}

type Transitions = (handling: Handling) => void;

interface Steps {
  /** Status 0 or 1 of a payment that counts. */
  readonly seen: Transitions;
  readonly tooLittle: Transitions;
  readonly enough: Transitions;
  readonly hasSlack: boolean;
}

/** Books a callback: the first final payment of an address decides. */
function book(handling: Handling, { seen, tooLittle, enough, hasSlack }: Steps): undefined {
  const { row, callback } = handling;
  row.txid = callback.txid;
  if (callback.rbf || row.status === 2) return;
  if (callback.status < 2) {
    row.status = 1;
    seen(handling);
    return;
  }
  row.status = 2;
  row.paidSat = callback.value;
  row.paid = worth(handling);
  const least = row.expectedSat - (hasSlack ? Math.ceil(percentOf(row.expectedSat, handling)) : 0);
  if (callback.value < least) tooLittle(handling);
  else enough(handling);
}

/** WooCommerce's own rules for a new state: goods leave the stock once. */
function setOrderState(handling: Handling, state: string): void {
  const { order, moveStock } = handling;
  if (order.state === state) return;
  setState(handling, state);
  if (order.hasStock) return;
  order.hasStock = true;
  moveStock(-1);
}

const wooCommerce = {
  ...inWordPress,
  matches: 'url',
  explain,
  hook: ({ permalinks }) =>
    permalinks === 'pretty'
      ? '/wc-api/WC_Gateway_Blockonomics/'
      : '/?wc-api=WC_Gateway_Blockonomics',
  page(rows) {
    const [row] = [...rows].sort((one, other) => one.expectedSat - other.expectedSat);
    if (row === undefined) return 'new address';
    if (row.status === 0) return row;
    return row.status === 2 && row.paidSat < row.expectedSat ? 'new address' : 'thanks';
  },
  expire: ({ state, placedAt }, { holdStockMinutes }, now) =>
    state === 'pending' && now - placedAt >= holdStockMinutes * 60_000 ? 'cancel' : undefined,
} satisfies Partial<Family>;

const tooLittle: Transitions = ({ effect }) => effect('Additional Payment Required mailed');
const process: Transitions = (handling) => {
  setOrderState(handling, 'processing');
  const { row, effect } = handling;
  if (row.paidSat > row.expectedSat) effect('Paid amount more than expected.');
};

export const wooCommerce391: Family = {
  ...wooCommerce,
  name: 'WooCommerce 3.9.1',
  asks: 'together',
  priceQuery: '&crypto=BTC',
  book: (handling) =>
    book(handling, {
      seen: (seen) => {
        if (seen.order.state === 'pending') setOrderState(seen, 'on-hold');
      },
      ...{ tooLittle, enough: process, hasSlack: true },
    }),
  testSetup,
};

export const wooCommerce382: Family = {
  ...wooCommerce,
  name: 'WooCommerce 3.8.2',
  // docs/plugins.md: an order stays pending until status 2, so that it needs a day.
  settings: { holdStockMinutes: 24 * 60 },
  asks: 'address first',
  priceQuery: '&crypto=BTC',
  book: (handling) =>
    book(handling, { seen: () => {}, tooLittle, enough: process, hasSlack: true }),
};

export const giveWp: Family = {
  ...inWordPress,
  name: 'GiveWP 0.1.1',
  hook: () => '/wp-json/blockonomics-give/callback',
  matches: 'secret',
  asks: 'address first',
  post: {},
  answers: {
    ...inWordPress.answers,
    pluginOff: { status: 404, body: '{"code":"rest_no_route","data":{"status":404}}' },
    elsewhere: { status: 404, body: '{"code":"rest_no_route","data":{"status":404}}' },
  },
  explain: () => generic,
  page: (rows) =>
    rows.find(({ status }) => status === 0) ?? (rows.length === 0 ? 'new address' : 'thanks'),
  book: (handling) =>
    book(handling, {
      seen: () => {},
      tooLittle: (short) => setState(short, 'failed'),
      enough: (full) => setState(full, 'publish'),
      hasSlack: false,
    }),
};

/** The button of 3.9.1: it reads, and changes no store. */
async function testSetup({ ask, callbackUrl }: Admin): Promise<string> {
  const { status, body } = await ask('/api/v2/stores?wallets=true');
  if (status === 401) return 'API Key is incorrect';
  if (status !== 200) return `API Error: ${JSON.stringify(body)}`;
  const store = body.data.find((each: StoreReply) => each.http_callback === callbackUrl);
  if (store === undefined) return 'Please add a new store with the callback URL shown';
  if (store.wallets.length === 0) return `Please enable Payment method on your store ${store.name}`;
  const match = encodeURIComponent(callbackUrl);
  const made = await ask(`/api/new_address?match_callback=${match}`, { type: json });
  return made.status === 200 && made.body.address ? 'BTC ✅' : `BTC: ${made.body.message}`;
}

interface StoreReply {
  readonly id: number;
  readonly name: string;
  readonly http_callback: string;
}

/** The set-up wizard of 3.9.1. @returns what it shows at its end */
export async function wizard({ ask, callbackUrl }: Admin, storeName: string): Promise<string> {
  const wallets = await ask('/api/v2/wallets');
  if (wallets.status === 401) return 'API Key is incorrect';
  const [wallet] = wallets.body.data;
  if (wallet === undefined) return 'Please create a Wallet';
  const success = 'Success! Blockonomics is now enabled';
  const stores: StoreReply[] = (await ask('/api/v2/stores?wallets=true')).body.data;
  if (stores.some(({ http_callback }) => http_callback === callbackUrl)) return success;
  const bare = (url: string) => url.replace(/^https?:\/\//, '').replace(/secret=.*/, '');
  const partial = stores.find(({ http_callback }) =>
    bare(http_callback).startsWith(bare(callbackUrl)),
  );
  const post = (path: string, fields: object) =>
    ask(path, { type: json, body: JSON.stringify(fields) });
  if (partial !== undefined) {
    await post(`/api/v2/stores/${partial.id}`, { name: partial.name, http_callback: callbackUrl });
    // It does not look at that answer.
    return success;
  }
  const made = await post('/api/v2/stores', { name: storeName, http_callback: callbackUrl });
  if (made.status !== 200) return 'Failed to create store';
  await post(`/api/v2/stores/${made.body.data.id}/wallets`, { wallet_id: wallet.id });
  return success;
}
