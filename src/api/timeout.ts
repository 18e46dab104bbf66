// Limits how long a client waits for work that needs an Electrum server. The work goes on, so that
// a repeated request finds its result, or finds it nearer.

import { withDeadline } from '../lib/deadline.ts';
import { PaygateError } from '../lib/errors.ts';
import type { ApiOptions } from './api-parts.ts';

const timeoutMs = 5_000;
const retryAfterSeconds = 5;

export const retryLaterError = (): PaygateError =>
  new PaygateError('unavailable', 'The chain is being searched for this; ask again in a moment', {
    retryAfterSeconds,
  });

/** @throws PaygateError unavailable when the work takes longer than the timeout */
export const withTimeout = <T>(options: Pick<ApiOptions, 'after'>, work: Promise<T>): Promise<T> =>
  withDeadline(options, timeoutMs, work, () => Promise.reject(retryLaterError()));
