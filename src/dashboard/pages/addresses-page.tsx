// The issued addresses, newest first, and the gap of each wallet.

import { gapLimitNeeded } from '../../domain/allocation.ts';
import {
  type AddressEntry,
  type AddressPage,
  maxRowsRead,
} from '../../store/views/address-view.ts';
import { Time } from '../../web/values.tsx';
import { Layout, Table } from '../layout.tsx';
import { base, type Page, type PageRequest } from '../page.ts';
import {
  FilterForm,
  FilterSelect,
  Pager,
  queryChoice,
  queryNumber,
  queryStore,
  queryText,
  rowsOfPage,
  rowsPerQuery,
  StoreFilter,
} from './listing.tsx';
import { searchOf } from './payments-page.tsx';

const here = `${base}/addresses`;

export const addressesPage: Page = {
  path: '/addresses',
  show: (request) => addressesMarkup(request),
};

function addressesMarkup(request: PageRequest) {
  const { rows, goesOnAt } = addressPageOf(request);
  return (
    <Layout request={request} title="Addresses">
      <WalletGaps request={request} />
      <FilterForm path={here}>
        <label>
          Address
          <input type="search" name="q" value={queryText(request, 'q')} spellcheck={false} />
        </label>
        <FilterSelect
          request={request}
          name="state"
          label="State"
          options={[
            ['paid', 'paid'],
            ['unpaid', 'unpaid'],
          ]}
        />
        <StoreFilter request={request} offersNone />
      </FilterForm>
      {rows.length > 0 ? <AddressTable rows={rowsOfPage(rows)} /> : null}
      {goesOnAt !== undefined ? (
        <p>
          {maxRowsRead.toLocaleString('en')} addresses were searched. Older ones may match, too.
        </p>
      ) : rows.length === 0 ? (
        <p>No addresses found.</p>
      ) : null}
      <Pager request={request} rows={rows} goesOnAt={goesOnAt} />
    </Layout>
  );
}

function addressPageOf(request: PageRequest): AddressPage {
  const state = queryChoice(request, 'state', ['paid', 'unpaid']);
  const filter = {
    storeId: queryStore(request),
    ...(state !== undefined && { paid: state === 'paid' }),
    beforeId: queryNumber(request, 'before'),
    limit: rowsPerQuery,
  };
  const search = searchOf(request);
  const isNone = search === undefined || search.txid !== undefined;
  return isNone
    ? { rows: [], goesOnAt: undefined }
    : request.parts.store.addressView.list({ ...filter, ...search });
}

const WalletGaps = ({ request: { parts } }: { readonly request: PageRequest }) => (
  <ul class="plain">
    {parts.store.catalog.wallets().map(({ id }) => {
      const unpaid = parts.store.addresses.unpaidRun(id);
      const needed = gapLimitNeeded({ unpaid, widest: 0 }, parts.walletGap);
      return (
        <li class={needed === undefined ? undefined : 'alarm'}>
          Wallet {id}: the last {unpaid} addresses are unpaid.{' '}
          {needed === undefined
            ? ''
            : `Your own wallet may not show the next payment: set its gap limit to ${needed}.`}
        </li>
      );
    })}
  </ul>
);

const AddressTable = ({ rows }: { readonly rows: readonly AddressEntry[] }) => (
  <Table label="Addresses" heads={['Address', 'Paid', 'Issued', 'Store', 'Derivation']} isList>
    {rows.map((row) => (
      <tr>
        <td>
          <a href={`${here}/${row.id}`}>
            <code>{row.address}</code>
          </a>
        </td>
        <td>{row.isPaid ? 'paid' : 'unpaid'}</td>
        <td>{row.issuedAt === null ? '' : <Time at={row.issuedAt} />}</td>
        <td>{row.storeName}</td>
        <td>
          {row.origin === 'skipped' ? 'skipped, ' : ''}wallet {row.walletId}, index{' '}
          {row.derivationIndex}
        </td>
      </tr>
    ))}
  </Table>
);
