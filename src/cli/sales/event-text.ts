// Events and their attempts as JSON and as text for a terminal. The webhook URL is redacted unless
// the caller asks for its secrets.

import type { Attempt, OutgoingEvent } from '../../delivery/sender.ts';
import { redactUrl } from '../../domain/delivery/callback.ts';
import { deliveryWords } from '../../domain/order/state-words.ts';
import { formatTime } from '../../domain/text/format.ts';
import type { AttemptRow } from '../../store/delivery/attempts.ts';
import type { ListedEvent } from '../../store/delivery/event-view.ts';
import { eventFields, jsonOf } from '../../web/list-fields.ts';
import { type TextList, table } from '../command.ts';
import {
  attemptCountText,
  attemptLog,
  describeOutcome,
  headerLines,
  renderOutcome,
} from './callback-text.ts';

export const describe = (row: ListedEvent) => jsonOf(eventFields, row);

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
  return [facts, `\n${row.body}`, ...attemptLog(attempts)].join('\n');
}

export const describeTest = (event: OutgoingEvent, attempt: Attempt, url: string | null) => {
  const { doubt, ...outcome } = describeOutcome(attempt);
  return { url, headers: attempt.request?.headers ?? null, sent: event.body, ...outcome };
};

export function renderTest({ body }: OutgoingEvent, attempt: Attempt, url: string | null): string {
  return [`POST ${url}`, headerLines(attempt), `\n${body}\n`, renderOutcome(attempt)].join('\n');
}
