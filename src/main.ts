#!/usr/bin/env node
// argv → command.

import { Command } from 'commander';
import { addressCommand } from './cli/address.ts';
import { adminCommand } from './cli/admin.ts';
import { auditCommand } from './cli/audit.ts';
import { backupCommand } from './cli/backup.ts';
import { callbacksCommand } from './cli/callbacks.ts';
import { checkCommand } from './cli/check.ts';
import { fail } from './cli/command.ts';
import { healthCommand } from './cli/health.ts';
import { installCommand } from './cli/install.ts';
import { keyCommand } from './cli/key.ts';
import { pluginCommand } from './cli/plugin.ts';
import { refusePrivateInput } from './cli/private-input.ts';
import { restoreCommand } from './cli/restore.ts';
import { sandboxCommand } from './cli/sandbox.ts';
import { serveCommand } from './cli/serve.ts';
import { serversCommand } from './cli/servers.ts';
import { storeCommand } from './cli/store.ts';
import { version } from './version.ts';

const program = new Command('paygate')
  .description('Self-hosted Bitcoin payment gateway: one process, one file, no key that can spend')
  .version(version)
  .addCommand(serveCommand())
  .addCommand(sandboxCommand())
  .addCommand(healthCommand())
  .addCommand(storeCommand())
  .addCommand(keyCommand())
  .addCommand(addressCommand())
  .addCommand(callbacksCommand())
  .addCommand(serversCommand())
  .addCommand(pluginCommand())
  .addCommand(auditCommand())
  .addCommand(adminCommand())
  .addCommand(backupCommand())
  .addCommand(checkCommand())
  .addCommand(restoreCommand())
  .addCommand(installCommand());

/** A wrong command line ends with 2, as a wrong value does; `--help` and `--version` with 0. */
function exitWithTwo(command: Command): void {
  command.exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2));
  command.commands.forEach(exitWithTwo);
}

exitWithTwo(program);

// What paygate writes (database, mark, lock) is for its own user alone.
process.umask(0o077);

async function run(): Promise<void> {
  refusePrivateInput(process.argv.slice(2), process.env);
  await program.parseAsync(process.argv);
}

run().catch(fail);
