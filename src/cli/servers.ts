// `paygate servers`: the Electrum servers, as the running gateway sees them, and what is remembered of
// them. `forget` accepts a changed certificate and ends a ban.

import { Command } from 'commander';
import { options, readConfig } from '../config.ts';
import { PaygateError } from '../errors.ts';
import type { HealthReport, ServerHealth } from '../http/health.ts';
import { type FileOptions, fileCommand, print, showTime, table, withStore } from './command.ts';

interface ListOptions extends FileOptions {
  readonly listen?: string;
}

export function serversCommand(): Command {
  const list = fileCommand('list', 'what the running gateway says of its servers')
    .option(`${options.listen.flag} <host:port>`, 'where it answers')
    .action(async (given: ListOptions) => {
      const { listen } = readConfig(given.listen ? { listen: [given.listen] } : {}, process.env);
      const { electrum } = await askHealth(listen.host, listen.port);
      print(given, electrum, () => render(electrum.servers));
    });
  const forget = fileCommand('forget', "forget a server's certificate and ban, to begin anew")
    .argument('<server>', 'as it is listed, such as ssl://host:port')
    .action((label: string, given: FileOptions) =>
      withStore(given, false, async ({ servers }) => {
        if (!(await servers.forget(label))) {
          throw new PaygateError('not_found', `nothing is remembered of ${label}`);
        }
        print(given, { forgotten: label }, () => `${label} is forgotten; restart serve for it.`);
      }),
    );
  return new Command('servers').description('Electrum servers').addCommand(list).addCommand(forget);
}

async function askHealth(host: string, port: number): Promise<HealthReport> {
  const name = host.includes(':') ? `[${host}]` : host;
  try {
    const response = await fetch(`http://${name}:${port}/healthz`);
    return (await response.json()) as HealthReport;
  } catch (cause) {
    throw new PaygateError(
      'unavailable',
      `no paygate answers at ${name}:${port}; start it, or name its --listen`,
      { cause },
    );
  }
}

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
      : `banned until ${showTime(each.banned_until * 1000)}: ${each.ban_reason}`,
  ]);
  return table([
    ['server', 'state', 'height', 'latency', 'protocol', 'certificate', 'trouble'],
    ...lines,
  ]);
}
