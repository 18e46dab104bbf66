// What the shops of all plugin families have: settings, orders, and the plugin's table with one row
// for each address. A family states how its plugin differs. Facts: docs/plugins.md and the plugins'
// public sources, of which no code is copied.

import type { Answer } from '../support/receiver.ts';

export interface Settings {
  /** The secret that the plugin shows in its Callback URL. */
  secret: string;
  permalinks: 'pretty' | 'plain';
  plugin: 'on' | 'off';
  /** Whether PHP prints notices before each answer. */
  printsNotices: boolean;
  /** WooCommerce's _Hold stock_: pending orders are canceled after these minutes. */
  holdStockMinutes: number;
  /** How many percent a payment may miss. */
  slackPercent: number;
}

export interface Order {
  readonly id: number;
  /** In euro, as all amounts here that are not in satoshis. */
  readonly total: number;
  readonly placedAt: number;
  state: string;
  /** Whether its goods are taken from the stock. */
  hasStock: boolean;
  /** What an invoice was credited with, by transaction. */
  credits: Readonly<Record<string, number>>;
}

/** A row of the plugin's table. */
export interface Row {
  readonly orderId: number;
  readonly address: string;
  expectedSat: number;
  expected: number;
  /** The plugin's own number; its meaning differs between families. */
  status: number;
  txid: string;
  paidSat: number;
  paid: number;
}

export interface Callback {
  readonly address: string;
  readonly status: number;
  readonly value: number;
  readonly txid: string;
  readonly rbf: boolean;
}

/** What the program that handles a callback has read. It changes copies, and then writes them. */
export interface Handling {
  readonly settings: Readonly<Settings>;
  readonly callback: Callback;
  readonly order: Order;
  readonly row: Row;
  /** A mail or an entry in the books. It cannot be undone. */
  effect(text: string): void;
  moveStock(change: number): void;
}

export interface ApiReply {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: each family reads the fields that it knows.
  readonly body: any;
}

/** What a plugin uses to set itself up. */
export interface Admin {
  readonly origin: string;
  readonly settings: Readonly<Settings>;
  readonly callbackUrl: string;
  /** GET, or POST with a body. */
  ask(path: string, post?: PostForm): Promise<ApiReply>;
}

export interface PostForm {
  readonly body?: string;
  readonly type?: string;
}

/** What the payment page of an order does: it shows a row, requests a new address, or neither. */
export type PageChoice = Row | 'new address' | 'thanks' | 'wait';

export interface Family {
  readonly name: string;
  /** Path and query of the Callback URL, without the secret. */
  hook(settings: Settings): string;
  readonly settings: Partial<Settings>;
  /** Whether its store needs `--no-rbf-parameter`. */
  readonly wantsNoRbf: boolean;
  readonly firstState: string;
  /** Status of a row without a payment. */
  readonly unpaid: 0 | -1;
  /** What `match_callback` names. */
  readonly matches: 'url' | 'secret' | 'nothing';
  readonly asks: 'together' | 'address first' | 'price first';
  /** How it POSTs for an address. */
  readonly post: PostForm;
  /** Parameters of its request for a price, besides the currency. */
  readonly priceQuery: string;
  round(sat: number): number;
  readonly answers: {
    readonly noSecret: string;
    readonly wrongSecret: string;
    readonly unknownAddress: string;
    readonly pluginOff: Answer;
    /** The answer of any path that is not the hook. */
    readonly elsewhere: Answer;
    readonly notice: string;
  };
  /** The text on the page of an order without an address. */
  explain(message: string): string;
  page(rows: readonly Row[]): PageChoice;
  /** What a visit of the payment page does to the order. */
  visit?(order: Order): void;
  /** Books a callback. @returns the answer; an empty 200 without it */
  book(handling: Handling): Answer | undefined;
  /** What happens to an order without a payment after a while. */
  expire?(order: Order, settings: Settings, now: number): 'cancel' | undefined;
  /** The button of the settings page. @returns what it shows */
  testSetup?(admin: Admin): Promise<string>;
  /** Path of the live socket of the payment page. */
  socket(address: string, placedAt: number): string;
  /** Path of the customer's link to a transaction, once `paygate plugin` has rewritten the host. */
  receipt(txid: string, address: string): string;
}

/** What most plugins have: -1 before the first callback, whole satoshis, no use for `rbf`. */
export const common = {
  settings: {},
  wantsNoRbf: false,
  unpaid: -1,
  post: {},
  priceQuery: '',
  round: Math.trunc,
  socket: (address: string): string => `/payment/${address}`,
  receipt: (txid: string, address: string): string => `/api/tx?txid=${txid}&addr=${address}`,
} as const;

/** Changes the state of an order, with the mail and the stock that follow from it. */
export function setState(handling: Pick<Handling, 'order' | 'effect'>, state: string): void {
  handling.order.state = state;
  handling.effect(`${state} mailed`);
}

export const percentOf = (sat: number, { settings }: Pick<Handling, 'settings'>): number =>
  (sat * settings.slackPercent) / 100;

/** What a payment is worth in euro at the rate of its page. */
export const worth = ({ row, callback }: Pick<Handling, 'row' | 'callback'>): number =>
  Math.round((row.expected * callback.value * 100) / row.expectedSat) / 100;

export const htmlPage = (status: number, title: string) => ({
  status,
  headers: { 'Content-Type': 'text/html; charset=UTF-8' },
  body: `<!DOCTYPE html>\n<html lang="en-US"><head><title>${title}</title></head><body><h1>${title}</h1></body></html>`,
});

/** The notice of PHP as it prints it by itself (`html_errors`). */
export const phpNotice =
  '<br />\n<b>Deprecated</b>:  Creation of dynamic property Gateway::$icon is deprecated in <b>/var/www/gateway.php</b> on line <b>31</b><br />\n';
