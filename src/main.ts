#!/usr/bin/env node
// Lists the commands, and runs the one of the command line.

import { addressCommand } from './cli/address-command.ts';
import { adminCommand } from './cli/admin-command.ts';
import { auditCommand } from './cli/audit-command.ts';
import { backupCommand } from './cli/backup-command.ts';
import { callbacksCommand } from './cli/callbacks-command.ts';
import { checkCommand } from './cli/check-command.ts';
import { completionCommand } from './cli/completion-command.ts';
import { doctorCommand } from './cli/doctor-command.ts';
import { eventsCommand } from './cli/events-command.ts';
import { healthCommand } from './cli/health-command.ts';
import { installCommand } from './cli/install-command.ts';
import { keyCommand } from './cli/key-command.ts';
import { licensesCommand } from './cli/licenses-command.ts';
import { linksCommand } from './cli/links-command.ts';
import { notifyCommand } from './cli/notify-command.ts';
import { ordersCommand } from './cli/orders-command.ts';
import { paymentsCommand } from './cli/payments-command.ts';
import { pluginCommand } from './cli/plugin-command.ts';
import { runProgram } from './cli/program.ts';
import { restoreCommand } from './cli/restore-command.ts';
import { sandboxCommand } from './cli/sandbox-command.ts';
import { serveCommand } from './cli/serve-command.ts';
import { serversCommand } from './cli/servers-command.ts';
import { storeCommand } from './cli/store-command.ts';
import { updateCommand } from './cli/update-command.ts';
import { updateFileCommand } from './cli/update-file-command.ts';

void runProgram([
  serveCommand(),
  sandboxCommand(),
  healthCommand(),
  storeCommand(),
  keyCommand(),
  addressCommand(),
  ordersCommand(),
  linksCommand(),
  paymentsCommand(),
  callbacksCommand(),
  eventsCommand(),
  notifyCommand(),
  serversCommand(),
  pluginCommand(),
  auditCommand(),
  adminCommand(),
  backupCommand(),
  checkCommand(),
  doctorCommand(),
  restoreCommand(),
  installCommand(),
  updateCommand(),
  updateFileCommand(),
  licensesCommand(),
  completionCommand(),
]);
