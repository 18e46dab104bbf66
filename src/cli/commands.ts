// The commands by their names. The module of a command is loaded only for that command, because all
// modules together take longer to start than most commands to run.

import type { Commands } from './program.ts';

export const commands: Commands = {
  serve: async () => (await import('./service/serve-command.ts')).serveCommand(),
  sandbox: async () => (await import('./service/sandbox-command.ts')).sandboxCommand(),
  health: async () => (await import('./service/health-command.ts')).healthCommand(),
  store: async () => (await import('./stores/store-command.ts')).storeCommand(),
  key: async () => (await import('./stores/key-command.ts')).keyCommand(),
  address: async () => (await import('./sales/address-command.ts')).addressCommand(),
  orders: async () => (await import('./sales/orders-command.ts')).ordersCommand(),
  links: async () => (await import('./sales/links-command.ts')).linksCommand(),
  payments: async () => (await import('./sales/payments-command.ts')).paymentsCommand(),
  callbacks: async () => (await import('./sales/callbacks-command.ts')).callbacksCommand(),
  events: async () => (await import('./sales/events-command.ts')).eventsCommand(),
  notify: async () => (await import('./stores/notify-command.ts')).notifyCommand(),
  servers: async () => (await import('./service/servers-command.ts')).serversCommand(),
  plugin: async () => (await import('./stores/plugin-command.ts')).pluginCommand(),
  audit: async () => (await import('./database/audit-command.ts')).auditCommand(),
  admin: async () => (await import('./database/admin-command.ts')).adminCommand(),
  backup: async () => (await import('./database/backup-command.ts')).backupCommand(),
  check: async () => (await import('./database/check-command.ts')).checkCommand(),
  doctor: async () => (await import('./service/doctor-command.ts')).doctorCommand(),
  restore: async () => (await import('./database/restore-command.ts')).restoreCommand(),
  install: async () => (await import('./install/install-command.ts')).installCommand(),
  update: async () => (await import('./install/update-command.ts')).updateCommand(),
  'update-file': async () => (await import('./install/update-command.ts')).updateFileCommand(),
  licenses: async () => (await import('./licenses-command.ts')).licensesCommand(),
  completion: async () => (await import('./completion-command.ts')).completionCommand(),
};
