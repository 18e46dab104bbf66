// Limits lookups without a key. A customer asks about the address of their own order; a stranger who asks about every output
// of a block would learn all that the shop receives. A line that asked about too many foreign addresses gets 429 for ours as
// well: a 429 for the foreign ones alone would show which are ours.

import type { Context } from 'hono';
import { networkPrefix48, type Proxies } from '../domain/client-address.ts';
import { PaygateError } from '../lib/errors.ts';
import type { Logger } from '../world/world.ts';
import { createRefusalLog } from './refused-requests.ts';
import type { Limits } from './request-limits.ts';
import { clientAddressOf } from './request-origin.ts';

/** Does a lookup that needs no key. @throws PaygateError limited, and what `look` throws */
export type LimitedLookup = <T>(context: Context, path: string, look: () => T) => T;

interface LookupLimitParts {
  readonly limits: Limits;
  readonly proxies: Proxies;
  readonly log: Logger;
  readonly monotonic: () => number;
}

export function createLookupLimit({
  limits,
  proxies,
  log,
  monotonic,
}: LookupLimitParts): LimitedLookup {
  const refusals = createRefusalLog(log, monotonic);
  return (context, path, look) => {
    const client = clientAddressOf(context, proxies);
    const line = networkPrefix48(client);
    const note = (reason: string) => refusals.note({ client, path, reason, key: undefined });
    try {
      limits.require('unknownAddress', line);
      return look();
    } catch (error) {
      const code = error instanceof PaygateError ? error.code : undefined;
      if (code === 'not_found') {
        limits.take('unknownAddress', line);
        note('an address or a payment that is not ours');
      }
      if (code === 'limited') note('too many addresses that are not ours');
      throw error;
    }
  };
}
