// A test callback, sent while the merchant waits, and the exchange as it was.

import { networks } from '../../bitcoin/network.ts';
import type { Attempt, OutgoingCallback } from '../../delivery/sender.ts';
import { testCallback } from '../../delivery/test-callback.ts';
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
import { Form, Layout } from '../layout.tsx';
import { base, idIn, type Outcome, type Visit } from '../page.ts';

const testSat = 10_000;

interface Props {
  readonly visit: Visit;
  readonly row: StoreRow;
}

export const TestCallback = ({ visit, row }: Props) => (
  <section aria-labelledby="test">
    <h2 id="test">Test callback</h2>
    <p>
      Sends what a payment of 0.00010000 BTC to nobody’s address would send to{' '}
      <code>{row.callbackUrl}</code>
    </p>
    <Form visit={visit} does="send-test" button="Send test callback" />
  </section>
);

export async function sendTest(visit: Visit): Promise<Outcome> {
  const { store, world, sender } = visit.parts;
  const row = store.catalog.store(idIn(visit));
  const order = testCallback(row, visit.now, {
    network: networks[store.network],
    status: 0,
    valueSat: testSat,
    randomBytes: (length) => world.randomBytes(length),
  });
  const attempt = await sender.send(order, new AbortController().signal);
  if (hasReachedReceiver(attempt.verdict) && testedAt(store.catalog) === undefined) {
    await store.database.write((tx) => noteTested(tx, store.catalog, visit.now));
  }
  return { show: exchange(visit, row, order, attempt) };
}

const exchange = (visit: Visit, row: StoreRow, order: OutgoingCallback, attempt: Attempt) => (
  <Layout visit={visit} title={`Test callback to ${row.name}`}>
    {attempt.outcome === 'delivered' ? (
      <p class="note">Your shop has answered 200: the callback is delivered.</p>
    ) : (
      <p class="problem" role="alert">
        {[attempt.reason, refusedText(attempt)].filter(Boolean).join('. ')}
      </p>
    )}
    {attempt.verdict === null ? null : <Judged verdict={attempt.verdict} says={attempt.doubt} />}
    <h2>What was sent</h2>
    <pre>
      <code>{requestText(order, attempt)}</code>
    </pre>
    <h2>What came back</h2>
    <dl class="facts">
      <dt>From</dt>
      <dd>{attempt.address ?? 'nobody'}</dd>
      <dt>After</dt>
      <dd>{attempt.durationMs} ms</dd>
      <dt>Status</dt>
      <dd>{attempt.httpStatus ?? 'none'}</dd>
    </dl>
    {attempt.body ? (
      <pre>
        <code>{attempt.body}</code>
      </pre>
    ) : null}
    <Form visit={visit} does="send-test" button="Send it again" />
    <p>
      <a href={`${base}/stores/${row.id}`}>Back to the store</a>, or{' '}
      <a href={`${base}/welcome`}>on with setting up</a>
    </p>
  </Layout>
);

interface JudgedProps {
  readonly verdict: AnswerVerdict;
  readonly says: string | null;
}

const Judged = ({ verdict, says }: JudgedProps) => (
  <p class={hasReachedReceiver(verdict) ? 'note' : 'alarm'}>
    {says === null ? '' : `The answer ${formatDoubt(says)}. `}
    <strong data-verdict={verdict}>{verdictTexts[verdict]}</strong>
  </p>
);

function requestText({ callbackUrl, query }: OutgoingCallback, { request }: Attempt): string {
  const { origin, path } = callbackTarget(callbackUrl, query);
  const headers = Object.entries(request?.headers ?? {});
  return [`GET ${origin}${path}`, ...headers.map(([name, value]) => `${name}: ${value}`)].join(
    '\n',
  );
}
