// Writes actions of the dashboard with their person and client address to the audit log, in the
// transaction of the action. It never writes a secret.

import type { AuditAction, AuditEntry } from '../../store/access/audit.ts';
import type { Tx } from '../../store/db/writer.ts';
import { clientAddressOf } from '../../web/limits/request-origin.ts';
import type { PageRequest } from '../page.ts';

export const clientOf = ({ context, parts }: PageRequest): string =>
  clientAddressOf(context, parts.proxies);

export function recordChange(
  request: PageRequest,
  tx: Tx,
  action: AuditAction,
  detail: AuditEntry['detail'] = {},
  storeId: number | null = null,
): void {
  const { audit } = request.parts.records;
  const named = { ...detail, person: request.account.person()?.name };
  audit.noteChange(tx, request.now, clientOf(request), action, named, storeId);
}
