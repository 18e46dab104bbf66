// `paygate sandbox`: paygate with a demo shop on a simulated chain, until it is told to stop. Of the
// environment it reads nothing: what stands there is meant for a real paygate.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { createPasswords } from '../dashboard/password.ts';
import { quoteForShell } from '../domain/format.ts';
import { type ListenAddress, parseLoopback } from '../domain/public-endpoint.ts';
import { reasonOf } from '../lib/errors.ts';
import { version } from '../lib/version.ts';
import { type Sandbox, startSandbox } from '../sandbox/sandbox.ts';
import { type LogLevel, logLevels } from '../world/world.ts';
import { becomeOwner } from './file-owner.ts';
import { endAtOnce, exit, stopOnSignal } from './run-until-stopped.ts';
import { createWorld } from './serve-command.ts';

interface Given {
  readonly db?: string;
  readonly listen: ListenAddress;
  readonly shop: ListenAddress;
  readonly logLevel: LogLevel;
}

/** Not those of `serve`, so that both can run. */
const defaults = { listen: '127.0.0.1:8180', shop: '127.0.0.1:8181' };

const passwordBytes = 8;

export function sandboxCommand(): Command {
  return new Command('sandbox')
    .description('try it: a demo shop on a simulated chain, without any bitcoin')
    .option('--db <file>', 'a new file that stays (default: one that is thrown away)')
    .addOption(addressOption('--listen', 'where the API answers', defaults.listen))
    .addOption(addressOption('--shop', 'where the shop answers', defaults.shop))
    .addOption(
      new Option('--log-level <level>', 'how much is logged').choices(logLevels).default('warn'),
    )
    .action((given: Given) => run({ ...given, ...(given.db && { db: becomeOwner(given.db) }) }));
}

const addressOption = (flag: string, help: string, fallback: string): Option =>
  new Option(`${flag} <host:port>`, `${help}; loopback only`)
    .argParser(readListen)
    .default(readListen(fallback), fallback);

function readListen(text: string): ListenAddress {
  try {
    return parseLoopback(text);
  } catch (error) {
    throw new InvalidArgumentError(reasonOf(error));
  }
}

async function run({ db, listen, shop, logLevel }: Given): Promise<void> {
  const world = await createWorld({ logLevel });
  const password = `sandbox-${Buffer.from(world.randomBytes(passwordBytes)).toString('hex')}`;
  const passwordHash = await createPasswords(world.randomBytes).hash(password);
  const onFatal = endAtOnce(world);
  let starting: Promise<Sandbox> | undefined;
  // Before there is a folder: whoever does not wait for the links would leave one behind.
  const stopped = stopOnSignal(async () => (await starting?.catch(() => undefined))?.stop(), world);
  const folder = db === undefined ? mkdtempSync(join(tmpdir(), 'paygate-sandbox-')) : undefined;
  const path = db ?? join(folder ?? '', 'paygate.db');
  try {
    starting = startSandbox({ db: path, api: listen, shop, passwordHash, onFatal }, world);
    const sandbox = await starting;
    process.stdout.write(greeting(sandbox, password, path));
    await stopped;
  } finally {
    if (folder !== undefined) rmSync(folder, { recursive: true });
  }
  // All is written and closed; a timer that still waits would only hold the process.
  exit(0);
}

function greeting(
  { apiKey, apiOrigin, shopOrigin, links }: Sandbox,
  password: string,
  path: string,
) {
  return `paygate ${version} sandbox: a simulated chain, nothing on it has any value. Ctrl-C ends it.

Open the shop, order something, and play the customer and the miners:

  Shop      ${shopOrigin}/
  Dashboard ${links.dashboard}
  Chain     ${links.chain}

The links to the dashboard and its Chain page sign you in. Where a page asks for the password: ${password}

What your own shop would need:

  API docs  ${apiOrigin}/docs
  API key   ${apiKey}
  Rate      ${apiOrigin}/api/price?currency=EUR (made up, always the same)

To send callbacks to a receiver of your own, paste this into another terminal and go on as README says under "The main job":

  export PAYGATE_DB=${quoteForShell(path)} API=${apiOrigin} KEY=${apiKey}

`;
}
