// The customer's page of an order. It is whole without JavaScript. Its URLs are relative, so it
// works below any path.

import { type PaymentJson, paymentLine } from '../domain/order/order-json.ts';
import { rehearsalMark } from '../domain/order/rehearsal.ts';
import { orderWords } from '../domain/order/state-words.ts';
import { paymentUri } from '../domain/payment/payment-uri.ts';
import { formatBitcoin } from '../domain/text/format.ts';
import { hashedAsset, pageScript } from '../web/hashed-asset.ts';
import { QrCode } from '../web/qr-code.tsx';
import frame from './browser/frame.client.js?raw';
import { CheckoutFrame, type Rehearsal } from './checkout-frame.tsx';
import { ClaimForm } from './claim.tsx';
import { instructionOf } from './instructions.ts';
import {
  Adjustment,
  BothUnits,
  Code,
  Contact,
  CopyButton,
  chainName,
  Fact,
  InvoiceCode,
  lightningName,
  Pill,
  Sentence,
  Tick,
  Time,
  Ways,
} from './page-parts.tsx';
import type { Reading } from './reading.ts';
import { RefundForm, Refunds } from './refund-parts.tsx';
import type { ShownOrder } from './shown-order.ts';
import { nameInText, oneBitcoin, slot } from './words/language-formats.ts';

interface Props {
  readonly shown: ShownOrder;
  readonly reading: Reading;
  readonly rehearsal?: Rehearsal | undefined;
}

export const frameScript = hashedAsset('frame', 'js', 'text/javascript', frame);

interface PageProps extends Props {
  /** What is wrong with the address for a refund that was sent. */
  readonly refundError?: string | undefined;
  /** The answer to a customer who says that they paid. */
  readonly claimAnswer?: string | undefined;
}

export const CustomerPage = (props: PageProps) => {
  const { shown, reading, refundError, claimAnswer, rehearsal } = props;
  const { order, storeName, stage } = shown;
  const { words, langQuery } = reading;
  const { id } = order;
  const live = rehearsal === undefined ? `${id}/live` : undefined;
  const isAnswer = rehearsal !== undefined && rehearsal.receiptUrl === undefined;
  return (
    <CheckoutFrame
      reading={reading}
      title={`${order.reference ?? words.facts.order} – ${storeName}`}
      scripts={
        rehearsal?.scripts ?? [pageScript, frameScript].map(({ name }) => `assets/${name()}`)
      }
      rehearsal={rehearsal}
      hasLanguages={refundError === undefined && claimAnswer === undefined && !isAnswer}
    >
      <h1>
        <bdi>{storeName}</bdi>
      </h1>
      <p class="price">
        <Sentence text={dueOf(shown, reading)} />
      </p>
      <Adjustment
        {...reading}
        basisPoints={Math.round(order.adjust_percent * 100)}
        price={priceOf(shown, reading)}
      />
      <div id="status" data-live={live} data-now={shown.shownAt} aria-live="polite">
        {stage === 'processing' || stage === 'paid' ? <Tick tone={orderWords[stage].tone} /> : null}
        <Pills shown={shown} reading={reading} />
        <p>
          <Sentence text={instructionOf(shown, reading)} />
        </p>
      </div>
      <Ways order={order} first={shown.firstWay} reading={reading} />
      <div id="pay" data-live={live}>
        {stage === 'payable' && !shown.hasFallen ? <PayBox {...props} /> : null}
        {stage === 'payable' && shown.hasFallen ? (
          <details class="passing unprinted">
            <summary>{words.pay.payAgain}</summary>
            <PayBox {...props} />
          </details>
        ) : null}
        {stage === 'lapsed' ? (
          <form method="post" action={`${id}/quote${langQuery}`} class="unprinted">
            <button type="submit" class="main">
              {words.pay.showPriceNow}
            </button>
          </form>
        ) : null}
        <RefundForm shown={shown} reading={reading} error={refundError} />
      </div>
      <div id="facts" data-live={live}>
        {stage === 'paid' ? <h2>{words.receipt.title}</h2> : null}
        <Facts shown={shown} reading={reading} />
        <Payments {...props} />
        <Refunds shown={shown} reading={reading} />
        <WayBack shown={shown} reading={reading} />
      </div>
      {((stage === 'processing' || stage === 'paid') && claimAnswer === undefined) ||
      rehearsal !== undefined ? null : (
        <ClaimForm orderId={id} reading={reading} answer={claimAnswer} />
      )}
    </CheckoutFrame>
  );
};

