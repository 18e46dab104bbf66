// `paygate doctor`: checks everything that paygate depends on, one line each, with or without a
// running `serve`. It takes the options of `serve`, to check the same files and servers.

import { Command } from 'commander';
import { defaultNetwork, type NetworkName, networks } from '../../bitcoin/network.ts';
import { type Config, readConfig, unknownVariables } from '../../config.ts';
import { createSender } from '../../delivery/sender.ts';
import {
  type Check,
  type CheckResult,
  fail,
  type NamedResult,
  runChecks,
  skip,
  warn,
} from '../../doctor/doctor-check.ts';
import { electrumChecks, mergeOffline } from '../../doctor/electrum-checks.ts';
import { closedFileChecks, fileChecks } from '../../doctor/file-checks.ts';
import { lightningChecks } from '../../doctor/lightning-check.ts';
import { mailChecks } from '../../doctor/mail-check.ts';
import { priceChecks } from '../../doctor/price-check.ts';
import { webChecks } from '../../doctor/web-checks.ts';
import { listenAddressesOf, publicUrlOf } from '../../domain/delivery/public-endpoint.ts';
import {
  builtInServers,
  parseServerAddress,
  type ServerAddress,
} from '../../electrum/server-address.ts';
import { PaygateError, reasonOf } from '../../lib/errors.ts';
import { releasedAt, version } from '../../lib/version.ts';
import { pricesFor } from '../../price/prices.ts';
import { fingerprintOf } from '../../status/health.ts';
import { inspectFile, isOutdated } from '../../store/file/file-guards.ts';
import { openRecords, type Records } from '../../store/open-records.ts';
import { allListeners } from '../cli-sender.ts';
import { print, table, world } from '../command.ts';
import { becomeOwner } from '../database/file-owner.ts';
import { fetchHealth } from './local-health.ts';
import { addServeOptions, type Flags, flagValues } from './serve-options.ts';

export function doctorCommand(): Command {
  const command = new Command('doctor')
    .description('check everything that paygate depends on; takes the options of serve')
    .option('--json', 'print JSON');
  return addServeOptions(command).action(async ({ json, ...flags }: Flags & { json?: boolean }) => {
    const config = readConfig(flagValues(flags), process.env);
    const checks = await runAllChecks({ ...config, db: becomeOwner(config.db) });
    const isOk = checks.every(({ state }) => state !== 'fail');
    print({ json: json === true }, { ok: isOk, checks }, () =>
      table(checks.map(({ state, check, text }) => [state, check, text])),
    );
    if (!isOk) process.exitCode = 1;
    // Connections to slow hosts may still be open: do not wait for them.
    process.stdout.write('', () => process.exit());
  });
}

async function runAllChecks(config: Config): Promise<NamedResult[]> {
  const opened = await openUnchanged(config.db);
  const records = 'database' in opened ? opened : undefined;
  try {
    const { listen, walletGap } = config;
    const uid = process.getuid?.();
    const listeners = allListeners(config);
    const checked = await runChecks(world, [
      ...unknownVariables(process.env).map((name) => ({
        name: 'environment',
        run: () => warn(`${name}: no option has this name; \`paygate serve --help\` lists all`),
      })),
      ...('database' in opened
        ? fileChecks({ world, records: opened, walletGap, releasedAt, uid })
        : [
            { name: 'database', run: () => opened },
            ...(opened.state === 'skip' ? [] : closedFileChecks(config.db, uid)),
          ]),
      ...serverChecks({ ...config, electrum: await serversOf(config, records) }, opened),
      ...webChecks({
        world,
        listen,
        records,
        network: records?.network,
        publicUrl: publicUrlOf(config),
        sender: createSender(world, { version, listeners: () => [] }),
        shopSender: createSender(world, {
          version,
          listeners: () => listeners,
          proxy: config.proxy,
        }),
        https: config.domain !== undefined || config.tlsCert !== undefined,
      }),
      ...priceChecks({ prices: pricesFor(config, world), records }),
      ...lightningChecks(world, records, { proxy: config.proxy }),
      ...mailChecks({ world, proxy: config.proxy }, records?.state.mailServer.read()),
    ]);
    return mergeOffline(checked);
  } finally {
    await records?.database.close();
  }
}

/** The servers of the options, else those of the `serve` that runs on this database. */
async function serversOf(
  config: Config,
  records: Records | undefined,
): Promise<readonly ServerAddress[]> {
  if (config.electrum.length > 0 || records === undefined) return config.electrum;
  const running = await fetchHealth(listenAddressesOf(config));
  if (running?.database !== fingerprintOf(records)) return [];
  return running.electrum.servers.map(({ server }) => parseServerAddress(server));
}

function serverChecks(config: Config, opened: Records | CheckResult): Check[] {
  const { electrum, proxy } = config;
  const name = networkOf(config, opened);
  if (name === undefined) {
    const text = 'the network of the file could not be read; name it with --network';
    return [{ name: 'electrum', run: () => skip(text) }];
  }
  const records = 'database' in opened ? opened : undefined;
  const servers = electrum.length > 0 ? electrum : builtInServers(name);
  return electrumChecks({ world, network: networks[name], servers, proxy, records });
}

/** Undefined for a file whose network cannot be read. */
function networkOf({ network }: Config, opened: Records | CheckResult): NetworkName | undefined {
  if ('database' in opened) return opened.network;
  return network ?? (opened.state === 'skip' ? defaultNetwork : undefined);
}

/** Opens the database, unless opening would change it; else returns why not. */
async function openUnchanged(path: string): Promise<Records | CheckResult> {
  try {
    if (inspectFile(path) === 'absent') {
      return skip(`${path}: does not exist yet; \`paygate serve\` creates it`);
    }
    if (isOutdated(path)) {
      return warn(`${path}: has an older schema; the next start takes a snapshot and updates it`);
    }
    const newInstance = (): string => {
      throw new PaygateError('unavailable', 'the doctor creates nothing');
    };
    return await openRecords({ path, create: false, network: undefined, newInstance });
  } catch (error) {
    return fail(reasonOf(error));
  }
}
