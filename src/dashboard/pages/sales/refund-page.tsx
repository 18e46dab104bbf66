// Prepares a refund of an order: an amount and an address as a code for the merchant's own wallet.
// paygate has no keys and sends nothing.

import { addressToScript } from '../../../bitcoin/address.ts';
import type { Txid } from '../../../bitcoin/ids.ts';
import { networks } from '../../../bitcoin/network.ts';
import { valuePaidTo } from '../../../bitcoin/transaction.ts';
import type { Standing } from '../../../domain/order/order.ts';
import {
  isStillCovered,
  leftFor,
  type Refundable,
  type RefundChoice,
  type RefundState,
  refundAmountOf,
  refundableOf,
  refundChoices,
  refundStateOf,
} from '../../../domain/order/refund.ts';
import type { StateWord } from '../../../domain/order/state-words.ts';
import { sumSat } from '../../../domain/payment/money.ts';
import { paymentUri } from '../../../domain/payment/payment-uri.ts';
import { formatSat } from '../../../domain/text/format.ts';
import { withoutInvisible } from '../../../domain/text/pasted-text.ts';
import { PaygateError, throwInvalid } from '../../../lib/errors.ts';
import type { OrderRow } from '../../../store/orders/order-view.ts';
import { type RefundRow, refundAddress } from '../../../store/orders/refunds.ts';
import { QrCode } from '../../../web/qr-code.tsx';
import { Amount, Copyable, Pill, Short, Time } from '../../../web/values.tsx';
import { recordChange } from '../../guard/audit-entry.ts';
import { requireRecentPassword } from '../../guard/dashboard-session.ts';
import type { ActionResult, Page, PageRequest } from '../../page.ts';
import {
  atField,
  fieldError,
  isOutdated,
  oneOf,
  readFields,
  versionOf,
  wholeNumberFrom,
} from '../../parts/form-fields.ts';
import { chosenBefore, FaultNote, Field, Form, Select } from '../../parts/form-parts.tsx';
import { DoneNote, Layout, RowTable } from '../../parts/layout.tsx';
import {
  type OrderProps,
  orderIn,
  orderPath,
  priceOrSat,
  priceText,
  readOrder,
} from './order-parts.ts';
import { paidText } from './search-answer.tsx';

/** What an input for an address or a hash has. */
const codeAttributes = { autocomplete: 'off', autocapitalize: 'none', spellcheck: 'false' };

const labels = {
  address: 'Address of the customer',
  choice: 'Amount',
  fee: 'Less a fee, in satoshis',
  txid: 'Transaction id',
} as const;

/** No wallet pays more for a transaction. */
const maxFeeSat = 10_000_000;

export const refundPage: Page = {
  path: '/orders/:id/refund',
  show(request) {
    const props = readOrder(request);
    const { row } = props.record;
    const pending = request.parts.records.refunds.pendingOf(row.id);
    const refundable = leftOf(request, row, props.standing);
    return (
      <Layout request={request} title={`Refund of the order of ${priceOrSat(row)}`}>
        <DoneNote request={request} />
        {pending !== undefined ? (
          <Pending
            request={request}
            row={row}
            refund={pending}
            isCovered={isStillCovered(
              leftFor(leftBefore(request, row, props.standing), pending.createdAt, row),
              pending,
            )}
          />
        ) : refundable === undefined ? (
          <p class="empty">Nothing can be refunded: a refund needs confirmed money.</p>
        ) : (
          <Prepare {...props} refundable={refundable} />
        )}
        <p>
          <a href={orderPath(row.publicId)}>Back to the order</a>
        </p>
      </Layout>
    );
  },
  actions: { prepare, done, discard },
};

const leftOf = (
  { parts }: PageRequest,
  { id }: OrderRow,
  standing: Standing,
): Refundable | undefined => refundableOf(standing, parts.records.refunds.of(id));

/** What was left before the one that is prepared. */
const leftBefore = (
  { parts }: PageRequest,
  { id }: Pick<OrderRow, 'id'>,
  standing: Standing,
): Refundable | undefined =>
  refundableOf(
    standing,
    parts.records.refunds.of(id).filter(({ doneAt }) => doneAt !== null),
  );

