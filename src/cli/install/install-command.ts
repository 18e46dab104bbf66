// `paygate install`: installs this executable as a systemd service. It never overwrites the
// settings, and other files that differ only with `--force`. `--dry-run` prints what it would do.

import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { isSea } from 'node:sea';
import { Command } from 'commander';
import { type Config, options, readConfig } from '../../config.ts';
import { publicEndpointOf } from '../../domain/delivery/public-endpoint.ts';
import { quoteForShell } from '../../domain/text/format.ts';
import { PaygateError, reasonOf } from '../../lib/errors.ts';
import { replaceFile } from '../../world/disk.ts';
import { flagValues } from '../service/serve-options.ts';
import { serviceName } from './systemd-service.ts';

interface PlannedFile {
  /** The absolute path on the machine; with `--root`, below that folder. */
  readonly path: string;
  readonly mode: number;
  readonly content: string | { readonly copyOf: string };
  /** The operator edits it, so it is never overwritten, not even with `--force`. */
  readonly isOwnedByOperator?: true;
}

interface InstallFlags {
  readonly root: string;
  readonly binary?: string;
  readonly domain?: string;
  readonly acmeEmail?: string;
  readonly network?: string;
  readonly dryRun?: boolean;
  readonly force?: boolean;
}

export const paths = {
  binary: '/usr/local/bin/paygate',
  unit: `/etc/systemd/system/${serviceName}`,
  user: '/etc/sysusers.d/paygate.conf',
  settings: '/etc/paygate.env',
  data: '/var/lib/paygate',
} as const;

/** Commands that root runs after the files are there, in this order. */
const commands: readonly (readonly string[])[] = [
  ['systemd-sysusers', paths.user],
  ['install', '-d', '-m', '0700', '-o', 'paygate', '-g', 'paygate', paths.data],
  ['systemctl', 'daemon-reload'],
];

export function installCommand(): Command {
  return new Command('install')
    .description('install this executable as a systemd service (as root)')
    .option(`${options.domain.flag} <name>`, options.domain.help)
    .option(`${options.acmeEmail.flag} <address>`, options.acmeEmail.help)
    .option(`${options.network.flag} <name>`, options.network.help)
    .option('--binary <file>', 'executable to install (default: this one)')
    .option('--root <folder>', 'put the files below this folder, and run no commands', '/')
    .option('--dry-run', 'print what would be done')
    .option('--force', 'overwrite files that differ; never the settings')
    .action(install);
}

function install(given: InstallFlags): void {
  const { root, force } = given;
  const files = filesFor(given);
  if (given.dryRun) {
    process.stdout.write(describe(files));
    return;
  }
  const isHere = root === '/';
  if (isHere && process.geteuid?.() !== 0) {
    throw new PaygateError(
      'forbidden',
      'only root can install; use sudo, or --dry-run to see what it does',
    );
  }
  const states = files.map((file) => ({ file, state: stateOf(file, root) }));
  const conflicts = states
    .filter(({ file, state }) => state === 'differs' && !file.isOwnedByOperator)
    .map(({ file }) => file.path);
  if (conflicts.length > 0 && !force) {
    throw new PaygateError(
      'conflict',
      `these files exist and differ: ${conflicts.join(', ')}; overwrite them with --force`,
    );
  }
  for (const { file, state } of states) {
    const isDone = state === 'same' || (state === 'differs' && file.isOwnedByOperator);
    if (!isDone) putFile(file, root);
    const missing = isDone ? missingSettings(file, root) : '';
    process.stdout.write(`${isDone ? 'kept   ' : 'written'} ${file.path}${missing}\n`);
  }
  for (const command of commands) {
    if (isHere) run(command);
    else process.stdout.write(`to run  ${command.join(' ')}\n`);
  }
  // `systemctl enable --now` does not restart a running service.
  process.stdout.write(conflicts.length > 0 ? `${restartStep}${nextSteps}` : nextSteps);
}

/**
 * The options are parsed as `serve` parses them: an invalid value is never written to the settings.
 * @throws PaygateError invalid, before any file is changed
 */
function filesFor({ root, domain, acmeEmail, network, ...given }: InstallFlags): PlannedFile[] {
  const binary = given.binary ?? (isSea() ? process.execPath : undefined);
  if (binary === undefined) throw new PaygateError('invalid', notExecutableText());
  const stat = statSync(binary, { throwIfNoEntry: false });
  if (!stat?.isFile()) {
    const fault = stat === undefined ? 'does not exist' : 'is not a file';
    throw new PaygateError('invalid', `--binary: ${binary} ${fault}`);
  }
  const config = readConfig(flagValues({ domain, acmeEmail, network }), {});
  publicEndpointOf({ ...config, domain: config.domain ?? installedDomain(root) });
  return [
    { path: paths.binary, mode: 0o755, content: { copyOf: binary } },
    { path: paths.user, mode: 0o644, content: `u paygate - "paygate" ${paths.data}\n` },
    { path: paths.settings, mode: 0o600, content: settingsOf(config), isOwnedByOperator: true },
    { path: paths.unit, mode: 0o644, content: systemdUnit },
  ];
}

