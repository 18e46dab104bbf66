// What was done in the dashboard, in the audit log, in the transaction that did it. Never a secret.

import type { Tx } from '../store/writer.ts';
import type { Visit } from './visit.ts';

export function note(
  { parts, now }: Visit,
  tx: Tx,
  action: string,
  detail: Readonly<Record<string, unknown>> = {},
  storeId: number | null = null,
): void {
  parts.store.audit.note(tx, now, { keyId: null, storeId, action, detail });
}