/** Whether the page of an order leads to its refund. */
export const hasRefund = ({ request, record, standing }: OrderProps): boolean =>
  request.parts.records.refunds.pendingOf(record.row.id) !== undefined ||
  leftOf(request, record.row, standing) !== undefined;

interface PrepareProps extends OrderProps {
  readonly refundable: Refundable;
}

const Prepare = ({ request, record, order, entries, refundable }: PrepareProps) => {
  const { excessSat, allSat } = refundable;
  const price = priceText(record.row);
  const options: (readonly [RefundChoice, string])[] = [
    ...(excessSat > 0 ? [['excess', `What is too much: ${formatSat(excessSat)}`] as const] : []),
    ['all', `All that is confirmed: ${formatSat(allSat)}`],
    ...(price === undefined || request.parts.prices === undefined
      ? []
      : [['price', `${price} at the rate of now, at most all`] as const]),
  ];
  return (
    <>
      <p>
        You send the refund from your own wallet. paygate has no keys: it prepares the code for it,
        and notes what you sent. Without an address, the customer is asked for one on their page;
        the one that paid may not be theirs.
      </p>
      {entries.some(({ preimage }) => preimage !== null) ? (
        <p>
          It was paid by Lightning, in part or whole. Pay that back on chain here. Or ask the
          customer for an invoice of theirs for the amount, and pay it from your node by hand.
        </p>
      ) : null}
      {order.status === 'open' ? (
        <p>This cancels the order, so that the customer no longer pays it.</p>
      ) : null}
      <Form request={request} action="prepare" button="Prepare the refund" needsPassword>
        <Field
          request={request}
          name="address"
          label={labels.address}
          help="Empty: the customer types it on their page. Everybody who has its link can: viewers, too."
          required={false}
          attributes={codeAttributes}
        />
        <Select
          name="choice"
          label={labels.choice}
          options={options}
          chosen={chosenBefore(request, 'prepare', 'choice')}
        />
        <FaultNote request={request} name="choice" />
        <Field
          request={request}
          name="fee"
          label={labels.fee}
          value={0}
          help="What you deduct for the network fee; 0 if you pay it."
          attributes={{ inputmode: 'numeric', autocomplete: 'off' }}
        />
      </Form>
    </>
  );
};

interface PendingProps {
  readonly request: PageRequest;
  readonly row: OrderRow;
  readonly refund: RefundRow;
  readonly isCovered: boolean;
}

const Pending = ({ request, row, refund, isCovered }: PendingProps) => (
  <>
    {isCovered ? (
      <ToSend request={request} row={row} refund={refund} />
    ) : (
      <p class="problem" role="alert">
        Do not send it: the order changed since. <Amount sat={refund.amountSat} /> are no longer
        confirmed, or were accepted as payment. If you sent it already, note its transaction below.
      </p>
    )}
    {refund.address === null ? null : (
      <>
        <h2>When it is sent</h2>
        <Form request={request} action="done" button="It is sent" needsPassword>
          <Version refund={refund} />
          <Field request={request} name="txid" label={labels.txid} attributes={codeAttributes} />
        </Form>
      </>
    )}
    <h2>If you do not send it</h2>
    <Form request={request} action="discard" button="Discard it" isQuiet needsPassword>
      <Version refund={refund} />
    </Form>
  </>
);

const Version = ({ refund }: Pick<PendingProps, 'refund'>) => (
  <input type="hidden" name="before" value={versionOf(refund)} />
);

/** @throws PaygateError conflict if the page showed another refund */
function checkShown(request: PageRequest, orderId: number): void {
  const pending = request.parts.records.refunds.pendingOf(orderId);
  if (pending === undefined || !isOutdated(request, pending)) return;
  throw new PaygateError(
    'conflict',
    'Another refund of this order is prepared now: compare its amount and its address.',
  );
}

