// The page of a link: its form for a customer.

import { linkPrice } from '../domain/order/payer-input.ts';
import { dueAmountOf } from '../domain/order/quote.ts';
import { CheckoutFrame } from './checkout-frame.tsx';
import { Adjustment, Sentence } from './page-parts.tsx';
import { type LinkPageProps, PayerForm, shownAmount } from './payer-form.tsx';

export const LinkPage = ({ shown, reading }: LinkPageProps) => {
  const { link, storeName } = shown;
  const { formats } = reading;
  const { adjustBasisPoints = 0 } = shown;
  const { amount, currency, description } = link;
  const price = amount === null ? undefined : shownAmount(amount, currency, formats);
  const due = amount === null ? undefined : dueAmountOf(linkPrice(link, amount), adjustBasisPoints);
  return (
    <CheckoutFrame reading={reading} title={`${link.title} – ${storeName}`}>
      <p class="shop">
        <bdi>{storeName}</bdi>
      </p>
      <h1>
        <bdi>{link.title}</bdi>
      </h1>
      {due === undefined ? null : (
        <p class="price">
          <Sentence text={shownAmount(due, currency, formats)} />
        </p>
      )}
      <Adjustment {...reading} price={price} basisPoints={adjustBasisPoints} />
      {description === null ? null : (
        <p class="description">
          <bdi>{description}</bdi>
        </p>
      )}
      <PayerForm shown={shown} reading={reading} />
    </CheckoutFrame>
  );
};
