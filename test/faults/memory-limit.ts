// A memory limit as systemd sets it (MemoryMax): a control group, of version 1 or 2. The limit
// includes the page cache, which the kernel can reclaim. Needs root.
// https://docs.kernel.org/admin-guide/cgroup-v2.html, https://docs.kernel.org/admin-guide/cgroup-v1/memory.html

import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { whenOver } from '../support/files.ts';

interface Version {
  readonly parent: string;
  readonly limit: string;
  /** The name of anonymous memory in `memory.stat`, in bytes. */
  readonly anonymous: string;
  /** The file with the peak usage, in bytes. */
  readonly peak: string;
  /** The file with the number of killed processes, as `oom_kill N`. */
  readonly kills: string;
}

const versions: readonly Version[] = [
  {
    parent: '/sys/fs/cgroup/memory',
    limit: 'memory.limit_in_bytes',
    anonymous: 'total_rss',
    peak: 'memory.max_usage_in_bytes',
    kills: 'memory.oom_control',
  },
  {
    parent: '/sys/fs/cgroup',
    limit: 'memory.max',
    anonymous: 'anon',
    peak: 'memory.peak',
    kills: 'memory.events',
  },
];

export interface MemoryLimit {
  /** The command, run inside the group together with its child processes. */
  within(command: readonly string[]): string[];
  /** The anonymous memory now, which the kernel cannot reclaim. */
  anonymousBytes(): number;
  /** The peak usage, with the page cache. */
  peakBytes(): number;
  /** How many processes the kernel killed because of the limit. */
  kills(): number;
}

/** @returns why no limit can be set here; undefined if one can */
export function noMemoryLimit(): string | undefined {
  if (process.geteuid?.() !== 0) return 'only root can limit memory';
  try {
    const { folder } = makeGroup(1024 * 1024);
    rmdirSync(folder);
    return undefined;
  } catch (error) {
    return `this machine does not allow a memory limit (${(error as Error).message})`;
  }
}

function makeGroup(bytes: number): Version & { readonly folder: string } {
  const version = versions.find(({ parent }) => existsSync(parent));
  if (version === undefined) throw new Error('there are no control groups');
  const folder = join(version.parent, `paygate-${process.pid}-${performance.now()}`);
  mkdirSync(folder);
  try {
    writeFileSync(join(folder, version.limit), String(bytes));
    return { ...version, folder };
  } catch (error) {
    rmdirSync(folder);
    throw error;
  }
}

/** A group that is removed after the test, when its processes have ended. */
export function limitMemory(bytes: number): MemoryLimit {
  const { folder, anonymous, peak, kills } = makeGroup(bytes);
  whenOver(() => rmdirSync(folder));
  const numberOf = (file: string, name: string): number =>
    Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(readFileSync(join(folder, file), 'utf8'))?.[1]);
  return {
    within: (command) => [
      ...['sh', '-ec', `echo $$ > ${join(folder, 'cgroup.procs')}; exec "$@"`, 'sh'],
      ...command,
    ],
    anonymousBytes: () => numberOf('memory.stat', anonymous),
    peakBytes: () => Number(readFileSync(join(folder, peak), 'utf8')),
    kills: () => numberOf(kills, 'oom_kill'),
  };
}
