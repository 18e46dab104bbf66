// Writes actions of the dashboard with their client address to the audit log, in the transaction of
// the action. It never writes a secret.

import type { Tx } from '../store/db/writer.ts';
import { clientOf } from './dashboard-session.ts';
import type { PageRequest } from './page.ts';

export function recordAudit(
  request: PageRequest,
  tx: Tx,
  action: string,
  detail: Readonly<Record<string, unknown>> = {},
  storeId: number | null = null,
): void {
  const { parts, now } = request;
  const entry = { ...detail, client: clientOf(request) };
  parts.store.audit.note(tx, now, { keyId: null, storeId, action, detail: entry });
}
