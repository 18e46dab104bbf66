// What was learnt about the TLS identity of Electrum servers (rules §2), across restarts.

import { eq } from 'drizzle-orm';
import type { Database } from './database.ts';
import { servers } from './schema.ts';

/** `valid`: it once had a certificate that validates, so it needs one; else the pinned one. */
export type ServerTrust =
  | { readonly kind: 'valid' }
  | { readonly kind: 'pinned'; readonly sha256: string };

export interface Pins {
  get(label: string): ServerTrust | undefined;
  learn(label: string, trust: ServerTrust, now: number): Promise<void>;
}

export function createPins(database: Database): Pins {
  return {
    get(label) {
      const row = database.orm.select().from(servers).where(eq(servers.label, label)).get();
      if (row === undefined) return undefined;
      return row.trust === 'pinned' && row.pinSha256 !== null
        ? { kind: 'pinned', sha256: row.pinSha256 }
        : { kind: 'valid' };
    },
    learn: (label, trust, now) =>
      database.write(() => {
        const fields = {
          trust: trust.kind,
          pinSha256: trust.kind === 'pinned' ? trust.sha256 : null,
          learnedAt: now,
        };
        database.orm
          .insert(servers)
          .values({ label, ...fields })
          .onConflictDoUpdate({ target: servers.label, set: fields })
          .run();
      }),
  };
}
