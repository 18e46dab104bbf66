// Stops issuing while the disk is almost full or the database file is not in its place, because
// commits are lost then. It checks once per turn of the event loop: requests come by dozens.

import { basename, dirname, join, relative } from 'node:path';
import { quoteForShell } from '../../domain/text/format.ts';
import { PaygateError } from '../../lib/errors.ts';
import { oncePerTurn } from '../../lib/next-turn.ts';
import { minFreeBytes } from '../../world/disk.ts';
import { backupFolder, latestName, restoreLine } from './backup.ts';
import type { Database } from './database.ts';

export type IssuingGuard = ReturnType<typeof createIssuingGuard>;

/**
 * Create it after the counters of the file were resumed.
 * @param isSetBack whether a counter is lower than at the last call
 */
export function createIssuingGuard(database: Database, isSetBack: () => boolean) {
  // The first call records the counters.
  isSetBack();
  const displaced = oncePerTurn(() => displacementOf(database));
  const overwritten = oncePerTurn(() => {
    try {
      return isSetBack() ? overwrittenFact : undefined;
    } catch {
      // A file that cannot be read fails the request that reads it.
      return undefined;
    }
  });
  // The free space of a folder that is gone is unknown.
  const hasRoom = oncePerTurn(
    () => displaced() !== undefined || database.freeBytes() >= minFreeBytes,
  );
  const latest = relative(dirname(database.path), join(backupFolder(database.path), latestName));
  const name = basename(database.path);
  const inPlace = `in place, in the folder of the database, with \`${restoreLine(quoteForShell(latest), name)}\``;
  return {
    hasRoom: hasRoom,
    displaced,
    overwritten,
    refused: (): string | undefined => database.refused(),
    warnings(): string[] {
      const lost = displaced();
      if (lost !== undefined) {
        return [
          `${lost}: no address is issued. Stop paygate, which saves a complete copy as ${latest}, then put that ${inPlace}`,
        ];
      }
      const older = overwritten();
      if (older === undefined) return [];
      return [
        `${older}: no address is issued, and no snapshot taken. Stop paygate, then put the last snapshot ${inPlace}`,
      ];
    },
    /** @throws PaygateError unavailable while no address is issued */
    check(): void {
      if (displaced() !== undefined) {
        throw refusal('The database file is not in its place: /healthz says what to do');
      }
      if (!hasRoom()) throw refusal('The disk is almost full: free some room for paygate');
    },
  };
}

/** Without the path, because /healthz is public. */
function displacementOf(database: Database): string | undefined {
  const place = database.place();
  if (place === 'ours') return undefined;
  return `${faults[place](basename(database.path))} while paygate runs`;
}

const faults = {
  empty: (name: string) => `${name} was deleted or moved away`,
  taken: (name: string) => `another file was put in the place of ${name}`,
  logless: (name: string) => `${name}-wal, its write-ahead log, was deleted or moved away`,
};

const overwrittenFact =
  'the database has lost records: an older copy replaced it while paygate runs';

const refusal = (text: string): PaygateError =>
  new PaygateError('unavailable', text, { retryAfterSeconds: 60 });
