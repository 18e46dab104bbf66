// What keeps every address from being issued, whoever asks: a disk that is almost full, a database file that was
// taken from its place, which is lost with the process. Looked at once a turn, for shops ask by dozens.

import { basename, dirname, join, relative } from 'node:path';
import { quoteForShell } from '../../domain/format.ts';
import { PaygateError } from '../../lib/errors.ts';
import { oncePerTurn } from '../../lib/next-turn.ts';
import { minFreeBytes } from '../../world/disk.ts';
import { backupFolder, latestName, restoreLine } from '../backup/backup.ts';
import type { Database } from './database.ts';

export interface IssuingGuard {
  hasRoom(): boolean;
  /** That the file which is open stands in its place no more; undefined while it does. */
  displaced(): string | undefined;
  /** That an older copy was put over the file which is open; undefined while none was. */
  overwritten(): string | undefined;
  /** That the disk refuses what is written; undefined while it does not. */
  refused(): string | undefined;
  /** That the file is not in its place or was overwritten, with what to do. */
  warnings(): string[];
  /** @throws PaygateError unavailable while no address is issued */
  check(): void;
}

/**
 * To be made when the counters of the file stand where it goes on.
 * @param isSetBack whether one of them is behind where it was when this was asked before
 */
export function createIssuingGuard(database: Database, isSetBack: () => boolean): IssuingGuard {
  // The first time it finds out where they stand.
  isSetBack();
  const displaced = oncePerTurn(() => displacementOf(database));
  const overwritten = oncePerTurn(() => {
    try {
      return isSetBack() ? overwrittenFact : undefined;
    } catch {
      // What cannot be read is told by who needs it.
      return undefined;
    }
  });
  // Of a folder that is gone nobody can say how much room it has.
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
    refused: () => database.refused(),
    warnings() {
      const lost = displaced();
      if (lost !== undefined) {
        return [
          `${lost}: no address is issued. Stop paygate, which saves all that it knows in ${latest}, then put that ${inPlace}`,
        ];
      }
      const older = overwritten();
      if (older === undefined) return [];
      return [
        `${older}: no address is issued, and no snapshot taken. Stop paygate, then put the last snapshot ${inPlace}`,
      ];
    },
    check() {
      if (displaced() !== undefined) {
        throw refusal('The database file is not in its place: /healthz says what to do');
      }
      if (!hasRoom()) throw refusal('The disk is almost full: free some room for paygate');
    },
  };
}

/** Without its path: /healthz tells anybody. */
function displacementOf(database: Database): string | undefined {
  const place = database.place();
  if (place === 'ours') return undefined;
  return `${faults[place](basename(database.path))} while paygate runs`;
}

const faults = {
  empty: (name: string) => `${name} was deleted or moved away`,
  taken: (name: string) => `another file was put in the place of ${name}`,
  logless: (name: string) => `${name}-wal, its log, was deleted or moved away`,
};

const overwrittenFact =
  'the database knows less than before: an older copy was put over it while paygate runs';

const refusal = (text: string): PaygateError =>
  new PaygateError('unavailable', text, { retryAfterSeconds: 60 });
