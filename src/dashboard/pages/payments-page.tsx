// The payments, newest first, with their search and filters.

import { addressToScript, scripthash } from '../../bitcoin/address.ts';
import type { Scripthash, Txid } from '../../bitcoin/ids.ts';
import { networks } from '../../bitcoin/network.ts';
import { hasHadBlockStatus, type PaymentState } from '../../domain/payment.ts';
import { dayMs } from '../../lib/time-units.ts';
import { reversedShownMs } from '../../status/findings.ts';
import type { Store } from '../../store/open-store.ts';
import { confirmationsOf, hasLeft } from '../../store/views/confirmations.ts';
import type { PaymentEntry, PaymentFilter } from '../../store/views/payment-view.ts';
import { Amount, Time } from '../../web/values.tsx';
import { Worth } from '../fiat-worth.tsx';
import { Layout, Table } from '../layout.tsx';
import { base, type Page, type PageRequest } from '../page.ts';
import {
  FilterForm,
  FilterSelect,
  Pager,
  queryChoice,
  queryDay,
  queryNumber,
  queryStore,
  queryText,
  rowsOfPage,
  rowsPerQuery,
  StoreFilter,
  withQuery,
} from './listing.tsx';

const here = `${base}/payments`;

const stateTexts: Readonly<Record<PaymentState, string>> = {
  unconfirmed: 'Unconfirmed',
  confirming: 'Confirming',
  confirmed: 'Confirmed',
  settled: 'Settled',
  dropped: 'Dropped',
};

/** Filter of the alarm `reversed-payment`, with the same time limit. */
const reversed = 'reversed';
const reversedText = 'Reversed after status 1 or 2';
const stateOptions = [
  ...(Object.entries(stateTexts) as [PaymentState, string][]),
  [reversed, `${reversedText}, in the last 7 days`] as const,
];
const states = stateOptions.map(([state]) => state);

export const paymentsPage: Page = { path: '/payments', show: (request) => paymentsMarkup(request) };

function paymentsMarkup(request: PageRequest) {
  const search = searchOf(request);
  const filter = {
    ...filterOf(request),
    beforeId: queryNumber(request, 'before'),
    limit: rowsPerQuery,
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
        <StoreFilter request={request} offersNone />
        <FilterSelect request={request} name="state" label="State" options={stateOptions} />
        <label>
          From
          <input type="date" name="from" value={queryText(request, 'from')} />
        </label>
        <label>
          To
          <input type="date" name="to" value={queryText(request, 'to')} />
        </label>
      </FilterForm>
      {rows.length === 0 ? (
        <p>No payments found.</p>
      ) : (
        <PaymentTable request={request} rows={rowsOfPage(rows)} />
      )}
      <Pager request={request} rows={rows} />
      <p>
        <a href={withQuery(request, { before: undefined }, `${here}/export`)} download>
          Export as CSV
        </a>
      </p>
    </Layout>
  );
}

/** All filters except the search. @throws PaygateError invalid */
export function filterOf(request: PageRequest): Omit<PaymentFilter, 'limit'> {
  const to = queryDay(request, 'to');
  const state = queryChoice(request, 'state', states);
  return {
    storeId: queryStore(request),
    ...(state === reversed ? { reversedSince: request.now - reversedShownMs } : { state }),
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
    heads={['Seen', 'Amount', 'State', 'Confirmations', 'Store', 'Address']}
    isList
  >
    {rows.map((row) => (
      <tr>
        <td>
          <a href={`${here}/${row.id}`}>
            <Time at={row.firstSeenAt} />
          </a>
        </td>
        <td>
          <Amount sat={row.valueSat} />
          <Worth row={row} now={request.now} />
        </td>
        <StateCell store={request.parts.store} row={row} />
        <td>{confirmationsOf(request.parts.store, row)}</td>
        <td>{row.storeName}</td>
        <td>
          <code>{row.address}</code>
        </td>
      </tr>
    ))}
  </Table>
);

function StateCell({ store, row }: { readonly store: Store; readonly row: PaymentEntry }) {
  const { text, tone } = paymentState(store, row);
  return <td class={tone}>{text}</td>;
}

/**
 * The state for people. If the block has left the best chain, the stored state stays until paygate
 * knows the payment's new state; this text says so.
 */
export function paymentState(store: Store, row: PaymentEntry) {
  return hasLeft(store, row)
    ? { text: 'Its block left the best chain: checking again', tone: 'warn' }
    : { text: stateText(row), tone: toneOf(row.state) };
}

/** A dropped payment that had status 1 or 2 differs from others: the goods may have been sent. */
function stateText(row: PaymentEntry): string {
  if (row.state !== 'dropped') return stateTexts[row.state];
  if (hasHadBlockStatus(row)) return reversedText;
  return row.replacedBy === null ? stateTexts.dropped : 'Replaced by another transaction';
}

function toneOf(state: PaymentState): string | undefined {
  if (state === 'dropped') return 'bad';
  return state === 'confirmed' || state === 'settled' ? 'good' : undefined;
}
