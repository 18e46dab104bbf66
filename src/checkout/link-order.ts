// Makes the order of a link for a stranger, on a new address, in one write. The rules of links are
// checked before the price is asked for, and inside of that write again.

import { sha256 } from '@noble/hashes/sha2.js';
import { utf8ToBytes } from '@noble/hashes/utils.js';
import { base64url } from '@scure/base';
import { LinkRefusal } from '../domain/order/link-refusal.ts';
import { idBytes, idOf } from '../domain/order/order-id.ts';
import type { PayerInput } from '../domain/order/payer-input.ts';
import { checkOrderSat, minOrderSat, satoshisOf } from '../domain/order/quote.ts';
import { PaygateError } from '../lib/errors.ts';
import type { Prices } from '../price/prices.ts';
import type { Records } from '../store/open-records.ts';
import type { LinkRow } from '../store/orders/link-view.ts';
import type { OrderRow } from '../store/orders/order-view.ts';
import type { IssuedAddress } from '../store/wallets/address-row.ts';
import type { IsPending } from '../store/wallets/addresses.ts';
import type { World } from '../world/world.ts';
import { shownOrder } from './shown-order.ts';

/** Guards the issue of an address, and reports it. */
export interface IssuingOptions {
  /** @throws PaygateError unavailable while no address may be issued */
  readonly checkIssuing: () => void;
  /** Whether a server notified a history of this script that is not processed: it may be paid. */
  readonly isPending: IsPending;
  /** To call after the commit that issued an address. */
  readonly onIssued: (issued: IssuedAddress) => void;
}

export interface LinkOrderOptions extends IssuingOptions {
  readonly records: Records;
  readonly world: Pick<World, 'now' | 'randomBytes'>;
  /** Undefined if prices are off. */
  readonly prices: Pick<Prices, 'rateCents'> | undefined;
  /** The gap limit of the merchant's own wallet. */
  readonly walletGap: number;
}

export interface SentForm extends PayerInput {
  /** Random text of the form, which a double click sends twice; missing in other requests. */
  readonly formKey?: string | undefined;
  /** The language of the page; null for that of the store. */
  readonly language: string | null;
}

/**
 * The order of a form: a new one, or that of an earlier click if it can still be paid.
 * @throws LinkRefusal; PaygateError unavailable while no address may be issued
 */
export async function orderByLink(
  options: LinkOrderOptions,
  link: Pick<LinkRow, 'id' | 'storeId' | 'currency'>,
  form: SentForm,
): Promise<OrderRow> {
  const { records, world, walletGap, checkIssuing, isPending, onIssued } = options;
  const { id, storeId, currency } = link;
  const { price, note, language } = form;
  const key = idempotencyKeyOf(link, form);
  const before = orderedBefore(options, storeId, key);
  if (before !== undefined) return before;
  records.links.checkOpen(id, walletGap);
  const rateCents = currency === null ? null : await rateFor(options, currency);
  checkAmount(satoshisOf(price, rateCents));
  checkIssuing();
  const publicId = idOf('ord', world.randomBytes(idBytes));
  const ordered = { publicId, price, note, rateCents, language };
  const made = await records.database.write((tx) => {
    // The other click of a double click may have been first.
    const first = orderedBefore(options, storeId, key);
    if (first !== undefined) return { row: first };
    const now = world.now();
    const fresh = records.links.order(tx, now, id, ordered, { walletGap, isPending });
    const { id: addressId } = fresh.issued;
    if (key) records.idempotency.keep(tx, now, storeId, key, { addressId, bodyHash: null });
    return fresh;
  }, 'awaited');
  if ('issued' in made) onIssued(made.issued);
  return made.row;
}

/**
 * The key of a form and of what was entered: the same form with another amount makes another order.
 * A shop has no such key, because a header has no line break.
 */
function idempotencyKeyOf(
  { id }: Pick<LinkRow, 'id'>,
  { formKey, price, note }: SentForm,
): string | undefined {
  if (!formKey) return undefined;
  const amount = price.kind === 'sat' ? price.amountSat : String(price.minor);
  const digest = sha256(utf8ToBytes(JSON.stringify([id, formKey, amount, note])));
  return `link\n${base64url.encode(digest)}`;
}

function orderedBefore(
  { records: { idempotency, orderView }, world }: LinkOrderOptions,
  storeId: number,
  key: string | undefined,
): OrderRow | undefined {
  const now = world.now();
  const before = key === undefined ? undefined : idempotency.find(now, storeId, key);
  const row = before && orderView.byAddressId(before.addressId);
  if (row === undefined) return undefined;
  const { stage } = shownOrder(orderView, orderView.record(row), now);
  return stage === 'payable' || stage === 'lapsed' ? row : undefined;
}

/** The price of one bitcoin now, in hundredths of the currency. */
async function rateFor({ prices }: LinkOrderOptions, currency: string): Promise<number> {
  try {
    const rateCents = (await prices?.rateCents(currency)) ?? null;
    if (rateCents !== null) return rateCents;
  } catch (error) {
    if (!(error instanceof PaygateError)) throw error;
  }
  throw new LinkRefusal('no-price');
}

function checkAmount(amountSat: number): void {
  try {
    checkOrderSat(amountSat);
  } catch (error) {
    if (!(error instanceof PaygateError)) throw error;
    throw new LinkRefusal(amountSat < minOrderSat ? 'too-small' : 'too-large');
  }
}
