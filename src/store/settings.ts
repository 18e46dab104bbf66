// Settings of the file that paygate writes for itself.

import type { Catalog } from './catalog.ts';
import type { Tx } from './database.ts';

/** When the file was last found to be a copy of another one, epoch milliseconds; 0 for never. */
export const copiedAt = (catalog: Catalog): number => Number(catalog.setting('copied_at') ?? 0);

export const noteCopied = (tx: Tx, catalog: Catalog, now: number): void =>
  catalog.putSetting(tx, 'copied_at', String(now));

/** When a shop first answered a test callback well, epoch milliseconds; undefined for never. */
export function testedAt(catalog: Pick<Catalog, 'setting'>): number | undefined {
  const text = catalog.setting('callback_tested_at');
  return text === undefined ? undefined : Number(text);
}

export const noteTested = (tx: Tx, catalog: Pick<Catalog, 'putSetting'>, now: number): void =>
  catalog.putSetting(tx, 'callback_tested_at', String(now));
