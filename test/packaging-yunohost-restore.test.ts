// YunoHost's backup and restore scripts with paygate itself, on stubs of YunoHost's helpers: where
// the data folder is still there, and on a new machine. No address is issued twice.

import { execFile } from 'node:child_process';
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, expect, test } from 'vitest';
import { minSkip } from '../src/domain/store/allocation.ts';
import { bundleEnv, bundleOf } from './support/bundle.ts';
import { cleanUp, tempFolder } from './support/files.ts';
import { run, startCopy, stoppedAfter } from './support/running.ts';

afterEach(cleanUp);

const program = bundleOf(join(import.meta.dirname, '../src/main.ts'));

/** What the scripts use, without users, services and a web server. */
const helpers = `
set -eu
ynh_print_info() { :; }
ynh_script_progression() { :; }
ynh_safe_rm() { rm -rf "$1"; }
ynh_backup() { :; }
ynh_restore() { :; }
ynh_systemctl() { :; }
ynh_exec_as_app() { "$@"; }
start_paygate() { :; }
systemctl() { :; }
yunohost() { :; }
chown() { printf '%s\\n' "$*" >> chowned; }
install() { command install -D --mode=600 "\${@: -2}"; }
`;

/** A machine with the package, whose scripts read the stubs. */
function machine(dataFolder: string, archive: string) {
  const folder = tempFolder();
  const scripts = join(folder, 'settings/scripts');
  cpSync('packaging/yunohost/scripts', scripts, { recursive: true });
  writeFileSync(join(folder, 'helpers'), helpers);
  for (const name of readdirSync(scripts)) {
    const text = readFileSync(join(scripts, name), 'utf8');
    const own = text.replace('/usr/share/yunohost/helpers', join(folder, 'helpers'));
    writeFileSync(join(scripts, name), own);
  }
  const started = `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`;
  writeFileSync(join(folder, 'paygate'), started, { mode: 0o755 });
  // YunoHost runs both scripts in the folder of the archive.
  cpSync(archive, join(folder, 'archive'), { recursive: true });
  const settings = { app: 'paygate', domain: 'pay.example.com', port: '8080' };
  const places = { install_dir: folder, data_dir: dataFolder };
  const env = { ...process.env, ...bundleEnv(program), ...settings, ...places };
  return {
    archive: join(folder, 'archive'),
    play: (name: string) =>
      promisify(execFile)('bash', [join(scripts, name)], { cwd: join(folder, 'archive'), env }),
  };
}

test.each([
  ['beside the data folder, which is newer', true],
  ['on a new machine', false],
])('a backup of a running paygate is restored %s', async (_where, isSameMachine) => {
  const path = await stoppedAfter(3);
  const paygate = await run(path);
  const before = await paygate.issue(2);
  const old = machine(dirname(path), tempFolder());
  await old.play('backup');
  expect(readdirSync(old.archive)).toEqual(['paygate.db']);
  const since = await paygate.issue(minSkip - 10);
  await paygate.stop();

  const dataFolder = isSameMachine ? dirname(path) : tempFolder();
  const fresh = machine(dataFolder, old.archive);
  await fresh.play('restore');
  // A user that YunoHost removed and made again has another number, and the old files theirs.
  expect(readFileSync(join(fresh.archive, 'chowned'), 'utf8')).toBe(
    `--recursive paygate:paygate ${dataFolder}\n`,
  );
  expect(existsSync(join(dataFolder, 'snapshot.db'))).toBe(false);
  const { next = 0 } = await startCopy(join(dataFolder, 'paygate.db'));
  const last = Math.max(...before, ...since);
  if (isSameMachine) expect(next).toBe(last + 1);
  else expect(next).toBeGreaterThan(last);
});
