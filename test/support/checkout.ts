// An app with one price source and an order, for the pages of customers.

import { addressToScript, scripthash } from '../../src/bitcoin/address.ts';
import { networks } from '../../src/bitcoin/network.ts';
import type { Config } from '../../src/config.ts';
import { parsePriceSource } from '../../src/price/sources.ts';
import type { NewOrder } from '../../src/store/records/orders.ts';
import { openReady, type TestApp } from './app.ts';
import { whenOver } from './files.ts';
import { type Receiver, startReceiver } from './receiver.ts';

export const orderId = 'ord_3yQ8tZr6WmB1nK5vXc2dLp';
export const hourMs = 3_600_000;
/** How long the first price holds. */
export const quoteMs = 900_000;

export interface Till {
  readonly app: TestApp;
  readonly rates: Receiver;
  readonly address: string;
  readonly path: string;
  /** Expires what is due, as a server that has caught up lets the watcher do. */
  expire(): Promise<void>;
}

/** 12.50 EUR at 50,000 EUR a bitcoin: 25,000 sat. */
const priced = {
  publicId: orderId,
  price: { kind: 'fiat', currency: 'EUR', minor: 1_250n },
  rateCents: 5_000_000,
  toleranceBasisPoints: 50,
  latePolicy: 'worth',
  quoteSeconds: quoteMs / 1000,
  reference: '1007',
  description: '2 posters',
  metadata: { cart: '7f' },
  returnUrl: 'https://shop.example/thanks/1007',
  language: null,
} as const satisfies Partial<NewOrder>;

export const inSatoshis = {
  price: { kind: 'sat', amountSat: 25_000 },
  rateCents: null,
} as const satisfies Partial<NewOrder>;

/** The rate of the only source is 62,500 EUR. */
export async function openTill(
  changes: Partial<NewOrder> = {},
  config: Partial<Config> = {},
): Promise<Till> {
  const rates = await startReceiver({ answer: () => ({ status: 200, body: '{"EUR":62500}' }) });
  whenOver(() => rates.close());
  const priceSource = [parsePriceSource(`${rates.origin}/#{CODE}`)];
  const app = await openReady({ config: { price: 'own', priceSource, ...config } });
  const address = await app.newAddress();
  const now = app.world.now();
  await app.withStore(async ({ database, addresses, orders }) => {
    const place = addresses.byScripthash(scripthash(addressToScript(address, networks.regtest)));
    if (place === undefined) throw new Error('the address is not issued');
    const order = { ...priced, storeId: 1, addressId: place.id, expiresAt: now + hourMs };
    await database.write((tx) => orders.create(tx, now, { ...order, ...changes }));
  });
  return {
    ...{ app, rates, address, path: `/o/${changes.publicId ?? orderId}` },
    expire: () =>
      app.withStore(({ database, orders }) =>
        database.write((tx) => void orders.expire(tx, app.world.now(), () => false, 10)),
      ),
  };
}
