// `paygate sandbox`: runs paygate with a demo shop on a simulated chain, until a signal stops it.
// It ignores the environment, whose settings are meant for a real paygate.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { createPasswords } from '../../dashboard/guard/password.ts';
import { type ListenAddress, parseLoopback } from '../../domain/delivery/public-endpoint.ts';
import { quoteForShell } from '../../domain/text/format.ts';
import { reasonOf } from '../../lib/errors.ts';
import { version } from '../../lib/version.ts';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.ts';
import { type LogLevel, logLevels } from '../../world/world.ts';
import { becomeOwner } from '../database/file-owner.ts';
import { exit, exitOnLostWrite, stopOnSignal } from './run-until-stopped.ts';
import { createWorld } from './serve-command.ts';

interface SandboxFlags {
  readonly db?: string;
  readonly listen: ListenAddress;
  readonly shop: ListenAddress;
  readonly logLevel: LogLevel;
}

/** Other ports than those of `serve`, so that both can run. */
const defaults = { listen: '127.0.0.1:8180', shop: '127.0.0.1:8181' };

const passwordBytes = 8;

export function sandboxCommand(): Command {
  return new Command('sandbox')
    .description('run a demo shop on a simulated chain, without any bitcoin')
    .option('--db <file>', 'new file to keep (default: a temporary file)')
    .addOption(addressOption('--listen', 'address of the API', defaults.listen))
    .addOption(addressOption('--shop', 'address of the shop', defaults.shop))
    .addOption(
      new Option('--log-level <level>', 'lowest level that is logged')
        .choices(logLevels)
        .default('warn'),
    )
    .action((given: SandboxFlags) =>
      run({ ...given, ...(given.db && { db: becomeOwner(given.db) }) }),
    );
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

async function run({ db, listen, shop, logLevel }: SandboxFlags): Promise<void> {
  const world = await createWorld({ logLevel });
  const password = `sandbox-${Buffer.from(world.randomBytes(passwordBytes)).toString('hex')}`;
  const passwordHash = await createPasswords(world.randomBytes).hash(password);
  const onFatal = exitOnLostWrite(world);
  let starting: Promise<Sandbox> | undefined;
  // Before the folder is made: a signal during the start must not leave the folder behind.
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
  // All is written and closed; a pending timer must not delay the exit.
  exit(0);
}

function greeting(
  { apiKey, apiOrigin, shopOrigin, links }: Sandbox,
  password: string,
  path: string,
) {
  return `paygate ${version} sandbox: a simulated chain, nothing on it has any value. Ctrl-C ends it.

Open the shop, order something, and act as the customer and the miners:

  Shop      ${shopOrigin}/
  Dashboard ${links.dashboard}
  Chain     ${links.chain}

The links to the dashboard and its Chain page sign you in. If a page asks for the password: ${password}

What your own shop needs:

  API docs  ${apiOrigin}/docs
  API key   ${apiKey}
  Rate      ${apiOrigin}/api/price?currency=EUR (simulated, always the same)

To send callbacks to a receiver of your own, paste this into another terminal and continue with "The main job" in README:

  export PAYGATE_DB=${quoteForShell(path)} API=${apiOrigin} KEY=${apiKey}

`;
}
