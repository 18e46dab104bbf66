// What the demo shop reads of the paygate API, and its client: HTTP with an API key, as in any
// shop.

import * as z from 'zod';
import { PaygateError, reasonOf } from '../../lib/errors.ts';
import type { World } from '../../world/world.ts';

const timeoutMs = 5_000;

const order = z.object({
  id: z.string(),
  version: z.int(),
  status: z.enum(['open', 'processing', 'paid', 'expired', 'canceled']),
  late: z.boolean(),
  amount_sat: z.int(),
  received_sat: z.int(),
  missing_sat: z.int().nullable(),
  excess_sat: z.int(),
  address: z.string(),
  page_url: z.string(),
  reference: z.string().nullable(),
  expires_at: z.int().nullable(),
});

/** An order, as of its `version`. */
export type Order = z.infer<typeof order>;

export const event = z.object({
  type: z.string(),
  data: z.object({ order: order.optional() }),
});

export interface PaygateClient {
  /** @throws PaygateError unavailable */
  createOrder(fields: Readonly<Record<string, unknown>>): Promise<Order>;
  close(): Promise<void>;
}

interface Account {
  readonly origin: string;
  readonly apiKey: string;
  /** The key may be for several stores. */
  readonly storeId: number;
}

export function createPaygateClient(
  world: Pick<World, 'http' | 'resolve'>,
  { origin, apiKey, storeId }: Account,
): PaygateClient {
  const client = world.http({ origin, resolver: world.resolve, connectTimeoutMs: timeoutMs });
  return {
    async createOrder(fields) {
      try {
        const { statusCode, body } = await client.request({
          method: 'POST',
          path: '/api/v3/orders',
          headers: { authorization: `Bearer ${apiKey}` },
          body: JSON.stringify({ ...fields, store_id: storeId }),
          headersTimeout: timeoutMs,
          bodyTimeout: timeoutMs,
        });
        const text = await body.text();
        if (statusCode !== 200) throw new Error(`it answered ${statusCode}: ${text.slice(0, 200)}`);
        return order.parse(JSON.parse(text));
      } catch (error) {
        throw new PaygateError('unavailable', `paygate does not answer: ${reasonOf(error)}`);
      }
    },
    close: () => client.destroy(),
  };
}
