// A test payment: the callback that a payment to the address of a real order would send, without
// bitcoin. It records no payment and changes no order; it leaves an entry in the audit log.

import { formatSat } from '../domain/text/format.ts';
import { PaygateError, throwInvalid } from '../lib/errors.ts';
import type { Records } from '../store/open-records.ts';
import type { AddressPlace } from '../store/wallets/address-row.ts';
import { requireRunning, type StoreRow } from '../store/wallets/catalog.ts';
import { issuedAddress } from '../store/wallets/issued-address.ts';
import {
  requireCallbackUrl,
  type SentTest,
  sendTestCallback,
  type TestParts,
  testTxid,
} from './test-callback.ts';

type TestRecords = Pick<
  Records,
  'addresses' | 'audit' | 'catalog' | 'database' | 'network' | 'orderView' | 'paymentView'
>;

export interface TestPayment {
  readonly address: string;
  readonly status: 0 | 1 | 2;
  /** By default the amount of the open order of the address. */
  readonly valueSat?: number | undefined;
  /** Status 0 reports a replaceable transaction; false by default. */
  readonly rbf?: boolean | undefined;
}

export type TestTarget = ReturnType<typeof testTarget>;

/**
 * The store of an address that may receive a test payment.
 * @throws PaygateError invalid, not_found or conflict, with the reason why it may not
 */
export function testTarget(records: TestRecords, address: string, now: number) {
  const place = issuedAddress(records, address);
  if (place.storeId === null) {
    throw new PaygateError('conflict', 'the store of this address is unknown since a restore');
  }
  const row = requireRunning(records.catalog.store(place.storeId));
  requireCallbackUrl(row);
  requireUnpaid(records, place);
  return {
    address: place.address,
    row /** The amount of the open order of the address; undefined without one. */,
    orderSat: openAmount(records, place, now),
  };
}

/** @throws PaygateError conflict if the address has any payment, also a dropped one */
function requireUnpaid(
  { paymentView }: TestRecords,
  { scripthash, statusHash }: AddressPlace,
): void {
  const [payment] = paymentView.list({ scripthash, limit: 1 });
  if (payment !== undefined) {
    throw new PaygateError(
      'conflict',
      `this address has a payment (${payment.txid}): a test payment would count beside it`,
    );
  }
  // A server has reported a history that is not recorded completely.
  if (statusHash !== null) {
    throw new PaygateError('conflict', 'this address has a transaction that is being checked');
  }
}

function openAmount(
  { orderView }: TestRecords,
  { id }: AddressPlace,
  now: number,
): number | undefined {
  const order = orderView.byAddressId(id);
  if (order === undefined) return undefined;
  const { status, amountSat } = orderView.standing(orderView.record(order), now);
  return status === 'open' ? amountSat : undefined;
}

/**
 * Sends the callback that such a payment would send.
 * @param client who sends it, for the audit log
 * @throws PaygateError as testTarget, and if such a payment would send no callback
 */
export async function sendTestPayment(
  parts: TestParts & { readonly records: TestRecords },
  client: string,
  { status, rbf = false, ...given }: TestPayment,
): Promise<SentTest> {
  const { records, world } = parts;
  const now = world.now();
  const { row, ...payment } = await records.database.write((tx) => {
    const { row, address, orderSat } = testTarget(records, given.address, now);
    const valueSat = given.valueSat ?? orderSat ?? throwInvalid(noValueText);
    requireCallback(row, valueSat, rbf);
    const detail = { addr: address, status, value: valueSat, txid: testTxid };
    records.audit.noteChange(tx, now, client, 'callback.test', detail, row.id);
    return { row, address, valueSat };
  });
  return sendTestCallback(parts, row, { status, rbf, ...payment });
}

const noValueText = 'give --value: this address has no open order whose amount could be taken';

/** @throws PaygateError conflict if no payment of this store has such a callback */
function requireCallback({ id, minimumSat, omitRbf }: StoreRow, valueSat: number, rbf: boolean) {
  if (valueSat < (minimumSat ?? 0)) {
    throw new PaygateError(
      'conflict',
      `store ${id} gets callbacks for payments of ${formatSat(minimumSat ?? 0)} or more`,
    );
  }
  if (rbf && omitRbf) {
    throw new PaygateError('conflict', `store ${id} gets callbacks without the rbf parameter`);
  }
}
