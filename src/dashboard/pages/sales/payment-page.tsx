// One payment: its facts, its proof, its timeline and its deliveries.

import { formatStatus, orderWords } from '../../../domain/order/state-words.ts';
import { policyOf, requiredConfirmationsFor } from '../../../domain/payment/confirmation-policy.ts';
import {
  formatAmount,
  formatBitcoin,
  formatCount,
  formatDecimal,
  formatSat,
  formatShort,
} from '../../../domain/text/format.ts';
import type { Records } from '../../../store/open-records.ts';
import type { OrderRow } from '../../../store/orders/order-view.ts';
import { confirmationsOf, hasLeft } from '../../../store/payments/confirmations.ts';
import type { PaymentEntry } from '../../../store/payments/payment-view.ts';
import { Copyable, Pill, Time } from '../../../web/values.tsx';
import { base, idIn, isViewer, type Page, type PageRequest } from '../../page.ts';
import { priceText, worthIn, worthText } from '../../parts/fiat-worth.tsx';
import {
  type FactRows,
  Facts,
  Layout,
  OwnersLink,
  RowTable,
  Timeline,
  type TimelineEvent,
} from '../../parts/layout.tsx';
import { deliveryState, responseText } from '../deliveries/delivery-parts.tsx';
import { orderPath } from './order-parts.ts';
import { AddressOf, paymentState } from './payments-page.tsx';

const maxConfirmationEvents = 12;

export const paymentPage: Page = {
  path: '/payments/:id',
  viewers: [],
  show: (request) => paymentMarkup(request),
};

function paymentMarkup(request: PageRequest) {
  const { records } = request.parts;
  const row = records.paymentView.payment(idIn(request));
  const shown = paymentState(records, row);
  const worth = worthIn(row);
  const worthOfIt = worth === undefined ? undefined : `${formatDecimal(worth)} ${row.currency}`;
  const amount = formatAmount(row.valueSat);
  const place = row.preimage === null ? `at ${formatShort(row.address)}` : 'by Lightning';
  return (
    <Layout
      request={request}
      title={`${worthOfIt ?? amount} ${shown.word.text.toLowerCase()} ${place}`}
      heading={
        <>
          <span class="amount">{worthOfIt ?? amount}</span> <Pill {...shown} />
        </>
      }
      live
    >
      <Facts rows={factsOf(request, row)} />
      <h2>Timeline</h2>
      <PaymentTimeline records={records} row={row} />
      {isViewer(request) ? null : <PaymentDeliveries records={records} row={row} />}
      <Proof records={records} row={row} />
    </Layout>
  );
}

interface PaymentProps {
  readonly records: Records;
  readonly row: PaymentEntry;
}

function factsOf(request: PageRequest, row: PaymentEntry): FactRows {
  const { now, parts } = request;
  const { records } = parts;
  const { priceCents, currency, storeId } = row;
  const price = priceCents === null ? '' : ` (1 BTC = ${priceText(priceCents)} ${currency})`;
  const order = records.orderView.byAddressId(row.addressId);
  const isReplaceable = row.signalsRbf && row.height === null && row.state !== 'dropped';
  return [
    ['Amount', `${formatBitcoin(row.valueSat)} BTC = ${formatSat(row.valueSat)}`],
    ['Value when first seen', currency === null ? null : `${worthText(row, now)}${price}`],
    ['Confirmations', row.preimage === null ? confirmationsText(records, row) : null],
    [
      'Address',
      row.preimage === null ? (
        <AddressOf request={request} name="the address" address={row.address} id={row.addressId} />
      ) : null,
    ],
    [
      row.preimage === null ? 'Transaction' : 'Payment hash',
      <Copyable id="txid" name={row.preimage === null ? 'the transaction id' : 'the payment hash'}>
        {row.txid}
      </Copyable>,
    ],
    ['Replaced by', row.replacedBy && <code class="selectable">{row.replacedBy}</code>],
    ['Order', order && <OrderLink order={order} />],
    [
      'Store',
      storeId === null ? (
        'unknown: several stores may have issued this address'
      ) : (
        <OwnersLink request={request} to={`/stores/${storeId}`}>
          {row.storeName}
        </OwnersLink>
      ),
    ],
    ['Replaceable', isReplaceable ? 'The sender may still replace it (RBF).' : null],
    ['Coinbase', row.coinbase ? 'Newly mined coins, final after 100 confirmations.' : null],
  ];
}

const OrderLink = ({ order }: { readonly order: OrderRow }) => (
  <>
    <a href={orderPath(order.publicId)}>{order.reference ?? order.publicId}</a>{' '}
    <Pill word={orderWords[order.status]} />
  </>
);

/** Undefined if the store is unknown. */
function requiredOf({ catalog }: Records, { storeId, valueSat }: PaymentEntry): number | undefined {
  return storeId === null
    ? undefined
    : requiredConfirmationsFor(policyOf(catalog.store(storeId)), valueSat);
}

function confirmationsText(records: Records, row: PaymentEntry): string {
  const required = requiredOf(records, row);
  return [
    String(confirmationsOf(records, row)),
    required === undefined ? '' : ` (${required} required)`,
    row.state === 'settled' ? ', settled: no reorganisation that paygate follows is so deep' : '',
  ].join('');
}

