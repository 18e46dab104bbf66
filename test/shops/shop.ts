// A shop of a plugin family: a real HTTP server with the plugin's hook and the customer's payment
// page, and a client of paygate's API. Its programs read a row, work, and write it without a lock,
// as PHP does. Callbacks of one row that overlap therefore damage its books.

import { whenOver } from '../support/files.ts';
import { type Answer, type ReceivedRequest, startReceiver } from '../support/receiver.ts';
import type {
  Admin,
  ApiReply,
  Callback,
  Family,
  Order,
  PostForm,
  Row,
  Settings,
} from './family.ts';

export type Page =
  | { readonly kind: 'pay'; readonly address: string; readonly amountSat: number }
  | { readonly kind: 'thanks' | 'wait' }
  | { readonly kind: 'error'; readonly code: number; readonly text: string };

export interface Shop extends Admin {
  readonly family: Family;
  readonly settings: Settings;
  readonly requests: readonly ReceivedRequest[];
  readonly orders: ReadonlyMap<number, Order>;
  readonly rows: ReadonlyMap<string, Row>;
  readonly stock: number;
  /** Mails and entries in the books, in order. */
  readonly effects: readonly string[];
  /** Addresses whose callbacks overlapped. */
  readonly overlaps: readonly string[];
  /** Addresses of callbacks that have read their row and wait for `release`. */
  readonly working: readonly string[];
  /** Sets the origin of paygate's API and the key that the merchant enters. */
  connect(paygate: { readonly origin?: string; readonly apiKey?: string }): void;
  placeOrder(total?: number): Order;
  /** What a customer's browser shows at the payment page of an order. */
  visit(order: Order): Promise<Page>;
  /** The shop's job that cancels unpaid orders. */
  cancelUnpaid(now: number): void;
  /** A backup of the shop from before all orders is restored: the plugin's table is empty. */
  loseRows(): void;
  /** From now on callbacks wait between reading and writing. */
  hold(): void;
  /** Lets the waiting callbacks write, and all later ones too. */
  release(): void;
}

const defaults: Settings = {
  secret: '5f0c1be1a9b2c6d4e8f7a3b5c9d1e2f4a6b8c0d2',
  permalinks: 'pretty',
  plugin: 'on',
  printsNotices: false,
  holdStockMinutes: 60,
  slackPercent: 0,
};

/** @param now the time of the shop's machine */
export async function startShop(family: Family, now: () => number): Promise<Shop> {
  const settings: Settings = { ...defaults, ...family.settings };
  const books = createBooks();
  const server = await startReceiver({ answer: (request) => answer(request) });
  whenOver(() => server.close());
  let paygate = { origin: '', apiKey: '' };

  const callbackUrlOf = (origin: string): string => {
    const hook = family.hook(settings);
    return `${origin}${hook}${hook.includes('?') ? '&' : '?'}secret=${settings.secret}`;
  };
  const shop: Shop = {
    ...books,
    ...{ family, settings, origin: server.origin, requests: server.requests },
    get stock() {
      return books.stock;
    },
    get callbackUrl() {
      return callbackUrlOf(server.origin);
    },
    connect: (to) => {
      paygate = { ...paygate, ...to };
    },
    ask: (path, post) => askPaygate(paygate, path, post),
    placeOrder: (total = 20) =>
      books.add({ total, placedAt: now(), state: family.firstState, hasStock: false, credits: {} }),
    async visit({ id }) {
      return (await fetch(`${server.origin}/pay/${id}`)).json() as Promise<Page>;
    },
    loseRows: () => books.rows.clear(),
    cancelUnpaid(at) {
      for (const order of books.orders.values()) {
        if (family.expire?.(order, settings, at) !== 'cancel') continue;
        order.state = 'cancelled';
        books.effects.push('cancelled mailed');
      }
    },
  };

  async function answer({ url }: ReceivedRequest): Promise<Answer> {
    const { pathname, searchParams } = new URL(url, server.origin);
    const [, id] = /^\/pay\/(\d+)$/.exec(pathname) ?? [];
    if (id !== undefined) {
      return { status: 200, body: JSON.stringify(await showPage(shop, books, Number(id))) };
    }
    const hook = new URL(family.hook(settings), server.origin);
    const isHook =
      pathname === hook.pathname &&
      [...hook.searchParams].every(([name, value]) => searchParams.get(name) === value);
    if (!isHook) return family.answers.elsewhere;
    if (settings.plugin === 'off') return family.answers.pluginOff;
    const said = await receive(shop, books, searchParams);
    const printed = settings.printsNotices ? family.answers.notice : '';
    return typeof said === 'string' ? { status: 200, body: printed + said } : said;
  }

  return shop;
}

type Books = ReturnType<typeof createBooks>;

