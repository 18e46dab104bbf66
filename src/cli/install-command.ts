// `paygate install`: makes this executable a service of a machine with systemd. It never overwrites what is there
// unless told to, and never the settings; `--dry-run` only says what it would do.

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
import { type Config, options, readConfig } from '../config.ts';
import { publicEndpointOf } from '../domain/public-endpoint.ts';
import { PaygateError, reasonOf } from '../lib/errors.ts';
import { replaceFile } from '../world/disk.ts';
import {
  forgetting,
  type InstallPlan,
  installPlan,
  type PlannedFile,
  paths,
  undoing,
} from './install-plan.ts';
import { asGiven } from './serve-options.ts';

interface Given {
  readonly root: string;
  readonly binary?: string;
  readonly domain?: string;
  readonly acmeEmail?: string;
  readonly network?: string;
  readonly dryRun?: boolean;
  readonly force?: boolean;
}

export function installCommand(): Command {
  return new Command('install')
    .description('make this executable a service of this machine (systemd, as root)')
    .option(`${options.domain.flag} <name>`, options.domain.help)
    .option(`${options.acmeEmail.flag} <address>`, options.acmeEmail.help)
    .option(`${options.network.flag} <name>`, options.network.help)
    .option('--binary <file>', 'another executable than this one')
    .option('--root <folder>', 'put the files below this folder, and run nothing', '/')
    .option('--dry-run', 'say what would be done')
    .option('--force', 'overwrite files that differ; never the settings')
    .action(install);
}

function install(given: Given): void {
  const plan = planOf(given);
  if (given.dryRun) {
    process.stdout.write(describe(plan));
    return;
  }
  const isHere = given.root === '/';
  if (isHere && process.geteuid?.() !== 0) {
    throw new PaygateError(
      'forbidden',
      'installing needs root (sudo); --dry-run shows what it does',
    );
  }
  const states = plan.files.map((file) => ({ file, state: stateOf(file, given.root) }));
  const inTheWay = states.filter(({ file, state }) => state === 'differs' && !file.isKept);
  if (inTheWay.length > 0 && !given.force) {
    const names = inTheWay.map(({ file }) => file.path).join(', ');
    throw new PaygateError(
      'conflict',
      `there already, and different: ${names}. --force overwrites`,
    );
  }
  for (const { file, state } of states) {
    const isDone = state === 'same' || (state === 'differs' && file.isKept);
    if (!isDone) put(file, given.root);
    const unsaid = isDone ? unsaidIn(file, given.root) : '';
    process.stdout.write(`${isDone ? 'kept   ' : 'written'} ${file.path}${unsaid}\n`);
  }
  for (const command of plan.commands) {
    if (isHere) run(command);
    else process.stdout.write(`to run  ${command.join(' ')}\n`);
  }
  // `enable --now` leaves what runs as it is.
  process.stdout.write(inTheWay.length > 0 ? `${restartStep}${nextSteps}` : nextSteps);
}

/** @throws PaygateError invalid, before anything is touched */
function planOf(given: Given): InstallPlan {
  const binary = given.binary ?? (isSea() ? process.execPath : undefined);
  if (binary === undefined) {
    throw new PaygateError(
      'invalid',
      'this is not the single executable: name it by --binary dist/paygate',
    );
  }
  if (!existsSync(binary)) throw new PaygateError('invalid', `--binary: there is no ${binary}`);
  if (!statSync(binary).isFile()) {
    throw new PaygateError('invalid', `--binary: ${binary} is not a file`);
  }
  const { domain, acmeEmail, network } = settingsIn(given);
  return installPlan({ binary, domain, acmeEmail, network });
}

/** As `serve` will read them out of the settings: what it refuses is not written there. */
function settingsIn({ root, domain, acmeEmail, network }: Given): Config {
  const config = readConfig(asGiven({ domain, acmeEmail, network }), {});
  publicEndpointOf({ ...config, domain: config.domain ?? domainKept(root) });
  return config;
}

/** What settings that stand there already say; they are kept. */
function domainKept(root: string): string | undefined {
  try {
    const kept = readFileSync(join(root, paths.settings), 'utf8');
    return /^PAYGATE_DOMAIN=["']?([^"'\s]+)/m.exec(kept)?.[1];
  } catch {
    // None, or none that this user may read.
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

/** For everybody: paygate's umask, which is for its own files, would shut out the very user that it makes. */
function makeFolders(path: string): void {
  const folder = resolve(path);
  const first = mkdirSync(folder, { recursive: true });
  if (first === undefined) return;
  for (let made = folder; made.length >= first.length; made = dirname(made)) chmodSync(made, 0o755);
}

/** What was asked for this time, and stands in no line of the settings that are kept: nobody else would do it. */
function unsaidIn(file: PlannedFile, root: string): string {
  const { content, isKept, path } = file;
  if (!isKept || typeof content !== 'string') return '';
  const kept = readFileSync(join(root, path), 'utf8').split('\n');
  // systemd takes a value in quotes as well.
  const lines = new Set(kept.map((line) => line.trim().replace(/=(["'])(.*)\1$/, '=$2')));
  const unsaid = content
    .split('\n')
    .filter((line) => /^PAYGATE_(?!DB=)/.test(line) && !lines.has(line));
  return unsaid.length === 0
    ? ''
    : `, yours: it does not say ${unsaid.join(' and ')}, write that there`;
}

/** By rename: an executable that runs cannot be written over. Synced, for the machine may lose power before its first start. @throws PaygateError unavailable */
function put({ path, mode, content }: PlannedFile, root: string): void {
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

const describe = ({ files, commands }: InstallPlan): string =>
  [
    ...files.map((file) => {
      const { path, mode, content } = file;
      const head = `# ${path} (${mode.toString(8).padStart(4, '0')})`;
      return typeof content === 'string' ? `${head}\n${content}` : `${head}: ${content.copyOf}\n`;
    }),
    '# then',
    ...commands.map((command) => command.join(' ')),
    nextSteps,
  ].join('\n');

const restartStep = `
A service that runs already takes it up with: systemctl restart paygate
`;

const nextSteps = `
Start it, now and with the machine:

  systemctl enable --now paygate && journalctl -fu paygate

Its log shows the link that opens the dashboard. Commands run as its user:

  sudo -u paygate paygate store add --db ${paths.data}/paygate.db …

To undo all this but the data:

${undoing.replaceAll(/^/gm, '  ')}

The data, where no payment can be missed any more: ${forgetting}
`;
