// The payments, newest first, with their search and filters.

import { addressToScript, scripthash } from '../../../bitcoin/address.ts';
import type { Scripthash, Txid } from '../../../bitcoin/ids.ts';
import { networks } from '../../../bitcoin/network.ts';
import { orderWords, paymentWords, type StateWord } from '../../../domain/order/state-words.ts';
import { currenciesOf, lastDayOf } from '../../../domain/payment/account-formats.ts';
import { type AccountSums, addUp, noSums, sumsText } from '../../../domain/payment/account-row.ts';
import { hasHadBlockStatus, type PaymentState } from '../../../domain/payment/payment.ts';
import { pastedAddress } from '../../../domain/text/pasted-text.ts';
import { dayOf, formatDay, parseDay } from '../../../domain/text/time-zone.ts';
import { PaygateError } from '../../../lib/errors.ts';
import { reversedShownMs } from '../../../status/findings.ts';
import type { Records } from '../../../store/open-records.ts';
import type { AccountFilter } from '../../../store/orders/account-view.ts';
import { type FoundPayments, maxFoundSales } from '../../../store/orders/sale-search.ts';
import { confirmationsOf, hasLeft } from '../../../store/payments/confirmations.ts';
import type { PaymentEntry, PaymentFilter } from '../../../store/payments/payment-view.ts';
import { Copyable, Pill, Short, Time } from '../../../web/values.tsx';
import { base, isViewer, type Page, type PageRequest } from '../../page.ts';
import { PaymentMoney } from '../../parts/fiat-worth.tsx';
import { Layout, RowTable } from '../../parts/layout.tsx';
import {
  Count,
  DayFilters,
  FoundRows,
  ListFilters,
  maxCounted,
  Pager,
  queryChoice,
  queryDays,
  queryNumber,
  queryStore,
  queryText,
  rowsPerCount,
  separatorQuery,
  withQuery,
  zoneOf,
} from '../../parts/listing.tsx';
import { SearchAnswer, saleSearchLabel } from './search-answer.tsx';

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

export const paymentsPage: Page = {
  path: '/payments',
  viewers: [],
  show: (request) => paymentsMarkup(request),
};

function paymentsMarkup(request: PageRequest) {
  const { ids, isCut } = foundIn(request);
  const filter = { ...filterOf(request), ids };
  const page = { beforeId: queryNumber(request, 'before'), limit: rowsPerCount(request) };
  const { rows, goesOnAt } = request.parts.records.paymentView.page({ ...filter, ...page });
  const isNone = rows.length === 0 && goesOnAt === undefined;
  const isLive = page.beforeId === undefined && queryText(request, sumsQuery) === undefined;
  return (
    <Layout request={request} title="Payments" live={isLive}>
      <ListFilters
        request={request}
        path={here}
        search={saleSearchLabel}
        states={filterOptions}
        offersNone
      >
        <DayFilters request={request} />
      </ListFilters>
      <Spans request={request} />
      {isCut ? (
        <p>
          {maxFoundSales.toLocaleString('en')} orders or more match. Search for more of the text.
        </p>
      ) : null}
      <FoundRows
        request={request}
        found={{ rows, goesOnAt }}
        noun="payments"
        next={<FirstPayment request={request} />}
        show={(shown) => <PaymentTable request={request} rows={shown} />}
      />
      {isNone && page.beforeId === undefined ? (
        <SearchAnswer request={request} list="payments" />
      ) : null}
      <div class="under">
        {goesOnAt === undefined && !isCut ? (
          <Count request={request} rows={rows} noun="payment" max={maxCounted} />
        ) : null}
        <Pager request={request} rows={rows} goesOnAt={goesOnAt} />
        {isNone || isCut || page.beforeId !== undefined ? null : (
          <Sums
            request={request}
            rows={rows}
            filter={filter}
            isAll={goesOnAt === undefined && rows.length <= maxCounted}
          />
        )}
        {isNone || isCut ? null : <Exports request={request} />}
      </div>
    </Layout>
  );
}

/** Links to the spans that accounts are made for. */
function Spans({ request }: { readonly request: PageRequest }) {
  const today = formatDay(dayOf(request.now, zoneOf(request)));
  const thisMonth = `${today.slice(0, 7)}-01`;
  const lastOfBefore = dayBefore(thisMonth);
  const year = today.slice(0, 4);
  const spans = [
    ['This month', thisMonth, lastDayOf(today)],
    ['Last month', `${lastOfBefore.slice(0, 7)}-01`, lastOfBefore],
    ['This year', `${year}-01-01`, `${year}-12-31`],
  ] as const;
  return (
    <p class="spans">
      {spans.map(([text, from, to], at) => (
        <>
          {at === 0 ? '' : ' · '}
          <a href={withQuery(request, { from, to, before: undefined, [sumsQuery]: undefined })}>
            {text}
          </a>
        </>
      ))}
    </p>
  );
}

const dayBefore = (day: string): string => formatDay((parseDay(day) ?? 0) - 1);

/** Set to add up more payments than a page counts. */
const sumsQuery = 'sums';

interface SumsProps {
  readonly request: PageRequest;
  readonly rows: readonly PaymentEntry[];
  readonly filter: AccountFilter;
  /** No other payment matches. */
  readonly isAll: boolean;
}

