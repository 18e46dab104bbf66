// Webhook events in rows: of all orders, or of one.

import type { ListedEvent } from '../../../store/delivery/event-view.ts';
import { Pill, Time } from '../../../web/values.tsx';
import { base } from '../../page.ts';
import { Table } from '../../parts/layout.tsx';
import { deliveryState, responseText } from './delivery-state.ts';

interface EventTableProps {
  readonly label: string;
  /** The head of the types. */
  readonly head: string;
  readonly rows: readonly ListedEvent[];
}

export const EventTable = ({ label, head, rows }: EventTableProps) => (
  <Table
    label={label}
    heads={[head, 'State', 'Created', 'Last response', { number: 'Attempts' }]}
    isList
  >
    {rows.map((row) => (
      <tr>
        <td>
          <a class="whole" href={`${base}/events/${row.id}`}>
            {row.type}
          </a>
        </td>
        <td>
          <Pill {...deliveryState(row)} />
        </td>
        <td>
          <Time at={row.createdAt} />
        </td>
        <td>{responseText(row)}</td>
        <td class="number">{row.attemptCount}</td>
      </tr>
    ))}
  </Table>
);
