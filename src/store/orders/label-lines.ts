// The labels of orders as a file of JSON Lines (BIP-329), page by page.

import { addressLabel } from '../../domain/store/address-label.ts';
import { pagesOf, type ReadPage } from '../../lib/row-pages.ts';
import type { OrderRow, OrderView } from './order-view.ts';

export const labelFile = { name: 'labels.jsonl', type: 'text/plain' } as const;

export async function* labelLines(
  orderView: Pick<OrderView, 'record'>,
  read: ReadPage<OrderRow>,
): AsyncGenerator<string, void> {
  for await (const rows of pagesOf(read)) {
    const labels = rows.map((row) => {
      const { address } = orderView.record(row).details;
      return addressLabel({ publicId: row.publicId, reference: row.reference, address });
    });
    yield labels.map((label) => `${JSON.stringify(label)}\n`).join('');
  }
}
