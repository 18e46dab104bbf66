// Callbacks and their attempts as JSON and as text for a terminal. URLs are redacted unless the
// caller asks for their secrets.

import type { Attempt } from '../../delivery/sender.ts';
import type { SentTest } from '../../delivery/test-callback.ts';
import { callbackTarget, redactedTarget } from '../../domain/delivery/callback.ts';
import { doubtAdvice, formatDoubt } from '../../domain/delivery/callback-answer.ts';
import { testEffect } from '../../domain/delivery/test-answer.ts';
import { deliveryWords, formatStatus } from '../../domain/order/state-words.ts';
import { formatSat, formatTime } from '../../domain/text/format.ts';
import type { AttemptRecord, AttemptRow } from '../../store/delivery/attempts.ts';
import type { CallbackRow } from '../../store/delivery/callback-view.ts';
import { callbackFields, jsonOf } from '../../web/list-fields.ts';
import { type TextList, table } from '../command.ts';

export const describe = (row: CallbackRow) => jsonOf(callbackFields, row);

type AttemptView = Omit<AttemptRecord, 'outcome'> & { readonly outcome: string };

const readAttempt = (row: AttemptRow): AttemptView => ({
  ...row,
  phases: JSON.parse(row.phases) as AttemptRecord['phases'],
});

export const describeAttempt = (row: AttemptRow) => describeOutcome(readAttempt(row));

export const describeOutcome = (made: AttemptView) => ({
  at: made.startedAt / 1000,
  outcome: made.outcome,
  http_status: made.httpStatus,
  reason: made.reason,
  doubt: made.doubt,
  address: made.address,
  duration_ms: made.durationMs,
  phases_ms: made.phases,
  body: made.body,
});

export function requestUrl(callbackUrl: string, query: string, secrets = false): string {
  if (callbackUrl === '' || !secrets) return redactedTarget(callbackUrl, query);
  const { origin, path } = callbackTarget(callbackUrl, query);
  return `${origin}${path}`;
}

export const describeTest = ({ row, facts, attempt, result }: SentTest, url: string) => ({
  store_id: row.id,
  addr: facts.address,
  value: facts.valueSat,
  status: facts.status,
  txid: facts.txid,
  url,
  headers: attempt.request?.headers ?? null,
  ...describeOutcome(attempt),
  ...result,
});

export const callbackList: TextList<CallbackRow> = {
  none: 'No callback matches.',
  columns: {
    id: (row) => row.id,
    created: (row) => formatTime(row.createdAt),
    store: (row) => row.storeId,
    address: (row) => row.address,
    sat: (row) => row.valueSat,
    status: (row) => formatStatus(row.status),
    state: (row) => deliveryWords[row.state].text,
    attempts: (row) => row.attemptCount,
    last: (row) => [row.reason ?? doubtText(row.doubt), confirmed(row)].filter(Boolean).join('; '),
  },
  next: ({ id }) => `--before ${id}`,
  json: describe,
};

const doubtText = (doubt: string | null): string =>
  doubt === null ? '' : `delivered, but the answer ${formatDoubt(doubt)}`;

const confirmed = ({ confirmAt }: CallbackRow): string =>
  confirmAt === null ? '' : `sent again ${formatTime(confirmAt)}`;

export function renderCallback(
  row: CallbackRow,
  url: string,
  attempts: readonly AttemptRow[],
): string {
  const facts = table([
    ['state', deliveryWords[row.state].text],
    ['request', `GET ${url}`],
    ['event', row.eventId],
    ['store', String(row.storeId)],
    ['transaction', row.txid],
    ['created', formatTime(row.createdAt)],
    ...(row.state === 'owed' ? [['next attempt', formatTime(row.nextAttemptAt)]] : []),
    ...(row.confirmAt === null ? [] : [['sent again', formatTime(row.confirmAt)]]),
    ...(row.settledAt === null ? [] : [['settled', formatTime(row.settledAt)]]),
    ['attempts', attemptCountText(row.attemptCount, attempts.length)],
    ...(row.doubt === null ? [] : [['advice', doubtAdvice(row.doubt)]]),
  ]);
  return [facts, ...attemptLog(attempts)].join('\n');
}

export const attemptLog = (attempts: readonly AttemptRow[]): string[] =>
  attempts.map((made) => `\n${formatTime(made.startedAt)}\n${renderOutcome(readAttempt(made))}`);

export const attemptCountText = (made: number, shown: number): string =>
  made === shown ? String(made) : `${made}, the oldest ${made - shown} are no longer recorded`;

export function renderOutcome(made: AttemptView): string {
  const phases = Object.entries(made.phases).map(([name, ms]) => `${name} ${ms}`);
  const took = phases.length === 0 ? '' : ` (${phases.join(', ')})`;
  const lines = [
    ['', 'to', made.address ?? 'no address'],
    ['', 'took', `${made.durationMs} ms${took}`],
    ['', 'answer', made.httpStatus === null ? 'none' : String(made.httpStatus)],
    ...(made.body ? [['', 'body', made.body]] : []),
    ['', 'result', made.reason ?? (doubtText(made.doubt) || 'delivered')],
  ];
  return table(lines);
}

export const headerLines = ({ request }: Pick<Attempt, 'request'>): string =>
  table(Object.entries(request?.headers ?? {}).map(([name, value]) => ['', name, value]));

export function renderTest(sent: SentTest, url: string): string {
  const { attempt, result } = sent;
  return [
    ...(sent.hasOrder ? [paymentText(sent), ''] : []),
    `GET ${url}`,
    ...(attempt.request === null ? [] : [headerLines(attempt)]),
    renderOutcome(attempt),
    ...(result.meaning === null ? [] : [table([['', 'verdict', result.meaning]])]),
  ].join('\n');
}

const paymentText = ({ row, facts }: SentTest): string =>
  [
    `Test payment of ${formatSat(facts.valueSat)} to ${facts.address}, an address of store ` +
      `${row.id}, with status ${formatStatus(facts.status)}.`,
    `${testEffect} paygate records no payment.`,
  ].join('\n');

/** What happens next: a running server sends them within a second. */
export function resendText(noun: 'callback' | 'event', count: number, doubtful = false): string {
  if (count > 0) {
    const sent = count === 1 ? `1 ${noun} is` : `${count} ${noun}s are`;
    return `${sent} sent now, or as soon as paygate serves.`;
  }
  return doubtful
    ? `No ${noun} has a doubtful last answer.`
    : `No ${noun} has failed, or all are being sent again already.`;
}
