// `paygate doctor`: looks at everything that paygate stands on, one line each, beside a running serve and
// without one. It takes the options of `serve`, so that it looks at the same things.

import { Command } from 'commander';
import { defaultNetwork, type NetworkName, networks } from '../bitcoin/network.ts';
import { type Config, readConfig, unknownVariables } from '../config.ts';
import { createSender } from '../delivery/sender.ts';
import {
  type Check,
  type Checked,
  type CheckResult,
  examine,
  fail,
  skip,
  warn,
} from '../doctor/doctor-check.ts';
import { electrumChecks, offlineOnce } from '../doctor/electrum-checks.ts';
import { closedChecks, fileChecks } from '../doctor/file-checks.ts';
import { webChecks } from '../doctor/web-checks.ts';
import { listenAddressesOf, publicUrlOf } from '../domain/public-endpoint.ts';
import {
  builtInServers,
  parseServerAddress,
  type ServerAddress,
} from '../electrum/server-address.ts';
import { PaygateError, reasonOf } from '../lib/errors.ts';
import { releasedAt, version } from '../lib/version.ts';
import { fingerprintOf } from '../status/health.ts';
import { inspectFile, isOutdated } from '../store/db/file-guards.ts';
import { openStore, type Store } from '../store/open-store.ts';
import { print, table, world } from './command.ts';
import { becomeOwner } from './file-owner.ts';
import { askHealth } from './local-health.ts';
import { addServeOptions, asGiven, type Flags } from './serve-options.ts';

export function doctorCommand(): Command {
  const command = new Command('doctor')
    .description('check everything that paygate stands on; takes the options of serve')
    .option('--json', 'answer as JSON');
  return addServeOptions(command).action(async ({ json, ...flags }: Flags & { json?: boolean }) => {
    const config = readConfig(asGiven(flags), process.env);
    const checks = await look({ ...config, db: becomeOwner(config.db) });
    const isWell = checks.every(({ state }) => state !== 'fail');
    print({ json: json === true }, { ok: isWell, checks }, () =>
      table(checks.map(({ state, check, text }) => [state, check, text])),
    );
    if (!isWell) process.exitCode = 1;
    // What still waits for a slow host would only hold the answer up.
    process.stdout.write('', () => process.exit());
  });
}

async function look(config: Config): Promise<Checked[]> {
  const opened = await open(config.db);
  const store = 'state' in opened ? undefined : opened;
  try {
    const { listen, metricsListen, walletGap } = config;
    const uid = process.getuid?.();
    const doors = [...listenAddressesOf(config), metricsListen ?? []].flat();
    const checked = await examine(world, [
      ...unknownVariables(process.env).map((name) => ({
        name: 'environment',
        run: () => warn(`${name}: no option has this name; \`paygate serve --help\` lists them`),
      })),
      ...('state' in opened
        ? [
            { name: 'database', run: () => opened },
            ...(opened.state === 'skip' ? [] : closedChecks(config.db, uid)),
          ]
        : fileChecks({ world, store: opened, walletGap, releasedAt, uid })),
      ...serverChecks({ ...config, electrum: await serversOf(config, store) }, opened),
      ...webChecks({
        world,
        listen,
        store,
        network: store?.network,
        publicUrl: publicUrlOf(config),
        sender: createSender(world, { version, listeners: () => [] }),
        shopSender: createSender(world, { version, listeners: () => doors, proxy: config.proxy }),
        https: config.domain !== undefined || config.tlsCert !== undefined,
      }),
    ]);
    return offlineOnce(checked);
  } finally {
    await store?.database.close();
  }
}

/** As named; else those of the `serve` that runs on this file, so that its options need not be repeated. */
async function serversOf(
  config: Config,
  store: Store | undefined,
): Promise<readonly ServerAddress[]> {
  if (config.electrum.length > 0 || store === undefined) return config.electrum;
  const running = await askHealth(listenAddressesOf(config));
  if (running?.database !== fingerprintOf(store)) return [];
  return running.electrum.servers.map(({ server }) => parseServerAddress(server));
}

function serverChecks(config: Config, opened: Store | CheckResult): Check[] {
  const { electrum, proxy } = config;
  const name = networkOf(config, opened);
  if (name === undefined) {
    const text = 'which network the file is of could not be read; name it with --network';
    return [{ name: 'electrum', run: () => skip(text) }];
  }
  const store = 'state' in opened ? undefined : opened;
  const servers = electrum.length > 0 ? electrum : builtInServers(name);
  return electrumChecks({ world, network: networks[name], servers, proxy, store });
}

/** Undefined where a file is there that does not tell it. */
function networkOf({ network }: Config, opened: Store | CheckResult): NetworkName | undefined {
  if (!('state' in opened)) return opened.network;
  return network ?? (opened.state === 'skip' ? defaultNetwork : undefined);
}

/** The file as every command opens it, unless that would change it; else what is to be said instead. */
async function open(path: string): Promise<Store | CheckResult> {
  try {
    if (inspectFile(path) === 'absent') {
      return skip(`${path}: there is none yet; \`paygate serve\` makes it`);
    }
    if (isOutdated(path)) {
      return warn(`${path}: of an older version; the next start updates it, after a snapshot`);
    }
    const newInstance = (): string => {
      throw new PaygateError('unavailable', 'nothing is made here');
    };
    return await openStore({ path, create: false, network: undefined, newInstance });
  } catch (error) {
    return fail(reasonOf(error));
  }
}
