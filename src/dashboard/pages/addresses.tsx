// The addresses that customers hold, newest first, and how wide each wallet's gap is.

import type { AddressEntry } from '../../store/address-desk.ts';
import { Layout, Table, Time } from '../layout.tsx';
import { base, type Page, type Visit } from '../visit.ts';
import {
  askedChoice,
  askedNumber,
  Choice,
  Filters,
  Pager,
  pageSize,
  StoreChoice,
} from './listing.tsx';

const here = `${base}/addresses`;
/** Most wallets look for payments until so many addresses in a row are empty (BIP44). */
const usualGapLimit = 20;
const warnFrom = 15;

export const addressesPage: Page = { path: '/addresses', show: (visit) => addressesMarkup(visit) };

function addressesMarkup(visit: Visit) {
  const state = askedChoice(visit, 'state', ['paid', 'unpaid']);
  const rows = visit.parts.store.addressDesk.list({
    storeId: askedNumber(visit, 'store'),
    ...(state !== undefined && { paid: state === 'paid' }),
    beforeId: askedNumber(visit, 'before'),
    limit: pageSize,
  });
  return (
    <Layout visit={visit} title="Addresses">
      <Gaps visit={visit} />
      <Filters path={here}>
        <Choice
          visit={visit}
          name="state"
          label="Show"
          options={[
            ['paid', 'paid'],
            ['unpaid', 'unpaid'],
          ]}
        />
        <StoreChoice visit={visit} />
      </Filters>
      {rows.length === 0 ? <p>There is no such address.</p> : <AddressTable rows={rows} />}
      <Pager visit={visit} rows={rows} />
    </Layout>
  );
}

const Gaps = ({ visit }: { readonly visit: Visit }) => (
  <ul class="plain">
    {visit.parts.store.addressDesk.gaps().map(({ walletId, unpaid }) => (
      <li class={unpaid >= warnFrom ? 'alarm' : undefined}>
        Wallet {walletId}: the last {unpaid} addresses are unpaid.{' '}
        {unpaid >= warnFrom ? gapAdvice(unpaid) : ''}
      </li>
    ))}
  </ul>
);

export const gapAdvice = (unpaid: number): string =>
  `Set the gap limit of your own wallet to ${unpaid + usualGapLimit} or more, or it may not show the next payment.`;

/** One for each wallet whose owner should do something. */
export const gapAlarms = ({ parts }: Visit): string[] =>
  parts.store.addressDesk
    .gaps()
    .filter(({ unpaid }) => unpaid >= warnFrom)
    .map(
      ({ walletId, unpaid }) =>
        `wallet ${walletId}: the last ${unpaid} addresses are unpaid. ${gapAdvice(unpaid)}`,
    );

const AddressTable = ({ rows }: { readonly rows: readonly AddressEntry[] }) => (
  <Table label="Addresses">
    <thead>
      <tr>
        <th scope="col">Address</th>
        <th scope="col">Paid</th>
        <th scope="col">Given out</th>
        <th scope="col">Store</th>
        <th scope="col">Place</th>
      </tr>
    </thead>
    <tbody>
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
    </tbody>
  </Table>
);
