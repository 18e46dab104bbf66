// A control group of version 1 or 2: a share of one core, and a limit of memory that includes the
// page cache. A machine that allows neither version is refused.
// https://docs.kernel.org/admin-guide/cgroup-v2.html, https://docs.kernel.org/admin-guide/cgroup-v1/

import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Short, so that a throttled process waits for milliseconds only, as on a slower core. */
const PERIOD_US = 20_000;
const ROOT = '/sys/fs/cgroup';

/** Share of one core, and bytes of memory. */
type Limits = Readonly<Record<'core' | 'bytes', number>>;

/** A group is made in each of the parents; the first one has the memory. */
const first = {
  parents: [join(ROOT, 'memory'), join(ROOT, 'cpu')],
  files: ({ core, bytes }: Limits) => [
    ['memory/*/memory.limit_in_bytes', `${bytes}`],
    ['cpu/*/cpu.cfs_period_us', `${PERIOD_US}`],
    ['cpu/*/cpu.cfs_quota_us', `${core * PERIOD_US}`],
  ],
  /** File with `oom_kill N`: the number of killed processes. */
  kills: 'memory.oom_control',
};

const second = {
  parents: [ROOT],
  files: ({ core, bytes }: Limits) => [
    ['cgroup.subtree_control', '+cpu +memory'],
    ['*/memory.max', `${bytes}`],
    ['*/cpu.max', `${core * PERIOD_US} ${PERIOD_US}`],
  ],
  kills: 'memory.events',
};

/** @throws Error which says why this machine has no group, before anything is built */
export function requireGroup(): void {
  makeGroup({ core: 1, bytes: 2 ** 20 }, 'probe').remove();
}

/** @throws Error which says why this machine has no such group */
export function makeGroup(limits: Limits, purpose = 'small') {
  const name = `paygate-bench-${process.pid}-${purpose}`;
  const version = existsSync(join(ROOT, 'cgroup.controllers')) ? second : first;
  const folders = version.parents.map((parent) => join(parent, name));
  const remove = () => {
    for (const each of folders) if (existsSync(each)) rmdirSync(each);
  };
  try {
    for (const each of folders) mkdirSync(each);
    for (const [file = '', text = ''] of version.files(limits)) {
      writeFileSync(join(ROOT, file.replace('*', name)), text);
    }
  } catch (error) {
    remove();
    throw new Error(
      `--small needs a control group with cpu and memory below ${ROOT} (${error}); ` +
        'run it as root, outside of a container or in one that may write there',
    );
  }
  const processes = folders.map((folder) => join(folder, 'cgroup.procs'));
  return {
    /** The command that runs a command in the group, with its child processes. */
    within(command: readonly string[]): readonly [string, readonly string[]] {
      const enter = processes.map((file) => `echo $$ > ${file}`).join('; ');
      return ['sh', ['-ec', `${enter}; exec "$@"`, 'sh', ...command]];
    },
    /** Adds a running process. */
    add(pid: number) {
      for (const file of processes) writeFileSync(file, `${pid}`);
    },
    /** Processes that the kernel ended because of the limit. */
    kills() {
      const text = readFileSync(join(folders[0] ?? '', version.kills), 'utf8');
      return Number(/^oom_kill (\d+)$/m.exec(text)?.[1]);
    },
    /** Its processes must have ended. */
    remove,
  };
}
