// The issued addresses, newest first, and the gap of each wallet.

import type { StateWord } from '../../../domain/order/state-words.ts';
import { gapLimitNeeded } from '../../../domain/store/allocation.ts';
import type { ListPlace } from '../../../lib/row-pages.ts';
import type { AddressEntry, AddressPage } from '../../../store/wallets/address-view.ts';
import { Pill, Short, Time } from '../../../web/values.tsx';
import { base, type Page, type PageRequest } from '../../page.ts';
import { Layout, RowTable } from '../../parts/layout.tsx';
import {
  FoundRows,
  ListFilters,
  ListFoot,
  queryChoice,
  queryNumber,
  queryStore,
  rowsPerQuery,
} from '../../parts/listing.tsx';
import { searchOf } from './payments-page.tsx';

const here = `${base}/addresses`;

export const addressesPage: Page = {
  path: '/addresses',
  show: (request) => addressesMarkup(request),
};

function addressesMarkup(request: PageRequest) {
  const beforeId = queryNumber(request, 'before');
  const found = addressSearch(request)({ beforeId, limit: rowsPerQuery });
  return (
    <Layout request={request} title="Addresses">
      <WalletGaps request={request} />
      <ListFilters
        request={request}
        path={here}
        search="Address"
        states={[
          ['paid', 'Paid'],
          ['unpaid', 'Unpaid'],
        ]}
        offersNone
      />
      <FoundRows
        request={request}
        found={found}
        noun="addresses"
        next={
          <>
            Your shop requests one for each order:{' '}
            <a href="/docs/new-address">addresses and callbacks</a>.
          </>
        }
        show={(rows) => <AddressTable rows={rows} />}
      />
      <ListFoot request={request} {...found} noun="address" plural="addresses" path={here} />
    </Layout>
  );
}

/** Reads the addresses of the page's query, page by page. @throws PaygateError invalid */
export function addressSearch(request: PageRequest): (place: ListPlace) => AddressPage {
  const state = queryChoice(request, 'state', ['paid', 'unpaid']);
  const filter = {
    storeId: queryStore(request),
    ...(state !== undefined && { paid: state === 'paid' }),
  };
  const search = searchOf(request);
  const isNone = search === undefined || search.txid !== undefined;
  const { addressView } = request.parts.records;
  return (place) =>
    isNone
      ? { rows: [], goesOnAt: undefined }
      : addressView.list({ ...filter, ...search, ...place });
}

const WalletGaps = ({ request: { parts } }: { readonly request: PageRequest }) => (
  <ul class="plain">
    {parts.records.catalog.wallets().map(({ id }) => {
      const unpaid = parts.records.addresses.unpaidRun(id);
      const needed = gapLimitNeeded({ unpaid, widest: 0 }, parts.walletGap);
      return (
        <li class={needed === undefined ? undefined : 'alarm'}>
          Wallet {id}: {unpaidText(unpaid)}.{' '}
          {needed === undefined
            ? ''
            : `Your own wallet may not show the next payment: set its gap limit to ${needed}.`}
        </li>
      );
    })}
  </ul>
);

const unpaidText = (count: number): string =>
  count === 0
    ? 'the last address is paid'
    : count === 1
      ? 'the last address is unpaid'
      : `the last ${count} addresses are unpaid`;

const paidWord: StateWord = { text: 'Paid', tone: 'good' };
const unpaidWord: StateWord = { text: 'Unpaid', tone: 'neutral' };

const AddressTable = ({ rows }: { readonly rows: readonly AddressEntry[] }) => (
  <RowTable
    label="Addresses"
    rows={rows}
    href={(row) => `${here}/${row.id}`}
    columns={[
      ['Address', (row) => <Short text={row.address} />],
      ['State', (row) => <Pill word={row.isPaid ? paidWord : unpaidWord} />],
      ['Issued', (row) => (row.issuedAt === null ? '' : <Time at={row.issuedAt} />)],
      ['Store', (row) => row.storeName],
      ['Derivation', derivationText],
    ]}
  />
);

const derivationText = ({ origin, walletId, derivationIndex }: AddressEntry): string =>
  `${origin === 'skipped' ? 'skipped, ' : ''}wallet ${walletId}, index ${derivationIndex}`;
