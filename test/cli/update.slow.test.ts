// `paygate update` with stand-ins: executables that say a version and answer as it, and a systemctl
// that starts and stops them. The database, its snapshot and what stands in the end are real.

import { execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, expect, it } from 'vitest';
import { freePort } from '../../scripts/ports.mjs';
import { lockForServer } from '../../src/store/file/file-guards.ts';
import { modules } from '../support/bundle.ts';
import { program as mainProgram, runProcess } from '../support/cli.ts';
import { cleanUp, look, pragma, tempFolder, whenOver } from '../support/files.ts';
import { bundleWithKey, makeSigningKey, type SigningKey } from '../support/minisign.ts';
import { openTestStore } from '../support/store.ts';

afterEach(cleanUp);

type Kind = 'well' | 'dead' | 'blind' | 'spoils' | 'keeps' | 'clings';

interface Machine {
  readonly binary: string;
  readonly db: string;
  /** A new executable of a version, with SHA256SUMS and its signature beside it. */
  bring(version: string, kind?: Kind): string;
  update(file: string, ...more: string[]): ReturnType<typeof runProcess>;
  /** The same, without --db and --listen. */
  updateAsSet(file: string, ...more: string[]): ReturnType<typeof runProcess>;
  restart(): Promise<unknown>;
  /** The version that answers now. */
  answering(): Promise<string | undefined>;
  installed(): string | undefined;
}

const releaser = makeSigningKey();
/** Signs the checksums of a file, and of others that `more` lists. */
function sign(
  file: string,
  { version, key = releaser, more = '' }: { version: string; key?: SigningKey; more?: string },
): void {
  const sums = join(dirname(file), 'SHA256SUMS');
  writeFileSync(sums, `${sha256(file)}  ${basename(file)}\n${more}`);
  writeFileSync(`${sums}.minisig`, key.signature(readFileSync(sums), `paygate ${version}`));
}

/** `paygate` with the release key of these tests. */
const run = (args: readonly string[], env: Record<string, string>) =>
  runProcess(args, env, '', bundleWithKey(mainProgram, releaser));

const sha256 = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');

function program(path: string, text: string): void {
  writeFileSync(path, `#!${process.execPath}\n${text}`);
  chmodSync(path, 0o755);
}

const serves = (version: string, port: number) => `
  const server = require('node:http').createServer((_, answer) => answer.end('{"version":"${version}","warnings":[]}'));
  const listen = () => server.listen(${port}, '127.0.0.1');
  server.on('error', () => setTimeout(listen, 50));
  listen();`;

