// Replaces src/api/orders/order-operations.ts in the peer of `orders-64`: one operation, which reads any
// JSON, makes nothing and answers constant JSON of the size of an order.

import { z } from 'zod';
import { operation } from '../../src/api/operation.ts';

const answer = {
  id: 'ord_0000000000000000000000',
  address: 'bcrt1q0000000000000000000000000000000000000',
  rest: 'x'.repeat(900),
};

export const orderOperations = () => [
  operation({
    tag: 'Orders',
    methods: ['POST'],
    path: '/v3/orders',
    summary: 'Constant JSON',
    limit: 'newAddress',
    body: z.looseObject({}),
    answer: z.any(),
    run: () => answer,
  }),
];