const ToSend = ({ request, row, refund }: Omit<PendingProps, 'isCovered'>) => {
  const { address, amountSat } = refund;
  if (address === null) {
    const { baseUrl } = request.parts.records.orderView;
    return (
      <p>
        The customer is asked on their page for an address, to which you pay{' '}
        <Amount sat={amountSat} /> back. Send them its link:{' '}
        <Copyable id="page-url" name="the URL of the customer’s page">
          {`${baseUrl}/o/${row.publicId}`}
        </Copyable>
      </p>
    );
  }
  const message = `Refund ${row.reference ?? row.publicId}`;
  const uri = paymentUri(address, { amountSat, message });
  return (
    <section class="pay" aria-label="To send">
      <QrCode text={uri} label={`QR code to send ${formatSat(amountSat)}`} />
      <p>
        Send <Amount sat={amountSat} /> from your own wallet to{' '}
        <Copyable id="refund-address" name="the address">
          {address}
        </Copyable>
      </p>
      <p>
        <a href={uri}>Open in a wallet</a>
      </p>
    </section>
  );
};

async function prepare(request: PageRequest): Promise<ActionResult> {
  const { records, checkIssuing } = request.parts;
  const { id, publicId, storeId } = orderIn(request);
  await requireRecentPassword(request);
  const { address, choice, feeSat } = readFields(request, (read) => ({
    address: read('address', labels.address, (text) =>
      text === '' ? null : refundAddress(records, text),
    ),
    choice: read('choice', labels.choice, oneOf(refundChoices)),
    feeSat: read('fee', labels.fee, wholeNumberFrom(0, maxFeeSat)),
  }));
  const rateCents = choice === 'price' ? await rateOf(request, orderIn(request)) : null;
  checkIssuing();
  await records.database.write((tx) => {
    // Another page may have refunded since.
    const { record, standing } = readOrder(request);
    const left = leftBefore(request, record.row, standing);
    if (left === undefined) throw new PaygateError('conflict', 'nothing is left to refund');
    const amount = amountAtFee(() =>
      refundAmountOf(left, choice, record.facts.price, rateCents, feeSat),
    );
    const before = records.refunds.pendingOf(id);
    // The form was sent twice.
    const isSame = before?.address === address && before.choice === choice;
    if (isSame && before.amountSat === amount.amountSat) return;
    if (standing.status === 'open') {
      records.orders.cancel(tx, request.now, id);
      recordChange(request, tx, 'order.cancel', { order: publicId }, storeId);
    }
    records.refunds.prepare(tx, request.now, { orderId: id, address, choice, ...amount });
    const detail = { order: publicId, address, amount_sat: amount.amountSat, fee_sat: feeSat };
    recordChange(request, tx, 'order.refund', detail, storeId);
  });
  return { to: orderPath(publicId, '/refund') };
}

function amountAtFee<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw atField('fee', labels.fee, error);
  }
}

/** @throws PaygateError at the field of the amount, without a price of now */
async function rateOf({ parts }: PageRequest, { currency }: OrderRow): Promise<number | null> {
  if (currency === null) return null;
  try {
    const rateCents = (await parts.prices?.rateCents(currency)) ?? null;
    if (rateCents !== null) return rateCents;
    throw new PaygateError(
      'invalid',
      `there is no price in ${currency} now: choose another amount`,
    );
  } catch (error) {
    if (!(error instanceof PaygateError)) throw error;
    throw fieldError(error.code, 'choice', error.message, labels.choice);
  }
}

async function done(request: PageRequest): Promise<ActionResult> {
  const { refunds, database, catalog } = request.parts.records;
  const { record } = readOrder(request);
  const { id, publicId, storeId } = record.row;
  await requireRecentPassword(request);
  const txid = readFields(request, (read) =>
    read('txid', labels.txid, (text) => {
      const own = withoutInvisible(text).toLowerCase();
      if (!/^[0-9a-f]{64}$/.test(own)) throwInvalid('64 digits and letters a to f are expected');
      if (record.payments.every((each) => each.txid !== own)) return own;
      throwInvalid('this is the payment of the customer; the refund has another transaction');
    }),
  );
  await checkSent(request, id, txid as Txid);
  const currency = record.row.currency ?? catalog.store(storeId).currency;
  const priceCents = currency === null ? null : await priceNow(request, currency);
  await database.write((tx) => {
    checkShown(request, id);
    const sent = { txid, currency, priceCents };
    const { amountSat } = refunds.finish(tx, request.now, id, sent);
    const detail = { order: publicId, txid, amount_sat: amountSat };
    recordChange(request, tx, 'order.refund-sent', detail, storeId);
  });
  return { to: orderPath(publicId, '?done=refund-sent') };
}