async function machine({ systemd = true } = {}): Promise<Machine> {
  const folder = tempFolder();
  const [binary, fresh, tools] = ['paygate', 'download', 'tools'].map((name) =>
    join(folder, name),
  ) as [string, string, string];
  mkdirSync(fresh);
  mkdirSync(tools);
  const port = await freePort();
  const listen = `127.0.0.1:${port}`;
  const records = await openTestStore();
  await records.addWallet();
  await records.addStore();
  await records.database.close();
  const db = records.path;
  const clinging = join(folder, 'clinging');
  const serviceEnv = { NODE_PATH: modules, PAYGATE_DB: db, PAYGATE_LISTEN: listen };

  function standIn(path: string, version: string, kind: Kind): void {
    const serve = {
      well: serves(version, port),
      blind: serves(version, port),
      dead: 'process.exit(1);',
      spoils: `require('better-sqlite3')(${JSON.stringify(db)}).pragma('user_version = 99');`,
      // Migrates the schema, after a copy of what the old one wrote until its stop.
      keeps: `
  const sqlite = require('better-sqlite3')(${JSON.stringify(db)});
  const version = sqlite.pragma('user_version', { simple: true });
  sqlite.exec("INSERT INTO settings (name, value) VALUES ('late', 'kept')");
  sqlite.exec("VACUUM INTO '${join(dirname(db), 'backups')}/before-update-" + version + ".db'");
  sqlite.pragma('user_version = 99');`,
      clings: `
  require('node:fs').writeFileSync(${JSON.stringify(clinging)}, String(process.pid));
  process.on('SIGTERM', () => {});
  const sqlite = require('better-sqlite3')(${JSON.stringify(db)});
  sqlite.pragma('locking_mode = EXCLUSIVE');
  sqlite.exec('BEGIN EXCLUSIVE');
  setInterval(() => sqlite, 1_000);`,
    }[kind];
    const check = `process.stderr.write('a newer one is needed\\n'); process.exitCode = ${kind === 'blind' ? 1 : 0};`;
    program(
      path,
      `const [command] = process.argv.slice(2);
if (command === '--version') console.log('${version}');
if (command === 'check') { ${check} }
if (command === 'serve') { ${serve} }`,
    );
  }

  program(
    join(tools, 'systemctl'),
    `const { readFileSync, writeFileSync } = require('node:fs');
const verb = process.argv[2];
const unit = process.argv.at(-1);
if (unit !== 'paygate.service' || !${systemd}) process.exit(4);
const pid = ${JSON.stringify(join(folder, 'pid'))};
if (verb === 'show') process.stdout.write(readFileSync(pid, 'utf8'));
if (verb === 'stop' || verb === 'restart') try { process.kill(Number(readFileSync(pid, 'utf8'))); } catch {}
if (verb === 'restart') {
  const child = require('node:child_process').spawn(${JSON.stringify(binary)}, ['serve'], { detached: true, stdio: 'ignore', env: ${JSON.stringify(serviceEnv)} });
  child.unref();
  writeFileSync(pid, String(child.pid));
}`,
  );
  const env = { PATH: `${tools}:${process.env.PATH}`, NODE_PATH: modules };
  whenOver(() => {
    for (const pid of [join(folder, 'pid'), clinging]) {
      if (!existsSync(pid)) continue;
      try {
        process.kill(Number(readFileSync(pid, 'utf8')), 'SIGKILL');
      } catch {
        // It has ended by itself.
      }
    }
  });
  standIn(binary, '0.1.0', 'well');
  return {
    binary,
    db,
    bring(version, kind = 'well') {
      const file = join(fresh, 'paygate-linux-x64');
      standIn(file, version, kind);
      sign(file, { version });
      return file;
    },
    update: (file, ...more) =>
      run(
        [
          ...['update', file, '--binary', binary, '--db', db, '--wait', '8s'],
          ...['--listen', listen, ...more],
        ],
        env,
      ),
    updateAsSet: (file, ...more) =>
      run(['update', file, '--binary', binary, '--wait', '8s', ...more], env),
    restart: () => promisify(execFile)(join(tools, 'systemctl'), ['restart', 'paygate.service']),
    answering: () =>
      fetch(`http://127.0.0.1:${port}/healthz`).then(
        async (answer) => ((await answer.json()) as { version: string }).version,
        () => undefined,
      ),
    installed: () => /log\('([\d.]+)'\)/.exec(readFileSync(binary, 'utf8'))?.[1],
  };
}

it('installs a checked executable after a snapshot, and waits until it is ready', async () => {
  const { bring, update, binary, db, answering, installed } = await machine();
  const { code, stdout, stderr } = await update(bring('0.2.0'), '--json');
  expect([code, stderr]).toEqual([0, '']);
  const said = JSON.parse(stdout);
  expect(said).toMatchObject({ from: '0.1.0', to: '0.2.0', restarted: true });
  expect(dirname(said.snapshot)).toBe(join(dirname(db), 'backups'));
  expect((await runProcess(['check', said.snapshot])).code).toBe(0);
  expect(installed()).toBe('0.2.0');
  expect(await answering()).toBe('0.2.0');
  expect(readFileSync(`${binary}.previous`, 'utf8')).toContain("'0.1.0'");
  expect(readdirSync(dirname(binary)).filter((name) => name.startsWith('.'))).toEqual([]);
});

