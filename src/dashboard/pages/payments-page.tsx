// The payments, newest first, with their search and filters.

import { addressToScript, scripthash } from '../../bitcoin/address.ts';
import type { Scripthash, Txid } from '../../bitcoin/ids.ts';
import { networks } from '../../bitcoin/network.ts';
import { hasHadBlockStatus, type PaymentState } from '../../domain/payment.ts';
import { paymentWords, type StateWord } from '../../domain/state-words.ts';
import { dayMs } from '../../lib/time-units.ts';
import { reversedShownMs } from '../../status/findings.ts';
import type { Store } from '../../store/open-store.ts';
import { confirmationsOf, hasLeft } from '../../store/views/confirmations.ts';
import type { PaymentEntry, PaymentFilter } from '../../store/views/payment-view.ts';
import { Pill, Short, Time } from '../../web/values.tsx';
import { PaymentMoney } from '../fiat-worth.tsx';
import { Layout, Table } from '../layout.tsx';
import { base, type Page, type PageRequest } from '../page.ts';
import {
  Count,
  Empty,
  FilterForm,
  FilterSelect,
  maxCounted,
  Pager,
  queryChoice,
  queryDay,
  queryNumber,
  queryStore,
  queryText,
  rowsOfPage,
  rowsPerCount,
  StoreFilter,
  withQuery,
} from './listing.tsx';

const here = `${base}/payments`;

/** Filter of the alarm `reversed-payment`, with the same time limit. */
const reversed = 'reversed';

/** The filters by state. A settled payment is a confirmed one for a reader. */
const filters: Readonly<Record<string, readonly PaymentState[]>> = {
  unconfirmed: ['unconfirmed'],
  confirming: ['confirming'],
  open: ['unconfirmed', 'confirming'],
  confirmed: ['confirmed', 'settled'],
  settled: ['settled'],
  dropped: ['dropped'],
};

const filterOptions = [
  ['unconfirmed', 'Seen'],
  ['confirming', 'Confirming'],
  ['open', 'Seen or confirming'],
  ['confirmed', 'Confirmed'],
  ['dropped', 'Gone'],
  [reversed, 'Gone after status 1 or 2, in the last 7 days'],
] as const;

export const paymentsPage: Page = { path: '/payments', show: (request) => paymentsMarkup(request) };

function paymentsMarkup(request: PageRequest) {
  const search = searchOf(request);
  const filter = {
    ...filterOf(request),
    beforeId: queryNumber(request, 'before'),
    limit: rowsPerCount(request),
  };
  const rows =
    search === undefined ? [] : request.parts.store.paymentView.list({ ...filter, ...search });
  return (
    <Layout request={request} title="Payments" live={queryText(request, 'before') === undefined}>
      <FilterForm path={here}>
        <label>
          Address or transaction
          <input type="search" name="q" value={queryText(request, 'q')} spellcheck={false} />
        </label>
        <FilterSelect request={request} name="state" label="State" options={filterOptions} />
        <StoreFilter request={request} offersNone />
        <label>
          From (UTC)
          <input type="date" name="from" value={queryText(request, 'from')} />
        </label>
        <label>
          To (UTC)
          <input type="date" name="to" value={queryText(request, 'to')} />
        </label>
      </FilterForm>
      {rows.length === 0 ? (
        <Empty request={request} noun="payments">
          <a href={`${base}/stores`}>Send a test callback</a>, or{' '}
          <a href="/docs/quickstart">request an address</a>.
        </Empty>
      ) : (
        <PaymentTable request={request} rows={rowsOfPage(rows)} />
      )}
      <div class="under">
        <Count request={request} rows={rows} noun="payment" max={maxCounted} />
        <Pager request={request} rows={rows} />
        {rows.length === 0 ? null : (
          <a href={withQuery(request, { before: undefined }, `${here}/export`)} download>
            Export as CSV
          </a>
        )}
      </div>
    </Layout>
  );
}

/** All filters except the search. @throws PaygateError invalid */
export function filterOf(request: PageRequest): Omit<PaymentFilter, 'limit'> {
  const to = queryDay(request, 'to');
  const state = queryChoice(request, 'state', [...Object.keys(filters), reversed]);
  return {
    storeId: queryStore(request),
    ...(state === reversed
      ? { reversedSince: request.now - reversedShownMs }
      : { states: state === undefined ? undefined : filters[state] }),
    since: queryDay(request, 'from'),
    until: to === undefined ? undefined : to + dayMs,
  };
}

/** The address or transaction of the search; undefined if the text is neither. */
export function searchOf(
  request: PageRequest,
): { readonly scripthash?: Scripthash; readonly txid?: Txid } | undefined {
  const text = queryText(request, 'q');
  if (text === undefined) return {};
  if (/^[0-9a-f]{64}$/i.test(text)) return { txid: text.toLowerCase() as Txid };
  try {
    return { scripthash: scripthash(addressToScript(text, networks[request.parts.store.network])) };
  } catch {
    return undefined;
  }
}

interface PaymentTableProps {
  readonly request: PageRequest;
  readonly rows: readonly PaymentEntry[];
}

export const PaymentTable = ({ request, rows }: PaymentTableProps) => (
  <Table
    label="Payments"
    heads={[{ number: 'Amount' }, 'State', 'Seen', 'Address', 'Store', { number: 'Confirmations' }]}
    isList
  >
    {rows.map((row) => (
      <tr>
        <td class="number">
          <a class="whole" href={`${here}/${row.id}`}>
            <PaymentMoney row={row} now={request.now} />
          </a>
        </td>
        <td>
          <Pill {...paymentState(request.parts.store, row)} />
        </td>
        <td>
          <Time at={row.firstSeenAt} />
        </td>
        <td>
          <Short text={row.address} />
        </td>
        <td>{row.storeName}</td>
        <td class="number">{confirmationsOf(request.parts.store, row)}</td>
      </tr>
    ))}
  </Table>
);

/**
 * The state for people. If the block has left the best chain, the stored state stays until paygate
 * knows the payment's new state; the note says so.
 */
export function paymentState(store: Store, row: PaymentEntry): ShownState {
  if (hasLeft(store, row)) {
    return {
      word: paymentWords.unconfirmed,
      note: 'Its block left the best chain: checking again',
    };
  }
  return { word: paymentWords[row.state], note: goneNote(row) };
}

export interface ShownState {
  readonly word: StateWord;
  readonly note: string | undefined;
}

/** A gone payment that had status 1 or 2 differs from others: the goods may have been sent. */
function goneNote(row: PaymentEntry): string | undefined {
  if (row.state !== 'dropped') return undefined;
  if (hasHadBlockStatus(row)) return 'Reversed after status 1 or 2';
  return row.replacedBy === null ? undefined : 'replaced by another transaction';
}
