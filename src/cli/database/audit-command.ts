// `paygate audit list`: changes made through the API, in the dashboard and by commands.

import { Command } from 'commander';
import { sentenceOf } from '../../dashboard/parts/audit-sentences.ts';
import { formatTime } from '../../domain/text/format.ts';
import { unixSeconds } from '../../lib/time-units.ts';
import { actorOf } from '../../store/access/audit.ts';
import { type FileOptions, fileCommand, print, table, wholeNumber, withStore } from '../command.ts';

export function auditCommand(): Command {
  const list = fileCommand('list', 'list changes, newest first')
    .option('--limit <n>', 'maximum number of changes', wholeNumber(1, 10_000), 100)
    .action((given: FileOptions & { limit: number }) =>
      withStore(given, async ({ audit }) => {
        const rows = audit.list(given.limit);
        const entries = rows.map((row) => ({
          at: unixSeconds(row.at),
          key: row.keyId,
          action: row.action,
          store: row.storeId,
          detail: JSON.parse(row.detail) as unknown,
        }));
        print(given, entries, () => {
          if (entries.length === 0) return 'No changes yet.';
          const actors = rows.map(actorOf);
          const lines = rows.map((row, index) => [
            formatTime(row.at),
            actors[index] ?? '',
            row.storeId === null ? '' : `store ${row.storeId}`,
            sentenceOf(row),
          ]);
          return table([['when', 'who', 'where', 'what'], ...lines]);
        });
      }),
    );
  return new Command('audit')
    .description('list changes by the API, the dashboard and commands')
    .addCommand(list);
}
