// One app with an order in every state that a customer's page can show, and a link of each kind.
// Tests in a browser load their pages.

import type { Txid } from '../../src/bitcoin/ids.ts';
import { parseProxyNetwork } from '../../src/domain/access/client-address.ts';
import type { LinkBody } from '../../src/domain/order/link-input.ts';
import type { LatePolicy } from '../../src/domain/order/order.ts';
import { type OrderJson, paymentLine } from '../../src/domain/order/order-json.ts';
import { minuteMs } from '../../src/lib/time-units.ts';
import type { StoreOptions } from './app.ts';
import { inSatoshis, priced } from './checkout.ts';
import { mailSettings } from './mail-server.ts';
import { openPriced, type PricedApp } from './priced.ts';

export const states = [
  'open',
  'open in satoshis',
  'open with long texts',
  'quote lapsed',
  'over, not scanned',
  'part paid',
  'part paid, quote lapsed',
  'late, undecided',
  'processing',
  'processing with excess',
  'paid',
  'paid late',
  'reversed',
  'expired empty',
  'expired with money',
  'canceled with money',
] as const;

export type StateName = (typeof states)[number];

export interface StateOrder {
  readonly state: StateName;
  readonly id: string;
  readonly address: string;
  /** The path of its page. */
  readonly path: string;
  /** As the API answers now. */
  json(): Promise<OrderJson>;
}

/** A page for customers, by its name in failures. */
export interface NamedPage {
  readonly name: string;
  readonly path: string;
  /** The status of its response. */
  readonly status: number;
  /** Transactions that stand on it, also on paper. */
  readonly txids: readonly string[];
  /** A form to fill in, which is not for paper. */
  readonly isForm?: true;
}

export interface OrderStates {
  readonly app: PricedApp;
  readonly origin: string;
  readonly orders: readonly StateOrder[];
  of(state: StateName): StateOrder;
  /** The page of each order, receipts, pages of links, and pages of errors. */
  pages(): Promise<NamedPage[]>;
  /** Headers with which a request is of another client, because each has a limit. */
  newClient(): Record<string, string>;
}

/** Texts without spaces, in two directions, as long as an order may have them. */
const longTexts = {
  reference: `${'R'.repeat(100)}-שלום-${'9'.repeat(10)}`,
  description: `${'W'.repeat(400)} <b>&amp;</b> “🍕” ${'وصف '.repeat(60)}`,
  return_url: `https://shop.example/${'back/'.repeat(300)}`,
};

const shortest = { expires_in: 300, quote_seconds: 300 };
const longest = { expires_in: 86_400, quote_seconds: 3_600 };
const quoteEnds = { ...longest, quote_seconds: 300 };

/** What the order in each state is made with, when it is not the second half's. */
const first: Partial<Record<StateName, object>> = {
  'quote lapsed': quoteEnds,
  'part paid, quote lapsed': quoteEnds,
  'late, undecided': quoteEnds,
  paid: longest,
  'paid late': shortest,
  'expired empty': shortest,
  'expired with money': shortest,
  'canceled with money': longest,
};

/** Orders with a promise in force at the end. */
const second: Partial<Record<StateName, object>> = {
  open: longest,
  'open in satoshis': { ...longest, ...inSatoshis },
  'open with long texts': { ...longest, ...longTexts },
  'over, not scanned': shortest,
  'part paid': longest,
  processing: longest,
  'processing with excess': longest,
  reversed: longest,
};

/** Links with everything that a form may have. */
const links: Readonly<Record<string, LinkBody>> = {
  'link, fixed amount': { title: 'Poster', description: 'A2', amount: '25.00', currency: 'EUR' },
  'link, open amount': {
    ...{ title: `${'T'.repeat(100)} – شاي`, description: longTexts.description },
    ...{ currency: 'KWD', min: '0.500', max: '100000', suggested: ['1', '20000.250'] },
    ...{ note: 'required', ask_email: true },
  },
  'link, closed': { title: 'Poster', amount_sat: 25_000, active: false },
};

/**
 * An app whose only server is gone at the end, so that no more orders expire. Its clock stands
 * still. End it by `cleanUp` and `closeApps`.
 */
