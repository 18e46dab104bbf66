// A control group of version 1 or 2: a share of one core, and a limit of memory that includes the
// page cache. A machine that allows neither version is refused.
// https://docs.kernel.org/admin-guide/cgroup-v2.html, https://docs.kernel.org/admin-guide/cgroup-v1/

import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Short, so that a throttled process waits for milliseconds only, as on a slower core. */
const PERIOD_US = 20_000;
const ROOT = '/sys/fs/cgroup';

/**
 * @typedef {object} Limits
 * @property {number} core share of one core
 * @property {number} bytes of memory
 *
 * @typedef {object} Version
 * @property {string[]} parents a group is made in each of them
 * @property {(limits: Limits) => [string, string][]} files with the limits, and their contents
 * @property {string} anonymous name of anonymous memory in `memory.stat`, in bytes
 * @property {string} kills file with the number of killed processes, as `oom_kill N`
 *
 * @typedef {object} Group
 * @property {(command: readonly string[]) => [string, string[]]} within the command, run in the
 *   group with its child processes
 * @property {(pid: number) => void} add a running process
 * @property {() => number} anonymousBytes memory that the kernel cannot reclaim
 * @property {() => number} kills processes that the kernel ended because of the limit
 * @property {() => void} remove it; its processes must have ended
 */

/** @type {Version} */
const first = {
  parents: [join(ROOT, 'memory'), join(ROOT, 'cpu')],
  files: ({ core, bytes }) => [
    [join(ROOT, 'memory/*/memory.limit_in_bytes'), `${bytes}`],
    [join(ROOT, 'cpu/*/cpu.cfs_period_us'), `${PERIOD_US}`],
    [join(ROOT, 'cpu/*/cpu.cfs_quota_us'), `${core * PERIOD_US}`],
  ],
  anonymous: 'total_rss',
  kills: 'memory.oom_control',
};

/** @type {Version} */
const second = {
  parents: [ROOT],
  files: ({ core, bytes }) => [
    [join(ROOT, 'cgroup.subtree_control'), '+cpu +memory'],
    [join(ROOT, '*/memory.max'), `${bytes}`],
    [join(ROOT, '*/cpu.max'), `${core * PERIOD_US} ${PERIOD_US}`],
  ],
  anonymous: 'anon',
  kills: 'memory.events',
};

/** @throws {Error} which says why this machine has no group, before anything is built */
export function requireGroup() {
  makeGroup({ core: 1, bytes: 2 ** 20 }, 'probe').remove();
}

/**
 * @param {Limits} limits
 * @param {string} [purpose] ends its name
 * @returns {Group}
 * @throws {Error} which says why this machine has no such group
 */
export function makeGroup(limits, purpose = 'small') {
  const name = `paygate-bench-${process.pid}-${purpose}`;
  const version = existsSync(join(ROOT, 'cgroup.controllers')) ? second : first;
  const folders = version.parents.map((parent) => join(parent, name));
  const remove = () => {
    for (const each of folders) if (existsSync(each)) rmdirSync(each);
  };
  try {
    for (const each of folders) mkdirSync(each);
    for (const [file, text] of version.files(limits)) {
      writeFileSync(file.replace('*', name), text);
    }
  } catch (error) {
    remove();
    const { message } = /** @type {Error} */ (error);
    throw new Error(
      `--small needs a control group with cpu and memory below ${ROOT} (${message}); ` +
        'run it as root, outside of a container or in one that may write there',
    );
  }
  const processes = folders.map((folder) => join(folder, 'cgroup.procs'));
  const [memory = ''] = folders;
  const numberOf = (/** @type {string} */ file, /** @type {string} */ field) =>
    Number(
      new RegExp(`^${field} (\\d+)$`, 'm').exec(readFileSync(join(memory, file), 'utf8'))?.[1],
    );
  return {
    within(command) {
      const enter = processes.map((file) => `echo $$ > ${file}`).join('; ');
      return ['sh', ['-ec', `${enter}; exec "$@"`, 'sh', ...command]];
    },
    add(pid) {
      for (const file of processes) writeFileSync(file, `${pid}`);
    },
    anonymousBytes: () => numberOf('memory.stat', version.anonymous),
    kills: () => numberOf(version.kills, 'oom_kill'),
    remove,
  };
}
