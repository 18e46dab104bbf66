// Limits lookups without a key. A customer asks about the address of their own order. A client
// that asks about every output of a block would learn all payments of the shop. After too many
// foreign addresses, a network prefix gets 429 for our addresses, too. A 429 for foreign ones
// alone would show which addresses are ours.

import type { Context } from 'hono';
import type { Proxies } from '../../domain/access/client-address.ts';
import { PaygateError } from '../../lib/errors.ts';
import type { Logger } from '../../world/world.ts';
import { createRefusalLog } from './refused-requests.ts';
import type { Limits } from './request-limits.ts';
import { clientAddressOf, clientNetworkOf } from './request-origin.ts';

/** Runs a lookup that needs no key. @throws PaygateError limited, and what `look` throws */
export type LimitedLookup = <T>(context: Context, path: string, look: () => T) => T;

export function createLookupLimit({
  limits,
  proxies,
  log,
  monotonic,
}: {
  limits: Limits;
  proxies: Proxies;
  log: Logger;
  monotonic: () => number;
}): LimitedLookup {
  const refusals = createRefusalLog(log, monotonic);
  return (context, path, look) => {
    const client = clientAddressOf(context, proxies);
    const prefix = clientNetworkOf(context, proxies);
    const note = (reason: string) => refusals.note({ client, path, reason, key: undefined });
    try {
      limits.require('unknownAddress', prefix);
      return look();
    } catch (error) {
      const code = error instanceof PaygateError ? error.code : undefined;
      if (code === 'not_found') {
        limits.take('unknownAddress', prefix);
        note('an address or a payment that is not ours');
      }
      if (code === 'limited') note('too many addresses that are not ours');
      throw error;
    }
  };
}
