// The addresses that customers hold, newest first, and how wide each wallet's gap is.

import { gapLimitNeeded } from '../../domain/allocation.ts';
import {
  type AddressEntry,
  type AddressPage,
  maxRowsRead,
} from '../../store/views/address-view.ts';
import { Layout, Table, Time } from '../layout.tsx';
import { base, type Page, type Visit } from '../page.ts';
import {
  asked,
  askedChoice,
  askedNumber,
  askedStore,
  Choice,
  Filters,
  Pager,
  rowsRead,
  rowsShown,
  StoreChoice,
} from './listing.tsx';
import { searchOf } from './payments-page.tsx';

const here = `${base}/addresses`;

export const addressesPage: Page = { path: '/addresses', show: (visit) => addressesMarkup(visit) };

function addressesMarkup(visit: Visit) {
  const { rows, goesOnAt } = pageOf(visit);
  return (
    <Layout visit={visit} title="Addresses">
      <Gaps visit={visit} />
      <Filters path={here}>
        <label>
          Address
          <input type="search" name="q" value={asked(visit, 'q')} spellcheck={false} />
        </label>
        <Choice
          visit={visit}
          name="state"
          label="Show"
          options={[
            ['paid', 'paid'],
            ['unpaid', 'unpaid'],
          ]}
        />
        <StoreChoice visit={visit} none />
      </Filters>
      {rows.length > 0 ? <AddressTable rows={rowsShown(rows)} /> : null}
      {goesOnAt !== undefined ? (
        <p>
          {maxRowsRead.toLocaleString('en')} addresses were looked at: there may be more such ones
          among the older.
        </p>
      ) : rows.length === 0 ? (
        <p>There is no such address.</p>
      ) : null}
      <Pager visit={visit} rows={rows} goesOnAt={goesOnAt} />
    </Layout>
  );
}

function pageOf(visit: Visit): AddressPage {
  const state = askedChoice(visit, 'state', ['paid', 'unpaid']);
  const filter = {
    storeId: askedStore(visit),
    ...(state !== undefined && { paid: state === 'paid' }),
    beforeId: askedNumber(visit, 'before'),
    limit: rowsRead,
  };
  const search = searchOf(visit);
  const isNone = search === undefined || search.txid !== undefined;
  return isNone
    ? { rows: [], goesOnAt: undefined }
    : visit.parts.store.addressView.list({ ...filter, ...search });
}

const Gaps = ({ visit: { parts } }: { readonly visit: Visit }) => (
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
  <Table label="Addresses" heads={['Address', 'Paid', 'Given out', 'Store', 'Place']} onPhone={2}>
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
