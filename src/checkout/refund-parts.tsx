// What the shop pays back: the form for the customer's address, and the refunds of an order. The
// address can be given once, because everybody who has the link of the order can open the form.

import type { RefundJson } from '../domain/order/order-json.ts';
import { BothUnits, Code, Fact, Time } from './page-parts.tsx';
import { codeInput, FormField } from './payer-form.tsx';
import type { Reading } from './reading.ts';
import type { ShownOrder } from './shown-order.ts';

interface Props {
  readonly shown: Pick<ShownOrder, 'order'>;
  readonly reading: Reading;
}

interface RefundFormProps extends Props {
  /** What is wrong with the address that was sent. */
  readonly error: string | undefined;
}

export const RefundForm = ({ shown: { order }, reading, error }: RefundFormProps) => {
  const { refund } = reading.words;
  if (order.refunds.every(({ state }) => state !== 'asked')) return null;
  return (
    <form method="post" action={`${order.id}${reading.langQuery}`} class="unprinted" novalidate>
      <FormField name="refund" label={refund.address} hint={refund.hint} error={error}>
        {(described) => (
          <input {...described} {...codeInput} required autofocus={error !== undefined} />
        )}
      </FormField>
      <button type="submit" class="main">
        {refund.send}
      </button>
    </form>
  );
};

export const Refunds = ({ shown: { order }, reading }: Props) => {
  const refunds = order.refunds.filter(({ state }) => state !== 'asked');
  if (refunds.length === 0) return null;
  return (
    <section aria-labelledby="refunds">
      <h2 id="refunds">{reading.words.facts.refunded}</h2>
      {refunds.map((refund) => (
        <Refund refund={refund} reading={reading} />
      ))}
    </section>
  );
};

interface RefundProps extends Pick<Props, 'reading'> {
  readonly refund: RefundJson;
}

const Refund = ({ refund, reading: { words, formats } }: RefundProps) => {
  const { state, address, txid, sent_at } = refund;
  const { facts, paymentStates } = words;
  const { prepared, sent } = words.refund.states;
  return (
    <dl class="payment">
      <Fact name={facts.amount}>
        <BothUnits sat={refund.amount_sat} formats={formats} />
      </Fact>
      <Fact name={facts.state}>
        {state === 'confirmed' ? paymentStates.confirmed : state === 'sent' ? sent : prepared}
      </Fact>
      <Fact name={words.refund.states.sent}>
        {sent_at !== null && <Time at={sent_at * 1000} formats={formats} />}
      </Fact>
      <Fact name={facts.address}>{address && <Code text={address} />}</Fact>
      <Fact name={facts.transaction}>{txid && <Code text={txid} />}</Fact>
    </dl>
  );
};
