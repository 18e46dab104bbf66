// The page of a link: its form for a customer.

import { CheckoutFrame } from './checkout-frame.tsx';
import { Sentence } from './page-parts.tsx';
import { type LinkPageProps, PayerForm, shownAmount } from './payer-form.tsx';

export const LinkPage = ({ shown, reading }: LinkPageProps) => {
  const { link, storeName } = shown;
  const { formats } = reading;
  const { amount, currency, description } = link;
  const price = amount === null ? undefined : shownAmount(amount, currency, formats);
  return (
    <CheckoutFrame reading={reading} title={`${link.title} – ${storeName}`}>
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
      <PayerForm shown={shown} reading={reading} />
    </CheckoutFrame>
  );
};