const priceOf = ({ order }: ShownOrder, { formats }: Reading): string =>
  order.amount === null || order.currency === null
    ? formats.sat(order.amount_sat)
    : formats.money(order.amount, order.currency);

/** What the customer pays: the price with its discount or surcharge. */
const dueOf = ({ order }: ShownOrder, { formats }: Reading): string =>
  order.amount_due === null || order.currency === null
    ? formats.sat(order.amount_sat)
    : formats.money(order.amount_due, order.currency);

/** The state of the order, and what is unusual about it. */
const Pills = ({ shown: { order, stage, excessSat }, reading: { words, formats } }: Props) => {
  // Nothing more is awaited after the time is over, and none while money waits for the shop.
  const shownStatus = stage === 'over' ? 'expired' : order.status;
  const isAwaited = shownStatus === 'open';
  const isUndecided = stage === 'undecided';
  const isPart = (stage === 'payable' || stage === 'rest') && order.received_sat > 0;
  const isOver = (stage === 'processing' || stage === 'paid') && excessSat > 0;
  return (
    <p class="pills" data-status={order.status}>
      {isAwaited && (isUndecided || stage === 'rest') ? null : (
        <Pill tone={isAwaited ? 'waiting' : orderWords[shownStatus].tone}>
          {words.orderStates[shownStatus]}
        </Pill>
      )}
      {order.late || isUndecided ? <Pill tone="waiting">{words.late}</Pill> : null}
      {isPart ? (
        <Pill tone="waiting">
          <Sentence text={words.shortBy(formats.amount(order.missing_sat ?? 0))} />
        </Pill>
      ) : null}
      {isOver ? (
        <Pill tone="neutral">
          <Sentence text={words.overBy(formats.amount(excessSat))} />
        </Pill>
      ) : null}
    </p>
  );
};

const PayBox = (props: Props) =>
  props.rehearsal === undefined ? (
    <>
      {props.shown.firstWay === 'lightning' ? <LightningBox {...props} /> : null}
      <ChainBox {...props} />
      {props.shown.firstWay === 'chain' ? <LightningBox {...props} /> : null}
    </>
  ) : (
    <RehearsedBox {...props} />
  );

/** Has no code, no address and no link to a wallet, so nothing can be paid. */
const RehearsedBox = (props: Props) => (
  <section class="box rehearsal" aria-label={props.reading.words.pay.payment}>
    <p class="placeholder" lang="en" dir="ltr">
      {rehearsalMark}: no bitcoin is asked for
    </p>
    <AmountRow {...props} />
    <Until {...props} />
  </section>
);

const LightningBox = ({ shown, reading }: Props) => {
  const { lightning } = shown.order;
  const { words, formats } = reading;
  if (lightning === null) return null;
  const { invoice, amount_sat: amountSat } = lightning;
  return (
    <section class="box lightning" aria-label={lightningName}>
      <InvoiceCode invoice={invoice} reading={reading} />
      <p class="unprinted">
        <a class="button main" href={`lightning:${invoice}`}>
          {words.pay.openWallet}
        </a>
      </p>
      <p class="amount">
        <Sentence text={formats.sat(amountSat)} />
      </p>
      <p>
        <bdi dir="ltr" class="address invoice">
          <code id="invoice">{invoice}</code>
        </bdi>
      </p>
      <div class="choices">
        <CopyButton name="invoice" label={words.pay.copyInvoice} reading={reading} />
      </div>
      <Until shown={shown} reading={reading} />
    </section>
  );
};

