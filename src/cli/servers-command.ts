// `paygate servers`: the Electrum servers, as the running gateway sees them, or, where none runs, what
// the file remembers of them. `accept` pins a changed certificate, `forget` begins anew with a server, `follow` accepts
// a deep branch.

import { Command } from 'commander';
import { type Config, options } from '../config.ts';
import { clockError } from '../domain/clock-check.ts';
import { formatTime } from '../domain/format.ts';
import { listenAddressesOf } from '../domain/public-endpoint.ts';
import { PaygateError } from '../lib/errors.ts';
import { releasedAt } from '../lib/version.ts';
import type { HealthReport, ServerHealth } from '../status/health.ts';
import type { Store } from '../store/open-store.ts';
import { acceptBranch, readHold } from '../store/records/hold-record.ts';
import {
  type FileOptions,
  fileCommand,
  noteChange,
  print,
  table,
  withStore,
  world,
} from './command.ts';
import { askHealth, noAnswer } from './local-health.ts';
import { configOfService } from './systemd-service.ts';

interface ListOptions extends FileOptions {
  readonly listen?: string;
}

export function serversCommand(): Command {
  const list = fileCommand('list', 'height, latency, protocol, pin and ban of each server')
    .option(`${options.listen.flag} <host:port>`, 'where it answers')
    .action(async (given: ListOptions) => {
      const report = await healthOf(await configOfService(given.listen));
      const servers = report?.electrum.servers ?? (await remembered(given));
      print(given, report?.electrum ?? { servers }, () => render(servers));
    });
  const accept = fileCommand('accept', 'pin the changed certificate that a server shows now')
    .argument('<server>', 'as it is listed, such as ssl://host:port')
    .argument('<sha256>', 'of the certificate, as /healthz names it')
    .action((label: string, text: string, given: FileOptions) =>
      withStore(given, async ({ servers, database, headers, audit }) => {
        const sha256 = text.replaceAll(':', '').toLowerCase();
        if (!/^[0-9a-f]{64}$/.test(sha256)) {
          throw new PaygateError('invalid', 'the SHA-256 of a certificate has 64 hex digits');
        }
        const now = world.now();
        refuseWrongClock(headers, now);
        const isAccepted = await database.write((tx) => {
          const isKnown = servers.accept(tx, label, sha256, now);
          if (isKnown) noteChange({ audit }, tx, 'server.accept', { server: label, sha256 });
          return isKnown;
        });
        if (!isAccepted) {
          throw new PaygateError('not_found', `no certificate of ${label} is remembered`);
        }
        print(given, { accepted: label, sha256 }, () => {
          return `${label} must show the certificate with the SHA-256 ${sha256} from now on.`;
        });
      }),
    );
  const forget = fileCommand('forget', "forget a server's certificate and ban, to begin anew")
    .argument('<server>', 'as it is listed, such as ssl://host:port')
    .action((label: string, given: FileOptions) =>
      withStore(given, async ({ servers, database, headers, audit }) => {
        refuseWrongClock(headers, world.now());
        const isForgotten = await database.write((tx) => {
          const isKnown = servers.forget(tx, label);
          if (isKnown) noteChange({ audit }, tx, 'server.forget', { server: label });
          return isKnown;
        });
        if (!isForgotten) {
          throw new PaygateError('not_found', `nothing is remembered of ${label}`);
        }
        print(given, { forgotten: label }, () => {
          return `${label} is forgotten; a running paygate begins anew with it.`;
        });
      }),
    );
  const follow = fileCommand('follow', 'follow the branch of a server that forks deeper than 144')
    .argument('<server>', 'as it is listed: the one that you know to be right')
    .action((label: string, given: FileOptions) =>
      withStore(given, async ({ database, catalog, audit }) => {
        const { deepTip } = readHold(catalog).find(({ server }) => server === label) ?? {};
        if (deepTip === undefined) {
          throw new PaygateError('not_found', `${label} follows no branch deeper than 144 blocks`);
        }
        await database.write((tx) => {
          acceptBranch(tx, catalog, deepTip);
          noteChange({ audit }, tx, 'branch.follow', { server: label, block: deepTip });
        });
        print(given, { followed: deepTip }, () => {
          return `The branch with block ${deepTip} is followed from its next block on.`;
        });
      }),
    );
  return new Command('servers')
    .description('Electrum servers')
    .addCommand(list)
    .addCommand(accept)
    .addCommand(forget)
    .addCommand(follow);
}

/** Whether a certificate is valid depends on the time. @throws PaygateError conflict where the clock is wrong */
function refuseWrongClock(headers: Store['headers'], now: number): void {
  const fault = clockError(now, { releasedAt, newestBlockTime: headers.tipTime() });
  if (fault !== undefined) throw new PaygateError('conflict', fault);
}

/** Undefined, with a word to the person who asks, where no gateway answers. */
async function healthOf(config: Config): Promise<HealthReport | undefined> {
  const report = await askHealth(listenAddressesOf(config));
  if (report === undefined) {
    process.stderr.write(`${noAnswer(config.listen)}: this is what the file remembers\n`);
  }
  return report;
}

/** What an earlier run has learnt: certificates, and bans that have not ended. */
const remembered = (given: FileOptions): Promise<readonly ServerHealth[]> =>
  withStore(given, async ({ servers }) =>
    servers.all().map(({ label, trust, ban }) => ({
      server: label,
      state: 'remembered',
      ...(trust !== undefined && { certificate: trust.kind }),
      ...(trust?.kind === 'pinned' && { pin: trust.sha256 }),
      ...(ban !== undefined &&
        ban.until > world.now() && {
          banned_until: Math.floor(ban.until / 1000),
          ban_reason: ban.reason,
        }),
    })),
  );

function render(servers: readonly ServerHealth[]): string {
  const lines = servers.map((each) => [
    each.server,
    each.state,
    each.height === undefined ? '' : String(each.height),
    each.latency_ms === undefined ? '' : `${each.latency_ms} ms`,
    each.protocol ?? '',
    each.pin === undefined ? (each.certificate ?? '') : `pin ${each.pin}`,
    each.banned_until === undefined
      ? (each.doubt ?? each.error ?? '')
      : `banned until ${formatTime(each.banned_until * 1000)}: ${each.ban_reason}`,
  ]);
  return table([
    ['server', 'state', 'height', 'latency', 'protocol', 'certificate', 'trouble'],
    ...lines,
  ]);
}
