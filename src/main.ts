#!/usr/bin/env node
// Lists the commands, and runs the one of the command line. The module of a command is loaded only
// for that command, because all modules together take longer to start than most commands to run.

import { launch } from './cli/launcher.ts';

void launch({
  serve: async () => (await import('./cli/serve-command.ts')).serveCommand(),
  sandbox: async () => (await import('./cli/sandbox-command.ts')).sandboxCommand(),
  health: async () => (await import('./cli/health-command.ts')).healthCommand(),
  store: async () => (await import('./cli/store-command.ts')).storeCommand(),
  key: async () => (await import('./cli/key-command.ts')).keyCommand(),
  address: async () => (await import('./cli/address-command.ts')).addressCommand(),
  orders: async () => (await import('./cli/orders-command.ts')).ordersCommand(),
  links: async () => (await import('./cli/links-command.ts')).linksCommand(),
  payments: async () => (await import('./cli/payments-command.ts')).paymentsCommand(),
  callbacks: async () => (await import('./cli/callbacks-command.ts')).callbacksCommand(),
  events: async () => (await import('./cli/events-command.ts')).eventsCommand(),
  notify: async () => (await import('./cli/notify-command.ts')).notifyCommand(),
  servers: async () => (await import('./cli/servers-command.ts')).serversCommand(),
  plugin: async () => (await import('./cli/plugin-command.ts')).pluginCommand(),
  audit: async () => (await import('./cli/audit-command.ts')).auditCommand(),
  admin: async () => (await import('./cli/admin-command.ts')).adminCommand(),
  backup: async () => (await import('./cli/backup-command.ts')).backupCommand(),
  check: async () => (await import('./cli/check-command.ts')).checkCommand(),
  doctor: async () => (await import('./cli/doctor-command.ts')).doctorCommand(),
  restore: async () => (await import('./cli/restore-command.ts')).restoreCommand(),
  install: async () => (await import('./cli/install-command.ts')).installCommand(),
  update: async () => (await import('./cli/update-command.ts')).updateCommand(),
  'update-file': async () => (await import('./cli/update-file-command.ts')).updateFileCommand(),
  licenses: async () => (await import('./cli/licenses-command.ts')).licensesCommand(),
  completion: async () => (await import('./cli/completion-command.ts')).completionCommand(),
});
