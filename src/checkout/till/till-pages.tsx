// What a till shows: the keypad, a sale as large as the screen, and the sales of the day.

import type { Child } from 'hono/jsx';
import { dueMinorOf, storedPriceOf } from '../../domain/order/quote.ts';
import { orderWords } from '../../domain/order/state-words.ts';
import { typedDigitsOf } from '../../domain/order/typed-amount.ts';
import { sumSat } from '../../domain/payment/money.ts';
import type { OrderRow } from '../../store/orders/order-view.ts';
import { hashedAsset, pageScript } from '../../web/hashed-asset.ts';
import { QrCode } from '../../web/qr-code.tsx';
import script from '../browser/till.client.js?raw';
import { CheckoutFrame } from '../checkout-frame.tsx';
import { instructionOf } from '../instructions.ts';
import {
  Adjustment,
  chainName,
  InvoiceCode,
  lightningName,
  Pill,
  Sentence,
  Tick,
  Time,
  Ways,
} from '../page-parts.tsx';
import { shownAmount } from '../payer-form.tsx';
import type { ShownOrder } from '../shown-order.ts';
import { type LanguageFormats, nameInText } from '../words/language-formats.ts';
import type { TillRequest } from './till-device.ts';

/** The keypad, a screen that stays on, and a word while the device is offline. */
export const tillScript = hashedAsset('till', 'js', 'text/javascript', script);

interface FrameProps extends Pick<TillRequest, 'till' | 'store' | 'reading'> {
  /** Leads from the page to `/`. */
  readonly root: string;
  /** Whether the page follows a sale. */
  readonly isLive?: boolean;
  readonly children: Child;
}

const TillFrame = ({ till, store, reading, root, isLive = false, children }: FrameProps) => (
  <CheckoutFrame
    reading={reading}
    title={`${till.name} – ${store.name}`}
    scripts={[...(isLive ? [pageScript] : []), tillScript].map(
      ({ name }) => `${root}o/assets/${name()}`,
    )}
    manifest={`${root}till/manifest.webmanifest`}
    isTill
  >
    <p class="shop">
      <bdi>{store.name}</bdi> · <bdi>{till.name}</bdi>
    </p>
    <p id="offline" class="error" role="status" hidden>
      {reading.words.till.offline}
    </p>
    {children}
  </CheckoutFrame>
);

export const PairPage = (asked: TillRequest) => {
  const { title, text } = asked.reading.words.till.pair;
  return (
    <TillFrame {...asked} root="../../">
      <h1>{title}</h1>
      <p>{text}</p>
      <form method="post">
        <button type="submit" class="main">
          <Sentence text={asked.reading.words.till.useAs(nameInText(asked.till.name))} />
        </button>
      </form>
    </TillFrame>
  );
};

interface TillPageProps extends TillRequest {
  /** Sent twice, it makes one sale. */
  readonly formKey: string;
  readonly typed?: string;
  readonly error?: string | undefined;
}

export const TillPage = (props: TillPageProps) => {
  const { reading, currency, formKey, typed = '', error } = props;
  const { words, langQuery } = reading;
  return (
    <TillFrame {...props} root="">
      <form method="post" action={`till${langQuery}`} novalidate>
        <input type="hidden" name="key" value={formKey} />
        <div class="field">
          <h1>
            <label for="amount">
              <Sentence text={words.link.amountIn(nameInText(currency ?? 'sat'))} />
            </label>
          </h1>
          <input
            id="amount"
            name="amount"
            type="text"
            dir="ltr"
            inputmode={currency === null ? 'numeric' : 'decimal'}
            autocomplete="off"
            value={typed}
            {...(error !== undefined && {
              'aria-invalid': 'true',
              'aria-describedby': 'amount-error',
            })}
          />
          {error === undefined ? null : (
            <span class="error" id="amount-error">
              <Sentence text={error} />
            </span>
          )}
        </div>
        <Keypad currency={currency} reading={reading} />
        <button type="submit" class="main">
          {words.till.charge}
        </button>
      </form>
      <p>
        <a href={`till/sales${langQuery}`}>{words.till.sales}</a>
      </p>
    </TillFrame>
  );
};

const Keypad = ({
  currency,
  reading: { words, formats },
}: Pick<TillRequest, 'currency' | 'reading'>) => {
  const decimals = typedDigitsOf(currency);
  const { keypad, deleteDigit, wholeUnits } = words.till;
  return (
    <fieldset
      class="keypad unready"
      aria-label={keypad}
      dir="ltr"
      data-decimals={decimals}
      data-separator={formats.decimalSeparator()}
    >
      {[...'123456789', '00', '0'].map((key) => (
        <button type="button" data-key={key}>
          {key}
        </button>
      ))}
      <button type="button" data-key="delete" aria-label={deleteDigit}>
        ⌫
      </button>
      {decimals === 0 ? null : (
        <label>
          <input type="checkbox" id="whole" /> {wholeUnits}
        </label>
      )}
    </fieldset>
  );
};

interface SalePageProps extends TillRequest {
  readonly row: OrderRow;
  readonly shown: ShownOrder;
}

