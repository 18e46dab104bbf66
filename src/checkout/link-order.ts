// Makes the order of a link for a stranger, on a new address, in one write. The rules of links are
// checked before the price is asked for, and inside of that write again.

import { LinkRefusal } from '../domain/link-refusal.ts';
import { idBytes, idOf } from '../domain/order-id.ts';
import type { PayerInput } from '../domain/payer-input.ts';
import { amountSatAt, checkOrderSat, minOrderSat } from '../domain/quote.ts';
import { PaygateError } from '../lib/errors.ts';
import type { Prices } from '../price/prices.ts';
import type { Store } from '../store/open-store.ts';
import type { IssuedAddress } from '../store/records/address-row.ts';
import type { IsPending } from '../store/records/addresses.ts';
import type { LinkRow } from '../store/views/link-view.ts';
import type { OrderRow } from '../store/views/order-view.ts';
import type { World } from '../world/world.ts';

export interface LinkOrderOptions {
  readonly store: Store;
  readonly world: Pick<World, 'now' | 'randomBytes'>;
  /** Undefined if prices are off. */
  readonly prices: Pick<Prices, 'rateCents'> | undefined;
  /** @throws PaygateError unavailable while no address may be issued */
  readonly checkIssuing: () => void;
  /** Whether a server notified a history of this script that is not processed: it may be paid. */
  readonly isPending: IsPending;
  /** To call after the commit that issued an address. */
  readonly onIssued: (issued: IssuedAddress) => void;
}

/**
 * @param language of the page on which the stranger ordered; null for the one of the store
 * @throws LinkRefusal; PaygateError unavailable while no address may be issued
 */
export async function orderByLink(
  options: LinkOrderOptions,
  { id, currency }: Pick<LinkRow, 'id' | 'currency'>,
  { price, note }: PayerInput,
  language: string | null,
): Promise<OrderRow> {
  const { store, world, checkIssuing, isPending, onIssued } = options;
  store.links.checkOpen(id);
  const rateCents = currency === null ? null : await rateFor(options, currency);
  const amountSat =
    price.kind === 'sat' ? price.amountSat : Number(amountSatAt(price, rateCents as number));
  checkAmount(amountSat);
  checkIssuing();
  const publicId = idOf('ord', world.randomBytes(idBytes));
  const ordered = { publicId, price, note, rateCents, language };
  const { row, issued } = await store.database.write(
    (tx) => store.links.order(tx, world.now(), id, ordered, isPending),
    'awaited',
  );
  onIssued(issued);
  return row;
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