/** The shop's database, without locks and without transactions. */
function createBooks() {
  const orders = new Map<number, Order>();
  const rows = new Map<string, Row>();
  const effects: string[] = [];
  const overlaps: string[] = [];
  const working: string[] = [];
  let isHeld = false;
  let letGo: (() => void)[] = [];
  return {
    ...{ orders, rows, effects, overlaps, working },
    stock: 100,
    add(fields: Omit<Order, 'id'>): Order {
      const order = { id: orders.size + 1, ...fields };
      orders.set(order.id, order);
      return order;
    },
    rowsOf: (id: number): Row[] => [...rows.values()].filter(({ orderId }) => orderId === id),
    hold(): void {
      isHeld = true;
    },
    release(): void {
      isHeld = false;
      for (const go of letGo.splice(0)) go();
      letGo = [];
    },
    /** PHP works: other requests are served meanwhile. */
    async work(address: string): Promise<void> {
      if (working.includes(address)) overlaps.push(address);
      working.push(address);
      if (isHeld) await new Promise<void>((resolve) => letGo.push(resolve));
      else for (let turns = 0; turns < 3; turns += 1) await new Promise(setImmediate);
      working.splice(working.indexOf(address), 1);
    },
  };
}

async function receive(
  { family, settings }: Shop,
  books: Books,
  query: URLSearchParams,
): Promise<Answer | string> {
  const secret = query.get('secret') ?? '';
  if (secret === '') return family.answers.noSecret;
  if (secret !== settings.secret) return family.answers.wrongSecret;
  const callback: Callback = {
    address: query.get('addr') ?? '',
    status: Number(query.get('status')),
    value: Number(query.get('value')),
    txid: query.get('txid') ?? '',
    rbf: query.get('rbf') === '1',
  };
  const { address } = callback;
  const storedRow = books.rows.get(address);
  const storedOrder = books.orders.get(storedRow?.orderId ?? 0);
  if (storedRow === undefined || storedOrder === undefined) return family.answers.unknownAddress;
  const row = { ...storedRow };
  const order = { ...storedOrder };
  await books.work(address);
  const said = family.book({
    ...{ settings, callback, order, row },
    effect: (text) => void books.effects.push(text),
    moveStock: (change) => {
      books.stock += change;
    },
  });
  Object.assign(storedRow, row);
  Object.assign(storedOrder, order);
  return said ?? '';
}

/** The payment page of an order: requests an address, or refreshes the amount of the last one. */
async function showPage(shop: Shop, books: Books, id: number): Promise<Page> {
  const { family } = shop;
  const order = books.orders.get(id);
  if (order === undefined) return { kind: 'error', code: 0, text: 'no such order' };
  family.visit?.(order);
  const rows = books.rowsOf(id);
  const choice = family.page(rows);
  if (choice === 'thanks' || choice === 'wait') return { kind: choice };
  const expected = order.total - rows.reduce((sum, { paid }) => sum + paid, 0);
  const found = await quote(shop, choice === 'new address' ? undefined : choice.address);
  if ('refused' in found) {
    const { error, message = '' } = found.refused.body ?? {};
    return { kind: 'error', code: error?.code ?? 0, text: family.explain(message) };
  }
  const { address, price } = found;
  const row = { ...{ orderId: id, address, expected }, ...{ txid: '', paidSat: 0, paid: 0 } };
  const expectedSat = family.round((expected * 1e8) / price);
  const shown = { ...row, status: family.unpaid, ...books.rows.get(address), expectedSat };
  books.rows.set(address, shown);
  return { kind: 'pay', address, amountSat: expectedSat };
}

type Quote = { readonly address: string; readonly price: number } | { readonly refused: ApiReply };

/** Requests a price and, unless there is one, an address, in the order of the family. */
async function quote(shop: Shop, known: string | undefined): Promise<Quote> {
  const { family, settings } = shop;
  const wishes = { url: shop.callbackUrl, secret: settings.secret, nothing: '' };
  const wish = encodeURIComponent(wishes[family.matches]);
  const askAddress = async (): Promise<ApiReply> =>
    known === undefined
      ? shop.ask(`/api/new_address${wish && `?match_callback=${wish}`}`, family.post)
      : { status: 200, body: { address: known } };
  const askPrice = () => shop.ask(`/api/price?currency=EUR${family.priceQuery}`);
  const isPriceFirst = family.asks === 'price first';
  const ways = isPriceFirst ? [askPrice, askAddress] : [askAddress, askPrice];
  const replies: ApiReply[] = [];
  if (family.asks === 'together') replies.push(...(await Promise.all(ways.map((ask) => ask()))));
  else for (const ask of ways) if (replies.every(isFine)) replies.push(await ask());
  const refused = replies.find((reply) => !isFine(reply));
  if (refused !== undefined) return { refused };
  const [address, price] = isPriceFirst ? replies.toReversed() : replies;
  return { address: address?.body.address, price: price?.body.price };
}

const isFine = ({ status }: ApiReply): boolean => status === 200;

async function askPaygate(
  { origin, apiKey }: { readonly origin: string; readonly apiKey: string },
  path: string,
  post?: PostForm,
): Promise<ApiReply> {
  const headers = {
    Authorization: `Bearer ${apiKey}`,
    ...(post?.type !== undefined && { 'Content-Type': post.type }),
  };
  const init = post === undefined ? {} : { method: 'POST', body: post.body ?? '' };
  const response = await fetch(`${origin}${path}`, { ...init, headers }).catch(() => undefined);
  if (response === undefined) return { status: 0, body: undefined };
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
}