const ChainBox = ({ shown, reading }: Props) => {
  const { order, walletUri } = shown;
  const { pay } = reading.words;
  const { address } = order;
  return (
    <section
      class={order.lightning === null ? 'box' : 'box chain'}
      aria-label={order.lightning === null ? pay.payment : chainName}
    >
      <QrCode text={order.uri ?? ''} label={pay.qrCode} />
      <p class="unprinted">
        <a class="button main" href={walletUri ?? ''}>
          {pay.openWallet}
        </a>
      </p>
      <AmountRow shown={shown} reading={reading} />
      <p>
        <bdi dir="ltr" class="address">
          <code id="address">{address}</code>
        </bdi>
      </p>
      <div class="choices">
        <CopyButton name="amount" label={pay.copyAmount} reading={reading} />
        <CopyButton name="address" label={pay.copyAddress} reading={reading} />
      </div>
      <Until shown={shown} reading={reading} />
      <details class="passing unprinted">
        <summary>{pay.addressAlone}</summary>
        <QrCode text={paymentUri(address)} label={pay.qrCodeOfAddress} />
      </details>
    </section>
  );
};

const AmountRow = ({ shown: { order }, reading: { formats } }: Props) => {
  const missingSat = order.missing_sat ?? 0;
  return (
    <p class="units">
      <span class="amount">
        <Sentence text={formats.bitcoin(missingSat)} />
      </span>
      <Sentence text={formats.sat(missingSat)} />
      <span id="amount" hidden>
        {formatBitcoin(missingSat)}
      </span>
    </p>
  );
};

/** Until when the amount may be paid. */
const Until = ({ shown: { validUntil, isQuoted }, reading: { words, formats } }: Props) => {
  const { pay } = words;
  if (validUntil === null) return null;
  return (
    <>
      <p>
        <Sentence text={isQuoted ? pay.priceHoldsUntil(slot) : pay.payUntil(slot)}>
          <Time at={validUntil} formats={formats} />
        </Sentence>
      </p>
      {isQuoted ? (
        <p class="scripted unprinted">
          {pay.timeLeft}{' '}
          <bdi dir="ltr" role="timer" aria-label={pay.timeLeft} data-until={validUntil}></bdi>
        </p>
      ) : null}
    </>
  );
};

const Facts = ({
  shown: { order, stage, excessSat, refundedSat, contact, receiptAddress },
  reading: { words, formats },
}: Props) => {
  const { amount, currency, description, reference, quote, paid_at } = order;
  // The box has what is to be paid. Any other amount is not promised: some would pay it.
  const isDone = stage === 'processing' || stage === 'paid';
  const isRateValid = isDone || stage === 'payable';
  const { facts } = words;
  return (
    <dl>
      <Fact name={facts.description}>{description && <bdi>{description}</bdi>}</Fact>
      <Fact name={facts.reference}>{reference && <bdi>{reference}</bdi>}</Fact>
      <Fact name={facts.amount}>
        {isDone && <BothUnits sat={order.amount_sat} formats={formats} />}
      </Fact>
      <Fact name={facts.price}>
        {stage !== 'payable' && amount && currency && (
          <Sentence text={formats.money(amount, currency)} />
        )}
      </Fact>
      <Fact name={facts.rate}>
        {isRateValid && quote && currency && (
          <Sentence text={words.rateOf(formats.money(quote.rate, currency), oneBitcoin)} />
        )}
      </Fact>
      <Fact name={facts.received}>
        <Sentence text={formats.amount(order.received_sat)} />
      </Fact>
      <Fact name={facts.overBy}>
        {isDone && excessSat > 0 && <Sentence text={formats.amount(excessSat)} />}
      </Fact>
      <Fact name={facts.refunded}>
        {refundedSat > 0 && <Sentence text={formats.amount(refundedSat)} />}
      </Fact>
      <Fact name={facts.shopAddress}>
        {isDone && receiptAddress && <bdi>{receiptAddress}</bdi>}
      </Fact>
      <Fact name={facts.contact}>{contact && <Contact contact={contact} />}</Fact>
      <Fact name={facts.ordered}>
        <Time at={order.created_at * 1000} formats={formats} />
      </Fact>
      <Fact name={facts.paid}>
        {paid_at !== null && <Time at={paid_at * 1000} formats={formats} />}
      </Fact>
    </dl>
  );
};

