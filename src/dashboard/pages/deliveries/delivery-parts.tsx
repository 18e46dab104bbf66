// What callbacks and webhook events share: the state for people, the frames of the list and of the
// page of one, and sending again.

import type { Child } from 'hono/jsx';
import { doubtAdvice, formatDoubt } from '../../../domain/delivery/callback-answer.ts';
import {
  type DeliveryState,
  deliveryWords,
  type StateWord,
} from '../../../domain/order/state-words.ts';
import { formatCount } from '../../../domain/text/format.ts';
import type { Tx } from '../../../store/db/writer.ts';
import type { AttemptRow } from '../../../store/delivery/attempts.ts';
import type { StoreRow } from '../../../store/wallets/catalog.ts';
import { Pill, Time } from '../../../web/values.tsx';
import { base, type PageRequest } from '../../page.ts';
import { Form } from '../../parts/form-parts.tsx';
import { DoneNote, type FactRows, Facts, Layout } from '../../parts/layout.tsx';
import { ListFilters, type ListFiltersProps } from '../../parts/listing.tsx';
import { inWordsOfPages } from '../../parts/page-words.ts';

interface DeliveryRow {
  readonly state: DeliveryState;
  readonly attemptCount: number;
}

export interface ShownDelivery {
  readonly word: StateWord;
  readonly note: string | undefined;
}

const notes: Readonly<Partial<Record<DeliveryState, string>>> = {
  held: 'its payment is gone',
  superseded: 'by a newer one',
  unsent: 'no webhook receives it',
};

/** @param store for a callback, whose store may have stopped them */
export function deliveryState(row: DeliveryRow, store?: StoreRow): ShownDelivery {
  const { state, attemptCount } = row;
  const isStopped = store !== undefined && (store.callbacksStopped || store.callbackUrl === '');
  const note =
    state !== 'owed'
      ? notes[state]
      : isStopped
        ? 'stopped: its store sends no callbacks'
        : attemptCount > 0
          ? 'retrying'
          : undefined;
  return { word: deliveryWords[state], note };
}

interface Answered {
  readonly reason: string | null;
  readonly outcome: string | null;
  readonly doubt?: string | null;
}

/** The last response for people; empty without an attempt. */
export function responseText({ reason, doubt, outcome }: Answered): string {
  if (typeof doubt === 'string') return `delivered, but the response ${formatDoubt(doubt)}`;
  return reason ?? outcome ?? '';
}

const lists = [
  ['/callbacks', 'Callbacks'],
  ['/events', 'Webhook events'],
] as const;

export const DeliveryList = ({
  title,
  children,
  ...filters
}: ListFiltersProps & { readonly title: string }) => (
  <Layout request={filters.request} title={title}>
    <DoneNote request={filters.request} />
    <nav class="tabs" aria-label="Deliveries">
      {lists.map(([path, name]) => (
        <a
          href={base + path}
          aria-current={filters.request.url.startsWith(base + path) ? 'page' : undefined}
        >
          {name}
        </a>
      ))}
    </nav>
    <ListFilters {...filters} />
    {children}
  </Layout>
);

interface DeliveryPageProps {
  readonly request: PageRequest;
  /** `Delivery 12` */
  readonly name: string;
  readonly row: DeliveryRow &
    Answered & {
      readonly storeId: number;
      readonly createdAt: number;
      readonly nextAttemptAt: number;
      /** When a delivered one is sent again because its answer was doubtful. */
      readonly confirmAt?: number | null;
    };
  readonly shown: ShownDelivery;
  /** Whether it is sent at `nextAttemptAt`. */
  readonly isSent: boolean;
  readonly facts: FactRows;
  /** The name of the store. */
  readonly store: string;
  readonly eventId: string;
  /** Oldest first. */
  readonly attempts: readonly AttemptRow[];
  readonly children?: Child;
}

export const DeliveryPage = ({
  request,
  name,
  row,
  shown,
  children,
  ...more
}: DeliveryPageProps) => (
  <Layout
    request={request}
    title={`${name}: ${shown.word.text}`}
    heading={
      <>
        {name} <Pill {...shown} />
      </>
    }
  >
    <DoneNote request={request} />
    <Progress row={row} isSent={more.isSent} />
    <Form request={request} action="resend" button="Resend now" />
    <Facts
      rows={[
        ...more.facts,
        ['Store', <a href={`${base}/stores/${row.storeId}`}>{more.store}</a>],
        ['Event', <code class="selectable">{more.eventId}</code>],
        ['Created', <Time at={row.createdAt} />],
      ]}
    />
    <Attempts total={row.attemptCount} rows={more.attempts} />
    {children}
  </Layout>
);

const Progress = ({ row, isSent }: Pick<DeliveryPageProps, 'row' | 'isSent'>) => {
  const { attemptCount, nextAttemptAt, doubt, confirmAt = null } = row;
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

const Attempts = ({ total, rows }: { total: number; rows: readonly AttemptRow[] }) => (
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

/** Makes deliveries due, and wakes the dispatchers after the commit. */
export async function resendIn<T>({ parts }: PageRequest, work: (tx: Tx) => T): Promise<T> {
  const { database, events } = parts.records;
  const result = await database.write(work);
  events.emit('retryRequested');
  return result;
}
