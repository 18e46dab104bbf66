// A payment that a merchant rehearses: what the dashboard asks of the pages for customers.

import type { Child } from 'hono/jsx';
import type { FiatPrice, SatPrice } from '../domain/order/quote.ts';
import type { RehearsalStep } from '../domain/order/rehearsal.ts';
import type { StoreRow } from '../store/wallets/catalog.ts';

export interface RehearsedOrder {
  readonly store: StoreRow;
  readonly price: FiatPrice | SatPrice;
  /** The price of one bitcoin, in hundredths of the currency. */
  readonly rateCents: number;
  readonly step: RehearsalStep;
  readonly now: number;
  /** What the merchant reads and does, above the page. */
  readonly panel: Child;
  /** Leads to the step `receipt`; undefined for the answer to a form, which has no URL. */
  readonly receiptUrl: string | undefined;
}
