// Plugins that have not been seen in a real shop: Magento 2, FOSSBilling and Medusa 2, as their
// public sources behave. Magento and Medusa answer OK to callbacks that they ignore.

import { common, type Family, htmlPage, phpNotice, setState, worth } from './family.ts';

const notFound = htmlPage(404, '404 Not Found');

export const magento: Family = {
  ...common,
  name: 'Magento 2',
  hook: () => '/blockonomics/payment/callback',
  firstState: 'pending',
  matches: 'secret',
  asks: 'address first',
  answers: {
    noSecret: 'AUTH ERROR',
    wrongSecret: 'AUTH ERROR',
    unknownAddress: 'OK',
    pluginOff: notFound,
    elsewhere: notFound,
    notice: phpNotice,
  },
  explain: () => '',
  page: ([row]) => row ?? 'new address',
  book(handling) {
    const { row, callback } = handling;
    if (callback.status === 0) setState(handling, 'pending_bitcoin_confirmation');
    if (callback.status === 2) {
      setState(handling, callback.value >= row.expectedSat ? 'processing' : 'holded');
    }
    row.status = callback.status;
    row.paidSat = callback.value;
    row.txid = callback.txid;
    return { status: 200, body: 'OK' };
  },
};

/** The guest API wraps each result. */
const wrapped = (result: object): string => JSON.stringify({ result, error: null });

export const fossBilling: Family = {
  ...common,
  name: 'FOSSBilling',
  hook: () => '/api/guest/blockonomics/callback',
  firstState: 'unpaid',
  matches: 'url',
  asks: 'price first',
  priceQuery: '&crypto=BTC',
  answers: {
    noSecret: wrapped({ result: 'ignored', reason: 'secret mismatch' }),
    wrongSecret: wrapped({ result: 'ignored', reason: 'secret mismatch' }),
    unknownAddress: wrapped({ result: 'ignored', reason: 'no matching order' }),
    pluginOff: { status: 404, body: '{"result":null,"error":{"message":"Not found","code":404}}' },
    elsewhere: notFound,
    notice: phpNotice,
  },
  explain: (message) => `Could not generate a BTC address: ${message}`,
  page: (rows) =>
    rows.find(({ status }) => status < 2) ?? (rows.length === 0 ? 'new address' : 'thanks'),
  book(handling) {
    const { order, row, callback, effect } = handling;
    row.txid = callback.txid;
    row.status = callback.status;
    row.paidSat = callback.value;
    const done = { status: 200, body: wrapped({ result: 'ok' }) };
    const transaction = `${callback.txid}-${callback.address}`;
    if (callback.status < 2 || transaction in order.credits) return done;
    const amount = worth(handling);
    order.credits = { ...order.credits, [transaction]: amount };
    effect(`credited ${amount.toFixed(2)}`);
    const credited = Object.values(order.credits).reduce((sum, each) => sum + each, 0);
    if (credited >= order.total) order.state = 'paid';
    return done;
  },
};

export const medusa: Family = {
  ...common,
  name: 'Medusa 2',
  settings: { secret: 'MEDUSA_4f1d2c3b4a5968778695a4b3c2d1e0f1' },
  // Otherwise its page asks for money again, as that of WooCommerce does.
  wantsNoRbf: true,
  hook: () => '/hooks/blockonomics/blockonomics_btc',
  firstState: 'cart',
  unpaid: 0,
  // `matchCallback` is an option that shops with one store leave out.
  matches: 'nothing',
  asks: 'address first',
  post: { type: 'application/json' },
  priceQuery: '&crypto=BTC',
  // It answers before it looks at the callback.
  answers: {
    noSecret: 'OK',
    wrongSecret: 'OK',
    unknownAddress: 'OK',
    pluginOff: { status: 404, body: 'Cannot GET /hooks/blockonomics/blockonomics_btc' },
    elsewhere: { status: 404, body: 'Cannot GET' },
    notice: '',
  },
  explain: (message) => `Blockonomics API responded with 400: ${message}`,
  page(rows) {
    const row = rows.at(-1);
    if (row === undefined) return 'new address';
    if (row.status === 0) return row;
    return row.status === 2 && row.paidSat < row.expectedSat ? 'new address' : 'thanks';
  },
  book(handling) {
    const { order, row, callback } = handling;
    const done = { status: 200, body: 'OK' };
    if (row.status === 2) return done;
    row.txid = callback.txid;
    if (callback.rbf) return done;
    row.status = callback.status < 2 ? 1 : 2;
    if (row.status === 2) {
      row.paidSat = callback.value;
      row.paid = worth(handling);
    }
    if (order.state === 'cart') setState(handling, 'placed');
    if (row.status === 2 && row.paidSat >= row.expectedSat) setState(handling, 'captured');
    return done;
  },
};
