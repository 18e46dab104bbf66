// An app with prices and an order, for the pages of customers.

import type { Config } from '../../src/config.ts';
import { openPriced, type PricedApp } from './priced.ts';

export const hourMs = 3_600_000;
/** How long the first price holds. */
export const quoteMs = 900_000;

export interface Till {
  readonly app: PricedApp;
  readonly id: string;
  readonly address: string;
  /** The path of its page. */
  readonly path: string;
  pay(valueSat: number): Promise<string>;
  mine(blocks: number): Promise<void>;
}

/** 12.50 EUR at 50,000 EUR a bitcoin: 25,000 sat. */
export const priced = {
  ...{ amount: '12.50', currency: 'EUR', reference: '1007', description: '2 posters' },
  ...{ metadata: { cart: 'cart-7f' }, return_url: 'https://shop.example/thanks/1007' },
};

/** The rate is 62,500 EUR after the order. */
export async function openTill(changes: object = {}, config: Partial<Config> = {}): Promise<Till> {
  const app = await openPriced({ config });
  const { id, address } = await app.order({ ...priced, ...changes });
  app.market.rates = { EUR: 62_500 };
  return {
    ...{ app, id, address, path: `/o/${id}` },
    async pay(valueSat) {
      const txid = app.pay(address, valueSat);
      await app.settle();
      return txid;
    },
    async mine(blocks) {
      app.chain.mine(blocks);
      await app.settle();
    },
  };
}

/** Changes that price an order in satoshis. */
export const inSatoshis = { amount: undefined, currency: undefined, amount_sat: 25_000 };
