// `merchant/tx` (wire §2): the state of payments, from the database alone.

import * as z from 'zod';
import { addressToScript, scripthash } from '../../bitcoin/address.ts';
import type { Txid } from '../../bitcoin/ids.ts';
import { networks } from '../../bitcoin/network.ts';
import { PaygateError } from '../../lib/errors.ts';
import { unixSeconds } from '../../lib/time-units.ts';
import type { Key } from '../../store/access/api-keys.ts';
import type { Records } from '../../store/open-records.ts';
import { confirmationsOf, hasLeft, statusOf } from '../../store/payments/confirmations.ts';
import type { Receipt } from '../../store/payments/receipts.ts';
import type { ApiOptions } from '../api-parts.ts';
import { type Operation, operation } from '../operation.ts';
import { satoshis, txid, unixTime } from '../shared-schemas.ts';

export const paymentAnswer = z
  .object({
    txid: z.string(),
    addr: z.string(),
    status: z.literal([0, 1, 2]).describe('0 unconfirmed, 1 partially confirmed, 2 confirmed'),
    value: satoshis.describe('What the transaction pays to the address, in satoshis'),
    confirmations: z.int().nonnegative(),
    time: unixTime.describe('When paygate saw it first'),
    rbf: z.literal(1).optional().describe('It can still be replaced'),
    replaced_by: z.string().optional().describe('The transaction that took its inputs'),
    dropped: z.literal(true).optional().describe('It is in no mempool and in no block any more'),
  })
  .meta({ id: 'AddressPayment' });

export type PaymentAnswer = z.infer<typeof paymentAnswer>;

export const merchantTx = ({ records }: Pick<ApiOptions, 'records'>): Operation =>
  operation({
    tag: 'Payments',
    methods: ['GET'],
    path: '/merchant/tx',
    summary: 'The payments of a transaction, of an address, or of both',
    query: z.object({
      txid: txid.optional(),
      addr: z.string().optional().describe('An address that was issued'),
    }),
    answer: paymentAnswer
      .extend({ txs: z.array(paymentAnswer).describe('All that match, newest first, at most 200') })
      .meta({ id: 'AddressPayments' }),
    run({ query, key }) {
      const all = receiptsOf(records, query, key);
      const txs = all.map((each) => describePayment(records, each));
      // A dropped payment is on top only when there is no other. Thus a shop that reads only the
      // top is right after a fee bump, too.
      const top = txs.find(({ dropped }) => !dropped) ?? txs[0];
      if (top === undefined) throw unknown();
      return { ...top, txs };
    },
  });

/** Receipts that the key may see. @throws PaygateError invalid when neither is given */
function receiptsOf(
  { receipts, network }: Records,
  { txid, addr }: { readonly txid?: string | undefined; readonly addr?: string | undefined },
  key: Pick<Key, 'storeId'>,
): readonly Receipt[] {
  if (addr !== undefined) {
    const script = addressToScript(addr, networks[network]);
    const hash = scripthash(script);
    const found =
      txid === undefined
        ? receipts.byScripthash(hash)
        : [receipts.byPlace(hash, txid as Txid)].filter((each) => each !== undefined);
    return found.filter(({ storeId }) => key.storeId === null || key.storeId === storeId);
  }
  if (txid !== undefined) return receipts.byTxid(txid as Txid, key.storeId);
  throw new PaygateError('invalid', 'Name a txid, an addr, or both');
}

const unknown = (): PaygateError =>
  new PaygateError('not_found', 'No payment is known yet; ask again in a moment');

export function describePayment(records: Records, receipt: Receipt): PaymentAnswer {
  const isOut = hasLeft(records, receipt);
  const status = statusOf(records, receipt, isOut);
  const isDropped = receipt.state === 'dropped';
  return {
    txid: receipt.txid,
    addr: receipt.address,
    status,
    value: receipt.valueSat,
    confirmations: confirmationsOf(records, receipt, isOut),
    time: unixSeconds(receipt.firstSeenAt),
    ...(status === 0 && receipt.signalsRbf && !isDropped && { rbf: 1 as const }),
    ...(receipt.replacedBy !== null && { replaced_by: receipt.replacedBy }),
    ...(isDropped && { dropped: true as const }),
  };
}
