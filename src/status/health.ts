// The report of /healthz: whether all is well, and if not, each finding as a text that an operator
// can act on. Other clients see the status only (api/detail-access.ts).

import { createHash } from 'node:crypto';
import type { ChannelStatus } from '../delivery/dispatchers.ts';
import { verbOf } from '../domain/text/format.ts';
import type { ServerStatus } from '../electrum/pool.ts';
import { unixSeconds } from '../lib/time-units.ts';
import { version } from '../lib/version.ts';
import type { Records } from '../store/open-records.ts';
import { countText, currentFindings, type FindingParts, textOf } from './findings.ts';

/** One Electrum server; times are Unix seconds. */
export interface ServerHealth {
  readonly server: string;
  readonly state: string;
  readonly software?: string;
  readonly protocol?: string;
  readonly height?: number;
  readonly latency_ms?: number;
  readonly connected_since?: number;
  readonly certificate?: 'valid' | 'pinned';
  /** It shows another certificate than the known one; only a person can accept it. */
  readonly certificate_refused?: true;
  /** SHA-256 of the refused certificate, if it can be accepted. */
  readonly certificate_shown?: string;
  /** SHA-256 of the pinned certificate. */
  readonly pin?: string;
  /** Why it is not trusted although it is connected. */
  readonly doubt?: string;
  readonly banned_until?: number;
  readonly ban_reason?: string;
  readonly error?: string;
}

export interface HealthReport {
  readonly status: 'ok' | 'degraded';
  readonly warnings: readonly string[];
  readonly version: string;
  readonly network: string;
  /** Identifies the database; a copy has the same value as its original. */
  readonly database: string;
  readonly electrum: {
    readonly server: string | null;
    readonly caught_up: boolean;
    readonly height: number | null;
    readonly servers: readonly ServerHealth[];
  };
  readonly wallets: { readonly total: number; readonly scanning: number };
  /** Each number is at most 10,000. */
  readonly callbacks: { readonly owed: number; readonly exhausted: number };
}

/** The part for everybody: enough for a monitor, and to distinguish networks. */
export const publicHealth = ({ status, network }: HealthReport) => ({ status, network });

export function createHealth(parts: FindingParts): () => HealthReport {
  const { records, watcher } = parts;
  return () => {
    const watched = watcher.status();
    const { servers, server, caughtUp, tipHeight } = watched;
    const wallets = records.catalog.wallets();
    const warnings = currentFindings(parts, watched).map(textOf);
    return {
      status: warnings.length === 0 ? 'ok' : 'degraded',
      warnings,
      version,
      network: records.network,
      database: fingerprintOf(records),
      electrum: {
        server: server ?? null,
        caught_up: caughtUp,
        height: tipHeight ?? null,
        servers: servers.map(serverHealth),
      },
      wallets: {
        total: wallets.length,
        scanning: wallets.filter(({ scannedAt }) => scannedAt === null).length,
      },
      callbacks: records.outbox.counts(),
    };
  };
}

/** 16 hexadecimal digits, hashed from the secret random name that each new database gets. */
export const fingerprintOf = ({ instance }: Pick<Records, 'instance'>): string =>
  createHash('sha256').update(instance).digest('hex').slice(0, 16);

/** One finding for each host that cannot be reached, with pending deliveries. */
export const hostWarnings = (channels: readonly ChannelStatus[]) =>
  channels.flatMap(({ noun, dispatcher }) =>
    dispatcher.downHosts().map(({ host, waiting }) => ({
      subject: `${noun} ${host}`,
      fact: `${host} cannot be reached: ${countText(waiting)} ${verbOf(waiting, `${noun} waits`, `${noun}s wait`)} for it, and one attempt is made each minute`,
    })),
  );

const serverHealth = (status: ServerStatus): ServerHealth => ({
  server: status.label,
  state: status.state,
  ...(status.software !== undefined && { software: status.software }),
  ...(status.protocol !== undefined && { protocol: status.protocol }),
  ...(status.height !== undefined && { height: status.height }),
  ...(status.latencyMs !== undefined && { latency_ms: status.latencyMs }),
  ...(status.connectedSince !== undefined && {
    connected_since: unixSeconds(status.connectedSince),
  }),
  ...(status.trust !== undefined && { certificate: status.trust.kind }),
  ...(status.trust?.kind === 'pinned' && { pin: status.trust.sha256 }),
  ...(status.refused && { certificate_refused: true as const }),
  ...(status.refused?.shown !== undefined && { certificate_shown: status.refused.shown }),
  ...(status.doubt !== undefined && { doubt: status.doubt }),
  ...(status.ban !== undefined && {
    banned_until: unixSeconds(status.ban.until),
    ban_reason: status.ban.reason,
  }),
  ...(status.lastError !== undefined && { error: status.lastError }),
});
