// The audit log: what was changed through the API, in the dashboard or by a command, by whom, and
// when. Rows are only ever added.

import { desc, lt } from 'drizzle-orm';
import type { Orm } from '../db/orm.ts';
import { audit } from '../db/schema.ts';
import type { Tx } from '../db/writer.ts';

export type AuditRow = typeof audit.$inferSelect;

export interface AuditEntry {
  /** Null for the dashboard, and for a command, whose `client` is `command`. */
  readonly keyId: number | null;
  /** What was done, such as `store.change`. */
  readonly action: string;
  readonly storeId: number | null;
  /** The values that were set, and from where (`client`). */
  readonly detail: Readonly<Record<string, unknown>>;
}

/** The `client` of what a command changed. */
export const commandClient = 'command';

/** The actor: an API key, the dashboard, or a command of this machine. */
export function actorOf({ keyId, detail }: Pick<AuditRow, 'keyId' | 'detail'>): string {
  if (keyId !== null) return `API key ${keyId}`;
  const { client } = JSON.parse(detail) as { readonly client?: unknown };
  return client === commandClient ? 'command' : 'dashboard';
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
