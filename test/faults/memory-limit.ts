// A limit of memory as systemd sets it (MemoryMax): a control group of its own, of version 1 or 2. What the kernel can
// take back at once (the cache of files) is in the limit as well. Needs root.
// https://docs.kernel.org/admin-guide/cgroup-v2.html, https://docs.kernel.org/admin-guide/cgroup-v1/memory.html

import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { whenOver } from '../support/files.ts';

interface Version {
  readonly parent: string;
  readonly limit: string;
  /** Bytes that belong to no file, by their name in `memory.stat`. */
  readonly anonymous: string;
  /** The most that was ever in it, in bytes. */
  readonly peak: string;
  /** Where it stands how many processes were killed, in a line `oom_kill N`. */
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
  /** A command that joins the group first, which all that it starts is in as well. */
  within(command: readonly string[]): string[];
  /** What no file gives back, in bytes, now. */
  anonymousBytes(): number;
  /** The most that the kernel has counted, in bytes, files that it could take back as well. */
  peakBytes(): number;
  /** How many processes the kernel has killed for want of memory. */
  kills(): number;
}

/** @returns why no limit can be set here; undefined where it can */
export function noMemoryLimit(): string | undefined {
  if (process.geteuid?.() !== 0) return 'only root can limit memory';
  try {
    const { folder } = makeGroup(1024 * 1024);
    rmdirSync(folder);
    return undefined;
  } catch (error) {
    return `this machine lets nobody limit memory (${(error as Error).message})`;
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

/** A group that ends with the test, when what ran in it has ended. */
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
