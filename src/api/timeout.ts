// How long a client waits for what a server has to be asked for. The work goes on, so that the answer is
// there, or nearer, when the client comes back.

import { PaygateError } from '../lib/errors.ts';
import type { ApiOptions } from './api-parts.ts';

const timeoutMs = 5_000;
const retryAfterSeconds = 5;

export const retryLaterError = (): PaygateError =>
  new PaygateError('unavailable', 'The chain is being searched for this; ask again in a moment', {
    retryAfterSeconds,
  });

/** @throws PaygateError unavailable once the work takes longer than a client waits */
export function withTimeout<T>({ after }: Pick<ApiOptions, 'after'>, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = after(timeoutMs, () => reject(retryLaterError()));
    work.then(resolve, reject).finally(cancel);
  });
}
