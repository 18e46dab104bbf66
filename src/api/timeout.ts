// Limits how long a client waits for work that needs an Electrum server. The work goes on, so that
// a repeated request finds its result, or finds it nearer.

import { PaygateError } from '../lib/errors.ts';
import type { ApiOptions } from './api-parts.ts';

const timeoutMs = 5_000;
const retryAfterSeconds = 5;

export const retryLaterError = (): PaygateError =>
  new PaygateError('unavailable', 'The chain is being searched for this; ask again in a moment', {
    retryAfterSeconds,
  });

/** @throws PaygateError unavailable when the work takes longer than the timeout */
export function withTimeout<T>({ after }: Pick<ApiOptions, 'after'>, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = after(timeoutMs, () => reject(retryLaterError()));
    work.then(resolve, reject).finally(cancel);
  });
}
