// `paygate sandbox` as a person starts it: bundled, in a process of its own, its links read from
// what it prints.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, watch } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { bundleEnv, bundleOf } from '../support/bundle.ts';
import { runProcess } from '../support/cli.ts';
import { cleanUp, tempFolder, whenOver } from '../support/files.ts';
import { ask, buy, visit } from '../support/sandbox.ts';
import { visitorOf } from '../support/visitor.ts';

afterEach(cleanUp);

const program = join(import.meta.dirname, '../../src/main.ts');
const free = '127.0.0.1:0';

interface Started {
  readonly printed: string;
  /** @returns its exit code */
  stop(): Promise<number | null>;
}

/** Resolves once all its links are printed. */
const start = (args: readonly string[], env: Record<string, string>) =>
  new Promise<Started>((resolve, reject) => {
    const given = [bundleOf(program), 'sandbox', '--listen', free, '--shop', free, ...args];
    const child = spawn(process.execPath, given, {
      env: { PATH: process.env.PATH, ...bundleEnv(bundleOf(program)), ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = new Promise<number | null>((end) => child.once('close', end));
    whenOver(async () => {
      child.kill('SIGKILL');
      await ended;
    });
    let printed = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
      if (!/KEY=\S+\n/.test(printed)) return;
      resolve({
        printed,
        stop() {
          child.kill('SIGTERM');
          return ended;
        },
      });
    });
    ended.then((code) => reject(new Error(`it ended with ${code}: ${printed}`)));
  });

test('prints its links, takes a payment to 2, and leaves nothing behind', async () => {
  // What stands in the environment is meant for another paygate.
  const other = join(tempFolder(), 'real.db');
  const env = { PAYGATE_DB: other, PAYGATE_NETWORK: 'mainnet', PAYGATE_LISTEN: 'nowhere' };
  const { printed, stop } = await start([], env);
  const linkOf = (name: string): string => new RegExp(`${name} +(\\S+)\n`).exec(printed)?.[1] ?? '';
  const [, db = ''] = /PAYGATE_DB=(\S+) /.exec(printed) ?? [];

  const { order, states } = await buy(visit(new URL(linkOf('Shop')).origin));
  expect(states).toEqual(['open', 'processing', 'paid']);
  for (const [name, page] of [
    ['Dashboard', '/dashboard'],
    ['Chain', '/dashboard/chain'],
  ] as const) {
    const { status, headers } = await ask(linkOf(name));
    expect([name, status, headers.location]).toEqual([name, 303, page]);
    const [Cookie = ''] = headers['set-cookie']?.at(-1)?.split(';') ?? [];
    const own = new URL(linkOf('API docs')).origin;
    expect(await ask(own + page, { headers: { Cookie } })).toMatchObject({ status: 200 });
  }
  const merchant = visitorOf({ port: Number(new URL(linkOf('API docs')).port) });
  const [, password = ''] = /for the password: (\S+)\n/.exec(printed) ?? [];
  const entered = await merchant.submit('/dashboard/sign-in', 'sign-in', { password });
  expect(entered).toMatchObject({ status: 303, to: '/dashboard' });
  expect(await ask(linkOf('API docs'))).toMatchObject({ status: 200 });
  const headers = { Authorization: `Bearer ${linkOf('API key')}` };
  const [{ origin }] = [new URL(linkOf('API docs'))];
  const known = await ask(`${origin}/api/merchant/tx?addr=${order.address}`, { headers });
  expect(JSON.parse(known.text)).toMatchObject({ status: 2, value: order.totalSat });

  const listed = await runProcess(['callbacks', 'list', '--db', db, '--json']);
  expect(JSON.parse(listed.stdout)).toHaveLength(3);
  expect(await stop()).toBe(0);
  expect(existsSync(join(db, '..'))).toBe(false);
  expect(existsSync(other)).toBe(false);
});

test('leaves nothing behind if it is stopped before it prints its links', async () => {
  const folder = tempFolder();
  const child = spawn(
    process.execPath,
    [bundleOf(program), 'sandbox', '--listen', free, '--shop', free],
    {
      env: { PATH: process.env.PATH, ...bundleEnv(bundleOf(program)), TMPDIR: folder },
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  whenOver(() => void child.kill('SIGKILL'));
  const watcher = watch(folder);
  whenOver(() => watcher.close());
  await once(watcher, 'change');
  expect(readdirSync(folder)).toHaveLength(1);
  child.kill('SIGINT');
  expect(await once(child, 'close')).toEqual([0, null]);
  expect(readdirSync(folder)).toEqual([]);
});

test('a named file remains, and is not used a second time', async () => {
  const path = join(tempFolder(), 'sandbox.db');
  const { stop } = await start(['--db', path], {});
  expect(await stop()).toBe(0);
  expect(existsSync(path)).toBe(true);
  const again = await runProcess(['sandbox', '--db', path, '--listen', free, '--shop', free]);
  expect(again).toMatchObject({ code: 1, stdout: '' });
  expect(again.stderr).toContain(`${path}: is there already`);
});

test.each([
  ['--listen', '--shop'],
  ['--shop', '--listen'],
])('fails if the port of %s is taken', async (taken, other) => {
  const server = createServer().listen(0, '127.0.0.1');
  whenOver(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const refused = await runProcess(['sandbox', taken, `127.0.0.1:${port}`, other, free]);
  expect(refused).toMatchObject({ code: 1, stdout: '' });
  expect(refused.stderr).toContain(
    `127.0.0.1:${port}: the port is taken; choose another address with ${taken}\n`,
  );
});

test('listens on loopback only', async () => {
  const refused = await runProcess(['sandbox', '--shop', '0.0.0.0:0']);
  expect(refused).toMatchObject({ code: 2, stdout: '' });
  expect(refused.stderr).toContain('0.0.0.0 is not a loopback address');
});
