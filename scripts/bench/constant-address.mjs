// Replaces src/api/new-address.ts in the peer of `new_address-64`: the same operation, which issues
// nothing and answers constant JSON.

import { z } from 'zod';
import { operation } from '../../src/api/operation.ts';

const answer = {
  address: 'bcrt1q0000000000000000000000000000000000000',
  time: 1_700_000_000,
  crypto: 'BTC',
  account: 'x'.repeat(111),
};

export const newAddress = () =>
  operation({
    tag: 'Addresses',
    methods: ['GET', 'POST'],
    path: '/new_address',
    summary: 'Constant JSON',
    limit: 'newAddress',
    answer: z.any(),
    run: () => answer,
  });
