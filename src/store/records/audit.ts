// What was changed through the API, by which key, or in the dashboard, and when. It is only ever added to.

import { desc, lt } from 'drizzle-orm';
import type { Orm } from '../db/orm.ts';
import { audit } from '../db/schema.ts';
import type { Tx } from '../db/writer.ts';

export type AuditRow = typeof audit.$inferSelect;

export interface AuditEntry {
  /** Null for what was done in the dashboard. */
  readonly keyId: number | null;
  /** What was done, such as `store.change`. */
  readonly action: string;
  readonly storeId: number | null;
  /** The values that were set, and from where (`client`). */
  readonly detail: Readonly<Record<string, unknown>>;
}

export interface Audit {
  note(tx: Tx, now: number, entry: AuditEntry): void;
  /** Newest first; only those older than a row's number, where one is given. */
  list(limit: number, beforeId?: number): AuditRow[];
}

export const createAudit = (orm: Orm): Audit => ({
  note(_tx, now, { detail, ...entry }) {
    orm
      .insert(audit)
      .values({ ...entry, at: now, detail: JSON.stringify(detail) })
      .run();
  },
  list: (limit, beforeId) =>
    orm
      .select()
      .from(audit)
      .where(beforeId === undefined ? undefined : lt(audit.id, beforeId))
      .orderBy(desc(audit.id))
      .limit(limit)
      .all(),
});
