// A test callback, with which a merchant tries a Callback URL. It looks like a callback of a
// payment, but its address is a random hash. Its id begins with `msg_test_`. Receivers recognise
// it by its txid.

import { base58 } from '@scure/base';
import { scriptToAddress } from '../bitcoin/address.ts';
import type { Network } from '../bitcoin/network.ts';
import { callbackQuery } from '../domain/callback.ts';
import type { CallbackStatus } from '../domain/payment.ts';
import { PaygateError } from '../lib/errors.ts';
import type { StoreRow } from '../store/records/catalog.ts';
import type { OutgoingCallback } from './sender.ts';
import { signingSecrets } from './signature.ts';

/** Shop plugins recognise it. */
export const testTxid = 'WarningThisIsAGeneratedTestPaymentAndNotARealBitcoinTransaction';

const hashBytes = 20;
const eventBytes = 20;

export interface TestCallbackOptions {
  readonly network: Network;
  readonly status: CallbackStatus;
  readonly valueSat: number;
  /** Status 0 reports a replaceable transaction; false by default. */
  readonly rbf?: boolean;
  readonly randomBytes: (length: number) => Uint8Array;
}

/** A test callback to a store, ready to send. @throws PaygateError conflict without a URL */
export function testCallback(
  row: StoreRow,
  now: number,
  options: TestCallbackOptions,
): OutgoingCallback {
  const { network, status, valueSat, rbf = false, randomBytes } = options;
  if (row.callbackUrl === '') {
    throw new PaygateError('conflict', `store ${row.id} has no Callback URL`);
  }
  const script = Uint8Array.of(0, hashBytes, ...randomBytes(hashBytes));
  const address = scriptToAddress(script, network);
  return {
    callbackUrl: row.callbackUrl,
    query: callbackQuery({ status, address, valueSat, txid: testTxid, rbf }),
    eventId: `msg_test_${base58.encode(randomBytes(eventBytes))}`,
    allowPrivateCallback: row.allowPrivateCallback,
    allowHttpCallback: row.allowHttpCallback,
    webhookSecrets: signingSecrets(row, now),
    ca: row.callbackCa ?? undefined,
  };
}
