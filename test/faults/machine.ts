// A container with a small Debian whose first process is systemd, on this machine's network. Its
// file tree is built once, in the cache of the end-to-end tests; each machine is a copy. Needs
// root.

import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import {
  cacheDir,
  debootstrap,
  installOnce,
  requireTools,
} from '../../scripts/regtest/install.mjs';
import { eventually } from './serving.ts';

export interface Machine {
  /** Its root folder. */
  readonly root: string;
  /** Runs a command there, as its root. */
  run(...command: readonly string[]): {
    readonly status: number | null;
    readonly stdout: string;
    readonly stderr: string;
  };
  /** Shuts it down and removes it. */
  remove(): Promise<void>;
}

/** Debian 12, whose systemd still supports control groups of version 1. */
const suite = 'bookworm';
const packages = ['systemd', 'systemd-sysv', 'dbus', 'libstdc++6', 'ca-certificates'];
const tree = join(cacheDir(), `systemd-${suite}`);
const container = 'systemd-nspawn';

/** Installs the file tree. @returns why no machine can boot here; undefined if one can */
export async function noMachine(): Promise<string | undefined> {
  if (process.geteuid?.() !== 0) return 'only root can boot a machine';
  try {
    await requireTools({
      'systemd-container': async () => execFileSync(container, ['--version']),
    });
    await installOnce('a Debian with systemd (once, about 90 s)', tree, 'usr/bin/systemctl', (to) =>
      debootstrap(to, suite, packages),
    );
    await (await bootMachine()).remove();
    return undefined;
  } catch (error) {
    return `no machine boots here (${(error as Error).message})`;
  }
}

export async function bootMachine(): Promise<Machine> {
  const folder = mkdtempSync('/var/tmp/paygate-machine-');
  const root = join(folder, 'root');
  execFileSync('cp', ['--archive', tree, root]);
  // This machine may have no systemd, so it is not registered and gets no unit.
  const options = ['--quiet', '--register=no', '--keep-unit', '--console=pipe', '--boot'];
  const child = spawn(container, [...options, '--directory', root], { stdio: 'ignore' });
  const ended = once(child, 'exit');
  const first = () =>
    readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim().split(' ')[0] ??
    '';

  function run(...command: readonly string[]) {
    const within = ['--target', first(), '--all', '--'];
    return spawnSync('nsenter', [...within, ...command], {
      encoding: 'utf8',
      env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' },
    });
  }
  async function remove(): Promise<void> {
    // An orderly shutdown.
    child.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true });
  }
  try {
    await eventually('systemd to be up', () => {
      if (child.exitCode !== null) throw new Error(`${container} ended with ${child.exitCode}`);
      return run('systemctl', 'is-system-running').stdout.trim() === 'running';
    });
  } catch (error) {
    await remove();
    throw error;
  }
  return { root, run, remove };
}
