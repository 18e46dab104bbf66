// Settings of the file that paygate writes for itself.

import type { Catalog } from './catalog.ts';
import type { Tx } from './database.ts';

/** When the file was last found to be a copy of another one, epoch milliseconds; 0 for never. */
export const copiedAt = (catalog: Catalog): number => Number(catalog.setting('copied_at') ?? 0);

export const noteCopied = (tx: Tx, catalog: Catalog, now: number): void =>
  catalog.putSetting(tx, 'copied_at', String(now));
