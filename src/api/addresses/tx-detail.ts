// `tx_detail` (wire §3): a transaction that paid a store of the key, with its inputs and outputs.

import * as z from 'zod';
import { scriptToAddress } from '../../bitcoin/address.ts';
import type { Txid } from '../../bitcoin/ids.ts';
import { networks } from '../../bitcoin/network.ts';
import { parseTransaction, type Transaction, type TxOutput } from '../../bitcoin/transaction.ts';
import { sumSat } from '../../domain/payment/money.ts';
import { PaygateError } from '../../lib/errors.ts';
import { unixSeconds } from '../../lib/time-units.ts';
import type { Records } from '../../store/open-records.ts';
import { statusOf } from '../../store/payments/confirmations.ts';
import type { ChainReader } from '../../watcher/reader.ts';
import type { ApiOptions } from '../api-parts.ts';
import { type Operation, operation } from '../operation.ts';
import { satoshis, txid, unixTime } from '../shared-schemas.ts';
import { withTimeout } from '../timeout.ts';

const statuses = ['Unconfirmed', 'Partially Confirmed', 'Confirmed'] as const;
/** Previous transactions that are fetched for one transaction. */
const maxParents = 300;

const side = z
  .object({
    address: z.string().nullable().describe('null for a script without an address'),
    value: satoshis,
  })
  .meta({ id: 'TransactionSide' });

const address = 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4';
const example = {
  status: 'Confirmed',
  time: 1_763_650_000,
  size: 192,
  fee: 1_420,
  rbf: 0,
  vin: [
    { address: 'bc1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3qccfmv3', value: 26_420 },
  ],
  vout: [{ address, value: 25_000 }],
};

const answer = z
  .object({
    status: z.enum(statuses).describe('The lowest state of its payments'),
    time: unixTime,
    size: z.int().describe('Bytes, with the witness'),
    fee: satoshis,
    vin: z.array(side),
    vout: z.array(side),
    rbf: z.literal([0, 1]),
    dropped: z.literal(true).optional().describe('It is in no mempool and in no block any more'),
  })
  .meta({ id: 'Transaction', examples: [example] });

export const txDetail = (options: ApiOptions): Operation =>
  operation({
    tag: 'Payments',
    methods: ['GET'],
    path: '/tx_detail',
    summary: 'A transaction that paid one of the stores',
    query: z.object({ txid }),
    answer,
    async run({ query, key }) {
      const { records } = options;
      const id = query.txid as Txid;
      const receipts = records.receipts.byTxid(id, key.storeId);
      const [newest] = receipts;
      if (newest === undefined) throw new PaygateError('not_found', 'No such payment is known');
      const isGone = receipts.every(({ state }) => state === 'dropped');
      const { transaction, spent } = await withTimeout(options, read(options, id)).catch(
        (error) => {
          throw isGone ? forgotten() : error;
        },
      );
      const total = (outputs: readonly TxOutput[]): number =>
        sumSat(outputs.map(({ valueSat }) => valueSat));
      // Its stores may require different confirmations: the lowest status counts.
      const counted = isGone ? receipts : receipts.filter(({ state }) => state !== 'dropped');
      const status = Math.min(...counted.map((each) => statusOf(records, each))) as 0 | 1 | 2;
      return {
        status: statuses[status],
        time: unixSeconds(newest.firstSeenAt),
        size: transaction.size,
        fee: transaction.isCoinbase ? 0 : total(spent) - total(transaction.outputs),
        vin: spent.map((each) => describe(records, each)),
        vout: transaction.outputs.map((each) => describe(records, each)),
        rbf: status === 0 && transaction.signalsRbf && !isGone ? (1 as const) : (0 as const),
        ...(isGone && { dropped: true as const }),
      };
    },
  });

/**
 * The database stores the bytes for two weeks. After that, servers may have neither the transaction
 * nor those it spent, so that a repeated request would not help.
 */
const forgotten = (): PaygateError =>
  new PaygateError('not_found', 'This transaction is gone: its details are unknown');

/** A transaction with the outputs that it spends. */
async function read({ records, reader }: ApiOptions, id: Txid) {
  const raw = records.ledger.rawOf(id);
  const transaction = raw === undefined ? await reader.transaction(id) : parseTransaction(raw);
  return { transaction, spent: transaction.isCoinbase ? [] : await spentBy(reader, transaction) };
}

/** The outputs that a transaction spends, in the order of its inputs. */
async function spentBy(reader: ChainReader, { inputs }: Transaction): Promise<TxOutput[]> {
  const ids = [...new Set(inputs.map(({ txid }) => txid))];
  if (ids.length > maxParents) {
    throw new PaygateError('invalid', 'This transaction spends from too many others to be shown');
  }
  const parents = new Map(
    await Promise.all(ids.map(async (id) => [id, await reader.transaction(id)] as const)),
  );
  return inputs.map(({ txid, vout }) => {
    const output = parents.get(txid)?.outputs[vout];
    if (output === undefined) {
      throw new PaygateError('unavailable', 'The server knows no such output; ask again later');
    }
    return output;
  });
}

function describe({ network }: Records, { script, valueSat }: TxOutput) {
  let address: string | null = null;
  try {
    address = scriptToAddress(script, networks[network]);
  } catch (error) {
    if (!(error instanceof PaygateError)) throw error;
  }
  return { address, value: valueSat };
}
