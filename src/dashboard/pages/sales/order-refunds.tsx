// The refunds of an order, on its page.

import { sumSat } from '../../../domain/payment/money.ts';
import { Amount, Pill, Short, Time } from '../../../web/values.tsx';
import { Table } from '../../parts/layout.tsx';
import type { OrderProps } from './order-parts.ts';

const sent = { text: 'Sent', tone: 'good' } as const;
const prepared = { text: 'Prepared', tone: 'waiting' } as const;

export const OrderRefunds = ({ request, record }: OrderProps) => {
  const rows = request.parts.records.refunds.of(record.row.id);
  if (rows.length === 0) return null;
  const done = rows.filter(({ doneAt }) => doneAt !== null);
  return (
    <>
      <h2>Refunds</h2>
      <Table
        label="Refunds"
        heads={[{ number: 'Amount' }, 'State', 'Time', 'Address', 'Transaction', { number: 'Fee' }]}
      >
        {rows.map(({ amountSat, feeSat, doneAt, createdAt, address, txid }) => (
          <tr>
            <td class="number">
              <Amount sat={amountSat} />
            </td>
            <td>
              <Pill word={doneAt === null ? prepared : sent} />
            </td>
            <td>
              <Time at={doneAt ?? createdAt} />
            </td>
            <td>
              <code class="selectable">{address}</code>
            </td>
            <td>{txid === null ? null : <Short text={txid} />}</td>
            <td class="number">
              <Amount sat={feeSat} />
            </td>
          </tr>
        ))}
      </Table>
      <p>
        Refunded: <Amount sat={sumSat(done.map(({ amountSat }) => amountSat))} />
      </p>
    </>
  );
};
