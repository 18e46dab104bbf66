// Errors of the command line: one form, all that is missing at once, and JSON for programs.

import { join } from 'node:path';
import { afterEach, describe, expect, it, test } from 'vitest';
import { runCli } from '../support/cli.ts';
import { cleanUp, tempFolder } from '../support/files.ts';

afterEach(cleanUp);

describe('a wrong command line ends with 2 and one line:', () => {
  it.each([
    [
      'store add',
      'store add needs --name <text> and --xpub <key>; `paygate store add --help` says what they are',
    ],
    [
      'store wallet --script p2tr',
      'store wallet needs <id> and --xpub <key>; `paygate store wallet --help` says what they are',
    ],
    ['store show', 'store show needs <id>; `paygate store show --help` says what they are'],
    [
      'store wallet cafe --xpub -',
      "<id>: 'cafe' is not valid. Give a whole number, 1 or more. `paygate store list` shows the numbers.",
    ],
    [
      'key revoke mine',
      "<id>: 'mine' is not valid. Give a whole number, 1 or more. `paygate key list` shows the numbers.",
    ],
    [
      'orders list --store cafe',
      "--store: 'cafe' is not valid. Give a whole number, 1 or more. `paygate store list` shows the numbers.",
    ],
    [
      'store add --name a --xpub b --tolerance 1',
      "unknown option '--tolerance' (`paygate store set` has it)",
    ],
    ['store list --nowhere', "unknown option '--nowhere'"],
    [
      'logs',
      "unknown command 'logs' (`paygate serve` writes its log to standard error: `journalctl -u paygate` has it)",
    ],
    ['status', "unknown command 'status' (did you mean `paygate health` or `paygate doctor`?)"],
    ['version', "unknown command 'version' (did you mean `paygate --version`?)"],
    ['frobnicate', "unknown command 'frobnicate'"],
    ['orders list --limit 0', "--limit: '0' is not valid. Give a whole number from 1 to 10000."],
    ['store set 1 --late x', "--late: 'x' is not valid. Allowed choices are worth, ask."],
    ['serve --lsten x', "unknown option '--lsten' (did you mean --listen?)"],
    ['stroe add', "unknown command 'stroe' (did you mean store?)"],
    ['help stroe', "unknown command 'stroe'"],
    ['serve --log-level loud', expect.stringContaining('--log-level: one of debug, ')],
  ])('paygate %s', async (line, said) => {
    const { code, stdout, stderr } = await runCli(line.split(' '));
    expect([code, stdout]).toEqual([2, '']);
    const [, message] = /^paygate: (.*)\n$/.exec(stderr) ?? [];
    expect(message).toEqual(said);
    // The same as JSON.
    const json = await runCli([...line.split(' '), '--json']);
    if (line.startsWith('serve') || line.startsWith('help')) return;
    expect([json.code, json.stdout]).toEqual([2, '']);
    expect(json.stderr).toMatch(/^[^\n]+\n$/);
    expect(JSON.parse(json.stderr)).toEqual({ error: { code: 'invalid', message } });
  });
});

test('a command that fails prints its error as JSON too, and keeps its exit code', async () => {
  const missing = join(tempFolder(), 'none.db');
  const plain = await runCli(['store', 'list', '--db', missing]);
  expect(plain).toMatchObject({ code: 1, stdout: '' });
  const json = await runCli(['store', 'list', '--db', missing, '--json']);
  expect(json).toMatchObject({ code: 1, stdout: '' });
  const { error } = JSON.parse(json.stderr);
  expect(error.code).toBe('not_found');
  expect(`paygate: ${error.message}\n`).toBe(plain.stderr);
});

test('help marks the options without which a command does nothing', async () => {
  const { stdout } = await runCli(['store', 'add', '--help']);
  expect(stdout).toMatch(/--name <text> +\(required\)/);
  expect(stdout).toMatch(/--xpub <key> +\(required\)/);
  expect(stdout.match(/\(required\)/g)).toHaveLength(2);
});

test('a command without its subcommand prints its help to standard output, and ends with 2', async () => {
  const { code, stdout, stderr } = await runCli(['store']);
  expect([code, stderr]).toEqual([2, '']);
  expect(stdout).toBe((await runCli(['store', '--help'])).stdout);
});
