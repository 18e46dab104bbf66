// Checks one snapshot a day. A damaged one is stored beside the last good one and never replaces
// it. Otherwise damage in a page that no query reads would be in every copy after a week.

import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { quoteForShell } from '../../domain/text/format.ts';
import { PaygateError, reasonOf } from '../../lib/errors.ts';
import { backupFolder, damagedName, latestName, replaceCopy, restoreLine } from '../file/backup.ts';

/**
 * The faults of a copy that no other process has open.
 * @throws if the copy cannot be checked, or the signal aborts
 */
export type CopyCheck = (path: string, signal: AbortSignal) => Promise<readonly string[]>;

export interface DailyCheckOptions {
  /** Beside the event loop, for it takes long. Without it nothing is looked through. */
  readonly check?: CopyCheck | undefined;
  readonly onDamaged?: (warning: string) => void;
}

/** That says nothing of the copy. */
export class Unchecked extends PaygateError {}

/** A copy is written under it before it is looked through. */
export const uncheckedName = '.latest.db-unchecked';

export class DailyCheck {
  readonly #path: string;
  readonly #folder: string;
  readonly #options: DailyCheckOptions;
  readonly #stopping = new AbortController();
  #damage: string | undefined;
  /** The day of the last look that came to an end. */
  #lookedOn: string | undefined;
  #isLooking = false;

  constructor(path: string, options: DailyCheckOptions) {
    this.#path = path;
    this.#folder = backupFolder(path);
    this.#options = options;
    // A restart knows it by the file: what that is of may be damaged still.
    if (options.check !== undefined && existsSync(this.#damaged)) {
      this.#damage = damageOf(path, 'found before the start');
    }
  }

  get #damaged(): string {
    return join(this.#folder, damagedName);
  }

  get isLooking(): boolean {
    return this.#isLooking;
  }

  /** That the last one which was looked through is damaged, and what to do. */
  get damage(): string | undefined {
    return this.#damage;
  }

  get target(): string {
    return this.#damage === undefined ? join(this.#folder, latestName) : this.#damaged;
  }

  /** @param day a file's name; there is none of a day before a whole copy of it */
  isDue(day: string): boolean {
    if (this.#options.check === undefined) return false;
    if (this.#damage !== undefined) return this.#lookedOn !== day;
    return !existsSync(join(this.#folder, day));
  }

  /**
   * Whether a fresh copy is whole: then it is the latest. @throws Unchecked once it stands where
   * others do
   */
  async pass(day: string): Promise<boolean> {
    const fresh = join(this.#folder, uncheckedName);
    const [fault] = await this.#look(fresh).catch((error) => {
      if (!this.#stopping.signal.aborted) replaceCopy(fresh, this.target);
      const reason = `the last snapshot was taken, but could not be checked: ${reasonOf(error)}`;
      throw new Unchecked('unavailable', reason);
    });
    this.#lookedOn = day;
    const wasWhole = this.#damage === undefined;
    this.#damage = fault === undefined ? undefined : damageOf(this.#path, fault);
    replaceCopy(fresh, this.target);
    if (this.#damage === undefined) rmSync(this.#damaged, { force: true });
    else if (wasWhole) this.#options.onDamaged?.(this.#damage);
    return this.#damage === undefined;
  }

  stop(): void {
    this.#stopping.abort();
  }

  async #look(fresh: string): Promise<readonly string[]> {
    // A file with a WAL and an index beside it is read in place, and not copied again.
    const besides = ['-wal', '-shm'].map((end) => `${fresh}${end}`);
    this.#isLooking = true;
    try {
      for (const beside of besides) writeFileSync(beside, '', { mode: 0o600 });
      return (await this.#options.check?.(fresh, this.#stopping.signal)) ?? [];
    } finally {
      this.#isLooking = false;
      for (const beside of besides) rmSync(beside, { force: true });
    }
  }
}

/** As somebody reads it who has the folder of the database before him: others read it as well. */
function damageOf(path: string, fault: string): string {
  const folder = relative(dirname(path), backupFolder(path));
  const restore = restoreLine(quoteForShell(join(folder, latestName)), basename(path));
  return (
    `the last snapshot that was checked is DAMAGED (${fault}), and so may the database be: ${join(folder, latestName)} and those ` +
    `of days stay as they are, newer copies go to ${join(folder, damagedName)}. Stop paygate, then put the newest intact copy ` +
    `in place, in the folder of the database, with \`${restore}\`, or a daily copy if that is refused`
  );
}
