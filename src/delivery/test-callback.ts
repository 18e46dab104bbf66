// A test callback, with which a merchant tries a Callback URL. It looks like a callback of a
// payment. Its address is a random hash, or that of a real order (test-payment.ts). Its id begins
// with `msg_test_`. Receivers recognise it by its txid.

import { base58 } from '@scure/base';
import { scriptToAddress } from '../bitcoin/address.ts';
import { type Network, networks } from '../bitcoin/network.ts';
import { type CallbackFacts, callbackQuery } from '../domain/delivery/callback.ts';
import { type TestResult, testResult } from '../domain/delivery/test-answer.ts';
import type { CallbackStatus } from '../domain/payment/payment.ts';
import { PaygateError } from '../lib/errors.ts';
import type { Records } from '../store/open-records.ts';
import type { StoreRow } from '../store/wallets/catalog.ts';
import type { World } from '../world/world.ts';
import type { Attempt, OutgoingCallback, Sender } from './sender.ts';
import { signingSecrets } from './signature.ts';

/** Shop plugins recognise it, and treat it as a payment that needs no transaction. */
export const testTxid = 'WarningThisIsAGeneratedTestPaymentAndNotARealBitcoinTransaction';

const hashBytes = 20;
const eventBytes = 20;

export interface TestParts {
  readonly records: Pick<Records, 'state' | 'database' | 'network'>;
  readonly sender: Pick<Sender, 'send'>;
  readonly world: Pick<World, 'now' | 'randomBytes'>;
}

export interface TestCallback {
  readonly status: CallbackStatus;
  readonly valueSat: number;
  /** Status 0 reports a replaceable transaction; false by default. */
  readonly rbf?: boolean | undefined;
  /** The address of an order of the shop; a random one by default. */
  readonly address?: string;
}

export interface SentTest {
  readonly row: StoreRow;
  readonly facts: CallbackFacts;
  readonly callback: OutgoingCallback;
  readonly attempt: Attempt;
  readonly result: TestResult;
  /** It is a test payment: its address belongs to an order of the shop. */
  readonly hasOrder: boolean;
}

/** Sends a test callback to a store. @throws PaygateError conflict without a Callback URL */
export async function sendTestCallback(
  { records, sender, world }: TestParts,
  row: StoreRow,
  { status, valueSat, rbf = false, address }: TestCallback,
): Promise<SentTest> {
  requireCallbackUrl(row);
  const hasOrder = address !== undefined;
  const facts = {
    status,
    valueSat,
    rbf,
    address: address ?? unusedAddress(networks[records.network], world),
    txid: testTxid,
  };
  const callback = {
    callbackUrl: row.callbackUrl,
    query: callbackQuery(facts),
    eventId: `msg_test_${base58.encode(world.randomBytes(eventBytes))}`,
    allowPrivateCallback: row.allowPrivateCallback,
    allowHttpCallback: row.allowHttpCallback,
    webhookSecrets: signingSecrets(row, world.now()),
    ca: row.callbackCa ?? undefined,
  };
  const attempt = await sender.send(callback, new AbortController().signal);
  const result = testResult(attempt, { callbackUrl: row.callbackUrl, hasOrder });
  // The setup asks for a test until one was accepted.
  if (result.accepts && records.state.callbackTestedAt.read() === undefined) {
    await records.database.write((tx) => records.state.callbackTestedAt.write(tx, world.now()));
  }
  return { row, facts, callback, attempt, result, hasOrder };
}

/** @throws PaygateError conflict */
export function requireCallbackUrl({ id, callbackUrl }: StoreRow): void {
  if (callbackUrl === '') throw new PaygateError('conflict', `store ${id} has no Callback URL`);
}

const unusedAddress = (network: Network, world: TestParts['world']): string =>
  scriptToAddress(Uint8Array.of(0, hashBytes, ...world.randomBytes(hashBytes)), network);
