// A payment that the merchant rehearses, on the pages of a customer. Tests are sent as a payment
// would send mails, callbacks and events. Only the audit log has an entry of it.

import type { Child } from 'hono/jsx';
import type { Attempt } from '../../../delivery/sender.ts';
import { sendTestCallback } from '../../../delivery/test-callback.ts';
import { redactUrl } from '../../../domain/delivery/callback.ts';
import { satoshisOf } from '../../../domain/order/quote.ts';
import {
  madeUpRateCents,
  type RehearsalStep,
  rehearsalSteps,
  rehearsedPrice,
} from '../../../domain/order/rehearsal.ts';
import { requireRunning } from '../../../store/wallets/catalog.ts';
import { recordChange } from '../../guard/audit-entry.ts';
import { type ActionResult, base, type Page, type PageRequest } from '../../page.ts';
import { Form } from '../../parts/form-parts.tsx';
import { ProblemNote } from '../../parts/layout.tsx';
import { withQuery } from '../../parts/listing.tsx';
import { type StoreProps, storeOf, storePath } from '../stores/store-layout.tsx';
import { postTestEvent } from '../stores/store-test-page.tsx';

export const rehearsalPage: Page = {
  path: '/stores/:id/rehearsal',
  async show(request) {
    const asked = request.context.req.query('step');
    const step = rehearsalSteps.find((each) => each === asked && each !== 'seen') ?? 'waiting';
    const order = await orderOf(request);
    const panel = <Panel request={request} step={step} {...order} />;
    return markupOf(request, step, order, panel);
  },
  actions: { simulate },
};

export const RehearsalOffer = ({ id }: { readonly id: number }) => (
  <p>
    <a href={storePath(id, '/rehearsal')}>Rehearse a payment</a>: pay yourself a small amount
    without bitcoin, on the page that your customers see.
  </p>
);

type RehearsedOrder = Awaited<ReturnType<typeof orderOf>>;

/** @throws PaygateError not_found, conflict for a removed store */
async function orderOf(request: PageRequest) {
  const store = requireRunning(storeOf(request));
  const { currency, adjustBasisPoints } = store;
  const known =
    currency === null ? null : await request.parts.prices?.rateCents(currency).catch(() => null);
  const rateCents = known ?? madeUpRateCents;
  const price = rehearsedPrice(currency, adjustBasisPoints, rateCents);
  return { store, rateCents, price, isMadeUp: currency !== null && typeof known !== 'number' };
}

const markupOf = (
  request: PageRequest,
  step: RehearsalStep,
  { store, rateCents, price }: RehearsedOrder,
  panel: Child,
) =>
  request.parts.rehearse(request.context, {
    store,
    rateCents,
    price,
    step,
    now: request.now,
    panel,
    receiptUrl: step === 'seen' ? undefined : withQuery(request, { step: 'receipt' }),
  });

interface PanelProps extends Pick<RehearsedOrder, 'store' | 'isMadeUp'> {
  readonly request: PageRequest;
  readonly step: RehearsalStep;
  /** What was sent when the payment was seen. */
  readonly children?: Child;
}

const Panel = ({ request, step, store, isMadeUp, children }: PanelProps) => {
  const { text, next } = steps[step];
  return (
    <>
      <ProblemNote request={request} />
      <p>
        <strong>Rehearsal: </strong>
        {text} No bitcoin is asked for, and no order is recorded.
      </p>
      {isMadeUp ? (
        <p>There is no price of a bitcoin now: the rate of this page is made up.</p>
      ) : null}
      {children}
      {step === 'waiting' ? (
        <Form request={request} action="simulate">
          <button type="submit" class="main">
            Simulate the payment
          </button>
        </Form>
      ) : null}
      {next === undefined ? null : (
        <p>
          <a class="button main" href={withQuery(request, { step: next[0] })}>
            {next[1]}
          </a>
        </p>
      )}
      <p>
        <a href={storePath(store.id, '/ready')}>End the rehearsal</a>
      </p>
    </>
  );
};

const steps: Readonly<Record<RehearsalStep, StepWords>> = {
  waiting: { text: 'your customer sees this page before they pay.' },
  seen: {
    text: 'the payment was seen, and is in no block yet.',
    next: ['paid', 'Let a block confirm it'],
  },
  paid: {
    text: 'the payment is confirmed. Your customer can print this page.',
    next: ['receipt', 'Show its receipt'],
  },
  receipt: { text: 'the transaction on that page leads your customer to this receipt.' },
};

interface StepWords {
  readonly text: string;
  readonly next?: readonly [step: RehearsalStep, label: string];
}

async function simulate(request: PageRequest): Promise<ActionResult> {
  const order = await orderOf(request);
  const { store: row } = order;
  await request.parts.records.database.write((tx) =>
    recordChange(request, tx, 'store.rehearse', {}, row.id),
  );
  const sent = await sendTests({ request, row }, satoshisOf(order.price, order.rateCents));
  const panel = (
    <Panel request={request} step="seen" {...order}>
      <Sent row={row} {...sent} />
    </Panel>
  );
  return { show: markupOf(request, 'seen', order, panel) };
}

type SentTests = Awaited<ReturnType<typeof sendTests>>;

/** Sends what the store has a receiver for. */
async function sendTests({ request, row }: StoreProps, valueSat: number) {
  const { notifier, records } = request.parts;
  const { state, webhookRecords } = records;
  const owners = [null, row.id].filter((owner) => {
    const { recipients, webhookUrl } = state.notifyTarget(owner).read();
    return recipients.length > 0 ? state.mailServer.read() !== undefined : webhookUrl !== null;
  });
  const { signal } = new AbortController();
  const [notices, callback, event] = await Promise.all([
    Promise.all(owners.map((owner) => notifier.test(owner, signal))),
    row.callbackUrl === ''
      ? undefined
      : sendTestCallback(request.parts, row, { status: 0, valueSat }),
    row.webhookUrl === null ? undefined : postTestEvent({ request, row }),
  ]);
  const hasPlugin = webhookRecords.list(row.id).length > 0;
  return { notices: notices.flat(), callback, event, hasPlugin };
}

const Sent = ({
  row,
  notices,
  callback,
  event,
  hasPlugin,
}: SentTests & Pick<StoreProps, 'row'>) => (
  <ul>
    {notices.length > 0 ? null : (
      <li>
        No mail was sent: <a href={`${base}/settings/notifications`}>set it up</a>.
      </li>
    )}
    {notices.map(({ to, reason }) => (
      <li>
        Test to {to}: {reason ?? 'accepted'}
      </li>
    ))}
    {callback && (
      <li>
        Test callback to {redactUrl(row.callbackUrl)}:{' '}
        {answerOf(callback.attempt, callback.result.meaning)}
      </li>
    )}
    {event && (
      <li>
        Test event to {redactUrl(row.webhookUrl ?? '')}: {answerOf(event.attempt, null)}
      </li>
    )}
    {hasPlugin ? <li>The plugin of your shop receives no test: order something there.</li> : null}
  </ul>
);

const answerOf = ({ httpStatus, reason }: Attempt, meaning: string | null): string =>
  `${httpStatus === null ? 'no answer' : `answer ${httpStatus}`}, ${meaning ?? reason ?? 'delivered'}`;
