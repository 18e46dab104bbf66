// Links, and the orders that strangers make by them. A link is never deleted: its orders refer to
// it.

import { eq } from 'drizzle-orm';
import type { LinkInput } from '../../domain/order/link-input.ts';
import { LinkRefusal } from '../../domain/order/link-refusal.ts';
import type { PayerInput } from '../../domain/order/payer-input.ts';
import { orderExpiryOf } from '../../domain/order/quote.ts';
import { unpaidLimitOf } from '../../domain/store/allocation.ts';
import { PaygateError } from '../../lib/errors.ts';
import type { Idempotency } from '../access/idempotency.ts';
import type { Orm } from '../db/orm.ts';
import type { Tx } from '../db/writer.ts';
import { links } from '../schema/order-schema.ts';
import type { IssuedAddress } from '../wallets/address-row.ts';
import type { Addresses, IsPending } from '../wallets/addresses.ts';
import type { Catalog, StoreRow } from '../wallets/catalog.ts';
import { type LinkRow, type LinkView, linkRowOf } from './link-view.ts';
import type { OrderRow } from './order-view.ts';
import type { Orders } from './orders.ts';

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
}

export interface LinkIssuing {
  readonly walletGap: number;
  readonly isPending?: IsPending;
}

interface Parts {
  readonly orm: Orm;
  readonly view: LinkView;
  readonly catalog: Catalog;
  readonly addresses: Addresses;
  readonly orders: Orders;
  readonly idempotency: Idempotency;
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
   * Throws if the link makes no order now. Only the answer inside of the write that makes the order
   * counts, because strangers order at the same time.
   * @param walletGap gap limit of the merchant's own wallet
   * @throws LinkRefusal
   */
  checkOpen(
    linkId: number,
    walletGap: number,
  ): { readonly link: LinkRow; readonly store: StoreRow } {
    const { view, catalog, addresses } = this.#parts;
    const link = view.byId(linkId);
    const store = link && catalog.store(link.storeId);
    if (!link?.isActive || !store || store.archivedAt !== null || store.walletId === null) {
      throw new LinkRefusal('inactive');
    }
    if (link.maxOrders !== null && link.paidCount >= link.maxOrders) {
      throw new LinkRefusal('used-up');
    }
    if (addresses.unpaidSinceBlock(store.walletId) >= unpaidLimitOf(walletGap)) {
      throw new LinkRefusal('gap');
    }
    return { link, store };
  }

  /**
   * Makes an order by a link, on a new address.
   * @throws LinkRefusal; PaygateError unavailable before the first scan of the wallet
   */
  order(
    tx: Tx,
    now: number,
    linkId: number,
    { note, language, ...ordered }: LinkOrder,
    { walletGap, isPending }: LinkIssuing,
  ): { readonly row: OrderRow; readonly issued: IssuedAddress } {
    const { addresses, orders } = this.#parts;
    const { link, store } = this.checkOpen(linkId, walletGap);
    const issued = addresses.issue(tx, now, store.walletId as number, store.id, isPending);
    const { toleranceBasisPoints, latePolicy, quoteSeconds, returnUrl } = store;
    const row = orders.create(tx, now, {
      ...ordered,
      storeId: store.id,
      addressId: issued.id,
      linkId,
      toleranceBasisPoints,
      latePolicy,
      quoteSeconds,
      returnUrl,
      expiresAt: orderExpiryOf(now, store.orderSeconds),
      reference: note,
      description: [link.title, link.description ?? []].flat().join('\n'),
      metadata: {},
      language: language ?? store.language,
    });
    return { row, issued };
  }
}
