// What /healthz says: whether all is well, and if not, each reason in words an operator can act on.

import type { DownHost } from '../delivery/dispatcher.ts';
import type { ServerStatus } from '../electrum/pool.ts';
import type { Store } from '../store/open.ts';
import { version } from '../version.ts';
import type { Watcher } from '../watcher/watcher.ts';

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
  /** It shows another certificate than the known one, which only a person can accept. */
  readonly certificate_refused?: true;
  /** SHA-256 of the pinned certificate. */
  readonly pin?: string;
  /** Why it is not counted on though it is connected. */
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
  readonly electrum: {
    readonly server: string | null;
    readonly caught_up: boolean;
    readonly height: number | null;
    readonly servers: readonly ServerHealth[];
  };
  readonly wallets: { readonly total: number; readonly scanning: number };
  readonly callbacks: { readonly owed: number; readonly exhausted: number };
}

export interface HealthParts {
  readonly store: Store;
  readonly watcher: Watcher;
  /** Said at every look when the file was found to be a copy at this start. */
  readonly copied: string | undefined;
  readonly hasRoom: () => boolean;
  /** What other rooms warn of. */
  readonly others: readonly (() => readonly string[])[];
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** How long a payment that was taken back is spoken of. */
const reversedShownMs = 7 * 86_400_000;

export function createHealth({
  store,
  watcher,
  copied,
  hasRoom,
  others,
  now,
}: HealthParts): () => HealthReport {
  return () => {
    const { servers, server, caughtUp, tipHeight, held, trouble } = watcher.status();
    const wallets = store.catalog.wallets();
    const scanning = wallets.filter(({ scannedAt }) => scannedAt === null).length;
    const callbacks = store.outbox.counts();
    const reversed = store.ledger.countReversed(now() - reversedShownMs);
    const warnings = [
      ...(copied === undefined ? [] : [copied]),
      ...(hasRoom() ? [] : ['the disk is almost full: no address is issued until there is room']),
      ...(server === undefined ? [`no Electrum server is connected: ${faults(servers)}`] : []),
      ...(server !== undefined && !caughtUp ? ['catching up with the Electrum server'] : []),
      ...(server === undefined ? [] : trustWarnings(servers, server)),
      ...servers.flatMap(serverWarnings),
      ...held.map((reason) => `no payment is promoted to 2, ${reason}; ${heldAdvice}`),
      ...(trouble === undefined
        ? []
        : [
            `${trouble.scripts} address(es) could not be worked up and are tried again, at least every ten minutes: ` +
              trouble.reason,
          ]),
      ...(reversed > 0
        ? [`${reversed} payment(s) were taken back in the last 7 days after 1 or 2 was told`]
        : []),
      ...(scanning > 0
        ? [`${scanning} wallet(s) wait for a scan of the chain: no address yet`]
        : []),
      ...(callbacks.exhausted > 0 ? [`${callbacks.exhausted} callback(s) were given up`] : []),
      ...others.flatMap((warnings) => warnings()),
    ];
    return {
      status: warnings.length === 0 ? 'ok' : 'degraded',
      warnings,
      version,
      network: store.network,
      electrum: {
        server: server ?? null,
        caught_up: caughtUp,
        height: tipHeight ?? null,
        servers: servers.map(serverHealth),
      },
      wallets: { total: wallets.length, scanning },
      callbacks,
    };
  };
}

/** A shop whose server cannot be reached keeps its callbacks waiting. */
export const hostWarnings = (hosts: readonly DownHost[]): string[] =>
  hosts.map(
    ({ host, waiting }) =>
      `${host} cannot be reached: ${waiting} callback(s) wait for it, and one a minute goes out to see`,
  );

/** @param fault why the wall clock cannot be right, if it cannot */
export const clockWarnings = (fault: string | undefined): string[] =>
  fault === undefined
    ? []
    : [
        `${fault}: set it (NTP); until then no callback is signed and sent, and no certificate learnt`,
      ];

const heldAdvice =
  'see which chain is right (your own node, an explorer) and take a server that is wrong off --electrum; ' +
  '`paygate servers follow` accepts a deep branch';

/** Who checks the server in use. */
function trustWarnings(servers: readonly ServerStatus[], server: string): string[] {
  const sound = servers.filter(({ state, doubt }) => state === 'live' && doubt === undefined);
  const doubt = servers.find(({ label }) => label === server)?.doubt;
  if (doubt !== undefined) {
    return [`${server} is used for want of a better one, though ${doubt}: trust is reduced`];
  }
  return servers.length > 1 && sound.length < 2
    ? ['only one Electrum server is in use: nobody checks what it leaves out']
    : [];
}

function serverWarnings({
  label,
  doubt,
  ban,
  certificateRefused,
  lastError,
}: ServerStatus): string[] {
  return [
    ...(doubt === undefined ? [] : [`${label} is in doubt: ${doubt}`]),
    ...(ban === undefined
      ? []
      : [`${label} lied and is banned until ${new Date(ban.until).toISOString()}: ${ban.reason}`]),
    ...(certificateRefused
      ? [
          `${label} is refused: ${lastError}; if that is right, accept it with ` +
            `\`paygate servers forget ${label}\` and start serve again`,
        ]
      : []),
  ];
}

const seconds = (epochMs: number): number => Math.floor(epochMs / 1000);

const serverHealth = (status: ServerStatus): ServerHealth => ({
  server: status.label,
  state: status.state,
  ...(status.software !== undefined && { software: status.software }),
  ...(status.protocol !== undefined && { protocol: status.protocol }),
  ...(status.height !== undefined && { height: status.height }),
  ...(status.latencyMs !== undefined && { latency_ms: status.latencyMs }),
  ...(status.connectedSince !== undefined && { connected_since: seconds(status.connectedSince) }),
  ...(status.trust !== undefined && { certificate: status.trust.kind }),
  ...(status.trust?.kind === 'pinned' && { pin: status.trust.sha256 }),
  ...(status.certificateRefused && { certificate_refused: true as const }),
  ...(status.doubt !== undefined && { doubt: status.doubt }),
  ...(status.ban !== undefined && {
    banned_until: seconds(status.ban.until),
    ban_reason: status.ban.reason,
  }),
  ...(status.lastError !== undefined && { error: status.lastError }),
});

function faults(servers: readonly ServerStatus[]): string {
  const told = servers.flatMap(({ label, lastError }) =>
    lastError ? [`${label}: ${lastError}`] : [],
  );
  return told.slice(0, 3).join('; ') || 'none has answered yet';
}
