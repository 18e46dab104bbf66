// What a plugin for BTCPay Server is to a played shop: how it sets itself up, what it asks for a
// sale, and what it makes of an event. The facts are those of the plugins' public sources, of which
// no code is copied.

import type { KeyPlugin } from '../../../src/domain/access/key-scope.ts';
import type { Answer } from '../../support/receiver.ts';

// biome-ignore lint/suspicious/noExplicitAny: each plugin reads the fields that it knows.
export type Json = any;

/** What the merchant types. */
export interface Typed {
  readonly origin: string;
  readonly key: string;
  readonly storeId: string;
}

/** What a plugin stores of its webhook. */
export interface StoredHook {
  readonly id: string;
  readonly secret: string;
}

export interface Sale {
  readonly id: number;
  /** In euro. */
  readonly total: number;
  state: string;
  /** The last answer about its invoice that the plugin stored. */
  invoice?: Json;
  /** What happened once and cannot be undone: mails, credits, stock. */
  readonly effects: string[];
  /** Transactions that the plugin has booked. */
  readonly booked: Set<string>;
  lastType?: string;
}

/** A plugin's shop as its program sees it. */
export interface ShopSide {
  readonly name: string;
  /** Where the shop receives webhooks. */
  readonly hookUrl: string;
  readonly typed: Typed;
  hook?: StoredHook;
  /**
   * A request as the PHP library makes it: anything but 200 with JSON is an error.
   * @throws ApiError
   */
  api(method: string, path: string, body?: object): Promise<Json>;
  /** Rows of the shop's table of settings. */
  readonly settings: Map<string, string>;
}

export interface Handling {
  readonly event: Json;
  readonly sale: Sale;
  readonly shop: ShopSide;
  /** The invoice, asked again. */
  invoice(): Promise<Json>;
  methods(): Promise<Json>;
}

export class ApiError extends Error {
  readonly status: number;
  constructor(status: number, text: string) {
    super(`${status}: ${text}`);
    this.status = status;
  }
}

export interface Plugin {
  readonly name: string;
  readonly keyPlugin?: KeyPlugin;
  readonly firstState: string;
  /** The webhook that it makes, beside the URL; undefined where the merchant makes it by hand. */
  readonly hook?: 'own secret' | 'secret of the server';
  /** Events that it asks for; all without it. */
  readonly events?: readonly string[];
  /** What the settings page asks before and after the webhook. @throws ApiError, or a sentence */
  connect?(shop: ShopSide): Promise<void>;
  /** What is asked before and after the new invoice. */
  before?(shop: ShopSide, sale: Sale): Promise<void>;
  after?(shop: ShopSide, sale: Sale): Promise<void>;
  /** What it asks once an invoice is marked as invalid. */
  afterCancel?(shop: ShopSide, sale: Sale): Promise<void>;
  /** A job that asks without an event. */
  cron?(shop: ShopSide, sale: Sale): Promise<void>;
  /** The body of a new invoice. */
  asks(sale: Sale, shop: ShopSide): object;
  /** How the sale of an event is found. */
  readonly finds?: (sale: Sale, event: Json) => boolean;
  readonly wrongSignature: number;
  readonly unknownInvoice: number;
  /** Books an event. @returns the status of another answer than 200 */
  books(handling: Handling): Promise<number | undefined> | number | undefined;
}

export const answerOf = (status: number): Answer => ({ status, body: '[]' });

/** All events of the format. */
export const invoiceEvents = (names: string): readonly string[] =>
  names.split(' ').map((name) => `Invoice${name}`);

/** The webhook that a plugin makes or finds again. */
export const hookBody = ({ events }: Pick<Plugin, 'events'>, url: string, secret?: string) => ({
  ...{ url, enabled: true, automaticRedelivery: true, secret },
  authorizedEvents: { everything: events === undefined, specificEvents: events ?? [] },
});

/** Asks for the webhook that is stored, and makes one where it is gone. */
export async function findOrMakeHook(shop: ShopSide, plugin: Plugin): Promise<void> {
  if (shop.hook !== undefined) {
    const found = await shop
      .api('GET', `/stores/{s}/webhooks/${shop.hook.id}`)
      .catch((error: unknown) => refusedOnly(error, 404));
    if (found?.id === shop.hook.id && found.url.includes(shop.hookUrl)) return;
  }
  await makeHook(shop, plugin);
}

let made = 0;

export async function makeHook(shop: ShopSide, plugin: Plugin): Promise<void> {
  made += 1;
  const own = plugin.hook === 'own secret' ? `secret ${made} of the shop` : undefined;
  const body = hookBody(plugin, shop.hookUrl, own);
  const { id, secret } = await shop.api('POST', '/stores/{s}/webhooks', body);
  if (own !== undefined && secret !== own) throw new Error('the webhook has another secret');
  shop.hook = { id, secret };
}

export function refusedOnly(error: unknown, status: number): undefined {
  if (error instanceof ApiError && error.status === status) return undefined;
  throw error;
}

/** The permissions of the key, without the store. @throws a sentence if they are of several stores */
export async function permissionsOf(shop: ShopSide): Promise<string[]> {
  const { permissions, label } = await shop.api('GET', '/api-keys/current');
  const parts = (permissions as string[]).map((each) => each.split(':'));
  const stores = new Set(parts.map(([, store]) => store));
  if (typeof label !== 'string' || stores.size !== 1 || !stores.has(shop.typed.storeId)) {
    throw new Error('The API key is not for this store only');
  }
  return parts.map(([name = '']) => name.replace('btcpay.store.', '')).sort();
}

export function needEqual(found: readonly string[], wanted: string): void {
  if (found.join(' ') !== wanted.split(' ').sort().join(' ')) {
    throw new Error(`The permissions are ${found.join(' ')}`);
  }
}

/** Bookkeeping that many plugins have: a state, and a mail to the customer each time. */
export const mail = ({ effects }: Sale, state: string): void => void effects.push(`mail: ${state}`);
