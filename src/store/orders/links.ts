// Links, and the orders that strangers make by them. A link is never deleted: its orders refer to
// it.

import { eq } from 'drizzle-orm';
import type { LinkInput } from '../../domain/order/link-input.ts';
import { LinkRefusal } from '../../domain/order/link-refusal.ts';
import { maxEmailsOfNetwork, type PayerInput } from '../../domain/order/payer-input.ts';
import { maxQuotes, orderExpiryOf } from '../../domain/order/quote.ts';
import { maxUnpaidOfNetwork, unpaidLimitOf } from '../../domain/store/allocation.ts';
import { PaygateError } from '../../lib/errors.ts';
import type { Idempotency } from '../access/idempotency.ts';
import type { Orm } from '../db/orm.ts';
import type { Tx } from '../db/writer.ts';
import { links } from '../schema/order-schema.ts';
import type { IssuedAddress } from '../wallets/address-row.ts';
import type { Addresses } from '../wallets/addresses.ts';
import type { Catalog, StoreRow } from '../wallets/catalog.ts';
import type { IsPending } from '../wallets/unpaid-addresses.ts';
import { type LinkRow, type LinkView, linkRowOf } from './link-view.ts';
import type { OrderRow, OrderView } from './order-view.ts';
import type { Amendment, Orders } from './orders.ts';
import type { TypedEmails } from './typed-emails.ts';

export interface NewLink extends LinkInput {
  /** `lnk_…`, of random bits. */
  readonly publicId: string;
  readonly storeId: number;
  /** The key of the request, and SHA-256 of its body. */
  readonly idempotencyKey?: string | undefined;
  readonly bodyHash?: Buffer;
}

export interface LinkOrder extends PayerInput {
  /** `ord_…`, of random bits. */
  readonly publicId: string;
  /** The price of one bitcoin now, in hundredths of the currency; null for a price in satoshis. */
  readonly rateCents: number | null;
  /** The language of the page; null for the one of the store. */
  readonly language: string | null;
  /** A keyed hash of the network of the stranger. */
  readonly payerNetwork?: string | undefined;
}

/** A link that may make orders. */
export interface OpenLink {
  readonly link: LinkRow;
  readonly store: StoreRow;
  readonly walletId: number;
}

export interface LinkIssuing {
  readonly walletGap: number;
  readonly isPending?: IsPending;
}

interface Parts {
  readonly orm: Orm;
  readonly view: LinkView;
  readonly orderView: Pick<OrderView, 'record'>;
  readonly catalog: Catalog;
  readonly addresses: Addresses;
  readonly orders: Orders;
  readonly idempotency: Idempotency;
  readonly typedEmails: TypedEmails;
}

export class Links {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /**
   * The link that an earlier request of the store with the same idempotency key made.
   * @throws PaygateError conflict if that request was another one
   */
  madeBefore(
    now: number,
    { storeId, idempotencyKey, bodyHash }: Pick<NewLink, 'storeId' | 'idempotencyKey' | 'bodyHash'>,
  ): LinkRow | undefined {
    if (idempotencyKey === undefined) return undefined;
    const { view, idempotency } = this.#parts;
    const before = view.madeWith(storeId, idempotencyKey, idempotency.since(now));
    const isSame = before?.bodyHash && bodyHash?.equals(before.bodyHash);
    if (isSame) return before;
    if (before === undefined && !idempotency.find(now, storeId, idempotencyKey)) return undefined;
    throw new PaygateError(
      'conflict',
      'This Idempotency-Key was used within a day for another request: use a new key for each link',
    );
  }

