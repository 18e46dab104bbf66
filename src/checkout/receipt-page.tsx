// The receipt page `tx?txid=&addr=` (wire §3): the state of one payment, for clients that know
// both. It leads to the order only if the link names the order: docs/decisions/048.

import type { Context } from 'hono';
import type { Txid } from '../bitcoin/ids.ts';
import { isId } from '../domain/order/order-id.ts';
import { statusWord } from '../domain/order/state-words.ts';
import { worthOf } from '../domain/payment/currency.ts';
import { formatPrice } from '../domain/payment/money.ts';
import { PaygateError } from '../lib/errors.ts';
import type { Records } from '../store/open-records.ts';
import type { OrderRow } from '../store/orders/order-view.ts';
import { confirmationsOf, statusOf } from '../store/payments/confirmations.ts';
import type { Receipt } from '../store/payments/receipts.ts';
import type { StoreRow } from '../store/wallets/catalog.ts';
import { issuedAddress } from '../store/wallets/issued-address.ts';
import { setCheckoutHeaders } from '../web/content-policy.ts';
import { pageScript } from '../web/hashed-asset.ts';
import { reloadSeconds, reloadUnlessFollowed } from '../web/html-page.ts';
import type { LimitedLookup } from '../web/limits/lookup-limit.ts';
import {
  beginPage,
  beginPageRefusal,
  CheckoutFrame,
  checkoutStyle,
  type Rehearsal,
  sendMessage,
} from './checkout-frame.tsx';
import { BothUnits, Code, Contact, Fact, Pill, Sentence, Time } from './page-parts.tsx';
import { type Reading, readingOf } from './reading.ts';
import { oneBitcoin } from './words/language-formats.ts';

/** Errors are pages, too, because customers follow the link. */
export function receiptPage(
  records: Records,
  limitLookup: LimitedLookup,
  context: Context,
): Response | Promise<Response> {
  setCheckoutHeaders(context, checkoutStyle.hash(), []);
  try {
    const receipt = limitLookup(context, '/tx', () => receiptOf(records, context));
    const shown = shownReceipt(records, receipt, context.req.query('order'));
    const reading = beginPage(context, shown.owner, shown.order);
    if (isWaiting(shown)) reloadUnlessFollowed(context);
    return context.html(<ReceiptPage shown={shown} reading={reading} />);
  } catch (error) {
    if (!(error instanceof PaygateError) || error.code === 'internal') throw error;
    const { code } = error;
    const reading = readingOf(context);
    const { receipt, facts, errors } = reading.words;
    const texts = { not_found: receipt.unknown, limited: errors.limited.text };
    const text = code === 'not_found' || code === 'limited' ? texts[code] : receipt.unnamed;
    return sendMessage(
      context,
      reading,
      { title: facts.payment, text },
      // Its links to other languages would repeat what is no address, such as a private key.
      { status: beginPageRefusal(context, error), hasLanguages: code === 'not_found' },
    );
  }
}

/** @throws PaygateError invalid, not_found */
function receiptOf(records: Records, context: Context): Receipt {
  const { txid = '', addr = '' } = context.req.query();
  if (txid === '' || addr === '') throw new PaygateError('invalid', 'a part is missing');
  const { scripthash } = issuedAddress(records, addr);
  const receipt = records.receipts.byPlace(scripthash, txid.toLowerCase() as Txid);
  if (receipt === undefined) throw new PaygateError('not_found', 'no such payment is known');
  return receipt;
}

type State = 'seen' | 'confirming' | 'confirmed' | 'gone';

type ShownFacts = 'address' | 'currency' | 'firstSeenAt' | 'priceCents' | 'valueSat';

export interface ShownReceipt {
  readonly receipt: Pick<Receipt, ShownFacts> & { readonly txid: string };
  readonly state: State;
  readonly confirmations: number;
  /** Undefined for an address that was skipped, which belongs to no store. */
  readonly owner: StoreRow | undefined;
  /** The order of its address, if the client names it. */
  readonly order?: OrderRow | undefined;
}

