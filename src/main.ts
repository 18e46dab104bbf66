#!/usr/bin/env node
// argv → command.

import { addressCommand } from './cli/address.ts';
import { adminCommand } from './cli/admin.ts';
import { auditCommand } from './cli/audit.ts';
import { backupCommand } from './cli/backup.ts';
import { callbacksCommand } from './cli/callbacks.ts';
import { checkCommand } from './cli/check.ts';
import { doctorCommand } from './cli/doctor.ts';
import { healthCommand } from './cli/health.ts';
import { installCommand } from './cli/install.ts';
import { keyCommand } from './cli/key.ts';
import { licensesCommand } from './cli/licenses.ts';
import { pluginCommand } from './cli/plugin.ts';
import { runProgram } from './cli/program.ts';
import { restoreCommand } from './cli/restore.ts';
import { sandboxCommand } from './cli/sandbox.ts';
import { serveCommand } from './cli/serve.ts';
import { serversCommand } from './cli/servers.ts';
import { storeCommand } from './cli/store.ts';
import { updateCommand } from './cli/update.ts';
import { updateFileCommand } from './cli/update-file.ts';

void runProgram([
  serveCommand(),
  sandboxCommand(),
  healthCommand(),
  storeCommand(),
  keyCommand(),
  addressCommand(),
  callbacksCommand(),
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
]);
