// What `paygate install` puts on a machine with systemd: the executable, a user, settings and a
// confined service. Plain data: paths, texts, commands.

import { serviceName } from './service-environment.ts';
import { systemdUnit } from './systemd-unit.ts';

export interface PlannedFile {
  /** The absolute path on the machine; with `--root`, below that folder. */
  readonly path: string;
  readonly mode: number;
  readonly content: string | { readonly copyOf: string };
  /** The operator edits it, so it is never overwritten, not even with `--force`. */
  readonly isOwnedByOperator?: true;
}

export interface InstallPlan {
  readonly files: readonly PlannedFile[];
  /** Commands that root runs afterwards, in this order. */
  readonly commands: readonly (readonly string[])[];
}

export interface InstallOptions {
  readonly binary: string;
  readonly domain: string | undefined;
  readonly acmeEmail: string | undefined;
  readonly network: string | undefined;
}

export const paths = {
  binary: '/usr/local/bin/paygate',
  unit: `/etc/systemd/system/${serviceName}`,
  user: '/etc/sysusers.d/paygate.conf',
  settings: '/etc/paygate.env',
  data: '/var/lib/paygate',
} as const;

export function installPlan(options: InstallOptions): InstallPlan {
  return {
    files: [
      { path: paths.binary, mode: 0o755, content: { copyOf: options.binary } },
      { path: paths.user, mode: 0o644, content: `u paygate - "paygate" ${paths.data}\n` },
      { path: paths.settings, mode: 0o600, content: settingsOf(options), isOwnedByOperator: true },
      { path: paths.unit, mode: 0o644, content: systemdUnit },
    ],
    commands: [
      ['systemd-sysusers', paths.user],
      ['install', '-d', '-m', '0700', '-o', 'paygate', '-g', 'paygate', paths.data],
      ['systemctl', 'daemon-reload'],
    ],
  };
}

function settingsOf({ domain, acmeEmail, network }: InstallOptions): string {
  const given = [
    ['PAYGATE_DB', `${paths.data}/paygate.db`],
    ['PAYGATE_DOMAIN', domain],
    ['PAYGATE_ACME_EMAIL', acmeEmail],
    ['PAYGATE_NETWORK', network],
  ].filter(([, value]) => value !== undefined);
  return `# Settings of the service paygate: \`paygate serve --help\` lists all of them.
# After a change: systemctl restart paygate
${given.map(([name, value]) => `${name}=${value}\n`).join('')}`;
}

/** Removes what was installed, except data and settings, which cannot be made again. */
export const uninstallCommands = `systemctl disable --now paygate
rm -f ${paths.unit} ${paths.user} ${paths.binary} ${paths.binary}.previous
systemctl daemon-reload`;

/** Deletes the database, the settings and the user. */
export const deleteDataCommand = `rm -r ${paths.data} ${paths.settings} && userdel paygate`;
