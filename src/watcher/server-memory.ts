// What the pool remembers of servers, in the file. While the clock of the machine is wrong, no certificate
// is learnt: whether it is valid depends on the time (rules §5).

import type { ServerMemory } from '../electrum/pool.ts';
import type { Servers } from '../store/records/server-records.ts';

export interface ServerMemoryParts {
  readonly servers: Servers;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly isClockWrong: () => boolean;
}

export const createServerMemory = ({
  servers,
  now,
  isClockWrong,
}: ServerMemoryParts): ServerMemory => ({
  trust: (label) => servers.trust(label),
  async learn(label, trust) {
    if (!isClockWrong()) await servers.learn(label, trust, now());
  },
  ban: (label) => servers.ban(label),
  setBan: (label, ban) => servers.setBan(label, ban, now()),
});