/** Confirmed payments of the list, less the refunds of its time: the sums of its files. */
async function Sums({ request, rows, filter, isAll }: SumsProps) {
  const { accountView } = request.parts.records;
  if (isAll) return <SumText sums={addUp(addUp(noSums, rows), accountView.refunds(filter))} />;
  if (queryText(request, sumsQuery) === undefined) {
    return <a href={withQuery(request, { [sumsQuery]: 1 })}>Add up</a>;
  }
  return <SumText sums={await accountView.sums(filter)} />;
}

function SumText({ sums }: { readonly sums: AccountSums }) {
  const text = sumsText(sums);
  return text === '' ? null : <span class="sums">{text}</span>;
}

function Exports({ request }: { readonly request: PageRequest }) {
  const stores = request.parts.records.catalog.stores({ archived: true });
  const file = (change: Readonly<Record<string, string>>, text: string) => (
    <li>
      <a
        href={withQuery(
          request,
          { before: undefined, [sumsQuery]: undefined, ...change },
          `${here}/export`,
        )}
        download
      >
        {text}
      </a>
    </li>
  );
  return (
    <details>
      <summary>Export</summary>
      <ul>
        {file({ format: 'paygate' }, 'CSV for accounts')}
        {file(
          { format: 'paygate', [separatorQuery]: 'semicolon' },
          'CSV for accounts, with semicolons',
        )}
        {file({ format: 'koinly' }, 'Koinly')}
        {file({ format: 'cointracking' }, 'CoinTracking')}
        {currenciesOf(stores, queryStore(request)).map((currency) =>
          file({ format: 'quickbooks', currency }, `QuickBooks, ${currency}`),
        )}
        {file({}, 'CSV with confirmations')}
        {file({ [separatorQuery]: 'semicolon' }, 'CSV with confirmations and semicolons')}
      </ul>
    </details>
  );
}

/** All filters except the search. @throws PaygateError invalid */
export function filterOf(request: PageRequest): Omit<PaymentFilter, 'limit'> {
  const state = queryChoice(request, 'state', [...Object.keys(filters), reversed]);
  return {
    storeId: queryStore(request),
    ...(state === reversed
      ? { reversedSince: request.now - reversedShownMs }
      : { states: state === undefined ? undefined : filters[state] }),
    ...queryDays(request),
  };
}

/** The payments of the search; all without one. */
function foundIn(request: PageRequest): Partial<FoundPayments> {
  const text = queryText(request, 'q');
  return text === undefined ? {} : request.parts.records.saleSearch.payments(text);
}

/** For a file, which must have all payments of the search. @throws PaygateError invalid */
export function idsIn(request: PageRequest): PaymentFilter['ids'] {
  const { ids, isCut = false } = foundIn(request);
  if (!isCut) return ids;
  throw new PaygateError('invalid', 'Too many orders match: search for more of the text.');
}

/** The address or transaction of the search; undefined if the text is neither. */
export function searchOf(
  request: PageRequest,
): { readonly scripthash?: Scripthash; readonly txid?: Txid } | undefined {
  const text = queryText(request, 'q');
  if (text === undefined) return {};
  const pasted = pastedAddress(text);
  if (/^[0-9a-f]{64}$/i.test(pasted)) return { txid: pasted.toLowerCase() as Txid };
  try {
    return {
      scripthash: scripthash(addressToScript(pasted, networks[request.parts.records.network])),
    };
  } catch {
    return undefined;
  }
}

interface PaymentTableProps {
  readonly request: PageRequest;
  readonly rows: readonly PaymentEntry[];
}

export const PaymentTable = ({ request, rows }: PaymentTableProps) => (
  <RowTable
    label="Payments"
    rows={rows}
    href={(row) => `${here}/${row.id}`}
    columns={[
      ['Amount', (row) => <PaymentMoney row={row} now={request.now} />, 'number'],
      ['State', (row) => <Pill {...paymentState(request.parts.records, row)} />],
      ['Seen', (row) => <Time at={row.firstSeenAt} />],
      ['Address', (row) => (row.preimage === null ? <Short text={row.address} /> : 'Lightning')],
      ['Store', (row) => row.storeName],
      [
        'Confirmations',
        (row) => (row.preimage === null ? confirmationsOf(request.parts.records, row) : '–'),
        'number',
      ],
    ]}
  />
);

/**
 * The state for people. If the block has left the best chain, the stored state stays until paygate
 * knows the payment's new state; the note says so.
 */
export function paymentState(records: Records, row: PaymentEntry): ShownState {
  if (row.preimage !== null) return { word: orderWords.paid, note: undefined };
  if (hasLeft(records, row)) {
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

/** What leads to a first payment. */
export const FirstPayment = ({ request }: { readonly request: PageRequest }) =>
  isViewer(request) ? null : (
    <>
      <a href={`${base}/orders/new`}>Take a payment</a>,{' '}
      <a href={`${base}/links/new`}>add a link</a>, or{' '}
      <a href="/docs/quickstart">write a program</a>.
    </>
  );

interface AddressOfProps {
  readonly request: PageRequest;
  readonly address: string;
  /** The row of the address. */
  readonly id: number;
  /** What the button copies. */
  readonly name: string;
}

export const AddressOf = ({ request, address, id, name }: AddressOfProps) => (
  <>
    <Copyable id="address" name={name}>
      {address}
    </Copyable>{' '}
    {isViewer(request) ? null : <a href={`${base}/addresses/${id}`}>its page</a>}
  </>
);
