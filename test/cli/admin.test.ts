// `paygate admin`, as an operator runs it beside the file: the link, and the time zone.

import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { freePort } from '../../scripts/ports.mjs';
import { closeApps, openApp } from '../support/app.ts';
import { runCli } from '../support/cli.ts';
import { cleanUp, tempFolder } from '../support/files.ts';
import { openTestStore } from '../support/store.ts';

afterEach(closeApps);
afterEach(cleanUp);

async function freshFile(): Promise<string> {
  const path = join(tempFolder(), 'paygate.db');
  await (await openTestStore({ path })).database.close();
  return path;
}

const tokenIn = (text: string): string => /token=([\w-]{43})/.exec(text)?.[1] ?? '';

test('prints a link to paygate, which replaces the previous link', async () => {
  const path = await freshFile();
  const first = await runCli(['admin', 'link', '--db', path]);
  expect(first.code).toBe(0);
  expect(first.stdout).toMatch(/^http:\/\/127\.0\.0\.1:8080\/dashboard\/enter\?token=[\w-]{43}\n/);
  const more = ['--public-url', 'https://pay.example.com/', '--json'];
  const second = await runCli(['admin', 'link', '--db', path, ...more]);
  const { url, minutes } = JSON.parse(second.stdout);
  expect(minutes).toBe(15);
  expect(url).toContain('https://pay.example.com/dashboard/enter?token=');
  const { admin } = await openTestStore({ path });
  expect(admin.linkedPerson(Date.now(), tokenIn(first.stdout))).toBeUndefined();
  expect(admin.linkedPerson(Date.now(), tokenIn(url))).toBe(1);
  expect(admin.linkedPerson(Date.now() + 15 * 60_000, tokenIn(url))).toBeUndefined();
});

test('prints a link for a viewer, which leaves the owner’s link alone', async () => {
  const path = await freshFile();
  const add = await openTestStore({ path });
  await add.database.write((tx) => {
    add.admin.setPassword(tx, Date.now(), 'hash');
    add.admin.addViewer(tx, Date.now(), 'Anna');
  });
  await add.database.close();
  const owners = tokenIn((await runCli(['admin', 'link', '--db', path])).stdout);
  const args = ['admin', 'link', '--db', path, '--viewer'];
  const { url, minutes } = JSON.parse((await runCli([...args, 'anna', '--json'])).stdout);
  expect(minutes).toBe(24 * 60);
  const { admin, audit } = await openTestStore({ path });
  const at = Date.now();
  expect([admin.linkedPerson(at, owners), admin.linkedPerson(at, tokenIn(url))]).toEqual([1, 2]);
  const late = [at + 23 * 3_600_000, at + 25 * 3_600_000];
  expect(late.map((each) => admin.linkedPerson(each, tokenIn(url)))).toEqual([2, undefined]);
  // A clock that was set back does not make a link last longer.
  expect(admin.linkedPerson(at - 3_600_000, tokenIn(url))).toBeUndefined();
  expect(audit.list(2).map(({ detail }) => JSON.parse(detail).viewer)).toEqual(['anna', undefined]);
  for (const name of ['Bea', 'admin', '']) {
    const refused = await runCli([...args, name]);
    expect([name, refused.code, refused.stderr]).toEqual([
      ...[name, 1, expect.stringContaining(`no viewer has the name ${JSON.stringify(name)}`)],
    ]);
  }
});

test('warns if no paygate answers, and prints the link anyway', async () => {
  const path = await freshFile();
  const listen = `127.0.0.1:${await freePort()}`;
  const args = ['admin', 'link', '--db', path];
  const alone = await runCli([...args, '--listen', listen]);
  expect(alone).toMatchObject({
    code: 0,
    stderr: `no paygate answers at ${listen}; start it, or name its address with --listen; the link works as soon as one does, until it expires\n`,
  });
  expect(alone.stdout).toContain(`http://${listen}/dashboard/enter?token=`);
  // The local address behind a public URL is unknown without --listen.
  const named = await runCli([...args, '--public-url', 'https://pay.example.com']);
  expect(named).toMatchObject({ code: 0, stderr: '' });
  const app = await openApp();
  const beside = ['admin', 'link', '--db', app.path, '--listen', `127.0.0.1:${app.port}`];
  expect(await runCli(beside)).toMatchObject({ code: 0, stderr: '' });
});

test('is refused if a paygate with another database answers', async () => {
  const path = await freshFile();
  const app = await openApp();
  const listen = `127.0.0.1:${app.port}`;
  const refused = await runCli(['admin', 'link', '--db', path, '--listen', listen]);
  expect(refused).toMatchObject({ code: 1, stdout: '' });
  expect(refused.stderr).toBe(
    `paygate: the paygate at ${listen} serves another database than ${path}; ` +
      'name its database with --db, or with --listen the address that serves this one\n',
  );
});

test('is refused without a database file', async () => {
  const db = join(tempFolder(), 'none.db');
  const refused = await runCli(['admin', 'link', '--db', db]);
  expect(refused).toMatchObject({ code: 1, stdout: '' });
  expect(refused.stderr).toContain('there is no such database; name it by --db (');
});

test('the time zone is shown, and set to a zone of IANA', async () => {
  const path = await freshFile();
  const run = (...args: string[]) => runCli(['admin', 'time-zone', ...args, '--db', path]);
  expect(await run()).toMatchObject({ code: 0, stdout: 'UTC\n' });
  expect(await run('america/sao_paulo')).toMatchObject({ code: 0, stdout: 'America/Sao_Paulo\n' });
  expect(JSON.parse((await run('--json')).stdout)).toEqual({ time_zone: 'America/Sao_Paulo' });
  for (const zone of ['Mars/Base', '+01:00', '']) {
    const { code, stderr } = await run(zone);
    expect([zone, code, stderr.includes('such as Europe/Berlin or UTC')]).toEqual([zone, 2, true]);
  }
  const { state, audit } = await openTestStore({ path });
  expect(state.timeZone.read()).toBe('America/Sao_Paulo');
  const entries = audit.list(10).filter(({ action }) => action === 'zone.set');
  expect(entries.map(({ detail }) => JSON.parse(detail).zone)).toEqual(['America/Sao_Paulo']);
});
