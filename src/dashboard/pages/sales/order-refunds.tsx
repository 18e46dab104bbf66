// The refunds of an order, on its page.

import { sumSat } from '../../../domain/payment/money.ts';
import { Amount, Pill, Short, Time } from '../../../web/values.tsx';
import { RowTable } from '../../parts/layout.tsx';
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
      <RowTable
        label="Refunds"
        rows={rows}
        columns={[
          ['Amount', ({ amountSat }) => <Amount sat={amountSat} />, 'number'],
          ['State', ({ doneAt }) => <Pill word={doneAt === null ? prepared : sent} />],
          ['Time', ({ doneAt, createdAt }) => <Time at={doneAt ?? createdAt} />],
          ['Address', ({ address }) => <code class="selectable">{address}</code>],
          ['Transaction', ({ txid }) => (txid === null ? null : <Short text={txid} />)],
          ['Fee', ({ feeSat }) => <Amount sat={feeSat} />, 'number'],
        ]}
      />
      <p>
        Refunded: <Amount sat={sumSat(done.map(({ amountSat }) => amountSat))} />
      </p>
    </>
  );
};
