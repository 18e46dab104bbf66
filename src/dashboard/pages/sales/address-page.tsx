// One address: its QR code (BIP21) and its payments.

import { paymentUri } from '../../../domain/payment/payment-uri.ts';
import { formatShort } from '../../../domain/text/format.ts';
import { QrCode } from '../../../web/qr-code.tsx';
import { Copyable, Time } from '../../../web/values.tsx';
import { base, idIn, type Page, type PageRequest } from '../../page.ts';
import { Facts, Layout } from '../../parts/layout.tsx';
import { TestPaymentLink } from '../deliveries/test-payment-page.tsx';
import { PaymentTable } from './payments-page.tsx';

/** How many payments the page shows; the list of payments has all. */
const maxPayments = 50;

export const addressPage: Page = {
  path: '/addresses/:id',
  show: (request) => addressMarkup(request),
};

function addressMarkup(request: PageRequest) {
  const { addressView, paymentView } = request.parts.records;
  const row = addressView.address(idIn(request));
  const payments = paymentView.list({ scripthash: row.scripthash, limit: maxPayments });
  return (
    <Layout
      request={request}
      title={`Address ${formatShort(row.address)}`}
      heading={
        <>
          Address <code>{formatShort(row.address)}</code>
        </>
      }
      live
    >
      <p>
        <Copyable id="address" name="the address">
          {row.address}
        </Copyable>
      </p>
      <QrCode text={paymentUri(row.address)} label={`QR code of ${row.address}`} />
      <Facts
        rows={[
          ['Derivation', `wallet ${row.walletId}, index ${row.derivationIndex}`],
          ['Issued', row.issuedAt === null ? 'unknown' : <Time at={row.issuedAt} />],
          [
            'Store',
            row.storeId === null ? (
              'unknown'
            ) : (
              <a href={`${base}/stores/${row.storeId}`}>{row.storeName}</a>
            ),
          ],
        ]}
      />
      <h2>Payments</h2>
      {payments.length === 0 ? (
        <>
          <p class="empty">No payments to this address yet.</p>
          <p>
            <TestPaymentLink request={request} id={row.id} />
          </p>
        </>
      ) : (
        <PaymentTable request={request} rows={payments} />
      )}
    </Layout>
  );
}
