// The payments, newest first, with what they are searched by.

import { addressToScript, scripthash } from '../../bitcoin/address.ts';
import type { Scripthash, Txid } from '../../bitcoin/ids.ts';
import { networks } from '../../bitcoin/network.ts';
import { hasHadBlockStatus, type PaymentState } from '../../domain/payment.ts';
import { dayMs } from '../../lib/time-units.ts';
import { reversedShownMs } from '../../status/findings.ts';
import type { Store } from '../../store/open-store.ts';
import { confirmationsOf, hasLeft } from '../../store/views/confirmations.ts';
import type { PaymentEntry, PaymentFilter } from '../../store/views/payment-view.ts';
import { Worth } from '../fiat-worth.tsx';
import { Amount, Layout, Table, Time } from '../layout.tsx';
import { base, type Page, type Visit } from '../page.ts';
import {
  asked,
  askedChoice,
  askedDay,
  askedNumber,
  askedStore,
  Choice,
  Filters,
  Pager,
  rowsRead,
  rowsShown,
  StoreChoice,
  withQuery,
} from './listing.tsx';

const here = `${base}/payments`;

const stateNames: Readonly<Record<PaymentState, string>> = {
  unconfirmed: 'seen, in no block yet',
  confirming: 'in a block, not final yet',
  confirmed: 'final',
  settled: 'final, beyond any reorganisation',
  dropped: 'gone: in no block and no mempool',
};

/** Those of the alarm, which speaks of them for as long. */
const reversed = 'reversed';
const takenBack = 'taken back after 1 or 2 was told';
const stateOptions = [
  ...(Object.entries(stateNames) as [PaymentState, string][]),
  [reversed, `${takenBack}, in the last 7 days`] as const,
];
const states = stateOptions.map(([state]) => state);

export const paymentsPage: Page = { path: '/payments', show: (visit) => payments(visit) };

function payments(visit: Visit) {
  const search = searchOf(visit);
  const filter = { ...filterOf(visit), beforeId: askedNumber(visit, 'before'), limit: rowsRead };
  const rows =
    search === undefined ? [] : visit.parts.store.paymentView.list({ ...filter, ...search });
  return (
    <Layout visit={visit} title="Payments" live={asked(visit, 'before') === undefined}>
      <Filters path={here}>
        <label>
          Address or transaction
          <input type="search" name="q" value={asked(visit, 'q')} spellcheck={false} />
        </label>
        <StoreChoice visit={visit} none />
        <Choice visit={visit} name="state" label="State" options={stateOptions} />
        <label>
          From
          <input type="date" name="from" value={asked(visit, 'from')} />
        </label>
        <label>
          To
          <input type="date" name="to" value={asked(visit, 'to')} />
        </label>
      </Filters>
      {rows.length === 0 ? (
        <p>There is no such payment.</p>
      ) : (
        <PaymentTable visit={visit} rows={rowsShown(rows)} />
      )}
      <Pager visit={visit} rows={rows} />
      <p>
        <a href={withQuery(visit, { before: undefined }, `${here}/export`)} download>
          All of these as a table (CSV)
        </a>
      </p>
    </Layout>
  );
}

/** All but what is searched for by itself. @throws PaygateError invalid */
export function filterOf(visit: Visit): Omit<PaymentFilter, 'limit'> {
  const to = askedDay(visit, 'to');
  const state = askedChoice(visit, 'state', states);
  return {
    storeId: askedStore(visit),
    ...(state === reversed ? { reversedSince: visit.now - reversedShownMs } : { state }),
    since: askedDay(visit, 'from'),
    until: to === undefined ? undefined : to + dayMs,
  };
}

/** What the search field names; undefined for what can be no payment of ours. */
export function searchOf(
  visit: Visit,
): { readonly scripthash?: Scripthash; readonly txid?: Txid } | undefined {
  const text = asked(visit, 'q');
  if (text === undefined) return {};
  if (/^[0-9a-f]{64}$/i.test(text)) return { txid: text.toLowerCase() as Txid };
  try {
    return { scripthash: scripthash(addressToScript(text, networks[visit.parts.store.network])) };
  } catch {
    return undefined;
  }
}

interface TableProps {
  readonly visit: Visit;
  readonly rows: readonly PaymentEntry[];
}

export const PaymentTable = ({ visit, rows }: TableProps) => (
  <Table
    label="Payments"
    heads={['Seen', 'Amount', 'State', 'Confirmations', 'Store', 'Address']}
    onPhone={3}
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
          <Worth row={row} now={visit.now} />
        </td>
        <State store={visit.parts.store} row={row} />
        <td>{confirmationsOf(visit.parts.store, row)}</td>
        <td>{row.storeName}</td>
        <td>
          <code>{row.address}</code>
        </td>
      </tr>
    ))}
  </Table>
);

function State({ store, row }: { readonly store: Store; readonly row: PaymentEntry }) {
  const { text, tone } = shownState(store, row);
  return <td class={tone}>{text}</td>;
}

/** As people are told of it: where its block was reorganised away, its state stays as it was until it is known what became of it. */
export function shownState(store: Store, row: PaymentEntry) {
  return hasLeft(store, row)
    ? { text: 'its block has left the chain: looked for anew', tone: 'warn' }
    : { text: nameOf(row), tone: classOf(row.state) };
}

/** What is gone by how much the merchant must know of it: goods may have left for what was told as 1 or 2. */
function nameOf(row: PaymentEntry): string {
  if (row.state !== 'dropped') return stateNames[row.state];
  if (hasHadBlockStatus(row)) return takenBack;
  return row.replacedBy === null ? stateNames.dropped : 'replaced by another transaction';
}

function classOf(state: PaymentState): string | undefined {
  if (state === 'dropped') return 'bad';
  return state === 'confirmed' || state === 'settled' ? 'good' : undefined;
}
