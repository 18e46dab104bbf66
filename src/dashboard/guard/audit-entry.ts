// Writes actions of the dashboard with their client address to the audit log, in the transaction of
// the action. It never writes a secret.

import type { OperatorChange } from '../../store/access/audit.ts';
import type { Tx } from '../../store/db/writer.ts';
import type { PageRequest } from '../page.ts';
import { clientOf } from './dashboard-session.ts';

export const recordChange = (request: PageRequest, tx: Tx, ...change: OperatorChange): void =>
  request.parts.records.audit.noteChange(tx, request.now, clientOf(request), ...change);