const states = ['seen', 'confirming', 'confirmed'] as const;

function shownReceipt(records: Records, receipt: Receipt, orderId = ''): ShownReceipt {
  const named = isId('ord', orderId) ? records.orderView.byPublicId(orderId) : undefined;
  return {
    receipt,
    state: receipt.state === 'dropped' ? 'gone' : states[statusOf(records, receipt)],
    confirmations: confirmationsOf(records, receipt),
    owner: receipt.storeId === null ? undefined : records.catalog.store(receipt.storeId),
    order: named?.addressId === receipt.addressId ? named : undefined,
  };
}

const isWaiting = ({ state }: ShownReceipt): boolean => state === 'seen' || state === 'confirming';

const tones = {
  seen: statusWord(0).tone,
  confirming: statusWord(1).tone,
  confirmed: statusWord(2).tone,
  gone: statusWord(-1).tone,
} as const;

interface Props {
  readonly shown: ShownReceipt;
  readonly reading: Reading;
  readonly rehearsal?: Rehearsal | undefined;
}

export const ReceiptPage = ({ shown, reading, rehearsal }: Props) => {
  const { receipt, state, owner, order } = shown;
  const { words, formats, langQuery } = reading;
  const { currency, priceCents, valueSat } = receipt;
  const worth =
    currency === null || priceCents === null
      ? undefined
      : formats.money(worthOf(valueSat, priceCents, currency), currency);
  return (
    <CheckoutFrame
      reading={reading}
      title={owner === undefined ? words.facts.payment : `${words.facts.payment} – ${owner.name}`}
      scripts={rehearsal?.scripts ?? [`../o/assets/${pageScript.name()}`]}
      rehearsal={rehearsal}
    >
      <h1>{owner === undefined ? words.facts.payment : <bdi>{owner.name}</bdi>}</h1>
      <p class="price">
        <Sentence text={worth ?? formats.amount(valueSat)} />
      </p>
      <div id="receipt" {...(isWaiting(shown) && { 'data-poll': reloadSeconds * 1000 })}>
        <p class="pills">
          <Pill tone={tones[state]}>{words.paymentStates[state]}</Pill>
        </p>
        <p>{words.receipt[state]}</p>
        {state === 'confirmed' ? <h2>{words.receipt.title}</h2> : null}
        <Facts shown={shown} reading={reading} />
      </div>
      {order === undefined ? null : (
        <p class="unprinted">
          <a class="button" href={`../o/${order.publicId}${langQuery}`}>
            {words.receipt.toOrder}
          </a>
        </p>
      )}
    </CheckoutFrame>
  );
};

const Facts = ({
  shown: { receipt, confirmations, owner },
  reading: { words, formats },
}: Props) => {
  const { currency, priceCents } = receipt;
  const { facts } = words;
  return (
    <dl>
      <Fact name={facts.amount}>
        <BothUnits sat={receipt.valueSat} formats={formats} />
      </Fact>
      <Fact name={facts.rate}>
        {currency !== null && priceCents !== null && (
          <Sentence
            text={words.rateOf(formats.money(formatPrice(priceCents), currency), oneBitcoin)}
          />
        )}
      </Fact>
      <Fact name={facts.confirmations}>{formats.number(confirmations)}</Fact>
      <Fact name={facts.seen}>
        <Time at={receipt.firstSeenAt} formats={formats} />
      </Fact>
      <Fact name={facts.address}>
        <Code text={receipt.address} />
      </Fact>
      <Fact name={facts.shopAddress}>
        {owner?.receiptAddress && <bdi>{owner.receiptAddress}</bdi>}
      </Fact>
      <Fact name={facts.contact}>{owner?.contact && <Contact contact={owner.contact} />}</Fact>
      <Fact name={facts.transaction}>
        <Code text={receipt.txid} />
      </Fact>
    </dl>
  );
};
