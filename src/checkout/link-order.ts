// Makes the order of a link for a stranger, on a new address, in one write. The rules of links are
// checked before the price is asked for, and inside of that write again.

import { sha256 } from '@noble/hashes/sha2.js';
import { utf8ToBytes } from '@noble/hashes/utils.js';
import { base64url } from '@scure/base';
import { LinkRefusal } from '../domain/order/link-refusal.ts';
import { idBytes, idOf } from '../domain/order/order-id.ts';
import type { PayerInput } from '../domain/order/payer-input.ts';
import {
  adjusted,
  checkOrderSat,
  dueSatCents,
  minOrderSat,
  satoshisOf,
} from '../domain/order/quote.ts';
import { PaygateError } from '../lib/errors.ts';
import type { Prices } from '../price/prices.ts';
import type { Records } from '../store/open-records.ts';
import type { LinkRow } from '../store/orders/link-view.ts';
import type { OrderRow } from '../store/orders/order-view.ts';
import type { IssuedAddress } from '../store/wallets/address-row.ts';
import type { IsPending } from '../store/wallets/unpaid-addresses.ts';
import type { World } from '../world/world.ts';
import { makePayerSecret, payerNetworkOf } from './payer-cookie.ts';
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
  /** Gives an order its Lightning invoice, if that takes no more than two seconds. */
  readonly ensureInvoice: (order: Pick<OrderRow, 'id' | 'storeId'>) => Promise<void>;
}

export interface SentForm extends PayerInput {
  /** Random text of the form, which a double click sends twice; missing in other requests. */
  readonly formKey?: string | undefined;
  /** The order that this browser made by the link before, by its own word (payer-cookie.ts). */
  readonly orderId?: string | undefined;
  /** The network of the client. */
  readonly network: string;
  /** The language of the page; null for that of the store. */
  readonly language: string | null;
}

type OrderedLink = Pick<LinkRow, 'id' | 'storeId' | 'currency' | 'adjustBasisPoints'>;

/**
 * The order of a form: the one that the form or its browser made before, while no money was seen.
 * What differs is changed, with a new quote and a new end.
 * @throws LinkRefusal; PaygateError unavailable while no address may be issued
 */
export async function orderByLink(
  options: LinkOrderOptions,
  link: OrderedLink,
  sent: SentForm,
): Promise<OrderRow> {
  const form = { ...sent, price: adjusted(sent.price, adjustmentOf(options, link)) };
  const { records, world, walletGap, checkIssuing, isPending, onIssued } = options;
  const { id, storeId, currency } = link;
  const { price, note, customerEmail, language, network } = form;
  const before = ownOrder(options, link, form);
  if (before !== undefined && isAsSent(options, before, form)) return before;
  const hashed = (): string => payerNetworkOf(records, network);
  if (before === undefined) records.links.checkOpen(id, walletGap, hashed());
  else records.links.checkActive(id);
  const rateCents = currency === null ? null : await rateFor(options, currency);
  checkAmount(satoshisOf(price, rateCents));
  checkIssuing();
  const publicId = idOf('ord', world.randomBytes(idBytes));
  const made = await records.database.write((tx) => {
    const now = world.now();
    makePayerSecret(records, world, tx);
    const texts = { note, customerEmail, language };
    const ordered = { publicId, price, rateCents, ...texts, payerNetwork: hashed() };
    // The other click of a double click may have been first, or money may have come.
    const own = ownOrder(options, link, form);
    if (own !== undefined) {
      return {
        row: isAsSent(options, own, form) ? own : records.links.amend(tx, now, own, ordered),
      };
    }
    const fresh = records.links.order(tx, now, id, ordered, { walletGap, isPending });
    const { id: addressId } = fresh.issued;
    const key = idempotencyKeyOf(link, form);
    if (key) records.idempotency.keep(tx, now, storeId, key, { addressId, bodyHash: null });
    return fresh;
  }, 'awaited');
  if ('issued' in made) onIssued(made.issued);
  await options.ensureInvoice(made.row);
  return made.row;
}

/** The discount or surcharge of a link, or of its store; 0 for prices in satoshis. */
export const adjustmentOf = (
  { records }: Pick<LinkOrderOptions, 'records'>,
  { adjustBasisPoints, currency, storeId }: OrderedLink,
): number =>
  currency === null ? 0 : (adjustBasisPoints ?? records.catalog.store(storeId).adjustBasisPoints);

/** A shop has no such key, because a header has no line break. */
function idempotencyKeyOf(
  { id }: Pick<LinkRow, 'id'>,
  { formKey }: Pick<SentForm, 'formKey'>,
): string | undefined {
  if (!formKey) return undefined;
  const digest = sha256(utf8ToBytes(JSON.stringify([id, formKey])));
  return `link\n${base64url.encode(digest)}`;
}

/**
 * The order that a form or its browser made before, if it may still be changed.
 */
export function ownOrder(
  { records, world, isPending }: Pick<LinkOrderOptions, 'records' | 'world' | 'isPending'>,
  link: OrderedLink,
  { formKey, orderId }: Pick<SentForm, 'formKey' | 'orderId'>,
): OrderRow | undefined {
  const { idempotency, orderView, links } = records;
  const key = idempotencyKeyOf(link, { formKey });
  const ofForm = key && idempotency.find(world.now(), link.storeId, key);
  const rows = [
    ofForm && orderView.byAddressId(ofForm.addressId),
    orderId === undefined ? undefined : orderView.byPublicId(orderId),
  ];
  return rows.find((row) => row && links.mayAmend(link, row, isPending)) || undefined;
}

/** Whether an order is already what a form asks for, and its price is still promised. */
function isAsSent(
  { records: { orderView }, world }: LinkOrderOptions,
  row: OrderRow,
  { price, note, customerEmail }: SentForm,
): boolean {
  const record = orderView.record(row);
  const known = record.facts.price;
  const isSame =
    price.kind === 'sat'
      ? known.kind === 'sat' && known.amountSat === price.amountSat
      : known.kind === 'fiat' &&
        known.minor === price.minor &&
        dueSatCents(known) === dueSatCents(price);
  return (
    isSame &&
    row.reference === note &&
    row.customerEmail === customerEmail &&
    shownOrder(record, world.now()).stage === 'payable'
  );
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
