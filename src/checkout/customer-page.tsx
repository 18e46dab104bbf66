// The customer's page of an order. It is whole without JavaScript. Its URLs are relative, so it
// works below any path. JSX escapes all text.

import type { Child } from 'hono/jsx';
import { formatBitcoin, formatSat, formatTime } from '../domain/format.ts';
import { paymentUri } from '../domain/payment-uri.ts';
import { pageScript } from '../web/hashed-asset.ts';
import { QrCode } from '../web/qr-code.tsx';
import { CheckoutFrame } from './checkout-frame.tsx';
import { instructionOf, paymentState, pills } from './instructions.ts';
import type { ShownOrder } from './shown-order.ts';

type Props = Readonly<Record<'shown', ShownOrder>>;

export const CustomerPage = ({ shown }: Props) => {
  const { order, storeName, stage } = shown;
  const { id, amount, currency, amount_sat } = order;
  const live = `${id}/live`;
  return (
    <CheckoutFrame
      title={`${order.reference ?? 'Order'} – ${storeName}`}
      script={`assets/${pageScript.name()}`}
      refreshes={order.status === 'open' || order.status === 'processing'}
    >
      <h1>
        <bdi>{storeName}</bdi>
      </h1>
      <p class="price">{amount === null ? formatSat(amount_sat) : `${amount} ${currency}`}</p>
      <div id="status" data-live={live} aria-live="polite">
        <p>
          <span class={`pill ${pills[stage][1]}`}>{pills[stage][0]}</span>
        </p>
        <p>{instructionOf(shown)}</p>
      </div>
      <div id="pay" data-live={live} class="unprinted">
        {stage === 'payable' ? <PayBox shown={shown} /> : null}
        {stage === 'lapsed' ? <NewQuote id={id} /> : null}
      </div>
      <div id="facts" data-live={live}>
        <Facts shown={shown} />
        <Payments shown={shown} />
        <WayBack shown={shown} />
      </div>
    </CheckoutFrame>
  );
};

const PayBox = ({ shown }: Props) => {
  const { order, walletUri, validUntil, isQuoted } = shown;
  const { address, uri } = order;
  const missingSat = order.missing_sat ?? 0;
  return (
    <section class="box" aria-label="Payment">
      <QrCode text={uri ?? ''} label="QR code of the address and the amount" />
      <Copied name="amount" label="Copy amount">
        <span class="amount">
          <span id="amount">{formatBitcoin(missingSat)}</span> BTC
        </span>
        <span>{formatSat(missingSat)}</span>
      </Copied>
      <Copied name="address" label="Copy address">
        <code id="address" class="address">
          {address}
        </code>
      </Copied>
      <p>
        <a class="button main" href={walletUri ?? ''}>
          Open in a wallet
        </a>
      </p>
      <Copied name="link" label="Copy link for a wallet">
        <span id="link" hidden>
          {walletUri}
        </span>
      </Copied>
      {validUntil === null ? null : (
        <p>
          {isQuoted ? 'The price holds until ' : 'Pay until '}
          <Time at={validUntil} />
        </p>
      )}
      {isQuoted ? (
        <p class="scripted">
          Time left: <span role="timer" aria-label="Time left" data-until={validUntil}></span>
        </p>
      ) : null}
      <details class="passing">
        <summary>QR code of the address alone</summary>
        <QrCode text={paymentUri(address)} label="QR code of the address, without the amount" />
      </details>
    </section>
  );
};

interface CopiedProps {
  /** Id of the element whose text is copied. */
  readonly name: string;
  readonly label: string;
  readonly children?: Child;
}

const Copied = ({ name, label, children }: CopiedProps) => (
  <div class="copied">
    {children}
    <button type="button" class="unready" data-copy={name}>
      {label}
    </button>
  </div>
);

const NewQuote = ({ id }: { readonly id: string }) => (
  <form method="post" action={`${id}/quote`}>
    <button type="submit" class="main">
      Show the price of now
    </button>
  </form>
);

const Facts = ({ shown: { order, stage } }: Props) => {
  const { amount, currency, amount_sat, received_sat, missing_sat, excess_sat, quote } = order;
  // An amount that is not promised is not shown: some would pay it.
  const isAmountValid = stage === 'payable' || stage === 'processing' || stage === 'paid';
  const rate = quote?.rate;
  return (
    <dl>
      <Fact name="Description">{order.description && <bdi>{order.description}</bdi>}</Fact>
      <Fact name="Reference">{order.reference && <bdi>{order.reference}</bdi>}</Fact>
      <Fact name="Amount">{isAmountValid && <Bitcoins sat={amount_sat} />}</Fact>
      <Fact name="Price">{amount && `${amount} ${currency}`}</Fact>
      <Fact name="Rate">{isAmountValid && rate && `${rate} ${currency} for 1 BTC`}</Fact>
      <Fact name="Received">{formatSat(received_sat)}</Fact>
      <Fact name="Missing">{stage === 'payable' && formatSat(missing_sat ?? 0)}</Fact>
      <Fact name="Over by">{excess_sat > 0 && formatSat(excess_sat)}</Fact>
      <Fact name="Ordered">
        <Time at={order.created_at * 1000} />
      </Fact>
      <Fact name="Paid">{order.paid_at !== null && <Time at={order.paid_at * 1000} />}</Fact>
    </dl>
  );
};

interface FactProps {
  readonly name: string;
  readonly children?: Child | false | '' | null;
}

const Fact = ({ name, children }: FactProps) =>
  children ? (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  ) : null;

const Payments = ({ shown: { order } }: Props) =>
  order.payments.length === 0 ? null : (
    <section aria-label="Payments">
      <h2>Payments</h2>
      {order.payments.map((payment) => (
        <dl class="payment">
          <Fact name="Amount">
            <Bitcoins sat={payment.value_sat} />
          </Fact>
          <Fact name="Rate">{payment.rate && `${payment.rate} ${order.currency} for 1 BTC`}</Fact>
          <Fact name="State">{paymentState(payment)}</Fact>
          <Fact name="Seen">
            <Time at={payment.first_seen_at * 1000} />
          </Fact>
          <Fact name="Transaction">
            <code>{payment.txid}</code>
          </Fact>
        </dl>
      ))}
      <dl>
        <Fact name="To address">
          <code>{order.address}</code>
        </Fact>
      </dl>
    </section>
  );

const WayBack = ({ shown: { order, storeName } }: Props) =>
  order.return_url === null || order.status === 'open' ? null : (
    <p class="unprinted">
      <a class="button" href={order.return_url}>
        Back to <bdi>{storeName}</bdi>
      </a>
    </p>
  );

const Bitcoins = ({ sat }: { readonly sat: number }) => (
  <>
    <span class="unbroken">{formatBitcoin(sat)} BTC</span>{' '}
    <span class="unbroken">= {formatSat(sat)}</span>
  </>
);

const Time = ({ at }: { readonly at: number }) => (
  <time datetime={new Date(at).toISOString()}>{formatTime(at)}</time>
);