it('by default uses the settings of the running service', async () => {
  const { bring, updateAsSet, restart, db, answering } = await machine();
  await restart();
  const { code, stdout, stderr } = await updateAsSet(bring('0.2.0'));
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toContain(`the snapshot from before is ${join(dirname(db), 'backups')}/`);
  expect(stdout).toContain('It runs and answers.');
  expect(await answering()).toBe('0.2.0');
});

it('finds the address of a service that did not run before', async () => {
  const { bring, updateAsSet, db, answering } = await machine();
  const { code, stdout, stderr } = await updateAsSet(bring('0.2.0'), '--db', db);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toContain('It runs and answers.');
  expect(await answering()).toBe('0.2.0');
});

it('rolls back if the new version does not start', async () => {
  const { bring, update, answering, installed } = await machine();
  const { code, stderr } = await update(bring('0.2.0', 'dead'));
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /^paygate: 0\.2\.0 did not come up \(nothing answers at .*\); 0\.1\.0 runs again\n$/,
  );
  expect(installed()).toBe('0.1.0');
  expect(await answering()).toBe('0.1.0');
});

it('rolls back the database too if the old version cannot read it', async () => {
  const { bring, update, db, answering } = await machine();
  const { code, stderr } = await update(bring('0.2.0', 'spoils'));
  expect(code).toBe(1);
  expect(stderr).toContain('0.1.0 runs again, on the database from before the update');
  const backups = readdirSync(join(dirname(db), 'backups')).sort();
  expect(backups).toEqual([expect.stringMatching(/^before-0\.1\.0-.*\.db$/), expect.any(String)]);
  expect(await answering()).toBe('0.1.0');
  expect(pragma(look(db, { readonly: true }), 'user_version')).not.toBe(99);
  const kept = /the newer one is ([^)]+)\)/.exec(stderr)?.[1] ?? '';
  expect(pragma(look(kept, { readonly: true }), 'user_version')).toBe(99);
});

it('rolls back to the copy of the new version if that is newer than the snapshot', async () => {
  const { bring, update, db, answering } = await machine();
  const { code, stderr } = await update(bring('0.2.0', 'keeps'));
  expect(code).toBe(1);
  expect(stderr).toContain('0.1.0 runs again, on the database from before the update');
  expect(await answering()).toBe('0.1.0');
  const sqlite = look(db, { readonly: true });
  expect(sqlite.prepare("SELECT value FROM settings WHERE name = 'late'").pluck().get()).toBe(
    'kept',
  );
});