/** The sums count all payments; a page has the newest of them. */
const maxShownPayments = 20;

const Payments = ({ shown, reading, rehearsal }: Props) => {
  const { payments, address } = shown.order;
  const { words } = reading;
  if (payments.length === 0) return null;
  return (
    <section aria-labelledby="payments">
      <h2 id="payments">{words.facts.payments}</h2>
      {payments.length > maxShownPayments ? <p>{words.newestPayments(maxShownPayments)}</p> : null}
      {payments.slice(0, maxShownPayments).map((payment) => (
        <Payment payment={payment} shown={shown} reading={reading} rehearsal={rehearsal} />
      ))}
      <dl>
        <Fact name={words.facts.address}>
          <Code text={address} />
        </Fact>
      </dl>
    </section>
  );
};

interface PaymentProps extends Props {
  readonly payment: PaymentJson;
}

const paymentStates = ['seen', 'confirming', 'confirmed'] as const;

const Payment = ({ payment, shown: { order }, reading, rehearsal }: PaymentProps) => {
  const { txid, rate, gone, late, status, first_seen_at: seenAt } = paymentLine(payment);
  const { words, formats, langQuery } = reading;
  const { facts } = words;
  const receipt = new URLSearchParams({ txid, addr: order.address, order: order.id });
  const receiptUrl =
    rehearsal === undefined
      ? `../api/tx?${receipt}${langQuery.replace('?', '&')}`
      : rehearsal.receiptUrl;
  return (
    <dl class="payment">
      <Fact name={facts.amount}>
        <BothUnits sat={payment.value_sat} formats={formats} />
      </Fact>
      <Fact name={facts.rate}>
        {rate && order.currency && (
          <Sentence text={words.rateOf(formats.money(rate, order.currency), oneBitcoin)} />
        )}
      </Fact>
      <Fact name={facts.state}>
        {payment.kind === 'lightning'
          ? words.orderStates.paid
          : words.paymentStates[gone ? 'gone' : paymentStates[status]]}
        {late && (order.late || order.missing_sat !== 0) ? ` · ${words.late}` : null}
      </Fact>
      <Fact name={facts.seen}>
        <Time at={seenAt * 1000} formats={formats} />
      </Fact>
      <Fact name={payment.kind === 'onchain' ? facts.transaction : lightningName}>
        {payment.kind === 'onchain' && receiptUrl !== undefined ? (
          <a href={receiptUrl}>
            <Code text={txid} />
          </a>
        ) : (
          <Code text={txid} />
        )}
      </Fact>
    </dl>
  );
};

/** After so many seconds a page that was just paid leads to the shop. */
export const leaveSeconds = 5;

const WayBack = ({ shown, reading: { words, formats } }: Props) => {
  const { order, storeName, stage, leavesTo } = shown;
  const mayStillPay = order.status === 'open' && stage !== 'undecided';
  if (order.return_url === null || mayStillPay) return null;
  return (
    <p class="unprinted">
      <a
        class="button"
        href={order.return_url}
        target="_top"
        {...(leavesTo !== null && { 'data-leave': true })}
      >
        <Sentence text={words.pay.backTo(nameInText(storeName))} />
      </a>
      {leavesTo === null ? null : (
        <span class="hint">{words.pay.leaves(formats.seconds(leaveSeconds))}</span>
      )}
    </p>
  );
};