export async function openOrderStates(store: StoreOptions = {}): Promise<OrderStates> {
  const app = await openPriced({
    store,
    config: { trustedProxy: [parseProxyNetwork('127.0.0.1')] },
  });
  const made = new Map<StateName, StateOrder>();
  const of = (state: StateName): StateOrder => {
    const order = made.get(state);
    if (order === undefined) throw new Error(`no order is ${state}`);
    return order;
  };
  async function makeAll(all: typeof first): Promise<void> {
    for (const [state, changes] of Object.entries(all) as [StateName, object][]) {
      const { id, address } = await app.order({ ...priced, ...changes });
      const json = async () => (await app.get(`/orders/${id}`)).body as OrderJson;
      made.set(state, { state, id, address, path: `/o/${id}`, json });
    }
  }
  const pay = (state: StateName, valueSat: number) => app.pay(of(state).address, valueSat);

  const { 'late, undecided': undecided = {}, ...others } = first;
  await makeAll(others);
  // A policy is that of the store when the order was made.
  await setLatePolicy(app, 'ask');
  await makeAll({ 'late, undecided': undecided });
  await setLatePolicy(app, 'worth');
  pay('paid', 25_000);
  pay('expired with money', 10_000);
  pay('part paid, quote lapsed', 10_000);
  pay('canceled with money', 10_000);
  await app.settle();
  await app.post(`/orders/${of('canceled with money').id}/cancel`);
  await app.world.advance(10 * minuteMs);
  await app.settle();
  pay('paid late', 25_000);
  pay('late, undecided', 25_000);
  await app.settle();
  app.chain.mine(2);
  await app.settle();

  await makeAll(second);
  const fallen = pay('reversed', 25_000);
  pay('part paid', 10_000);
  pay('processing', 25_000);
  pay('processing with excess', 26_000);
  await app.settle();
  app.chain.replace(fallen as Txid, []);
  await app.outlastAbsence();
  const ofLinks = await makeLinks(app);
  app.server.inject({ kind: 'refuse' });
  app.server.disconnectAll();
  await app.world.advance(10 * minuteMs);

  let clients = 0;
  return {
    app,
    origin: `http://127.0.0.1:${app.port}`,
    orders: states.map(of),
    of,
    pages: async () => [...(await pagesOf(states.map(of))), ...ofLinks],
    newClient() {
      clients += 1;
      return { 'X-Forwarded-For': `2001:db8:${clients.toString(16)}::1` };
    },
  };
}

const setLatePolicy = (app: PricedApp, latePolicy: LatePolicy): Promise<void> =>
  app.withStore(({ catalog, database }) =>
    database.write((tx) => void catalog.changeStore(tx, 1, { latePolicy })),
  );

/** The pages of links. */
async function makeLinks(app: PricedApp): Promise<NamedPage[]> {
  // Without a mail server, no page asks for a mail address. None listens here.
  await app.withStore(({ state, database }) =>
    database.write((tx) => state.mailServer.write(tx, mailSettings(9))),
  );
  const pages: NamedPage[] = [];
  for (const [name, body] of Object.entries(links)) {
    const { id } = (await app.post('/links', body)).body;
    const status = body.active === false ? 410 : 200;
    pages.push({ name, path: `/l/${id}`, status, txids: [], isForm: true });
  }
  return pages;
}

/** Whose payments are shown as receipts: seen, confirmed, and gone. */
const receiptStates: readonly StateName[] = ['processing', 'paid', 'reversed'];

async function pagesOf(orders: readonly StateOrder[]): Promise<NamedPage[]> {
  const pages = await Promise.all(
    orders.map(async ({ state, id, path, address, json }) => {
      const txids = (await json()).payments.map((each) => paymentLine(each).txid);
      const shown = { name: state, path, status: 200, txids };
      const query = new URLSearchParams({ txid: txids[0] ?? '', addr: address, order: id });
      const receipt = { ...shown, name: `receipt, ${state}`, path: `/api/tx?${query}` };
      return receiptStates.includes(state) ? [shown, receipt] : [shown];
    }),
  );
  const errors = [
    { name: 'unknown order', path: '/o/ord_3yQ8tZr6WmB1nK5vXc2dLq', status: 404, txids: [] },
    { name: 'receipt of nothing', path: '/api/tx', status: 400, txids: [] },
  ];
  return [...pages.flat(), ...errors];
}