export const SalePage = (props: SalePageProps) => {
  const { row, shown, reading } = props;
  const { order, stage } = shown;
  const { words, langQuery } = reading;
  const { id } = order;
  const live = `../../o/${id}/live`;
  const isToScan = stage === 'payable' && order.received_sat === 0 && !shown.hasFallen;
  return (
    <TillFrame {...props} root="../../" isLive>
      <h1 class="price">
        <Sentence text={dueText(row, reading.formats)} />
      </h1>
      <Adjustment
        {...reading}
        price={shownAmount(row.amountMinor ?? 0, row.currency, reading.formats)}
        basisPoints={row.adjustBasisPoints}
      />
      <div id="status" data-live={live} aria-live="polite">
        {order.status === 'paid' ? <Tick tone="good" /> : null}
        <SalePill {...props} />
        {isToScan ? null : (
          <p>
            <Sentence text={adviceOf(props)} />
          </p>
        )}
      </div>
      {stage === 'payable' ? <Ways order={order} first="lightning" reading={reading} /> : null}
      <div id="pay" data-live={live}>
        {stage === 'payable' && !shown.hasFallen ? <Code shown={shown} reading={reading} /> : null}
        {stage === 'payable' && shown.hasFallen ? (
          <details class="passing">
            <summary>{words.pay.payAgain}</summary>
            <Code shown={shown} reading={reading} />
          </details>
        ) : null}
        {stage === 'lapsed' ? (
          <form method="post" action={`${id}/quote${langQuery}`}>
            <button type="submit" class="main">
              {words.pay.showPriceNow}
            </button>
          </form>
        ) : null}
      </div>
      <div id="next" data-live={live} class="choices">
        {order.status === 'open' && order.received_sat === 0 ? (
          <form method="post" action={`${id}/cancel${langQuery}`}>
            <button type="submit">{words.till.cancel}</button>
          </form>
        ) : null}
        <a class="button main" href={`../../till${langQuery}`}>
          {words.till.next}
        </a>
      </div>
    </TillFrame>
  );
};

const isUnmined = ({ order: { status, payments } }: ShownOrder): boolean =>
  status === 'processing' && payments.some(({ status: each, gone }) => each === 0 && !gone);

/** An unconfirmed sale is never called paid. */
const SalePill = ({ shown, reading: { words, formats } }: SalePageProps) => {
  const { order, stage } = shown;
  const text =
    stage === 'payable'
      ? words.till.waiting
      : stage === 'rest'
        ? words.shortBy(formats.amount(order.missing_sat ?? 0))
        : isUnmined(shown)
          ? words.till.seen
          : words.orderStates[order.status];
  const isAwaited = stage === 'payable' || stage === 'rest';
  return (
    <p class="pills" data-status={order.status}>
      <Pill tone={isAwaited ? 'waiting' : orderWords[order.status].tone}>
        <Sentence text={text} />
      </Pill>
    </p>
  );
};

/**
 * Whether the merchant lets a customer go; else what the customer does. Every payment without a
 * block can be replaced today, so the signal of BIP 125 decides nothing.
 */
function adviceOf({ row, shown, reading, till: { seenUpTo }, currency }: SalePageProps): string {
  if (!isUnmined(shown)) return instructionOf(shown, reading);
  const isEnough = seenUpTo !== null && row.currency === currency && dueOf(row) <= seenUpTo;
  return isEnough ? reading.words.till.letGo : reading.words.till.waitForBlock;
}

const Code = ({ shown: { order }, reading }: Pick<SalePageProps, 'shown' | 'reading'>) => {
  const { words, formats } = reading;
  const { lightning } = order;
  return (
    <>
      {lightning === null ? null : (
        <section class="box lightning" aria-label={lightningName}>
          <InvoiceCode invoice={lightning.invoice} reading={reading} />
          <p class="amount">
            <Sentence text={formats.sat(lightning.amount_sat)} />
          </p>
        </section>
      )}
      <section
        class={lightning === null ? 'box' : 'box chain'}
        aria-label={lightning === null ? words.pay.payment : chainName}
      >
        <QrCode text={order.uri ?? ''} label={words.pay.qrCode} />
        <p class="amount">
          <Sentence text={formats.bitcoin(order.missing_sat ?? 0)} />
        </p>
      </section>
    </>
  );
};

interface SalesPageProps extends TillRequest {
  readonly sales: readonly OrderRow[];
}

export const SalesPage = (props: SalesPageProps) => {
  const { sales, reading } = props;
  const { words, formats, langQuery } = reading;
  return (
    <TillFrame {...props} root="../">
      <h1>{words.till.sales}</h1>
      {sumsOf(sales, formats).map((sum) => (
        <p class="price">
          <Sentence text={sum} />
        </p>
      ))}
      <ul class="sales">
        {sales.map((row) => (
          <li>
            <a href={`sales/${row.publicId}${langQuery}`}>
              <Sentence text={dueText(row, formats)} />
            </a>
            <Pill tone={orderWords[row.status].tone}>{words.orderStates[row.status]}</Pill>
            <Time at={row.createdAt} formats={formats} />
          </li>
        ))}
      </ul>
      <p>
        <a class="button main" href={`../till${langQuery}`}>
          {words.till.next}
        </a>
      </p>
    </TillFrame>
  );
};

/** What is due in minor units of the currency, or in satoshis. */
function dueOf(row: OrderRow): number {
  const price = storedPriceOf(row);
  return price === undefined ? row.amountSat : Number(dueMinorOf(price));
}

const dueText = (row: OrderRow, formats: LanguageFormats): string =>
  shownAmount(dueOf(row), row.currency, formats);

/** A sum for each currency: of the paid ones, and of those that wait for a block. */
function sumsOf(sales: readonly OrderRow[], formats: LanguageFormats): string[] {
  const counted = sales.filter(({ status }) => status === 'paid' || status === 'processing');
  const currencies = new Set(counted.map(({ currency }) => currency));
  return [...currencies].map((currency) => {
    const rows = counted.filter((row) => row.currency === currency);
    return shownAmount(sumSat(rows.map(dueOf)), currency, formats);
  });
}