it('starts the old version although the database cannot be restored, and prints what to do', async () => {
  const { bring, update, db, answering, installed } = await machine();
  const lock = lockForServer(db);
  const { code, stderr } = await update(bring('0.2.0', 'spoils'));
  lock.release();
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /^paygate: 0\.2\.0 did not come up \(.*\); 0\.1\.0 runs again; the database was not put back \(.*another `paygate serve` uses this database\): .*`\.\/paygate restore --db .*\n$/,
  );
  expect([installed(), await answering()]).toEqual(['0.1.0', '0.1.0']);
});

it('does not replace a database that it only could not read', async () => {
  const { bring, update, db, answering } = await machine();
  const { ino } = statSync(db);
  const { code, stderr } = await update(bring('0.2.0', 'clings'));
  expect(code).toBe(1);
  expect(stderr).toContain('0.1.0 runs again; the database was not put back (database is locked)');
  expect(await answering()).toBe('0.1.0');
  expect(statSync(db).ino).toBe(ino);
});

it('replaces an executable that does not run', async () => {
  const { bring, update, binary, installed } = await machine({ systemd: false });
  const file = bring('0.2.0');
  program(binary, 'process.exit(1)');
  const { code, stdout, stderr } = await update(file);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toContain('A version that did not run was replaced by 0.2.0');
  expect(installed()).toBe('0.2.0');
  expect(readdirSync(dirname(binary)).filter((name) => name.startsWith('.'))).toEqual([]);
});

it('leaves a database of an older version to the new executable', async () => {
  const { bring, update, db } = await machine({ systemd: false });
  const older = look(db);
  older.pragma('user_version = 0');
  const lock = lockForServer(db);
  const { code, stdout, stderr } = await update(bring('0.2.0'), '--json');
  lock.release();
  expect([code, stderr]).toEqual([0, '']);
  expect(pragma(older, 'user_version')).toBe(0);
  const { snapshot } = JSON.parse(stdout);
  expect(pragma(look(snapshot, { readonly: true }), 'user_version')).toBe(0);
});

it('stores the snapshot of a linked database beside the target of the link', async () => {
  const { bring, update, db } = await machine({ systemd: false });
  const link = join(tempFolder(), 'shop.db');
  symlinkSync(db, link);
  const { stdout } = await update(bring('0.2.0'), '--db', link, '--json');
  expect(dirname(JSON.parse(stdout).snapshot)).toBe(join(dirname(db), 'backups'));
  expect(readdirSync(dirname(link))).toEqual(['shop.db']);
});

it('is refused if the database has two names, because no version starts with it', async () => {
  const { bring, update, binary, db, restart, answering } = await machine();
  await restart();
  linkSync(db, join(tempFolder(), 'paygate.db'));
  const { code, stderr } = await update(bring('0.2.0'));
  expect([code, stderr]).toEqual([1, expect.stringContaining('has another name (a hard link)')]);
  expect(existsSync(`${binary}.previous`)).toBe(false);
  // The refusal may come before the service listens.
  await expect.poll(answering).toBe('0.1.0');
});

it('is refused if the WAL of a served database was deleted', async () => {
  const { bring, update, binary, db } = await machine({ systemd: false });
  const { database } = await openTestStore({ path: db });
  for (const end of ['-wal', '-shm']) rmSync(`${db}${end}`);
  const { code, stderr } = await update(bring('0.2.0'));
  await database.close();
  expect([code, stderr]).toEqual([1, expect.stringContaining('its write-ahead log was deleted')]);
  expect(existsSync(`${binary}.previous`)).toBe(false);
});

it('is refused while another update is at work', async () => {
  const { bring, update, binary, installed } = await machine({ systemd: false });
  const lock = lockForServer(join(dirname(binary), '.paygate-update'));
  const { code, stderr } = await update(bring('0.2.0'));
  lock.release();
  expect([code, stderr]).toEqual([
    1,
    `paygate: ${binary}: another \`paygate update\` is running; wait until it ends\n`,
  ]);
  expect(installed()).toBe('0.1.0');
  const lockName = '.paygate-update.lock';
  expect(readdirSync(dirname(binary)).sort()).toEqual([lockName, 'download', 'paygate', 'tools']);
});

it('changes nothing for a wrong checksum, for none, or for a file that is no paygate', async () => {
  const { bring, update, binary, installed } = await machine();
  const file = bring('0.2.0');
  const wrong = await update(file, '--sha256', '0'.repeat(64));
  expect(wrong.code).toBe(2);
  expect(wrong.stderr).toContain(`the checksum is ${sha256(file)}, not 000`);
  writeFileSync(file, `${readFileSync(file, 'utf8')}\n// changed on the way`);
  expect((await update(file)).stderr).toContain('the checksum is');
  const sums = join(dirname(file), 'SHA256SUMS');
  writeFileSync(sums, 'nothing of use\n');
  writeFileSync(`${sums}.minisig`, releaser.signature(readFileSync(sums), 'paygate 0.2.0'));
  expect((await update(file)).stderr).toContain('does not list paygate-linux-x64 exactly once');
  program(file, 'console.log("hello")');
  const stranger = await update(file, '--sha256', sha256(file));
  expect(stranger.stderr).toContain('it is not paygate; nothing was changed');
  expect(installed()).toBe('0.1.0');
  const left = readdirSync(dirname(binary)).sort();
  expect(left).toEqual(['download', 'paygate', 'tools']);
});

