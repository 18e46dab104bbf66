// `paygate check [FILE]`: whether a database or a backup is intact, and what it contains. It never
// changes the file.

import type { Command } from 'commander';
import { formatTime } from '../../domain/text/format.ts';
import { checkFile, type FileReport } from '../../store/backup/integrity-check.ts';
import { refuseOtherNetwork } from '../../store/file/file-guards.ts';
import {
  databasePath,
  type FileOptions,
  fileCommand,
  fileName,
  networkNamed,
  print,
  table,
} from '../command.ts';
import { becomeOwner } from './file-owner.ts';

export function checkCommand(): Command {
  return fileCommand('check', 'check a database or a backup, without changing it')
    .argument('[file]', 'the file to check (default: the database)', fileName)
    .option('--quick', 'do not compare indexes with tables: a tenth of the time')
    .action((file: string | undefined, given: FileOptions & { quick?: boolean }) => {
      const network = networkNamed(given);
      const depth = given.quick ? 'quick_check' : 'integrity_check';
      const report = checkFile(becomeOwner(file ?? databasePath(given)), depth);
      refuseOtherNetwork(report.file, report.network, network);
      print(given, report, () => describe(report));
      if (!report.ok) process.exitCode = 1;
    });
}

export function describe(report: FileReport): string {
  const { counts, wallets, faults, schema } = report;
  const summary = [
    ['file', report.file],
    ['state', report.ok ? 'intact' : `DAMAGED: ${faults.join('; ')}`],
    ['network', report.network ?? '-'],
    [
      'schema',
      schema.migrations === schema.newest ? 'up to date' : 'older; updated when serve opens it',
    ],
    [
      'last issued',
      report.last_issued_at === null ? '-' : formatTime(report.last_issued_at * 1000),
    ],
    ['stores', String(counts.stores)],
    ['addresses', String(counts.addresses)],
    ['payments', String(counts.payments)],
    ['callbacks pending', String(counts.callbacks_owed)],
  ];
  if (wallets.length === 0) return table(summary);
  const lines = wallets.map(({ id, script, last_index, next_index }) => [
    String(id),
    script,
    last_index === null ? '-' : String(last_index),
    String(next_index),
  ]);
  return `${table(summary)}\n\n${table([['wallet', 'script', 'last index', 'next'], ...lines])}`;
}