/**
 * A transaction that pays the refund, as a server has it.
 * @throws PaygateError at the field, saying what it is instead
 */
async function checkSent(request: PageRequest, orderId: number, txid: Txid): Promise<void> {
  const { reader, records } = request.parts;
  const refund = records.refunds.pendingOf(orderId);
  if (refund === undefined || refund.address === null) return;
  const refuse = (text: string) => {
    throw fieldError('invalid', 'txid', text, labels.txid);
  };
  const found = await reader.find(txid).catch((error: unknown) => {
    if (!(error instanceof PaygateError)) throw error;
    const text = `it cannot be checked: ${error.message}`;
    throw fieldError('unavailable', 'txid', text, labels.txid);
  });
  if (found === undefined) {
    refuse('our servers have not seen it yet; compare it, or try again in some minutes');
    return;
  }
  const script = addressToScript(refund.address, networks[records.network]);
  const others = records.refunds.othersOf(txid, refund);
  const paidSat = valuePaidTo(found, script) - sumSat(others.map(({ amountSat }) => amountSat));
  if (paidSat >= refund.amountSat) return;
  const due = `the refund has ${formatSat(refund.amountSat)}`;
  if (others.length > 0) refuse(`it pays another refund; ${due}`);
  if (paidSat > 0) refuse(`it pays ${formatSat(paidSat)} to this address; ${due}`);
  refuse(`it does not pay the address of the customer. ${paidText(request, found)}`);
}

/** Null without a price: the refund is sent already, and is noted all the same. */
const priceNow = async ({ parts }: PageRequest, currency: string): Promise<number | null> =>
  (await parts.prices?.rateCents(currency).catch(() => null)) ?? null;

async function discard(request: PageRequest): Promise<ActionResult> {
  const { refunds, database } = request.parts.records;
  const { id, publicId, storeId } = orderIn(request);
  await requireRecentPassword(request);
  await database.write((tx) => {
    checkShown(request, id);
    const { address, amountSat } = refunds.discard(tx, id);
    const detail = { order: publicId, address, amount_sat: amountSat };
    recordChange(request, tx, 'order.refund-discard', detail, storeId);
  });
  return { to: orderPath(publicId, '?done=refund-discarded') };
}

const words: Readonly<Record<RefundState, StateWord>> = {
  asked: { text: 'Customer asked for an address', tone: 'waiting' },
  prepared: { text: 'To be sent', tone: 'waiting' },
  sent: { text: 'Sent', tone: 'waiting' },
  confirmed: { text: 'Confirmed', tone: 'good' },
};

export const OrderRefunds = ({ record }: OrderProps) => {
  const rows = record.details.refunds;
  if (rows.length === 0) return null;
  const done = rows.filter(({ doneAt }) => doneAt !== null);
  return (
    <>
      <h2>Refunds</h2>
      <RowTable
        label="Refunds"
        rows={rows}
        columns={[
          ['Amount', ({ amountSat }) => <Amount sat={amountSat} />, 'number'],
          ['State', (refund) => <Pill word={words[refundStateOf(refund)]} />],
          ['Time', ({ doneAt, createdAt }) => <Time at={doneAt ?? createdAt} />],
          ['Address', ({ address }) => address && <code class="selectable">{address}</code>],
          ['Transaction', ({ txid }) => (txid === null ? null : <Short text={txid} />)],
          ['Fee', ({ feeSat }) => <Amount sat={feeSat} />, 'number'],
        ]}
      />
      <p>
        Refunded: <Amount sat={sumSat(done.map(({ amountSat }) => amountSat))} />
      </p>
    </>
  );
};