function settingsOf({ domain, acmeEmail, network }: Config): string {
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

/** The build of the sources writes the executable beside the bundle that runs now. */
function notExecutableText(): string {
  const built = join(dirname(process.argv[1] ?? ''), 'paygate');
  const make = existsSync(built) ? '' : 'make it with `npm run build`, then ';
  return `this is not the single executable; ${make}name it with --binary ${quoteForShell(built)}`;
}

/** The domain in settings that exist already and stay as they are. */
function installedDomain(root: string): string | undefined {
  try {
    const text = readFileSync(join(root, paths.settings), 'utf8');
    return /^PAYGATE_DOMAIN=["']?([^"'\s]+)/m.exec(text)?.[1];
  } catch {
    // No settings exist, or this user may not read them.
    return undefined;
  }
}

const bytesOf = ({ content }: PlannedFile): Buffer =>
  typeof content === 'string' ? Buffer.from(content) : readFileSync(content.copyOf);

/** @throws PaygateError unavailable */
function stateOf(file: PlannedFile, root: string): 'absent' | 'same' | 'differs' {
  const path = join(root, file.path);
  if (!existsSync(path)) return 'absent';
  const wanted = bytesOf(file);
  try {
    return readFileSync(path).equals(wanted) ? 'same' : 'differs';
  } catch (error) {
    throw new PaygateError('unavailable', `${path}: cannot be read (${reasonOf(error)})`);
  }
}

/** Makes folders that every user may read: paygate's umask would exclude the service's own user. */
function makeFolders(path: string): void {
  const folder = resolve(path);
  const first = mkdirSync(folder, { recursive: true });
  if (first === undefined) return;
  for (let made = folder; made.length >= first.length; made = dirname(made)) chmodSync(made, 0o755);
}

/** Options of this call that the existing settings lack: the operator must write them there. */
function missingSettings(file: PlannedFile, root: string): string {
  const { content, isOwnedByOperator, path } = file;
  if (!isOwnedByOperator || typeof content !== 'string') return '';
  const existing = readFileSync(join(root, path), 'utf8').split('\n');
  // systemd accepts a value in quotes too.
  const lines = new Set(existing.map((line) => line.trim().replace(/=(["'])(.*)\1$/, '=$2')));
  const missing = content
    .split('\n')
    .filter((line) => /^PAYGATE_(?!DB=)/.test(line) && !lines.has(line));
  return missing.length === 0 ? '' : `, yours: it lacks ${missing.join(' and ')}; add that there`;
}

/**
 * Replaces by rename, because a running executable cannot be overwritten. Syncs it, because the
 * machine may lose power before its first start.
 * @throws PaygateError unavailable
 */
function putFile({ path, mode, content }: PlannedFile, root: string): void {
  const target = join(root, path);
  const fresh = `${target}.new`;
  try {
    makeFolders(dirname(target));
    if (typeof content === 'string') writeFileSync(fresh, content, { mode });
    else copyFileSync(content.copyOf, fresh);
    chmodSync(fresh, mode);
    replaceFile(fresh, target);
  } catch (error) {
    throw new PaygateError('unavailable', `${target}: cannot be written (${reasonOf(error)})`);
  }
}

/** @throws PaygateError unavailable */
function run([command = '', ...args]: readonly string[]): void {
  const { status, error } = spawnSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  if (status === 0) return;
  const why = error === undefined ? `ended with ${status}` : error.message;
  throw new PaygateError('unavailable', `${[command, ...args].join(' ')}: ${why}`);
}

function describe(files: readonly PlannedFile[]): string {
  const shown = files.map(({ path, mode, content }) => {
    const head = `# ${path} (${mode.toString(8).padStart(4, '0')})`;
    return typeof content === 'string' ? `${head}\n${content}` : `${head}: ${content.copyOf}\n`;
  });
  return [...shown, '# then', ...commands.map((command) => command.join(' ')), nextSteps].join(
    '\n',
  );
}

const restartStep = `
A service that runs already needs: systemctl restart paygate
`;

const nextSteps = `
Start it now and at every boot:

  systemctl enable --now paygate && journalctl -fu paygate

Its log shows the link that opens the dashboard. Run commands as its user:

  sudo -u paygate paygate store add --db ${paths.data}/paygate.db …

To uninstall it, but keep the data:

  systemctl disable --now paygate
  rm -f ${paths.unit} ${paths.user} ${paths.binary} ${paths.binary}.previous
  systemctl daemon-reload

To delete the data too, once no customer can pay any more: rm -r ${paths.data} ${paths.settings} && userdel paygate
`;

/**
 * The unit: it may write its own folder and use the network, nothing else. A test checks its score
 * (`systemd-analyze security`).
 * https://www.freedesktop.org/software/systemd/man/systemd.exec.html
 */
export const systemdUnit = `[Unit]
Description=paygate, a Bitcoin payment gateway
Wants=network-online.target
After=network-online.target
# Restart without limit: a disk or a port may be free only an hour later.
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart=/usr/local/bin/paygate serve
EnvironmentFile=/etc/paygate.env
User=paygate
Group=paygate
Restart=always
RestartSec=2
# 2: invalid usage. A restart cannot correct a setting.
RestartPreventExitStatus=2
TimeoutStopSec=15
StateDirectory=paygate
StateDirectoryMode=0700
WorkingDirectory=/var/lib/paygate
UMask=0077
# A leak ends with a restart, not with the machine.
MemoryMax=512M
# A core would hold every key.
LimitCORE=0
TasksMax=64
LimitNOFILE=4096
# Ports 80 and 443.
AmbientCapabilities=CAP_NET_BIND_SERVICE
CapabilityBoundingSet=CAP_NET_BIND_SERVICE
# Not MemoryDenyWriteExecute: JavaScript is compiled to machine code while it runs.
LockPersonality=yes
NoNewPrivileges=yes
PrivateDevices=yes
PrivateMounts=yes
PrivateTmp=yes
ProcSubset=pid
ProtectClock=yes
ProtectControlGroups=yes
ProtectHome=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
ProtectSystem=strict
RemoveIPC=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallErrorNumber=EPERM
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources

[Install]
WantedBy=multi-user.target
`;