it('S-133 changes nothing without a signature by the release key', async () => {
  const { bring, update, binary, installed } = await machine();
  const file = bring('0.2.0');
  const sums = join(dirname(file), 'SHA256SUMS');
  const refused = async (text: string) => {
    const { code, stderr } = await update(file);
    expect([code, stderr]).toEqual([2, expect.stringContaining(text)]);
    expect(installed()).toBe('0.1.0');
    expect(readdirSync(dirname(binary)).sort()).toEqual(['download', 'paygate', 'tools']);
  };
  sign(file, { version: '0.2.0', key: makeSigningKey() });
  await refused('SHA256SUMS.minisig: key ');
  sign(file, { version: '0.2.0', more: `${'0'.repeat(64)}  ${basename(file)}\n` });
  await refused('does not list paygate-linux-x64 exactly once');
  sign(file, { version: '0.3.0' });
  await refused('it is 0.2.0, but the signature is for 0.3.0; nothing was changed');
  sign(file, { version: '0.2.0' });
  writeFileSync(sums, `${readFileSync(sums, 'utf8')}\n`);
  await refused('SHA256SUMS.minisig: it does not match SHA256SUMS; download both again');
  rmSync(`${sums}.minisig`);
  mkdirSync(`${sums}.minisig`);
  await refused('SHA256SUMS.minisig is not of a release');
  rmSync(`${sums}.minisig`, { recursive: true });
  await refused('SHA256SUMS.minisig does not exist; download it too');
  rmSync(sums);
  await refused('SHA256SUMS does not exist; download it too; for an executable');
});

it('installs from the archive of a release', async () => {
  const { bring, update, binary, installed } = await machine({ systemd: false });
  const folder = dirname(bring('0.2.0'));
  const [name, archive] = ['paygate-0.2.0-linux-x64', join(folder, 'paygate-0.2.0.tar.gz')];
  mkdirSync(join(folder, name));
  copyFileSync(join(folder, 'paygate-linux-x64'), join(folder, name, 'paygate'));
  writeFileSync(join(folder, name, 'README.md'), 'Read me.\n');
  execFileSync('tar', ['--format=ustar', '-czf', archive, '-C', folder, name]);
  sign(archive, { version: '0.2.0' });
  expect(await update(archive)).toMatchObject({ code: 0, stderr: '' });
  expect(installed()).toBe('0.2.0');
  expect(statSync(binary).mode & 0o777).toBe(0o755);
  symlinkSync('paygate', join(folder, name, 'link'));
  execFileSync('tar', ['--format=ustar', '-czf', archive, '-C', folder, name]);
  sign(archive, { version: '0.2.0' });
  const { code, stderr } = await update(archive);
  expect([code, stderr]).toEqual([2, expect.stringMatching(/the archive has a link or device/)]);
  expect(readdirSync(dirname(binary)).filter((each) => each.startsWith('.'))).toEqual([]);
});

it('reports a missing executable without asking for its checksum', async () => {
  const { binary, update } = await machine();
  const nowhere = join(dirname(binary), 'downloaded', 'paygate-linux-x64');
  expect(await update(nowhere)).toMatchObject({
    code: 2,
    stderr: `paygate: ${nowhere} does not exist\n`,
  });
});

it('changes nothing if the new version cannot read the database, or there is none', async () => {
  const { bring, update, db, installed } = await machine();
  const blind = await update(bring('0.2.0', 'blind'));
  expect(blind.stderr).toContain(
    'it cannot read the database: a newer one is needed; nothing was changed',
  );
  const none = await update(bring('0.2.0'), '--db', `${db}.none`);
  expect(none.stderr).toContain('there is no such file');
  expect(installed()).toBe('0.1.0');
});

