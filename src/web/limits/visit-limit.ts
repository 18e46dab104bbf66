// Limits the requests of strangers for what needs no key and no session: the documentation, static
// files, pages for signing in, the state of paygate. It is asked before any work is done. Pages for
// customers, prices and lookups have limits of their own.

import type { Context } from 'hono';
import type { Proxies } from '../../domain/access/client-address.ts';
import type { Rate } from '../../domain/access/rate-limit.ts';
import { createLimits } from './request-limits.ts';
import { clientNetworkOf } from './request-origin.ts';

const rates = {
  page: { perMinute: 60, burst: 60 },
  /** Readers of other pages behind the same address must not keep the owner out. */
  signIn: { perMinute: 60, burst: 60 },
  /** Pages that need a session, which lead to the sign-in. */
  locked: { perMinute: 300, burst: 300 },
  /** Browsers store them; the first page of the dashboard has four. */
  file: { perMinute: 120, burst: 120 },
  /** A monitor may ask for health and readiness once a second. */
  state: { perMinute: 120, burst: 120 },
} satisfies Record<string, Rate>;

/** Takes a request of the client. @throws PaygateError limited */
export type LimitVisit = (context: Context, what: keyof typeof rates) => void;

/** @param monotonic milliseconds */
export function createVisitLimit(proxies: Proxies, monotonic: () => number): LimitVisit {
  const limits = createLimits(rates, monotonic);
  return (context, what) => limits.take(what, clientNetworkOf(context, proxies));
}
