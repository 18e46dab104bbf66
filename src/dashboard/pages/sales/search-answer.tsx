// The answer to a search without a result. It leads to the other list, or says what a transaction
// pays that is no payment.

import { scripthash, scriptToAddress } from '../../../bitcoin/address.ts';
import type { Txid } from '../../../bitcoin/ids.ts';
import { type Network, networks } from '../../../bitcoin/network.ts';
import type { Transaction } from '../../../bitcoin/transaction.ts';
import { formatAmount, formatCount } from '../../../domain/text/format.ts';
import { withoutInvisible } from '../../../domain/text/pasted-text.ts';
import { PaygateError } from '../../../lib/errors.ts';
import { base, type PageRequest } from '../../page.ts';
import { queryText } from '../../parts/listing.tsx';
import { ordersPath } from './order-parts.ts';

export const saleSearchLabel = 'Text, amount, address, transaction or order';

/** Outputs of a foreign transaction that are named. */
const maxNamed = 3;

interface SearchAnswerProps {
  readonly request: PageRequest;
  /** The list that has no result. */
  readonly list: 'orders' | 'payments';
}

export async function SearchAnswer({ request, list }: SearchAnswerProps) {
  const text = queryText(request, 'q');
  if (text === undefined) return null;
  const other = otherList(request, list, text);
  if (other !== undefined) return other;
  const txid = txidIn(text);
  return txid === undefined ? null : <p>{await transactionText(request, txid)}</p>;
}

/** A link to the other list, if the same search has a result there. */
function otherList({ parts }: PageRequest, list: SearchAnswerProps['list'], text: string) {
  const { saleSearch } = parts.records;
  const query = new URLSearchParams({ q: text });
  if (list === 'orders') {
    const { length } = saleSearch.payments(text).ids;
    if (length === 0) return undefined;
    return (
      <p>
        <a href={`${base}/payments?${query}`}>{formatCount(length, 'payment')}</a> without an order
        of these filters.
      </p>
    );
  }
  const { rows } = saleSearch.orders(text, {}, { beforeId: undefined, limit: 1 });
  if (rows.length === 0) return undefined;
  return (
    <p>
      <a href={`${ordersPath}?${query}`}>Show orders</a> that this search finds.
    </p>
  );
}

function txidIn(text: string): Txid | undefined {
  const txid = withoutInvisible(text).toLowerCase();
  return /^[0-9a-f]{64}$/.test(txid) ? (txid as Txid) : undefined;
}

/** What the servers say of a transaction. */
async function transactionText(request: PageRequest, txid: Txid): Promise<string> {
  try {
    const found = await request.parts.reader.find(txid);
    return found === undefined
      ? 'Our servers have not seen this transaction. Compare its id, or search again in some minutes.'
      : paidText(request, found);
  } catch (error) {
    if (error instanceof PaygateError)
      return `This transaction cannot be looked up: ${error.message}.`;
    throw error;
  }
}

/** What a transaction pays, to addresses of ours if it does. */
export function paidText({ parts }: PageRequest, { outputs }: Transaction): string {
  const { addresses, network } = parts.records;
  const paid = outputs
    .filter(({ valueSat }) => valueSat > 0)
    .map(({ script, valueSat }) => ({
      origin: addresses.byScripthash(scripthash(script))?.origin,
      text: `${formatAmount(valueSat)} to ${addressOf(script, networks[network])}`,
    }));
  const own = paid.find(({ origin }) => origin !== undefined);
  if (own !== undefined) {
    const whose =
      own.origin === 'issued' || own.origin === 'skipped'
        ? 'an address of yours'
        : 'an address of your wallet that paygate has given to nobody';
    return `This transaction pays ${own.text}, ${whose}. It is not recorded as a payment.`;
  }
  const rest = paid.length - maxNamed;
  const named = paid.slice(0, maxNamed).map(({ text }) => text);
  const more = rest > 0 ? [formatCount(rest, 'more output')] : [];
  return `This transaction pays no address of yours, but ${[...named, ...more].join(', ')}.`;
}

function addressOf(script: Uint8Array, network: Network): string {
  try {
    return scriptToAddress(script, network);
  } catch {
    return 'a script without an address';
  }
}
