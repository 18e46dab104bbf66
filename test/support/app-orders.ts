// Orders in a test of the whole app, written to the file on addresses that the app issued.

import { sha256 } from '@noble/hashes/sha2.js';
import { utf8ToBytes } from '@noble/hashes/utils.js';
import { asc, eq } from 'drizzle-orm';
import { addressToScript, scripthash } from '../../src/bitcoin/address.ts';
import { networks } from '../../src/bitcoin/network.ts';
import { idBytes, idOf } from '../../src/domain/order/order-id.ts';
import type { OrderJson } from '../../src/domain/order/order-json.ts';
import { minuteMs } from '../../src/lib/time-units.ts';
import type { NewOrder } from '../../src/store/orders/orders.ts';
import { deliveries, eventColumns } from '../../src/store/schema/delivery-schema.ts';
import { orders } from '../../src/store/schema/order-schema.ts';
import type { TestApp } from './app.ts';

/** 12.50 EUR at 50,000 EUR: 25,000 sat for 15 minutes, in an order of an hour. */
const terms: Omit<NewOrder, 'addressId' | 'storeId' | 'publicId' | 'expiresAt'> = {
  price: { kind: 'fiat', currency: 'EUR', minor: 1_250n },
  rateCents: 5_000_000,
  toleranceBasisPoints: 50,
  latePolicy: 'worth',
  quoteSeconds: 900,
  reference: null,
  description: null,
  metadata: {},
  returnUrl: null,
  language: null,
};

export interface AppOrder {
  readonly publicId: string;
  readonly address: string;
  json(): Promise<OrderJson>;
  /** The types of its events, the oldest first. */
  events(): Promise<string[]>;
}

/** Makes an order on an address that the app issued and that has no order. */
export async function makeOrder(
  app: TestApp,
  address: string,
  changes: Partial<NewOrder> = {},
): Promise<AppOrder> {
  const publicId = idOf('ord', sha256(utf8ToBytes(address)).subarray(0, idBytes));
  const now = app.world.now();
  const expiresAt = now + 60 * minuteMs;
  await app.withStore(({ addresses, orders: records, database }) => {
    const row = addresses.byScripthash(scripthash(addressToScript(address, networks.regtest)));
    if (row?.storeId == null) throw new Error(`${address} was not issued to a store`);
    const place = { publicId, storeId: row.storeId, addressId: row.id };
    return database.write((tx) => {
      records.create(tx, now, { ...terms, expiresAt, ...changes, ...place });
    });
  });
  return {
    publicId,
    address,
    json: () =>
      app.withStore(async ({ orderView }) => {
        const row = orderView.byPublicId(publicId);
        if (row === undefined) throw new Error(`there is no order ${publicId}`);
        return orderView.json(row, app.world.now());
      }),
    events: () =>
      app.withStore(async ({ database }) =>
        database.orm
          .select({ type: eventColumns.type })
          .from(deliveries)
          .innerJoin(orders, eq(orders.id, deliveries.orderId))
          .where(eq(orders.publicId, publicId))
          .orderBy(asc(deliveries.id))
          .all()
          .map(({ type }) => type),
      ),
  };
}
