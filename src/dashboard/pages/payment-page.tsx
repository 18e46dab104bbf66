// One payment: its facts, its proof, its timeline and its deliveries.

import { policyOf, requiredConfirmationsFor } from '../../domain/confirmation-policy.ts';
import { formatBitcoin } from '../../domain/format.ts';
import type { Store } from '../../store/open-store.ts';
import { confirmationsOf, hasLeft } from '../../store/views/confirmations.ts';
import type { PaymentEntry } from '../../store/views/payment-view.ts';
import { Amount, Time } from '../../web/values.tsx';
import { priceText, worthText } from '../fiat-worth.tsx';
import { Layout } from '../layout.tsx';
import { base, idIn, type Page, type PageRequest } from '../page.ts';
import { deliveryState } from './callbacks-page.tsx';
import { paymentState } from './payments-page.tsx';

/** How many confirmations the timeline lists. */
const maxConfirmationEvents = 12;

export const paymentPage: Page = {
  path: '/payments/:id',
  show: (request) => paymentMarkup(request),
};

function paymentMarkup(request: PageRequest) {
  const { store } = request.parts;
  const row = store.paymentView.payment(idIn(request));
  return (
    <Layout request={request} title="Payment" live>
      <Facts store={store} row={row} now={request.now} />
      <Proof store={store} row={row} />
      <h2>Timeline</h2>
      <ol class="plain">
        {timelineOf(store, row).map(({ at, text }) => (
          <li>
            <Time at={at} />: {text}
          </li>
        ))}
      </ol>
      <PaymentDeliveries store={store} row={row} />
    </Layout>
  );
}

interface PaymentProps {
  readonly store: Store;
  readonly row: PaymentEntry;
}

const Facts = ({ store, row, now }: PaymentProps & { readonly now: number }) => (
  <dl class="facts">
    <dt>Amount</dt>
    <dd>
      <Amount sat={row.valueSat} /> ({row.valueSat} sat)
    </dd>
    <WorthFact row={row} now={now} />
    <dt>State</dt>
    <dd>{paymentState(store, row).text}</dd>
    <dt>Confirmations</dt>
    <dd>
      {confirmationsOf(store, row)}
      {requiredText(store, row)}
    </dd>
    <dt>Address</dt>
    <dd>
      <a href={`${base}/addresses/${row.addressId}`}>
        <code>{row.address}</code>
      </a>
    </dd>
    <dt>Transaction</dt>
    <dd>
      <code>{row.txid}</code>
    </dd>
    {row.replacedBy === null ? null : (
      <>
        <dt>Replaced by</dt>
        <dd>
          <code>{row.replacedBy}</code>
        </dd>
      </>
    )}
    <dt>Store</dt>
    <dd>
      {row.storeId === null ? (
        'unknown: several stores may have issued this address'
      ) : (
        <a href={`${base}/stores/${row.storeId}`}>{row.storeName}</a>
      )}
    </dd>
    {row.signalsRbf && row.height === null && row.state !== 'dropped' ? (
      <>
        <dt>Replaceable</dt>
        <dd>The sender may still replace it (RBF).</dd>
      </>
    ) : null}
    {row.coinbase ? (
      <>
        <dt>Coinbase</dt>
        <dd>Newly mined coins, final after 100 confirmations.</dd>
      </>
    ) : null}
  </dl>
);

const WorthFact = ({ row, now }: { readonly row: PaymentEntry; readonly now: number }) =>
  row.currency === null ? null : (
    <>
      <dt>Value when first seen</dt>
      <dd>
        {worthText(row, now)}
        {row.priceCents === null ? null : ` (1 BTC = ${priceText(row.priceCents)} ${row.currency})`}
      </dd>
    </>
  );

function requiredText({ catalog }: Store, { storeId, valueSat }: PaymentEntry): string {
  if (storeId === null) return '';
  const policy = policyOf(catalog.store(storeId));
  return ` of ${requiredConfirmationsFor(policy, valueSat)} required`;
}

function Proof({ store, row }: PaymentProps) {
  const { height, blockHash, state } = row;
  if (state === 'dropped') return null;
  if (height === null || blockHash === null) {
    return <p>Not in a block yet: a server reported this payment, but there is no proof of it.</p>;
  }
  return (
    <>
      <h2>Proof</h2>
      <p>
        An inclusion proof links the transaction to the Merkle root in the header of block {height},
        whose proof of work paygate has verified:
      </p>
      <p>
        <code>{blockHash}</code>
      </p>
      {hasLeft(store, row) ? (
        <p class="alarm">
          That block is no longer on the best chain. paygate is checking the payment again.
        </p>
      ) : null}
    </>
  );
}

interface TimelineEvent {
  readonly at: number;
  readonly text: string;
}

/** The timeline, oldest first; a block has the time that it claims. */
function timelineOf(store: Store, row: PaymentEntry): TimelineEvent[] {
  const callbacks = store.paymentView.callbacksOf(row.id);
  const reversals = callbacks.filter((each, place) => {
    const before = callbacks[place - 1];
    return before !== undefined && each.status < before.status;
  });
  const seen = { at: row.firstSeenAt, text: 'first seen' };
  const later: TimelineEvent[] = [
    ...confirmationEvents(store, row),
    ...reversals.map(({ createdAt }) => ({
      at: createdAt,
      text: 'reversed: its block left the best chain',
    })),
  ];
  if (row.state === 'dropped') {
    const how = row.replacedBy === null ? 'dropped' : 'replaced by another transaction';
    later.push({ at: row.changedAt, text: how });
  }
  // A block may claim an earlier time than the first sighting.
  return [seen, ...later.sort((first, second) => first.at - second.at)];
}

function confirmationEvents(store: Store, row: PaymentEntry): TimelineEvent[] {
  const { height } = row;
  if (height === null) return [];
  const count = Math.min(confirmationsOf(store, row), maxConfirmationEvents);
  return Array.from({ length: count }, (_, place) => place).flatMap((place) => {
    const header = store.headers.bestAt(height + place);
    if (header === undefined) return [];
    const text = place === 0 ? `in block ${height}: 1 confirmation` : `${place + 1} confirmations`;
    return [{ at: header.header.time * 1000, text }];
  });
}

/** Why the payment has no callback. */
function noCallbackReason({ catalog }: Store, { storeId, valueSat }: PaymentEntry): string {
  if (storeId === null) {
    return 'None: the store of its address is unknown. Mark its order as paid by hand.';
  }
  const { minimumSat } = catalog.store(storeId);
  return valueSat < (minimumSat ?? 0)
    ? `None: the store gets callbacks only for payments of at least ${formatBitcoin(minimumSat ?? 0)} BTC.`
    : 'None yet.';
}

function PaymentDeliveries({ store, row }: PaymentProps) {
  const { catalog, paymentView } = store;
  const rows = paymentView.callbacksOf(row.id);
  return (
    <>
      <h2>Deliveries</h2>
      {rows.length === 0 ? (
        <p>{noCallbackReason(store, row)}</p>
      ) : (
        <ul class="plain">
          {rows.map((each) => (
            <li>
              <Time at={each.createdAt} />:{' '}
              <a href={`${base}/callbacks/${each.id}`}>
                status {each.status}, {deliveryState(each, catalog.store(each.storeId))}
              </a>
              , {each.attemptCount} attempt(s)
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