function Proof({ records, row }: PaymentProps) {
  const { height, blockHash, state, preimage } = row;
  if (state === 'dropped') return null;
  if (preimage !== null) {
    return (
      <>
        <h2>Proof</h2>
        <p>
          Paid by Lightning, and final. SHA-256 of this preimage is the payment hash, which only a
          paid invoice reveals: <code class="selectable">{preimage}</code>
        </p>
      </>
    );
  }
  return (
    <>
      <h2>Proof</h2>
      {height === null || blockHash === null ? (
        <p>Not in a block yet: a server reported this payment, but there is no proof of it.</p>
      ) : (
        <>
          <p>
            Proven: the transaction is in block {height}, whose header and work paygate has
            verified.
          </p>
          {hasLeft(records, row) ? (
            <p class="alarm">
              That block is no longer on the best chain. paygate is checking the payment again.
            </p>
          ) : null}
          <details>
            <summary>Details</summary>
            <p>
              An inclusion proof links the transaction to the Merkle root in the header of this
              block: <code class="selectable">{blockHash}</code>
            </p>
          </details>
        </>
      )}
    </>
  );
}

const PaymentTimeline = (payment: PaymentProps) => {
  const each = confirmationEvents(payment.records, payment.row);
  return (
    <>
      <Timeline events={timelineOf(payment)} />
      {each.length < 2 ? null : (
        <details>
          <summary>Each confirmation</summary>
          <Timeline events={each} />
        </details>
      )}
    </>
  );
};

/**
 * The timeline, oldest first; a block has the time that it claims. It is derived from stored data,
 * so that it cannot disagree with the payment. A block that came and went unseen is not in it.
 */
function timelineOf({ records, row }: PaymentProps): TimelineEvent[] {
  const callbacks = records.paymentView.callbacksOf(row.id);
  const reversals = callbacks.filter((each, place) => {
    const before = callbacks[place - 1];
    return before !== undefined && each.status < before.status;
  });
  const text = row.preimage === null ? 'First seen' : 'Paid by Lightning';
  const seen = { at: row.firstSeenAt, text };
  const later: TimelineEvent[] = [
    ...blockEvents(records, row),
    ...reversals.map(({ createdAt }) => ({
      at: createdAt,
      text: 'Reversed: its block left the best chain',
      tone: 'bad' as const,
    })),
  ];
  if (row.state === 'dropped') {
    const text = row.replacedBy === null ? 'Gone' : 'Gone: replaced by another transaction';
    later.push({ at: row.changedAt, text, tone: 'bad' });
  }
  // A block may claim an earlier time than the first sighting.
  return [seen, ...later.sort((first, second) => first.at - second.at)];
}

/** Its block, and the block that confirmed it. */
function blockEvents(records: Records, row: PaymentEntry): TimelineEvent[] {
  const { height } = row;
  const confirmations = confirmationsOf(records, row);
  if (height === null || confirmations === 0) return [];
  const required = requiredOf(records, row);
  const isConfirmed = required !== undefined && required > 0 && confirmations >= required;
  const timeAt = (block: number) => (records.headers.bestAt(block)?.header.time ?? 0) * 1000;
  const isAtOnce = isConfirmed && required === 1;
  const inBlock: TimelineEvent = {
    at: timeAt(height),
    text: `In block ${height}${isAtOnce ? ': confirmed' : ''}`,
    ...(isAtOnce && { tone: 'good' as const }),
  };
  if (!isConfirmed || isAtOnce) return [inBlock];
  const text = `Confirmed, with ${required} confirmations`;
  return [inBlock, { at: timeAt(height + required - 1), text, tone: 'good' }];
}

function confirmationEvents(records: Records, row: PaymentEntry): TimelineEvent[] {
  const { height } = row;
  if (height === null) return [];
  const count = Math.min(confirmationsOf(records, row), maxConfirmationEvents);
  return Array.from({ length: count }, (_, place) => place).flatMap((place) => {
    const header = records.headers.bestAt(height + place);
    if (header === undefined) return [];
    return [{ at: header.header.time * 1000, text: formatCount(place + 1, 'confirmation') }];
  });
}

function noCallbackReason({ catalog }: Records, { storeId, valueSat }: PaymentEntry): string {
  if (storeId === null) {
    return 'None: the store of its address is unknown. Mark its order as paid by hand.';
  }
  const { minimumSat } = catalog.store(storeId);
  return valueSat < (minimumSat ?? 0)
    ? `None: the store gets callbacks only for payments of at least ${formatBitcoin(minimumSat ?? 0)} BTC.`
    : 'None yet.';
}

function PaymentDeliveries({ records, row }: PaymentProps) {
  const { catalog, paymentView, outbox } = records;
  const rows = paymentView.callbacksOf(row.id).map(({ id }) => outbox.callback(id));
  const isSilent = row.storeId !== null && catalog.store(row.storeId).callbackUrl === '';
  // Callbacks know payments of the chain only.
  if (rows.length === 0 && (isSilent || row.preimage !== null)) return null;
  return (
    <>
      <h2>Deliveries</h2>
      {rows.length === 0 ? (
        <p>{noCallbackReason(records, row)}</p>
      ) : (
        <RowTable
          label="Deliveries"
          rows={rows}
          href={({ id }) => `${base}/callbacks/${id}`}
          columns={[
            ['Status', (each) => formatStatus(each.status)],
            ['State', (each) => <Pill {...deliveryState(each, catalog.store(each.storeId))} />],
            ['Created', (each) => <Time at={each.createdAt} />],
            ['Last response', responseText],
            ['Attempts', (each) => each.attemptCount, 'number'],
          ]}
        />
      )}
    </>
  );
}