it('prints what to do without systemd', async () => {
  const { bring, update, binary, db, answering, installed } = await machine({ systemd: false });
  const { code, stdout } = await update(bring('0.2.0'));
  expect(code).toBe(0);
  expect(stdout).toMatch(new RegExp(`paygate restore --db ${db} \\S+/backups/before-0\\.1\\.0-`));
  expect(stdout).toContain('restart `paygate serve` yourself');
  expect(stdout).toContain(`mv ${binary}.previous ${binary}`);
  expect(installed()).toBe('0.2.0');
  expect(await answering()).toBeUndefined();
});

it('prints commands that work from any folder and with spaces in names', async () => {
  const { bring, update, binary, db } = await machine({ systemd: false });
  const folder = join(tempFolder(), 'my shop');
  mkdirSync(folder);
  const [spaced, shop] = [join(folder, 'paygate'), join(folder, 'shop.db')];
  copyFileSync(binary, spaced);
  copyFileSync(db, shop);
  const { stdout } = await update(bring('0.2.0'), '--binary', spaced, '--db', shop);
  const [, move = ''] = /^ {2}(mv .*)$/m.exec(stdout) ?? [];
  const [, restore = ''] = /`\.\/paygate (restore .*)`/.exec(stdout) ?? [];
  execFileSync('sh', ['-c', move]);
  expect(readFileSync(spaced, 'utf8')).toContain("'0.1.0'");
  const words = execFileSync('sh', ['-c', `printf '%s\\n' ${restore}`], { encoding: 'utf8' });
  const before = statSync(shop).ino;
  expect(await runProcess(words.trimEnd().split('\n'))).toMatchObject({ code: 0, stderr: '' });
  expect(statSync(shop).ino).not.toBe(before);
});

it('asks for --binary if paygate runs from its sources', async () => {
  const { bring } = await machine();
  const { code, stderr } = await runProcess(['update', bring('0.2.0')]);
  expect([code, stderr]).toEqual([
    2,
    'paygate: this paygate runs from its sources; name the executable to replace with --binary\n',
  ]);
});

it('S-131 is refused for an older version, unless a flag allows it', async () => {
  const { bring, update, binary, installed } = await machine({ systemd: false });
  expect((await update(bring('0.10.0'))).code).toBe(0);
  const { code, stderr } = await update(bring('0.9.1'));
  expect([code, stderr]).toEqual([
    2,
    expect.stringContaining('it is 0.9.1, which is older than 0.10.0; add --downgrade'),
  ]);
  expect(installed()).toBe('0.10.0');
  expect(readdirSync(dirname(binary)).filter((name) => name.startsWith('.'))).toEqual([]);
  expect((await update(bring('0.9.1'), '--downgrade')).code).toBe(0);
  expect(installed()).toBe('0.9.1');
});

it('counts a release as newer than its candidates', async () => {
  const { bring, update, installed } = await machine({ systemd: false });
  expect((await update(bring('0.2.0-rc.2'))).code).toBe(0);
  expect((await update(bring('0.2.0-rc.1'))).stderr).toContain('which is older than 0.2.0-rc.2');
  expect((await update(bring('0.2.0'))).code).toBe(0);
  expect((await update(bring('0.2.0-rc.2'))).stderr).toContain('which is older than 0.2.0;');
  expect(installed()).toBe('0.2.0');
});

it('refuses a script in place of the executable', async () => {
  const { bring, update, binary } = await machine({ systemd: false });
  copyFileSync('/bin/true', binary);
  const { code, stderr } = await update(bring('9.9.9'));
  expect([code, stderr]).toEqual([
    2,
    expect.stringContaining('it is not a program for this machine'),
  ]);
  expect(readFileSync(binary).equals(readFileSync('/bin/true'))).toBe(true);
});
