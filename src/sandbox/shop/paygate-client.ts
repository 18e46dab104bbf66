// The demo shop's client of the paygate API: HTTP with an API key, as in any shop.

import { z } from 'zod';
import { PaygateError, reasonOf } from '../../lib/errors.ts';
import type { World } from '../../world/world.ts';

const timeoutMs = 5_000;

const issued = z.object({ address: z.string() });
const payments = z.object({
  txs: z.array(z.object({ txid: z.string(), dropped: z.literal(true).optional() })),
});

export interface PaygateClient {
  /** @throws PaygateError unavailable */
  newAddress(): Promise<string>;
  /** Txids of dropped transactions to the address. @throws PaygateError unavailable */
  droppedTxids(address: string): Promise<ReadonlySet<string>>;
  close(): Promise<void>;
}

export function createPaygateClient(
  world: Pick<World, 'http' | 'resolve'>,
  { origin, apiKey }: { readonly origin: string; readonly apiKey: string },
): PaygateClient {
  const client = world.http({ origin, resolver: world.resolve, connectTimeoutMs: timeoutMs });

  async function get<T>(path: string, answer: z.ZodType<T>): Promise<T> {
    try {
      const { statusCode, body } = await client.request({
        method: 'GET',
        path,
        headers: { authorization: `Bearer ${apiKey}` },
        headersTimeout: timeoutMs,
        bodyTimeout: timeoutMs,
      });
      const text = await body.text();
      if (statusCode !== 200) throw new Error(`it answered ${statusCode}: ${text.slice(0, 200)}`);
      return answer.parse(JSON.parse(text));
    } catch (error) {
      throw new PaygateError('unavailable', `paygate does not answer: ${reasonOf(error)}`);
    }
  }

  return {
    newAddress: async () => (await get('/api/new_address', issued)).address,
    async droppedTxids(address) {
      const path = `/api/merchant/tx?addr=${encodeURIComponent(address)}`;
      const { txs } = await get(path, payments);
      return new Set(txs.flatMap(({ txid, dropped }) => (dropped ? [txid] : [])));
    },
    close: () => client.destroy(),
  };
}
