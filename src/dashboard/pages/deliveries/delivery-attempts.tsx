// The attempts of a callback or an event, newest first, and their sum in one row.

import { doubtAdvice, formatDoubt } from '../../../domain/delivery/callback-answer.ts';
import { formatCount } from '../../../domain/text/format.ts';
import type { AttemptRow } from '../../../store/delivery/attempts.ts';
import { Time } from '../../../web/values.tsx';
import { base } from '../../page.ts';
import { inWordsOfPages } from '../../parts/page-words.ts';
import { responseText } from './delivery-state.ts';

interface DeliveryLineProps {
  readonly row: Parameters<typeof responseText>[0] & {
    readonly attemptCount: number;
    readonly nextAttemptAt: number;
  };
  /** Whether it is sent at `nextAttemptAt`. */
  readonly isSent: boolean;
  /** When a delivered one is sent again because its answer was doubtful. */
  readonly confirmAt: number | null;
}

/** How far the delivery is. */
export const DeliveryLine = ({ row, isSent, confirmAt }: DeliveryLineProps) => {
  const { attemptCount, nextAttemptAt, doubt } = row;
  const last = responseText(row);
  return (
    <p>
      {formatCount(attemptCount, 'attempt')}
      {last === '' ? '' : `, last response: ${last}`}.
      {typeof doubt === 'string' ? ` ${inWordsOfPages(doubtAdvice(doubt))}` : ''}
      {isSent ? (
        <>
          {' '}
          Next attempt: <Time at={nextAttemptAt} />
        </>
      ) : null}
      {confirmAt === null ? null : (
        <>
          {' '}
          Sent again, because that response is doubtful: <Time at={confirmAt} />
        </>
      )}
    </p>
  );
};

interface DeliveryFactsProps {
  readonly row: { readonly storeId: number; readonly createdAt: number };
  /** The name of the store. */
  readonly store: string;
  readonly eventId: string;
}

/** The rows that the list of facts of each delivery ends with. */
export const DeliveryFacts = ({ row, store, eventId }: DeliveryFactsProps) => (
  <>
    <dt>Store</dt>
    <dd>
      <a href={`${base}/stores/${row.storeId}`}>{store}</a>
    </dd>
    <dt>Event</dt>
    <dd>
      <code class="selectable">{eventId}</code>
    </dd>
    <dt>Created</dt>
    <dd>
      <Time at={row.createdAt} />
    </dd>
  </>
);

interface AttemptsProps {
  readonly total: number;
  /** Oldest first. */
  readonly rows: readonly AttemptRow[];
}

export const Attempts = ({ total, rows }: AttemptsProps) => (
  <section aria-labelledby="attempts">
    <h2 id="attempts">Attempts</h2>
    <ol class="timeline">
      {[...rows].reverse().map((row) => (
        <li class={row.outcome === 'delivered' ? 'good' : 'bad'}>
          <Time at={row.startedAt} />
          <div>
            <strong>{row.reason ?? row.outcome}</strong>
            {row.doubt === null ? null : (
              <span class="warn">, but the response {formatDoubt(row.doubt)}</span>
            )}
            <small class="below">
              {row.httpStatus === null ? 'no response' : `HTTP ${row.httpStatus}`}
              {` in ${row.durationMs.toLocaleString('en')} ms`}
              {row.address === null ? '' : ` from ${row.address}`}
            </small>
            {row.body ? (
              <pre>
                <code>{row.body}</code>
              </pre>
            ) : null}
          </div>
        </li>
      ))}
    </ol>
    {total > rows.length ? (
      <p>{formatCount(total - rows.length, 'older attempt')} no longer stored.</p>
    ) : null}
  </section>
);
