// The machine's clock against what the file knows: the newest block of our chain.

import { clockFault } from '../domain/clock.ts';
import type { Headers } from './headers.ts';

/**
 * @param now epoch milliseconds
 * @param releasedAt when this paygate was released, epoch milliseconds
 * @returns what shows that the clock is wrong, in words
 */
export const clockFaultOf = (
  { headers }: { readonly headers: Pick<Headers, 'tipTime'> },
  now: number,
  releasedAt = 0,
): string | undefined => clockFault(now, { releasedAt, newestBlockTime: headers.tipTime() });
