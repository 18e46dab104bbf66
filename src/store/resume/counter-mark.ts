// The high-water mark of an open database. Before `begin`, it records nothing and has no floors.

import type { Raise } from '../../domain/store/allocation.ts';
import type { World } from '../../world/world.ts';
import { type HighWaterMark, openHighWaterMark } from '../mark/high-water-mark.ts';
import type { Records } from '../open-records.ts';
import { newestEvent } from './order-progress.ts';
import { resumeCounters } from './resume.ts';

export class CounterMark {
  #file: HighWaterMark | undefined;
  #floors: ReadonlyMap<string, number> = new Map();

  /** Brings the counters to where they go on. @throws PaygateError if the mark file is unusable */
  async begin(records: Records, world: Pick<World, 'now' | 'log'>): Promise<void> {
    this.#file = openHighWaterMark(records.database.path, records.instance);
    this.#floors = await resumeCounters(records, this.#file, world);
  }

  /** To call before the commit that raises the counters. */
  raise(raises: readonly Raise[]): void {
    this.#file?.raise(raises);
  }

  floorOf(wallet: string): number {
    return this.#floors.get(wallet) ?? 0;
  }

  /** To call before the file is closed. */
  noteEvents(records: Records): void {
    try {
      this.#file?.noteEvent(newestEvent(records)?.id ?? 0);
    } catch {
      // The file can't be read: the next start judges by the addresses alone.
    }
  }

  close(): void {
    this.#file?.close();
  }
}
