// The labels of orders for the merchant's own wallet (docs/orders.md).

import * as z from 'zod';
import { addressLabel } from '../../domain/store/address-label.ts';
import { labelFile, labelLines } from '../../store/orders/label-lines.ts';
import { fileResponse } from '../../web/file-response.ts';
import type { ApiOptions } from '../api-parts.ts';
import { storeIdOf } from '../listed.ts';
import { type Operation, operation } from '../operation.ts';
import { id } from '../store-list.ts';

const exampleLine = JSON.stringify(
  addressLabel({
    publicId: 'ord_3yQ8tZr6WmB1nK5vXc2dLp',
    reference: '1007',
    address: 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4',
  }),
);

export const labelOperations = ({ records }: Pick<ApiOptions, 'records'>): Operation[] => [
  operation({
    tag: 'Orders',
    name: 'listLabels',
    methods: ['GET'],
    path: '/v3/labels',
    summary: 'Labels of all orders for a wallet (BIP-329): one JSON object a line',
    isText: true,
    query: z.object({ store_id: id.optional().describe('Only of this store') }),
    answer: z.string().meta({ examples: [`${exampleLine}\n`] }),
    run({ query, key }) {
      const storeId = storeIdOf(records, key, query.store_id);
      const lines = labelLines(records.orderView, (place) => ({
        rows: records.orderView.list({ storeId, ...place }),
      }));
      return fileResponse(labelFile.name, labelFile.type, lines);
    },
  }),
];
