// Data folders that are copied by common tools, then restored over the newer one or moved, on a
// disk with a real file system. No address is issued twice. Ordinary restarts and backups skip no
// address.

import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { cleanUp, whenOver } from '../support/files.ts';
import { at, diskFolder, end, expectOnce, isCopy, issue, prepareServe, serve } from './serving.ts';
import { cannotRun } from './thorough.ts';

afterEach(cleanUp);

const shell = (command: string, ...args: string[]): void =>
  void execFileSync('sh', ['-ec', command, 'sh', ...args]);

/** `$1` is the saved folder, `$2` the folder that is restored. */
const methods: Readonly<Record<string, string>> = {
  'cp -a': 'cp -a "$1/." "$2/"',
  'cp -r': 'cp -r "$1/." "$2/"',
  'tar --overwrite': 'tar -C "$1" -c . | tar -C "$2" --overwrite -x',
  'cat >': 'cd "$1"; find . -type f | while read -r file; do cat "$file" > "$2/$file"; done',
  'cat >, and rm of the other files':
    'cd "$2"; find . -type f | while read -r file; do test -e "$1/$file" || rm "$file"; done; ' +
    'cd "$1"; find . -type f | while read -r file; do cat "$file" > "$2/$file"; done',
  'cat > of database, WAL and mark file':
    'for file in paygate.db paygate.db-wal .paygate-mark/paygate.db; do cat "$1/$file" > "$2/$file"; done; ',
  'rm -r and cp -a': 'rm -r "$2"; mkdir "$2"; cp -a "$1/." "$2/"',
};

for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
  it.each(Object.entries(methods))(
    `a folder copied from a running paygate and restored after ${signal} with %s`,
    async (_method, command) => {
      const setup = await prepareServe(join(diskFolder(), 'paygate.db'));
      const folder = dirname(setup.path);
      const first = await serve(setup);
      const before = await issue(first, 5);
      const saved = join(diskFolder(), 'saved');
      cpSync(folder, saved, { recursive: true, preserveTimestamps: true });
      const since = await issue(first, 45);
      await end(first, signal);
      shell(command, saved, folder);
      const second = await serve(setup);
      expect(await isCopy(second)).toBe(true);
      expectOnce(before, since, await issue(second, 30));
    },
  );
}

it('paygate.db alone, copied to another machine before the first checkpoint', async () => {
  const setup = await prepareServe(join(diskFolder(), 'paygate.db'));
  const first = await serve(setup);
  const before = await issue(first, 20);
  const path = join(diskFolder(), 'paygate.db');
  copyFileSync(setup.path, path);
  const since = await issue(first, 10);
  const second = await serve(at(setup, path));
  expect(await isCopy(second)).toBe(true);
  expectOnce(before, since, await issue(second, 30));
});

it.each(['SIGTERM', 'SIGKILL'] as const)(
  'a database without its WAL and mark file after %s',
  async (signal) => {
    const setup = await prepareServe(join(diskFolder(), 'paygate.db'));
    const first = await serve(setup);
    const before = await issue(first, 20);
    await end(first, signal);
    rmSync(`${setup.path}-wal`);
    rmSync(join(dirname(setup.path), '.paygate-mark'), { recursive: true });
    const second = await serve(setup);
    expect(await isCopy(second)).toBe(true);
    expectOnce(before, await issue(second, 30));
  },
);

/** Why no overlay can be mounted here; undefined if one can. */
function noOverlay(): string | undefined {
  if (process.geteuid?.() !== 0) return 'only root can mount an overlay';
  const made = 'mount -t tmpfs none /mnt; mkdir /mnt/l /mnt/u /mnt/w /mnt/m; mount -t overlay -o';
  const options = 'lowerdir=/mnt/l,upperdir=/mnt/u,workdir=/mnt/w none /mnt/m';
  const tried = spawnSync('unshare', ['--mount', 'sh', '-ec', `${made} ${options}`]);
  return tried.status === 0 ? undefined : 'this machine allows no mount of an overlay';
}

it.skipIf(cannotRun(noOverlay()))(
  'a folder opened through an overlay, and the original later',
  async () => {
    const setup = await prepareServe(join(diskFolder(), 'paygate.db'));
    const first = await serve(setup);
    const before = await issue(first, 5);
    await end(first, 'SIGTERM');
    const around = diskFolder();
    const [upper, work, merged] = ['upper', 'work', 'merged'].map((name) => join(around, name));
    for (const each of [upper, work, merged]) mkdirSync(each ?? '');
    const layers = `lowerdir=${dirname(setup.path)},upperdir=${upper},workdir=${work}`;
    execFileSync('mount', ['-t', 'overlay', '-o', layers, 'none', merged ?? '']);
    whenOver(() => void execFileSync('umount', [merged ?? '']));
    const second = await serve(at(setup, join(merged ?? '', 'paygate.db')));
    expect(await isCopy(second)).toBe(true);
    const there = await issue(second, 30);
    await end(second, 'SIGTERM');
    const third = await serve(setup);
    expect(await isCopy(third)).toBe(false);
    expectOnce(before, there, await issue(third, 30));
  },
);

it('kills, stops, and backups that link, touch, move or chmod the files skip no address', async () => {
  const setup = await prepareServe(join(diskFolder(), 'paygate.db'));
  const folder = dirname(setup.path);
  const issued: string[][] = [];
  const between = [
    'true',
    'chmod -R u+rwX "$1"; chown -R "$(id -u)" "$1"',
    'find "$1" -exec touch {} +',
    'cp -al "$1" "$1-linked"; rm -r "$1-linked"',
    'mv "$1" "$1-moved"; mv "$1-moved" "$1"',
  ];
  for (const [round, command] of between.entries()) {
    const paygate = await serve(setup);
    expect([command, await isCopy(paygate)]).toEqual([command, false]);
    issued.push(await issue(paygate, 3));
    await end(paygate, round % 2 === 0 ? 'SIGKILL' : 'SIGTERM');
    shell(command, folder);
  }
  expectOnce(...issued);
  expect(readdirSync(join(folder, '.paygate-mark'))).toHaveLength(2);
});
