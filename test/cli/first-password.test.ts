// The first password of the dashboard, from the environment or a file: set once, never weak, and
// not in the output.

import { execFileSync } from 'node:child_process';
import { rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { firstPassword, takePassword } from '../../src/cli/service/password-setting.ts';
import { setFirstPassword } from '../../src/dashboard/guard/first-password.ts';
import { createPasswords } from '../../src/dashboard/guard/password.ts';
import { type Child, startChildWith } from '../support/child.ts';
import { cleanUp, look, tempFolder } from '../support/files.ts';
import { guessablePasswords } from '../support/guessable-passwords.ts';
import { openTestStore } from '../support/store.ts';
import { createTestWorld } from '../support/world.ts';

afterEach(cleanUp);

const program = join(import.meta.dirname, '../../src/main.ts');
/** As Umbrel makes one: 32 random bytes in hex. */
const made = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08';
const variable = 'PAYGATE_ADMIN_PASSWORD';

function serve(path: string, env: Record<string, string>, ...more: string[]): Child {
  const place = ['--db', path, '--listen', '127.0.0.1:0', '--electrum', 'tcp://127.0.0.1:1'];
  return startChildWith(env, program, 'serve', ...place, ...more);
}

/** Runs until it is up. @returns all that it wrote */
async function serveOnce(path: string, env: Record<string, string>, ...more: string[]) {
  const child = serve(path, env, ...more);
  const lines: string[] = [];
  for (;;) {
    const line = await child.line();
    if (line === undefined) break;
    lines.push(line);
    if (line.startsWith('  Health ')) child.stop();
  }
  const { by, errors } = await child.ended;
  return { by, out: lines.join('\n'), errors };
}

const isPassword = (path: string, text: string): Promise<boolean> => {
  const found = look(path, { readonly: true });
  const hash = found.prepare('SELECT password_hash FROM admin').pluck().get() as string;
  found.close();
  const passwords = createPasswords(() => new Uint8Array(16));
  return passwords.verify(text, hash, { network: 'x', isKnown: true });
};

async function newFile(): Promise<string> {
  const { path, database } = await openTestStore();
  await database.close();
  return path;
}

test('S-61 a password in the environment is set at the first start, and ignored at later ones', async () => {
  const path = await newFile();
  const first = await serveOnce(path, { [variable]: made });
  expect(first.by).toBe(0);
  expect(await isPassword(path, made)).toBe(true);
  expect(first.out).not.toContain('/enter?token=');
  expect(first.errors).toContain('the first password of the dashboard is set');
  expect(first.errors).not.toContain('no option has this name');
  expect(first.out + first.errors).not.toContain(made);

  const rows = look(path, { readonly: true });
  const entries = rows.prepare('SELECT action, detail FROM audit').raw().all();
  rows.close();
  expect(entries).toEqual([
    ['password.set', JSON.stringify({ by: 'first start', client: 'command' })],
  ]);

  // A password that would be refused, and a file that is gone: neither is looked at.
  const later = await serveOnce(path, { [variable]: 'weak' }, '--admin-password-file', '/none');
  expect(later.by).toBe(0);
  expect(await isPassword(path, made)).toBe(true);
});

test('a weak password ends the start with 2, and is not repeated', async () => {
  const path = await newFile();
  const weak = 'correct horse battery staple';
  const { by, out, errors } = await serveOnce(path, { [variable]: weak });
  expect(by).toBe(2);
  expect(errors).toMatch(new RegExp(`^paygate: ${variable}: .*easy to guess`, 'm'));
  expect(out + errors).not.toContain(weak);
  // Nothing was set. A file is read without the newline at its end.
  const file = join(tempFolder(), 'password');
  writeFileSync(file, `${made}\n`);
  const again = await serveOnce(path, { PAYGATE_ADMIN_PASSWORD_FILE: file });
  expect(again.by).toBe(0);
  expect(again.out + again.errors).not.toContain(made);
  expect(await isPassword(path, made)).toBe(true);
});

describe('a guessable first password is refused', () => {
  const names = [
    'tulip garden tulip garden',
    'barn.example/barn.example',
    'pay kiosk pay 2026',
    'kiosk-kiosk-kiosk-kiosk',
  ];

  test.each([...guessablePasswords, ...names])('%j, of the environment or a file', async (text) => {
    const records = await openTestStore();
    await records.addWallet();
    await records.addStore({ name: 'Tulip Garden', callbackUrl: 'https://barn.example/cb' });
    const path = join(tempFolder(), 'password');
    writeFileSync(path, `${text}\n`);
    for (const read of [
      () => firstPassword({ adminPasswordFile: undefined }, text),
      () => firstPassword({ adminPasswordFile: path }, undefined),
    ]) {
      const set = (fresh: typeof read) =>
        setFirstPassword(records, createTestWorld(), fresh, 'https://pay.kiosk.example');
      await expect(set(read)).rejects.toThrow(/^PAYGATE_ADMIN_PASSWORD(_FILE)?: .*easy to guess/);
    }
    expect(records.admin.operator()).toBeUndefined();
  });
});

describe('the settings of the first password', () => {
  const file = () => join(tempFolder(), 'password');
  const read = (path: string) => firstPassword({ adminPasswordFile: path }, undefined);

  test('S-111 an empty variable is none, and any is taken out of the environment', () => {
    const env = { [variable]: '', PATH: '/bin' };
    expect(takePassword(env)).toBeUndefined();
    expect(env).toEqual({ PATH: '/bin' });
    const other = { [variable]: made };
    expect(takePassword(other)).toBe(made);
    expect(other).toEqual({});
    expect(firstPassword({ adminPasswordFile: undefined }, undefined)).toBeUndefined();
  });

  test('both at once are refused', () => {
    expect(() => firstPassword({ adminPasswordFile: '/x' }, made)).toThrow('not both');
  });

  test.each([
    [`${made}\n`, made],
    [`${made}\r\n`, made],
    [` ${made}`, ` ${made}`],
  ])('%j is read as %j', (text, password) => {
    const path = file();
    writeFileSync(path, text);
    expect(read(path)?.password).toBe(password);
    const link = `${path}-link`;
    symlinkSync(path, link);
    expect(read(link)?.password).toBe(password);
  });

  test.each([
    ['an empty file', '\n', 'is empty'],
    ['two lines', `${made}\n${made}\n`, 'one line only'],
    ['a large file', 'x'.repeat(5_000), 'more than 4096 bytes'],
    ['bytes that are no text', Buffer.from([0xff, 0xfe, 0x41]), 'not text'],
  ])('%s is refused', (_what, content, why) => {
    const path = file();
    writeFileSync(path, content);
    expect(() => read(path)).toThrow(why);
    expect(() => read(path)).toThrow('PAYGATE_ADMIN_PASSWORD_FILE: ');
  });

  test('a missing file, a folder, a pipe and a device are refused at once', () => {
    const pipe = file();
    execFileSync('mkfifo', [pipe]);
    expect(() => read(`${pipe}-none`)).toThrow('ENOENT');
    for (const path of [tempFolder(), pipe, '/dev/zero']) {
      expect(() => read(path)).toThrow('is not a file');
    }
    rmSync(pipe);
  });
});
