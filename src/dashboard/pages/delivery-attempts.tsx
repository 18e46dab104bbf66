// The attempts of a callback or an event, oldest first.

import { formatDoubt } from '../../domain/callback-answer.ts';
import type { AttemptRow } from '../../store/views/callback-view.ts';
import type { WebhookAttemptRow } from '../../store/views/event-view.ts';
import { Time } from '../../web/values.tsx';

interface AttemptsProps {
  readonly total: number;
  readonly rows: readonly (AttemptRow | WebhookAttemptRow)[];
}

export const Attempts = ({ total, rows }: AttemptsProps) => (
  <section aria-labelledby="attempts">
    <h2 id="attempts">Webhook attempts</h2>
    {total > rows.length ? <p>{total - rows.length} older attempts are no longer stored.</p> : null}
    {rows.map((row) => (
      <article>
        <h3>
          <Time at={row.startedAt} />
        </h3>
        <dl class="facts">
          <dt>Result</dt>
          <dd class={row.outcome === 'delivered' ? 'good' : 'bad'}>{row.reason ?? row.outcome}</dd>
          {!('doubt' in row) || row.doubt === null ? null : (
            <>
              <dt>Doubtful</dt>
              <dd class="warn">the response {formatDoubt(row.doubt)}</dd>
            </>
          )}
          <dt>Status</dt>
          <dd>{row.httpStatus ?? 'none'}</dd>
          <dt>Remote address</dt>
          <dd>{row.address ?? 'none'}</dd>
          <dt>Duration</dt>
          <dd>{row.durationMs} ms</dd>
        </dl>
        {row.body ? (
          <pre>
            <code>{row.body}</code>
          </pre>
        ) : null}
      </article>
    ))}
  </section>
);
