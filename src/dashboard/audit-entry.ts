// What was done in the dashboard, and from where, in the audit log, in the transaction that did it. Never a secret.

import type { Tx } from '../store/db/writer.ts';
import { clientOf } from './dashboard-session.ts';
import type { Visit } from './page.ts';

export function note(
  visit: Visit,
  tx: Tx,
  action: string,
  detail: Readonly<Record<string, unknown>> = {},
  storeId: number | null = null,
): void {
  const { parts, now } = visit;
  const known = { ...detail, client: clientOf(visit) };
  parts.store.audit.note(tx, now, { keyId: null, storeId, action, detail: known });
}
