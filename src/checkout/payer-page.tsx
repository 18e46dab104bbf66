// The pages of a link: the form for a customer, or the till of a merchant. A till has a keypad,
// which needs the script. Without it, its amount is typed.

import { typedDigitsOf } from '../domain/order/typed-amount.ts';
import { hashedAsset } from '../web/hashed-asset.ts';
import script from './browser/till.client.js?raw';
import { CheckoutFrame } from './checkout-frame.tsx';
import { Sentence } from './page-parts.tsx';
import { type LinkPageProps, PayerForm, shownAmount } from './payer-form.tsx';

/** The keypad, and a screen that stays on. */
export const tillScript = hashedAsset('till', 'js', 'text/javascript', script);

export const LinkPage = ({ shown, reading }: LinkPageProps) => {
  const { link, storeName } = shown;
  const { words, formats } = reading;
  const { amount, currency, description } = link;
  const isTill = link.view === 'till';
  const price = amount === null ? undefined : shownAmount(amount, currency, formats);
  const tillLabel = price === undefined ? words.link.pay : words.till.charge(price);
  return (
    <CheckoutFrame
      reading={reading}
      title={`${link.title} – ${storeName}`}
      scripts={isTill ? [`../o/assets/${tillScript.name()}`] : []}
      isTill={isTill}
    >
      <p class="shop">
        <bdi>{storeName}</bdi>
      </p>
      <h1>
        <bdi>{link.title}</bdi>
      </h1>
      {price === undefined ? null : (
        <p class="price">
          <Sentence text={price} />
        </p>
      )}
      {description === null ? null : (
        <p class="description">
          <bdi>{description}</bdi>
        </p>
      )}
      <PayerForm
        shown={shown}
        reading={reading}
        label={isTill ? tillLabel : words.link.payWithBitcoin}
      >
        {isTill && amount === null ? <Keypad shown={shown} reading={reading} /> : null}
      </PayerForm>
    </CheckoutFrame>
  );
};

const Keypad = ({ shown: { link }, reading: { words, formats } }: LinkPageProps) => {
  const { currency } = link;
  const decimals = typedDigitsOf(currency);
  const separator = decimals === 0 ? '00' : formats.decimalSeparator();
  const { keypad, deleteDigit, clear } = words.till;
  return (
    <fieldset class="keypad unready" aria-label={keypad} dir="ltr" data-decimals={decimals}>
      {[...'123456789', separator, '0'].map((key) => (
        <button type="button" data-key={key}>
          {key}
        </button>
      ))}
      <button type="button" data-key="delete" aria-label={deleteDigit}>
        ⌫
      </button>
      <button type="button" data-key="clear">
        {clear}
      </button>
    </fieldset>
  );
};
