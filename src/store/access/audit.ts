// The audit log: what was changed through the API, in the dashboard or by a command, by whom, and
// when. Rows are added, and stay for ever. Only of an API key, which a thief may hold, the newest
// stay.

import { desc, lt, sql } from 'drizzle-orm';
import { type Orm, placeholder, prepared } from '../db/orm.ts';
import type { Tx } from '../db/writer.ts';
import { audit } from '../schema/schema.ts';

export type AuditRow = typeof audit.$inferSelect;

/** What can be done. The dashboard has a sentence for each (audit-sentences.ts). */
export type AuditAction =
  | 'admin.link'
  | 'alarm.dismiss'
  | 'backup.download'
  | 'backup.make'
  | 'branch.follow'
  | 'callback.resend'
  | 'callback.resend-doubtful'
  | 'callback.resend-failed'
  | 'callback.test'
  | 'event.resend'
  | 'event.resend-failed'
  | 'key.add'
  | 'key.reveal'
  | 'key.revoke'
  | 'key.rotate'
  | 'link.add'
  | 'link.change'
  | 'notify.mail'
  | 'notify.mail-off'
  | 'notify.recipients'
  | 'notify.reveal-secret'
  | 'order.accept'
  | 'order.cancel'
  | 'order.change'
  | 'order.forget'
  | 'order.refund'
  | 'order.refund-discard'
  | 'order.refund-sent'
  | 'passkey.add'
  | 'passkey.remove'
  | 'passkey.rename'
  | 'password.set'
  | 'plugin.allow'
  | 'plugin.shut'
  | 'recovery-code.use'
  | 'recovery-codes.new'
  | 'secret.reveal'
  | 'secret.rotate'
  | 'server.accept'
  | 'server.forget'
  | 'server.lift_ban'
  | 'session.end'
  | 'session.end-others'
  | 'store.add'
  | 'store.attach'
  | 'store.lightning'
  | 'store.lightning-off'
  | 'store.change'
  | 'store.detach'
  | 'store.rehearse'
  | 'store.remove'
  | 'webhook.add'
  | 'webhook.change'
  | 'webhook.remove'
  | 'store.restore'
  | 'till.add'
  | 'till.change'
  | 'till.code'
  | 'till.pair'
  | 'till.remove'
  | 'totp.off'
  | 'totp.on'
  | 'zone.set'
  | 'viewer.add'
  | 'viewer.link'
  | 'viewer.remove'
  | 'wallet.recheck-used';

export interface AuditEntry {
  /** Null for the dashboard, and for a command, whose `client` is `command`. */
  readonly keyId: number | null;
  readonly action: AuditAction;
  readonly storeId: number | null;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** What an operator changed: the action, the values that were set, the store. Never a secret. */
export type OperatorChange = readonly [
  action: AuditAction,
  detail?: AuditEntry['detail'],
  storeId?: number | null,
];

/** The newest changes of one API key that stay: at most some 20 MB. */
export const maxOfKey = 10_000;

export const commandClient = 'command';

/** The name of a person; `dashboard` for the device of a till and the link of a mail. */
export function actorOf({ keyId, detail }: Pick<AuditRow, 'keyId' | 'detail'>): string {
  if (keyId !== null) return `API key ${keyId}`;
  const { client, person } = JSON.parse(detail) as Readonly<Record<string, unknown>>;
  if (client === commandClient) return 'command';
  return typeof person === 'string' ? person : 'dashboard';
}

export interface Audit {
  note(tx: Tx, now: number, entry: AuditEntry): void;
  noteChange(tx: Tx, now: number, client: string, ...change: OperatorChange): void;
  list(limit: number, beforeId?: number): AuditRow[];
}

export function createAudit(orm: Orm): Audit {
  const forgetOldest = prepareForgetOldest(orm);
  function note(_tx: Tx, now: number, { detail, ...entry }: AuditEntry): void {
    orm
      .insert(audit)
      .values({ ...entry, at: now, detail: JSON.stringify(detail) })
      .run();
    if (entry.keyId !== null) forgetOldest.run({ keyId: entry.keyId });
  }
  return {
    note,
    noteChange: (tx, now, client, action, detail = {}, storeId = null) =>
      note(tx, now, { keyId: null, action, storeId, detail: { ...detail, client } }),
    list: (limit, beforeId) =>
      orm
        .select()
        .from(audit)
        .where(beforeId === undefined ? undefined : lt(audit.id, beforeId))
        .orderBy(desc(audit.id))
        .limit(limit)
        .all(),
  };
}

const prepareForgetOldest = (orm: Orm) =>
  prepared(() =>
    orm.delete(audit).where(
      sql`${audit.keyId} = ${placeholder('keyId')} and ${audit.id} <= (select id from audit
        where key_id = ${placeholder('keyId')} order by id desc limit 1 offset ${sql.raw(String(maxOfKey))})`,
    ),
  );
