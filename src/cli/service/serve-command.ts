// `paygate serve`: runs the gateway until a signal stops it.

import { Command } from 'commander';
import { type App, openApp, startApp } from '../../app.ts';
import { type Config, readConfig, unknownVariables } from '../../config.ts';
import { type FirstPassword, setFirstPassword } from '../../dashboard/guard/first-password.ts';
import { signInLinkMinutes } from '../../dashboard/guard/sign-in-link.ts';
import { baseUrlOf, publicUrlOf } from '../../domain/delivery/public-endpoint.ts';
import { releasedAt, version } from '../../lib/version.ts';
import { useFailure } from '../../store/file/database.ts';
import { createNodeWorld, standardError } from '../../world/node-world.ts';
import type { World } from '../../world/world.ts';
import { fail } from '../command.ts';
import { becomeOwner } from '../database/file-owner.ts';
import { commandLine } from '../own-program.ts';
import { checkInProcess } from './check-process.ts';
import { firstPassword, takePassword } from './password-setting.ts';
import { collectAfterStart, exit, exitOnLostWrite, stopOnSignal } from './run-until-stopped.ts';
import { addServeOptions, type Flags, flagValues } from './serve-options.ts';

export function serveCommand(): Command {
  const command = new Command('serve').description('run the payment gateway');
  return addServeOptions(command).action((flags: Flags) => {
    const password = takePassword(process.env);
    const config = readConfig(flagValues(flags), process.env);
    return serve({ ...config, db: becomeOwner(config.db) }, password);
  });
}

/** Text for the terminal: URLs, and what to do next. */
async function greeting(config: Config, app: App): Promise<string> {
  const { db, listen } = config;
  const { port } = app;
  const base = baseUrlOf(config, port);
  const link = await app.firstLink(base);
  const isOwnTls = config.tlsCert !== undefined && config.domain === undefined;
  const publicUrl = config.publicUrl ?? (isOwnTls ? base : undefined);
  const target = { db, domain: config.domain, publicUrl, listen: { ...listen, port } };
  const up = `paygate ${version} is up on ${app.network.name}

  Dashboard  ${base}/dashboard
  API docs   ${base}/docs
  Health     ${base}/healthz

${link === undefined ? '' : linkText(link, commandLine('admin link', target))}`;
  if (app.health().wallets.total > 0) return up;
  return `${up}There is no store yet. Add one in the dashboard, or in another terminal with the xpub of your wallet:

  ${commandLine('store add', { db })} --name "My shop" --xpub zpub… --way links

--way plugin is for a shop with a plugin, --way program for your own program. It says what comes next.

`;
}

const linkText = (link: string, another: string): string => `\
Open this link within ${signInLinkMinutes()} minutes to set the dashboard password. It works once:

  ${link}

To print another link: ${another}

`;

export async function createWorld({
  logLevel,
  logFormat = process.stderr.isTTY ? 'pretty' : 'json',
}: Pick<Config, 'logLevel' | 'logFormat'>): Promise<World> {
  if (logFormat === 'json') return createNodeWorld({ logLevel });
  const { prettyLines } = await import('./pretty-log.ts');
  return createNodeWorld({ logLevel, logDestination: prettyLines(standardError()) });
}

async function serve(config: Config, password: string | undefined): Promise<void> {
  const world = await createWorld(config);
  for (const name of unknownVariables(process.env)) {
    world.log.warn('no option has this name in the environment', { name });
  }
  // For example a timer that could not read the disk: the next one could not either.
  process.on('uncaughtException', (error) => {
    fail(useFailure(config.db, error));
    exit(1);
  });
  try {
    await run(config, world, () => firstPassword(config, password));
  } catch (error) {
    throw useFailure(config.db, error);
  }
  // All is written and closed; a pending timer must not delay the exit.
  exit(0);
}

const stopIt = (app: App): Promise<void> => app.stop();

async function run(
  config: Config,
  world: World,
  readPassword: () => FirstPassword | undefined,
): Promise<void> {
  const opened = await openApp(config, world, {
    onFatal: exitOnLostWrite(world),
    releasedAt,
    checkCopy: checkInProcess(),
  });
  try {
    await setFirstPassword(opened.records, world, readPassword, publicUrlOf(config));
  } catch (error) {
    await opened.close();
    throw error;
  }
  collectAfterStart(world, opened.records.events);
  const starting = startApp(opened);
  // A start that fails has closed everything.
  const stopped = stopOnSignal(() => starting.then(stopIt, () => {}), world);
  const app = await starting;
  try {
    world.log.info('paygate is up', { version, network: app.network.name, port: app.port });
    const text = await greeting(config, app);
    // At a terminal the log is above and below.
    process.stdout.write(process.stdout.isTTY ? `\n${text}` : text);
  } catch (error) {
    await app.stop();
    throw error;
  }
  await stopped;
}
