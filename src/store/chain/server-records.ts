// What was learnt of Electrum servers, across restarts: their TLS identity (rules §2), and the lies
// that they are left alone for.

import { and, asc, eq, isNotNull } from 'drizzle-orm';
import type { Ban, TlsIdentity } from '../../domain/payment/server-record.ts';
import { equals, prepared } from '../db/orm.ts';
import type { Tx } from '../db/writer.ts';
import type { Database } from '../file/database.ts';
import { servers } from '../schema/schema.ts';

export interface RememberedServer {
  readonly label: string;
  readonly trust: TlsIdentity | undefined;
  readonly ban: Ban | undefined;
}

export type Servers = ReturnType<typeof createServers>;

type ServerRow = typeof servers.$inferSelect;

export function createServers({ orm, write }: Pick<Database, 'orm' | 'write'>) {
  // Looked up with each block.
  const byLabel = prepared(() => orm.select().from(servers).where(equals(servers.label, 'label')));
  const find = (label: string): ServerRow | undefined => byLabel.get({ label });
  const put = (row: Partial<ServerRow> & Pick<ServerRow, 'label' | 'learnedAt'>): Promise<void> =>
    write(() => {
      const { label, ...set } = row;
      orm.insert(servers).values(row).onConflictDoUpdate({ target: servers.label, set }).run();
    });
  return {
    all: (): RememberedServer[] =>
      orm.select().from(servers).orderBy(asc(servers.label)).all().map(remembered),
    trust: (label: string): TlsIdentity | undefined => trustOf(find(label)),
    learn: (label: string, trust: TlsIdentity, now: number): Promise<void> =>
      put({
        label,
        trust: trust.kind,
        pinSha256: trust.kind === 'pinned' ? trust.sha256 : null,
        learnedAt: now,
      }),
    /** Pins what a person has accepted in place of what is known; false where nothing is. */
    accept: (_tx: Tx, label: string, sha256: string, now: number): boolean =>
      orm
        .update(servers)
        .set({ trust: 'pinned', pinSha256: sha256, learnedAt: now })
        .where(and(eq(servers.label, label), isNotNull(servers.trust)))
        .run().changes > 0,
    ban: (label: string): Ban | undefined => banOf(find(label)),
    setBan: (label: string, { until, reason }: Ban, now: number): Promise<void> =>
      put({ label, bannedUntil: until, banReason: reason, learnedAt: now }),
    liftBan: (_tx: Tx, label: string): boolean =>
      orm
        .update(servers)
        .set({ bannedUntil: null, banReason: null })
        .where(and(eq(servers.label, label), isNotNull(servers.bannedUntil)))
        .run().changes > 0,
    /** Forgets a server's certificate and ban: the next connection learns anew. */
    forget: (_tx: Tx, label: string): boolean =>
      orm.delete(servers).where(eq(servers.label, label)).run().changes > 0,
  };
}

const remembered = (row: ServerRow): RememberedServer => ({
  label: row.label,
  trust: trustOf(row),
  ban: banOf(row),
});

function trustOf(row: ServerRow | undefined): TlsIdentity | undefined {
  if (row === undefined || row.trust === null) return undefined;
  return row.trust === 'pinned' && row.pinSha256 !== null
    ? { kind: 'pinned', sha256: row.pinSha256 }
    : { kind: 'valid' };
}

function banOf(row: ServerRow | undefined): Ban | undefined {
  if (row === undefined || row.bannedUntil === null) return undefined;
  return { until: row.bannedUntil, reason: row.banReason ?? '' };
}
