// Events and their attempts as JSON and as text for a terminal. The webhook URL is redacted unless
// the caller asks for its secrets.

import type { Attempt, OutgoingEvent } from '../../delivery/sender.ts';
import { redactUrl } from '../../domain/delivery/callback.ts';
import { deliveryWords } from '../../domain/order/state-words.ts';
import { formatTime } from '../../domain/text/format.ts';
import type { AttemptRow } from '../../store/delivery/attempts.ts';
import type { ListedEvent } from '../../store/delivery/event-view.ts';
import { seconds, type TextList, table } from '../command.ts';
import { attemptCountText, describeOutcome, readAttempt, renderOutcome } from './callback-text.ts';

export const describe = (row: ListedEvent) => ({
  id: row.publicId,
  type: row.type,
  store_id: row.storeId,
  state: row.state,
  attempts: row.attemptCount,
  created_at: seconds(row.createdAt),
  next_attempt_at: row.state === 'owed' ? seconds(row.nextAttemptAt) : null,
  settled_at: seconds(row.settledAt),
  last_outcome: row.outcome,
  last_reason: row.reason,
});

export const eventList: TextList<ListedEvent> = {
  none: 'No event matches.',
  columns: {
    id: (row) => row.publicId,
    created: (row) => formatTime(row.createdAt),
    store: (row) => row.storeId,
    type: (row) => row.type,
    state: (row) => deliveryWords[row.state].text,
    attempts: (row) => row.attemptCount,
    last: (row) => row.reason,
  },
  next: ({ publicId }) => `--before ${publicId}`,
  json: describe,
};

/** The webhook URL of an event, or null if its store has none. */
export const shownUrl = (webhookUrl: string | null, secrets: boolean): string | null =>
  webhookUrl === null || secrets ? webhookUrl : redactUrl(webhookUrl);

export const describeAttempts = (attempts: readonly AttemptRow[]) =>
  attempts.map((made) => describeOutcome(readAttempt(made)));

export function renderEvent(
  row: ListedEvent,
  url: string | null,
  attempts: readonly AttemptRow[],
): string {
  const facts = table([
    ['state', deliveryWords[row.state].text],
    ['request', url === null ? 'none: the store has no webhook URL' : `POST ${url}`],
    ['event', row.publicId],
    ['type', row.type],
    ['store', String(row.storeId)],
    ['created', formatTime(row.createdAt)],
    ...(row.state === 'owed' ? [['next attempt', formatTime(row.nextAttemptAt)]] : []),
    ...(row.settledAt === null ? [] : [['settled', formatTime(row.settledAt)]]),
    ['attempts', attemptCountText(row.attemptCount, attempts.length)],
  ]);
  const log = attempts.map(
    (made) => `\n${formatTime(made.startedAt)}\n${renderOutcome(readAttempt(made))}`,
  );
  return [facts, `\n${row.body}`, ...log].join('\n');
}

export const describeTest = (event: OutgoingEvent, attempt: Attempt, url: string | null) => {
  const { doubt, ...outcome } = describeOutcome(attempt);
  return { url, headers: attempt.request?.headers ?? null, sent: event.body, ...outcome };
};

export function renderTest({ body }: OutgoingEvent, attempt: Attempt, url: string | null): string {
  const headers = Object.entries(attempt.request?.headers ?? {}).map(([name, value]) => [
    '',
    name,
    value,
  ]);
  return [`POST ${url}`, table(headers), `\n${body}\n`, renderOutcome(attempt)].join('\n');
}

/** What happens next: a running server sends these events within a second. */
export function resendText(count: number): string {
  if (count === 0) return 'No event has failed, or all are being sent again already.';
  return `${count === 1 ? '1 event is' : `${count} events are`} sent now, or as soon as paygate serves.`;
}
