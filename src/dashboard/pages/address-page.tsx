// One address: its QR code (BIP21) and the payments to it.

import { Layout, Time } from '../layout.tsx';
import { base, idIn, type Page, type Visit } from '../page.ts';
import { QrCode } from '../qr.tsx';
import { PaymentTable } from './payments-page.tsx';

/** Payments to one address that are shown; the list of payments has all. */
const mostShown = 50;

export const addressPage: Page = { path: '/addresses/:id', show: (visit) => addressMarkup(visit) };

function addressMarkup(visit: Visit) {
  const { addressView: addressDesk, paymentView: paymentDesk } = visit.parts.store;
  const row = addressDesk.address(idIn(visit));
  const payments = paymentDesk.list({ scripthash: row.scripthash, limit: mostShown });
  return (
    <Layout visit={visit} title="Address" live>
      <p>
        <code>{row.address}</code>
      </p>
      <QrCode text={`bitcoin:${row.address}`} label={`QR code of ${row.address}`} />
      <dl class="facts">
        <dt>Place</dt>
        <dd>
          wallet {row.walletId}, index {row.derivationIndex}
        </dd>
        <dt>Given out</dt>
        <dd>{row.issuedAt === null ? 'not known' : <Time at={row.issuedAt} />}</dd>
        <dt>Store</dt>
        <dd>
          {row.storeId === null ? (
            'not known'
          ) : (
            <a href={`${base}/stores/${row.storeId}`}>{row.storeName}</a>
          )}
        </dd>
      </dl>
      <h2>Payments</h2>
      {payments.length === 0 ? <p>None yet.</p> : <PaymentTable visit={visit} rows={payments} />}
    </Layout>
  );
}
