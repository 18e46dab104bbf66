// `paygate callbacks list`: what is owed to shops, what was delivered, what was given up.

import { Command, Option } from 'commander';
import type { CallbackRow } from '../store/callback-desk.ts';
import type { CallbackState } from '../store/schema.ts';
import {
  type FileOptions,
  fileCommand,
  print,
  showTime,
  table,
  wholeNumber,
  withStore,
} from './command.ts';

interface ListOptions extends FileOptions {
  readonly store?: number;
  readonly state?: CallbackState;
  readonly limit: number;
}

const states: readonly CallbackState[] = ['owed', 'delivered', 'superseded', 'exhausted'];

export function callbacksCommand(): Command {
  const list = fileCommand('list', 'list callbacks, newest first')
    .option('--store <id>', 'of one store', wholeNumber(1, Number.MAX_SAFE_INTEGER))
    .addOption(new Option('--state <state>', 'in one state').choices(states))
    .option('--limit <n>', 'how many at most', wholeNumber(1, 10_000), 100)
    .action((given: ListOptions) =>
      withStore(given, false, async ({ outbox }) => {
        const { store: storeId, state, limit } = given;
        const rows = outbox.list({ storeId, state, limit });
        print(given, rows.map(describe), () => render(rows));
      }),
    );
  return new Command('callbacks').description('callbacks to shops').addCommand(list);
}

const seconds = (epochMs: number | null): number | null =>
  epochMs === null ? null : Math.floor(epochMs / 1000);

const describe = (row: CallbackRow) => ({
  id: row.id,
  event_id: row.eventId,
  store_id: row.storeId,
  addr: row.address,
  txid: row.txid,
  value: row.valueSat,
  status: row.status,
  state: row.state,
  attempts: row.attemptCount,
  created_at: seconds(row.createdAt),
  next_attempt_at: row.state === 'owed' ? seconds(row.nextAttemptAt) : null,
  settled_at: seconds(row.settledAt),
  last_outcome: row.outcome,
  last_reason: row.reason,
});

function render(rows: readonly CallbackRow[]): string {
  if (rows.length === 0) return 'There is no such callback.';
  const lines = rows.map((row) => [
    String(row.id),
    showTime(row.createdAt),
    String(row.storeId),
    row.address,
    String(row.valueSat),
    String(row.status),
    row.state,
    String(row.attemptCount),
    row.reason ?? '',
  ]);
  const head = ['id', 'created', 'store', 'address', 'sat', 'status', 'state', 'tries', 'last'];
  return table([head, ...lines]);
}