  create(_tx: Tx, now: number, { suggested, ...link }: NewLink): LinkRow {
    const values = { ...link, suggested: JSON.stringify(suggested), createdAt: now };
    return linkRowOf(this.#parts.orm.insert(links).values(values).returning().get());
  }

  change(_tx: Tx, id: number, { suggested, ...link }: LinkInput): LinkRow {
    // A row may be passed, whose counts are of another time.
    const counts = { orderCount: undefined, paidCount: undefined };
    const values = { ...link, ...counts, suggested: JSON.stringify(suggested) };
    const changed = this.#parts.orm.update(links).set(values).where(eq(links.id, id));
    return linkRowOf(changed.returning().get());
  }

  /**
   * Throws if the link is closed, however many addresses of its wallet are unpaid.
   * @throws LinkRefusal
   */
  checkActive(linkId: number): OpenLink {
    const { view, catalog } = this.#parts;
    const link = view.byId(linkId);
    const store = link && catalog.store(link.storeId);
    if (!link?.isActive || !store || store.archivedAt !== null || store.walletId === null) {
      throw new LinkRefusal('inactive');
    }
    if (link.maxOrders !== null && link.paidCount >= link.maxOrders) {
      throw new LinkRefusal('used-up');
    }
    return { link, store, walletId: store.walletId };
  }

  /**
   * Throws if the link makes no order now. Only the answer inside of the write that makes the order
   * counts, because strangers order at the same time.
   * @param walletGap gap limit of the merchant's own wallet
   * @param payerNetwork see `LinkOrder`
   * @throws LinkRefusal
   */
  checkOpen(linkId: number, walletGap: number, payerNetwork?: string): OpenLink {
    const { addresses } = this.#parts;
    const open = this.checkActive(linkId);
    const { walletId } = open;
    const limit = unpaidLimitOf(walletGap);
    if (addresses.unpaidSinceBlock(walletId, limit) >= limit) throw new LinkRefusal('gap');
    const isFull = (network: string): boolean =>
      addresses.unpaidOfNetwork(walletId, network) >= maxUnpaidOfNetwork;
    if (payerNetwork !== undefined && isFull(payerNetwork)) throw new LinkRefusal('network');
    return open;
  }

  /**
   * Whether a customer may still change an order of a link: it has not ended by a command, and its
   * address never received anything.
   */
  mayAmend(
    { id: linkId, currency }: Pick<LinkRow, 'id' | 'currency'>,
    row: OrderRow,
    isPending: IsPending,
  ): boolean {
    const { addresses, orderView } = this.#parts;
    const isUnpaid = row.status === 'open' || row.status === 'expired';
    if (row.linkId !== linkId || row.currency !== currency || !isUnpaid) return false;
    return (
      addresses.isUntouched(row.addressId, isPending) &&
      orderView.record(row).quotes.length < maxQuotes
    );
  }

  /**
   * Gives an order of a link another price, note and mail address, a new quote and a new end.
   * @throws LinkRefusal
   */
  amend(tx: Tx, now: number, row: OrderRow, changed: LinkOrder): OrderRow {
    const { link, store } = this.checkActive(row.linkId as number);
    this.#checkEmail(now, changed, row.id);
    this.#noteEmail(tx, now, changed, row.id);
    return this.#parts.orders.amend(tx, now, row.id, termsOf(link, store, changed, now));
  }

  /**
   * Makes an order by a link, on a new address.
   * @throws LinkRefusal; PaygateError unavailable before the first scan of the wallet
   */
  order(
    tx: Tx,
    now: number,
    linkId: number,
    ordered: LinkOrder,
    { walletGap, isPending }: LinkIssuing,
  ): { readonly row: OrderRow; readonly issued: IssuedAddress } {
    const { addresses, orders } = this.#parts;
    const { publicId, payerNetwork } = ordered;
    const { link, store, walletId } = this.checkOpen(linkId, walletGap, payerNetwork);
    this.#checkEmail(now, ordered);
    addresses.forgetNetworks(tx, walletId);
    const issued = addresses.issue(tx, now, walletId, store.id, isPending);
    const { toleranceBasisPoints, latePolicy, quoteSeconds, returnUrl } = store;
    const row = orders.create(tx, now, {
      ...termsOf(link, store, ordered, now),
      publicId,
      storeId: store.id,
      addressId: issued.id,
      linkId,
      payerNetwork: payerNetwork ?? null,
      toleranceBasisPoints,
      latePolicy,
      quoteSeconds,
      returnUrl,
      metadata: {},
    });
    this.#noteEmail(tx, now, ordered, row.id);
    return { row, issued };
  }

  /** A stranger must not make us mail many others (docs/security.md). @throws LinkRefusal */
  #checkEmail(now: number, { customerEmail, payerNetwork = '' }: LinkOrder, orderId = 0): void {
    if (customerEmail === null) return;
    const { typedEmails, idempotency } = this.#parts;
    const since = idempotency.since(now);
    if (typedEmails.countOf(now, payerNetwork, since, orderId) >= maxEmailsOfNetwork) {
      throw new LinkRefusal('emails');
    }
  }

  #noteEmail(tx: Tx, now: number, order: LinkOrder, orderId: number): void {
    const { customerEmail, payerNetwork = '' } = order;
    if (customerEmail !== null) this.#parts.typedEmails.note(tx, now, payerNetwork, orderId);
  }
}

/** What a customer may change, in the words of the link as it is now. */
const termsOf = (
  link: LinkRow,
  store: StoreRow,
  { price, rateCents, note, customerEmail, language }: LinkOrder,
  now: number,
): Amendment => ({
  price,
  rateCents,
  expiresAt: orderExpiryOf(now, store.orderSeconds),
  reference: note,
  customerEmail,
  description: [link.title, link.description ?? []].flat().join('\n'),
  language: language ?? store.language,
});
