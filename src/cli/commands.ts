// The commands by their names. The module of a command is loaded only for that command, because all
// modules together take longer to start than most commands to run.

import type { Commands } from './program.ts';

export const commands: Commands = {
  serve: async () => (await import('./serve-command.ts')).serveCommand(),
  sandbox: async () => (await import('./sandbox-command.ts')).sandboxCommand(),
  health: async () => (await import('./health-command.ts')).healthCommand(),
  store: async () => (await import('./store-command.ts')).storeCommand(),
  key: async () => (await import('./key-command.ts')).keyCommand(),
  address: async () => (await import('./address-command.ts')).addressCommand(),
  orders: async () => (await import('./orders-command.ts')).ordersCommand(),
  links: async () => (await import('./links-command.ts')).linksCommand(),
  payments: async () => (await import('./payments-command.ts')).paymentsCommand(),
  callbacks: async () => (await import('./callbacks-command.ts')).callbacksCommand(),
  events: async () => (await import('./events-command.ts')).eventsCommand(),
  notify: async () => (await import('./notify-command.ts')).notifyCommand(),
  servers: async () => (await import('./servers-command.ts')).serversCommand(),
  plugin: async () => (await import('./plugin-command.ts')).pluginCommand(),
  audit: async () => (await import('./audit-command.ts')).auditCommand(),
  admin: async () => (await import('./admin-command.ts')).adminCommand(),
  backup: async () => (await import('./backup-command.ts')).backupCommand(),
  check: async () => (await import('./check-command.ts')).checkCommand(),
  doctor: async () => (await import('./doctor-command.ts')).doctorCommand(),
  restore: async () => (await import('./restore-command.ts')).restoreCommand(),
  install: async () => (await import('./install-command.ts')).installCommand(),
  update: async () => (await import('./update-command.ts')).updateCommand(),
  'update-file': async () => (await import('./update-file-command.ts')).updateFileCommand(),
  licenses: async () => (await import('./licenses-command.ts')).licensesCommand(),
  completion: async () => (await import('./completion-command.ts')).completionCommand(),
};
