// What the composition root gives to the API.

import type { Proxies } from '../domain/access/client-address.ts';
import type { CallbackSender } from '../domain/delivery/callback-url-policy.ts';
import type { LatePolicy } from '../domain/order/order.ts';
import type { OrderInput } from '../domain/order/order-input.ts';
import type { StoreQuery } from '../domain/store/store-choice.ts';
import type { Prices } from '../price/prices.ts';
import type { Key } from '../store/access/api-keys.ts';
import type { Records } from '../store/open-records.ts';
import type { OrderRow } from '../store/orders/order-view.ts';
import type { InvoiceTexts } from '../store/orders/orders.ts';
import type { IssuedAddress } from '../store/wallets/address-row.ts';
import type { ChainReader } from '../watcher/reader.ts';
import type { Rates } from '../web/limits/request-limits.ts';
import type { UntrustedProxies } from '../web/limits/untrusted-proxies.ts';
import type { Logger } from '../world/world.ts';

export interface ApiOptions {
  readonly records: Records;
  readonly log: Logger;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Milliseconds of a clock that never runs backwards. */
  readonly monotonic: () => number;
  readonly rates: Rates;
  /** Proxies whose `X-Forwarded-For` is trusted. */
  readonly proxies: Proxies;
  readonly untrustedProxies: UntrustedProxies;
  /** The gap limit of the merchant's own wallet. */
  readonly walletGap: number;
  /** Unpaid addresses in a row after which the next one is refused; undefined: never refused. */
  readonly refuseGap: number | undefined;
  /** Asks Electrum servers for data that the database does not have. */
  readonly reader: ChainReader;
  /** Undefined when switched off. */
  readonly prices: Prices | undefined;
  /** Whether balances of foreign addresses may be asked for. */
  readonly foreignBalances: boolean;
  /** Runs once after a delay. Returns what cancels it. */
  readonly after: (delayMs: number, run: () => void) => () => void;
  /** The addresses and the proxy of the machine that sends callbacks. */
  readonly surroundings: () => CallbackSender;
  /** For the ids of orders. */
  readonly randomBytes: (length: number) => Uint8Array;
  /** For a store that a plugin adds. */
  readonly newWebhookSecret: () => string;
  /** Throws when no address may be issued now. */
  readonly checkIssuing: () => void;
  readonly issue: IssueAddress;
  readonly ensureInvoice: EnsureInvoice;
}

export interface AddressRequest {
  readonly key: Pick<Key, 'id' | 'storeId' | 'scope'>;
  readonly target: StoreQuery;
  /** Asks for the store's last address again, while it is unpaid. */
  readonly reset: boolean;
  /** Requests of a store with the same key get the same address. */
  readonly idempotencyKey: string | undefined;
  /** Made on the new address, in the same write. */
  readonly order?: OrderDraft;
}

/** A new order that is complete but for its store, its address and the time of the write. */
export interface OrderDraft {
  readonly publicId: string;
  readonly input: OrderInput;
  /** See `NewOrder`. */
  readonly rateCents: number | null;
  readonly latePolicy: LatePolicy;
  /** SHA-256 of the request's body. */
  readonly bodyHash: Buffer;
  readonly invoice?: InvoiceTexts | undefined;
  /** The till that makes it. */
  readonly tillId?: number | undefined;
}

export interface Issued {
  readonly address: IssuedAddress;
  readonly order: OrderRow | undefined;
}

export type IssueAddress = (request: AddressRequest) => Promise<Issued>;

/** Gives an order its Lightning invoice, if that takes no more than two seconds. Never rejects. */
export type EnsureInvoice = (order: Pick<OrderRow, 'id' | 'storeId'>) => Promise<void>;
