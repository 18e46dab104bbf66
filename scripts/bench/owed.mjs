// A database with stores and payments to owe callbacks for. Payments are written straight to the
// tables: how they come about is not what these benches measure.

import { connect } from 'node:net';
import { addresses, payments, stores, wallets } from '../../src/store/db/schema.ts';
import { openStore } from '../../src/store/open-store.ts';

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

/**
 * @param {string} path a file that does not exist yet
 * @param {readonly string[]} callbackUrls of a store each
 */
export async function openOwed(path, callbackUrls) {
  const store = await openStore({ path, create: true, network: 'regtest', newInstance: () => '' });
  const { orm } = store.database;
  const createdAt = 0;
  const wallet = { descriptor: 'd', account: 'a', scriptType: 'p2wpkh', nextIndex: 0, createdAt };
  orm.insert(wallets).values(wallet).run();
  for (const callbackUrl of callbackUrls) {
    orm
      .insert(stores)
      .values({
        ...{ name: 'Bench', walletId: 1, callbackUrl, webhookSecret: SECRET, createdAt },
        ...{ requiredConfirmations: 2, allowPrivateCallback: true },
      })
      .run();
  }
  let count = 0;

  /**
   * Makes a payment to a store and owes its callback.
   * @param {import('../../src/store/db/writer.ts').Tx} tx
   * @param {number} storeId
   */
  function owe(tx, storeId) {
    count += 1;
    const txid = /** @type {import('../../src/bitcoin/ids.ts').Txid} */ (
      count.toString(16).padStart(64, '0')
    );
    const address = `bcrt1q${count}`;
    const scripthash = /** @type {import('../../src/bitcoin/ids.ts').Scripthash} */ (
      /** @type {string} */ (txid)
    );
    const place = { walletId: 1, branch: 0, derivationIndex: count, script: Buffer.alloc(0) };
    const issued = /** @type {const} */ ({ origin: 'issued', storeId });
    orm
      .insert(addresses)
      .values({ id: count, ...place, ...issued, address, scripthash })
      .run();
    const seen = /** @type {const} */ ({ state: 'unconfirmed', firstSeenAt: 0, changedAt: 0 });
    orm
      .insert(payments)
      .values({ id: count, addressId: count, txid, valueSat: 1000, ...seen })
      .run();
    store.outbox.enqueue(tx, Date.now(), {
      ...{ paymentId: count, storeId, address, txid, valueSat: 1000, rbf: false },
      ...{ status: 0, cycle: 0 },
    });
  }
  return { ...store, owe };
}

/**
 * A bare GET on a connection of its own, whose answer is not waited for: the least that a callback
 * on the wire can cost.
 * @param {number} port
 */
export function bareGet(port) {
  const socket = connect(port, '127.0.0.1').setNoDelay(true);
  socket.end('GET /bare HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n\r\n');
  socket.resume();
}
