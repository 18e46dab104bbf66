// `paygate serve`: runs until it is told to stop.

import { Command } from 'commander';
import { type App, buildApp } from '../app.ts';
import { type Config, readConfig, unknownVariables } from '../config.ts';
import { signInLinkMinutes } from '../dashboard/sign-in-link.ts';
import { baseUrlOf } from '../domain/public-endpoint.ts';
import { releasedAt, version } from '../lib/version.ts';
import { useFailure } from '../store/db/database.ts';
import { createNodeWorld, standardError } from '../world/node-world.ts';
import type { World } from '../world/world.ts';
import { checkBeside } from './check-process.ts';
import { fail } from './command.ts';
import { becomeOwner } from './file-owner.ts';
import { again } from './own-program.ts';
import { endAtOnce, exit, stopOnSignal } from './run-until-stopped.ts';
import { addServeOptions, asGiven, type Flags } from './serve-options.ts';

export function serveCommand(): Command {
  const command = new Command('serve').description('run the payment gateway');
  return addServeOptions(command).action((flags: Flags) => {
    const config = readConfig(asGiven(flags), process.env);
    return serve({ ...config, db: becomeOwner(config.db) });
  });
}

/** For the person at the terminal: where it answers, and what to do next. */
async function greeting(config: Config, app: App, port: number): Promise<string> {
  const { db, listen } = config;
  const base = baseUrlOf(config, port);
  const link = await app.firstLink(base);
  const isOwnTls = config.tlsCert !== undefined && config.domain === undefined;
  const publicUrl = config.publicUrl ?? (isOwnTls ? base : undefined);
  const door = { db, domain: config.domain, publicUrl, listen: { ...listen, port } };
  const up = `paygate ${version} is up on ${app.network.name}

  Dashboard  ${base}/dashboard
  API docs   ${base}/docs
  Health     ${base}/healthz

${link === undefined ? '' : inviteTo(link, again('admin link', door))}`;
  if (app.health().wallets.total > 0) return up;
  return `${up}There is no store yet. Add one in the dashboard, or in another terminal with the xpub that your wallet shows:

  ${again('store add', { db })} --name "My shop" --xpub zpub… --callback-url https://shop.example/callback

It prints the API key with which your shop asks for an address:

  curl -H "Authorization: Bearer $KEY" ${base}/api/new_address

`;
}

const inviteTo = (link: string, another: string): string => `\
Open this link, once and within ${signInLinkMinutes} minutes, to set the password of the dashboard:

  ${link}

Another one is printed by: ${another}

`;

export async function createWorld({
  logLevel,
  logFormat = process.stderr.isTTY ? 'pretty' : 'json',
}: Pick<Config, 'logLevel' | 'logFormat'>): Promise<World> {
  if (logFormat === 'json') return createNodeWorld({ logLevel });
  const { forPeople } = await import('./pretty-log.ts');
  return createNodeWorld({ logLevel, logDestination: forPeople(standardError()) });
}

async function serve(config: Config): Promise<void> {
  const world = await createWorld(config);
  for (const name of unknownVariables(process.env)) {
    world.log.warn('no option has this name in the environment', { name });
  }
  // Such as what a timer could not read: the next one could not either.
  process.on('uncaughtException', (error) => {
    fail(useFailure(config.db, error));
    exit(1);
  });
  try {
    await run(config, world);
  } catch (error) {
    throw useFailure(config.db, error);
  }
  // All is written and closed; a timer that still waits would only hold the process.
  exit(0);
}

/** Until it is told to stop. */
async function run(config: Config, world: World): Promise<void> {
  const app = await buildApp(config, world, {
    onFatal: endAtOnce(world),
    releasedAt,
    checkCopy: checkBeside(),
  });
  const stopped = stopOnSignal(() => app.stop(), world);
  try {
    const { port } = await app.start();
    world.log.info('paygate is up', { version, network: app.network.name, port });
    process.stdout.write(await greeting(config, app, port));
  } catch (error) {
    await app.stop();
    throw error;
  }
  await stopped;
}
