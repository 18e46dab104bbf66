// Webhook events in rows: of all orders, or of one.

import type { ListedEvent } from '../../../store/delivery/event-view.ts';
import { Pill, Time } from '../../../web/values.tsx';
import { base } from '../../page.ts';
import { RowTable } from '../../parts/layout.tsx';
import { deliveryState, responseText } from './delivery-parts.tsx';

interface EventTableProps {
  readonly label: string;
  /** The head of the types. */
  readonly head: string;
  readonly rows: readonly ListedEvent[];
}

export const EventTable = ({ label, head, rows }: EventTableProps) => (
  <RowTable
    label={label}
    rows={rows}
    href={(row) => `${base}/events/${row.id}`}
    columns={[
      [head, (row) => row.type],
      ['State', (row) => <Pill {...deliveryState(row)} />],
      ['Created', (row) => <Time at={row.createdAt} />],
      ['Last response', responseText],
      ['Attempts', (row) => row.attemptCount, 'number'],
    ]}
  />
);
