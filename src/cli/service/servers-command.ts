// `paygate servers`: Electrum servers as the running gateway sees them, or, if none runs, as the
// database stores them. `accept` pins a changed certificate, `forget` deletes what is stored of a
// server, `follow` accepts a deep fork.

import { Command } from 'commander';
import { options, readConfig } from '../../config.ts';
import { listenAddressesOf } from '../../domain/delivery/public-endpoint.ts';
import { clockError } from '../../domain/payment/clock-check.ts';
import { formatTime } from '../../domain/text/format.ts';
import { PaygateError } from '../../lib/errors.ts';
import { unixSeconds } from '../../lib/time-units.ts';
import { releasedAt } from '../../lib/version.ts';
import type { HealthReport, ServerHealth } from '../../status/health.ts';
import type { Records } from '../../store/open-records.ts';
import {
  type FileOptions,
  fileCommand,
  print,
  recordChange,
  table,
  withStore,
  world,
} from '../command.ts';
import { serviceEnvironment } from '../install/systemd-service.ts';
import { fetchHealth, noAnswerText } from './local-health.ts';

interface ListOptions extends FileOptions {
  readonly listen?: string;
}

export function serversCommand(): Command {
  const list = fileCommand('list', 'list height, latency, protocol, pin and ban of each server')
    .option(`${options.listen.flag} <host:port>`, 'address of the running paygate')
    .action(async (given: ListOptions) => {
      const report = await healthOf(given.listen);
      const servers = report?.electrum.servers ?? (await storedServers(given));
      print(given, report?.electrum ?? { servers }, () => render(servers));
    });
  const accept = fileCommand('accept', 'pin the changed certificate of a server')
    .argument('<server>', 'as it is listed, such as ssl://host:port')
    .argument('<sha256>', 'hash of the certificate, as /healthz reports it')
    .action((label: string, text: string, given: FileOptions) =>
      withStore(given, async ({ servers, database, headers, audit }) => {
        const sha256 = text.replaceAll(':', '').toLowerCase();
        if (!/^[0-9a-f]{64}$/.test(sha256)) {
          throw new PaygateError(
            'invalid',
            'a SHA-256 has 64 hexadecimal digits; copy it from /healthz',
          );
        }
        const now = world.now();
        refuseWrongClock(headers, now);
        const isAccepted = await database.write((tx) => {
          const isKnown = servers.accept(tx, label, sha256, now);
          if (isKnown) recordChange({ audit }, tx, 'server.accept', { server: label, sha256 });
          return isKnown;
        });
        if (!isAccepted) {
          throw new PaygateError(
            'not_found',
            `no certificate of ${label} is stored; \`paygate servers list\` lists the servers`,
          );
        }
        print(given, { accepted: label, sha256 }, () => {
          return `${label} must now present the certificate with the SHA-256 ${sha256}.`;
        });
      }),
    );
  const forget = fileCommand('forget', "delete a server's stored certificate and ban")
    .argument('<server>', 'as it is listed, such as ssl://host:port')
    .action((label: string, given: FileOptions) =>
      withStore(given, async ({ servers, database, headers, audit }) => {
        refuseWrongClock(headers, world.now());
        const isForgotten = await database.write((tx) => {
          const isKnown = servers.forget(tx, label);
          if (isKnown) recordChange({ audit }, tx, 'server.forget', { server: label });
          return isKnown;
        });
        if (!isForgotten) {
          throw new PaygateError(
            'not_found',
            `nothing is stored about ${label}; \`paygate servers list\` lists the servers`,
          );
        }
        print(given, { forgotten: label }, () => {
          return `${label} is forgotten; a running paygate treats it as a new server.`;
        });
      }),
    );
  const follow = fileCommand(
    'follow',
    'follow the chain of a server that forks deeper than 144 blocks',
  )
    .argument('<server>', 'the server, as listed, that you know to be right')
    .action((label: string, given: FileOptions) =>
      withStore(given, async ({ database, state, audit }) => {
        const { deepTip } = state.hold.read().find(({ server }) => server === label) ?? {};
        if (deepTip === undefined) {
          throw new PaygateError('not_found', `${label} has no fork deeper than 144 blocks`);
        }
        await database.write((tx) => {
          state.acceptedBranch.write(tx, deepTip);
          recordChange({ audit }, tx, 'branch.follow', { server: label, block: deepTip });
        });
        print(given, { followed: deepTip }, () => {
          return `paygate follows the chain of block ${deepTip} from its next block on.`;
        });
      }),
    );
  return new Command('servers')
    .description('list Electrum servers; accept, forget or follow one')
    .addCommand(list)
    .addCommand(accept)
    .addCommand(forget)
    .addCommand(follow);
}

/** Certificates expire, so the clock must be right. @throws PaygateError conflict */
function refuseWrongClock(headers: Records['headers'], now: number): void {
  const fault = clockError(now, { releasedAt, newestBlockTime: headers.tipTime() });
  if (fault !== undefined) throw new PaygateError('conflict', fault);
}

/** Undefined, with a message on standard error, if no gateway answers. */
/** @param listen replaces the address of our environment and of the installed service */
async function healthOf(listen: string | undefined): Promise<HealthReport | undefined> {
  const config = readConfig(listen ? { listen: [listen] } : {}, await serviceEnvironment());
  const report = await fetchHealth(listenAddressesOf(config));
  if (report === undefined) {
    process.stderr.write(`${noAnswerText(config.listen)}. This list is from the database.\n`);
  }
  return report;
}

/** Certificates and bans that an earlier run stored; bans that have ended are left out. */
const storedServers = (given: FileOptions): Promise<readonly ServerHealth[]> =>
  withStore(given, async ({ servers }) =>
    servers.all().map(({ label, trust, ban }) => ({
      server: label,
      state: 'remembered',
      ...(trust !== undefined && { certificate: trust.kind }),
      ...(trust?.kind === 'pinned' && { pin: trust.sha256 }),
      ...(ban !== undefined &&
        ban.until > world.now() && {
          banned_until: unixSeconds(ban.until),
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
    ['server', 'state', 'height', 'latency', 'protocol', 'certificate', 'problem'],
    ...lines,
  ]);
}
