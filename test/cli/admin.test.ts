// `paygate admin link`, as an operator runs it beside the file.

import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { runCli } from '../support/cli.ts';
import { cleanUp, tempFolder } from '../support/files.ts';
import { openTestStore } from '../support/store.ts';

afterEach(cleanUp);

async function freshFile(): Promise<string> {
  const path = join(tempFolder(), 'paygate.db');
  await (await openTestStore({ path })).database.close();
  return path;
}

const tokenIn = (text: string): string => /token=([\w-]{43})/.exec(text)?.[1] ?? '';

test('prints a link to where paygate is reached, which takes the place of the one before', async () => {
  const path = await freshFile();
  const first = await runCli(['admin', 'link', '--db', path]);
  expect(first).toMatchObject({ code: 0, stderr: '' });
  expect(first.stdout).toMatch(/^http:\/\/127\.0\.0\.1:8080\/dashboard\/enter\?token=[\w-]{43}\n/);
  const more = ['--public-url', 'https://pay.example.com/', '--json'];
  const second = await runCli(['admin', 'link', '--db', path, ...more]);
  const { url, minutes } = JSON.parse(second.stdout);
  expect(minutes).toBe(15);
  expect(url).toContain('https://pay.example.com/dashboard/enter?token=');
  const { admin } = await openTestStore({ path });
  expect(admin.hasLink(Date.now(), tokenIn(first.stdout))).toBe(false);
  expect(admin.hasLink(Date.now(), tokenIn(url))).toBe(true);
  expect(admin.hasLink(Date.now() + 15 * 60_000, tokenIn(url))).toBe(false);
});

test('is refused where there is no file', async () => {
  const { code, stdout } = await runCli(['admin', 'link', '--db', join(tempFolder(), 'none.db')]);
  expect([code, stdout]).toEqual([1, '']);
});
