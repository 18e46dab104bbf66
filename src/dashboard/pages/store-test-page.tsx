// A test callback or test event, sent during the request, and its whole exchange.

import { networks } from '../../bitcoin/network.ts';
import type { Attempt, OutgoingCallback } from '../../delivery/sender.ts';
import { testCallback } from '../../delivery/test-callback.ts';
import { testEvent } from '../../delivery/test-event.ts';
import { callbackTarget } from '../../domain/callback.ts';
import {
  type AnswerVerdict,
  formatDoubt,
  hasReachedReceiver,
  refusedText,
  verdictTexts,
} from '../../domain/callback-answer.ts';
import type { StoreRow } from '../../store/records/catalog.ts';
import { noteTested, testedAt } from '../../store/records/settings.ts';
import { Form } from '../form-parts.tsx';
import { Layout } from '../layout.tsx';
import { type ActionResult, base, type PageRequest } from '../page.ts';
import { type StoreProps, storeOf, storePath } from './store-layout.tsx';

const testValueSat = 10_000;

export const TestCallback = ({ request, row }: StoreProps) => (
  <section aria-labelledby="test">
    <h2 id="test">Test callback</h2>
    <p>
      Sends the callback of an example payment of 0.00010000 BTC to <code>{row.callbackUrl}</code>
    </p>
    <Form request={request} action="send-test" button="Send test callback" />
  </section>
);

export async function sendTest(request: PageRequest): Promise<ActionResult> {
  const { store, world, sender } = request.parts;
  const row = storeOf(request);
  const order = testCallback(row, request.now, {
    network: networks[store.network],
    status: 0,
    valueSat: testValueSat,
    randomBytes: (length) => world.randomBytes(length),
  });
  const attempt = await sender.send(order, new AbortController().signal);
  if (hasReachedReceiver(attempt.verdict)) await noteFirstTest(request);
  return { show: exchangeMarkup(request, row, order, attempt) };
}

/** Completes the step of the setup. */
async function noteFirstTest({ parts: { store }, now }: PageRequest): Promise<void> {
  if (testedAt(store.catalog) !== undefined) return;
  await store.database.write((tx) => noteTested(tx, store.catalog, now));
}

const WaysBack = ({ row, section }: { readonly row: StoreRow; readonly section: string }) => (
  <p>
    <a href={storePath(row.id, section)}>Back to the store</a>, or{' '}
    <a href={`${base}/welcome`}>continue the setup</a>
  </p>
);

const exchangeMarkup = (
  request: PageRequest,
  row: StoreRow,
  order: OutgoingCallback,
  attempt: Attempt,
) => (
  <Layout request={request} title={`Test callback to ${row.name}`}>
    <Result attempt={attempt} received="Your shop answered 200: the callback is delivered." />
    {attempt.verdict === null ? null : <Verdict verdict={attempt.verdict} doubt={attempt.doubt} />}
    <Exchange text={requestText(order, attempt)} attempt={attempt} />
    <Form request={request} action="send-test" button="Send again" />
    <WaysBack row={row} section="/callbacks" />
  </Layout>
);

export const TestEvent = ({ request, row }: StoreProps) => (
  <section aria-labelledby="test-event">
    <h2 id="test-event">Test event</h2>
    <p>
      Sends an event of type test to <code>{row.webhookUrl}</code>
    </p>
    <Form request={request} action="send-event" button="Send test event" />
  </section>
);

export async function sendTestEvent(request: PageRequest): Promise<ActionResult> {
  const { world, sender } = request.parts;
  const row = storeOf(request);
  const event = testEvent(row, request.now, (length) => world.randomBytes(length));
  const attempt = await sender.post(event, new AbortController().signal);
  if (attempt.outcome === 'delivered') await noteFirstTest(request);
  const text = [`POST ${event.webhookUrl}`, ...headerLines(attempt), '', event.body].join('\n');
  return {
    show: (
      <Layout request={request} title={`Test event to ${row.name}`}>
        <Result
          attempt={attempt}
          received={`Your shop answered ${attempt.httpStatus}: the event is delivered.`}
        />
        <Exchange text={text} attempt={attempt} />
        <Form request={request} action="send-event" button="Send again" />
        <WaysBack row={row} section="/webhooks" />
      </Layout>
    ),
  };
}

interface ResultProps {
  readonly attempt: Attempt;
  /** The note for a delivered test. */
  readonly received: string;
}

const Result = ({ attempt, received }: ResultProps) =>
  attempt.outcome === 'delivered' ? (
    <p class="note">{received}</p>
  ) : (
    <p class="problem" role="alert">
      {[attempt.reason, refusedText(attempt)].filter(Boolean).join('. ')}
    </p>
  );

interface ExchangeProps {
  /** The request. */
  readonly text: string;
  readonly attempt: Attempt;
}

const Exchange = ({ text, attempt }: ExchangeProps) => (
  <>
    <h2>Request</h2>
    <pre>
      <code>{text}</code>
    </pre>
    <h2>Response</h2>
    <dl class="facts">
      <dt>Remote address</dt>
      <dd>{attempt.address ?? 'none'}</dd>
      <dt>Duration</dt>
      <dd>{attempt.durationMs} ms</dd>
      <dt>Status</dt>
      <dd>{attempt.httpStatus ?? 'none'}</dd>
    </dl>
    {attempt.body ? (
      <pre>
        <code>{attempt.body}</code>
      </pre>
    ) : null}
  </>
);

const headerLines = ({ request }: Attempt): string[] =>
  Object.entries(request?.headers ?? {}).map(([name, value]) => `${name}: ${value}`);

interface VerdictProps {
  readonly verdict: AnswerVerdict;
  readonly doubt: string | null;
}

const Verdict = ({ verdict, doubt }: VerdictProps) => (
  <p class={hasReachedReceiver(verdict) ? 'note' : 'alarm'}>
    {doubt === null ? '' : `The response ${formatDoubt(doubt)}. `}
    <strong data-verdict={verdict}>{verdictTexts[verdict]}</strong>
  </p>
);

function requestText({ callbackUrl, query }: OutgoingCallback, attempt: Attempt): string {
  const { origin, path } = callbackTarget(callbackUrl, query);
  return [`GET ${origin}${path}`, ...headerLines(attempt)].join('\n');
}
