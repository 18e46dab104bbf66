// A database file with stores, addresses, payments and pending callbacks.

import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { count, max } from 'drizzle-orm';
import type { BlockHash, Scripthash, Txid } from '../../src/bitcoin/ids.ts';
import type { CallbackStatus } from '../../src/domain/payment/payment.ts';
import { equals, placeholders, prepared } from '../../src/store/db/orm.ts';
import { createOutbox, type NewCallback, type Outbox } from '../../src/store/delivery/outbox.ts';
import { type Database, openDatabase } from '../../src/store/file/database.ts';
import { addresses, headers, payments, stores, wallets } from '../../src/store/schema/schema.ts';
import { tempRoot } from '../support/files.ts';

export interface Owed {
  readonly path: string;
  readonly database: Database;
  readonly outbox: Outbox;
  /** Adds a store; answers its id. */
  addStore(changes?: Partial<typeof stores.$inferInsert>): number;
  /** Adds a payment to a new address, or to the sibling's. Returns its first callback. */
  addPayment(storeId: number, sibling?: NewCallback): NewCallback;
  /** Enqueues callbacks, each in the order given. */
  enqueue(now: number, ...owed: NewCallback[]): Promise<void>;
  /** Opens the same file again, as after a crash. */
  reopen(): Owed;
  close(): Promise<void>;
}

export const webhookSecret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

export const withStatus = (callback: NewCallback, status: CallbackStatus, cycle = 0) => ({
  ...callback,
  status,
  cycle,
});

export function openOwed(): Owed {
  return open(join(mkdtempSync(join(tempRoot, 'paygate-')), 'paygate.db'));
}

function open(path: string): Owed {
  const database = openDatabase({ path, create: true });
  const { orm } = database;
  const outbox = createOutbox(database);
  const createdAt = 0;
  orm
    .insert(wallets)
    .values({ id: 1, descriptor: 'd', account: 'a', scriptType: 'p2wpkh', nextIndex: 0, createdAt })
    .onConflictDoNothing()
    .run();
  const blockHash = '0'.repeat(64) as BlockHash;
  const nothing = Buffer.alloc(0);
  orm
    .insert(headers)
    .values({ hash: blockHash, height: 1, raw: nothing, work: nothing, onBest: true })
    .onConflictDoNothing()
    .run();

  // Prepared, because a test adds ten thousand payments.
  const lastPayment = prepared(() => orm.select({ id: max(payments.id) }).from(payments));
  const addressOf = prepared(() =>
    orm
      .select({ addressId: payments.addressId })
      .from(payments)
      .where(equals(payments.id, 'paymentId')),
  );
  const insertPayment = prepared(() =>
    orm.insert(payments).values({
      ...{ state: 'confirming', firstSeenAt: 0, changedAt: 0, height: 1, blockHash },
      ...placeholders('id', 'addressId', 'txid', 'valueSat'),
    }),
  );

  function addPayment(storeId: number, sibling?: NewCallback): NewCallback {
    const { addressId = 0, address } =
      sibling === undefined
        ? addAddress(storeId)
        : { ...addressOf.get({ paymentId: sibling.paymentId }), address: sibling.address };
    const before = lastPayment.get()?.id ?? 0;
    const txid = before.toString(16).padStart(64, '0') as Txid;
    const valueSat = 1000 + before;
    const id = before + 1;
    insertPayment.run({ id, addressId, txid, valueSat });
    return { paymentId: id, storeId, status: 0, cycle: 0, address, txid, valueSat, rbf: false };
  }

  function addAddress(storeId: number) {
    const derivationIndex = orm.select({ count: count() }).from(addresses).get()?.count ?? 0;
    const scripthash = derivationIndex.toString(16).padStart(64, '0') as Scripthash;
    const address = `bcrt1q${derivationIndex}`;
    const addressId = derivationIndex + 1;
    orm
      .insert(addresses)
      .values({
        ...{ id: addressId, walletId: 1, branch: 0, derivationIndex, address, storeId },
        ...{ script: Buffer.alloc(0), scripthash, origin: 'issued' },
      })
      .run();
    return { addressId, address };
  }

  return {
    path,
    database,
    outbox,
    addPayment,
    addStore: (changes = {}) =>
      orm
        .insert(stores)
        .values({
          ...{ name: 'Shop', walletId: 1, callbackUrl: 'http://127.0.0.1:1/', webhookSecret },
          ...{ requiredConfirmations: 2, allowPrivateCallback: true, createdAt },
          ...changes,
        })
        .returning()
        .get().id,
    enqueue: (now, ...owed) =>
      database.write((tx) => {
        for (const callback of owed) outbox.enqueue(tx, now, callback);
      }),
    reopen: () => open(path),
    async close() {
      await database.close();
      rmSync(join(path, '..'), { recursive: true, force: true });
    },
  };
}
