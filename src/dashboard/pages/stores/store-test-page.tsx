// A test callback or test event, sent during the request, and its whole exchange.

import type { Attempt } from '../../../delivery/sender.ts';
import { type SentTest, sendTestCallback } from '../../../delivery/test-callback.ts';
import { testEvent } from '../../../delivery/test-event.ts';
import { callbackTarget } from '../../../domain/delivery/callback.ts';
import { formatDoubt } from '../../../domain/delivery/callback-answer.ts';
import { type ActionResult, base, type PageRequest } from '../../page.ts';
import { Form } from '../../parts/form-parts.tsx';
import { Layout } from '../../parts/layout.tsx';
import { type StoreProps, storeOf, storePath } from './store-layout.tsx';

const testValueSat = 10_000;

export const TestCallback = ({ request, row }: StoreProps) => (
  <section aria-labelledby="test">
    <h2 id="test">Test callback</h2>
    <p>
      Sends the callback of an example payment of 0.00010000 BTC to <code>{row.callbackUrl}</code>
    </p>
    <Form request={request} action="send-test" button="Send test callback" />
    <p>
      To try a whole order without bitcoin, open{' '}
      <a href={`${base}/addresses?state=unpaid&store=${row.id}`}>its address</a> and send a test
      payment.
    </p>
  </section>
);

export async function sendTest(request: PageRequest): Promise<ActionResult> {
  const test = { status: 0, valueSat: testValueSat } as const;
  const sent = await sendTestCallback(request.parts, storeOf(request), test);
  return {
    show: (
      <Layout request={request} title={`Test callback to ${sent.row.name}`}>
        <TestExchange sent={sent} />
        <Form request={request} action="send-test" button="Send again" />
        <WaysBack row={sent.row} section="/callbacks" />
      </Layout>
    ),
  };
}

/** Completes the step of the setup. */
async function noteFirstTest({ parts: { records }, now }: PageRequest): Promise<void> {
  if (records.state.callbackTestedAt.read() !== undefined) return;
  await records.database.write((tx) => records.state.callbackTestedAt.write(tx, now));
}

const WaysBack = ({
  row,
  section,
}: {
  readonly row: StoreProps['row'];
  readonly section: string;
}) => (
  <p>
    <a href={storePath(row.id, section)}>Back to the store</a>, or{' '}
    <a href={storePath(row.id, '/ready')}>continue the setup</a>
  </p>
);

/** The request and the response of a test callback, and what the response means. */
export const TestExchange = ({ sent }: { readonly sent: SentTest }) => (
  <>
    <Result attempt={sent.attempt} received={receivedText} />
    <Verdict {...sent} />
    <Exchange text={requestText(sent)} attempt={sent.attempt} />
  </>
);

const receivedText = 'Your shop answered 200: the callback is delivered.';

export const TestEvent = ({ request, row }: StoreProps) => (
  <section aria-labelledby="test-event">
    <h2 id="test-event">Test event</h2>
    <p>
      Sends an event of type test to <code>{row.webhookUrl}</code>
    </p>
    <Form request={request} action="send-event" button="Send test event" />
  </section>
);

/** Sends a test event to a store. @throws PaygateError conflict without a webhook URL */
export async function postTestEvent({ request, row }: StoreProps) {
  const { world, sender } = request.parts;
  const event = testEvent(row, request.now, (length) => world.randomBytes(length));
  const attempt = await sender.post(event, new AbortController().signal);
  if (attempt.outcome === 'delivered') await noteFirstTest(request);
  return { event, attempt };
}

export async function sendTestEvent(request: PageRequest): Promise<ActionResult> {
  const row = storeOf(request);
  const { event, attempt } = await postTestEvent({ request, row });
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
      {attempt.reason}
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

const Verdict = ({ result, attempt: { doubt } }: SentTest) =>
  result.meaning === null ? null : (
    <p class={result.accepts ? 'note' : 'alarm'}>
      {doubt === null ? '' : `The response ${formatDoubt(doubt)}. `}
      <strong data-verdict={result.verdict}>{result.meaning}</strong>
    </p>
  );

function requestText({ callback, attempt }: SentTest): string {
  const { origin, path } = callbackTarget(callback.callbackUrl, callback.query);
  return [`GET ${origin}${path}`, ...headerLines(attempt)].join('\n');
}
