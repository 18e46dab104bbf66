// The commands as a person types them, in processes of their own. A wrong command line changes
// nothing, and a secret in the wrong place is never printed.

import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { refusePrivateInput } from '../../src/cli/private-input.ts';
import { runCli } from '../support/cli.ts';
import { cleanUp, tempFolder } from '../support/files.ts';
import { accountKey } from '../support/store.ts';

afterEach(cleanUp);

const regtest = accountKey();
// BIP32, test vector 1: the key of the seed 000102…0f.
const xprv =
  'xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiChkVvvNKmPGJxWUtg6LnF5kejMRNNU3TGtRBeJgk33yuGBxrMPHi';
const words = Array.from({ length: 12 }, (_, index) => (index < 11 ? 'abandon' : 'about'));

const freshPath = (): string => join(tempFolder(), 'paygate.db');

it('key rotate reports an older key that ends earlier than announced', async () => {
  const path = freshPath();
  const shop = ['--name', 'Shop', '--callback-url', 'https://shop.example/callback'];
  const wallet = ['--xpub', regtest.account, '--script', 'p2wpkh', '--network', 'regtest'];
  await runCli(['store', 'add', '--db', path, ...shop, ...wallet]);
  const rotate = (overlap: string) => runCli(['key', 'rotate', '--db', path, '--overlap', overlap]);
  expect((await rotate('24h')).stdout).not.toContain('earlier');
  expect((await rotate('48h')).stdout).not.toContain('earlier');
  expect((await rotate('1h')).stdout).toMatch(
    /at the latest\.\n2 of them end earlier than planned, which was \d{4}-.* UTC for the last one\.\n$/,
  );
});

describe('store add', () => {
  const given = {
    '--name': 'Shop',
    '--xpub': regtest.account,
    '--script': 'p2wpkh',
    '--callback-url': 'https://shop.example/callback',
  };
  const add = (path: string, change: Record<string, string> = {}) =>
    runCli(['store', 'add', '--db', path, ...Object.entries({ ...given, ...change }).flat()]);

  it.each([
    ['a key of another network', {}, 'paygate runs on mainnet'],
    [
      'a key with a fault',
      { '--network': 'regtest', '--xpub': 'tpubD6NzVbkrYhZ4' },
      'wrong length',
    ],
    ['no whole URL', { '--network': 'regtest', '--callback-url': 'shop.example' }, 'whole URL'],
    ['a name that does not show', { '--network': 'regtest', '--name': '\u200b' }, 'name: 1 to 100'],
  ])('refuses %s before a file is made', async (_, change, reason) => {
    const path = freshPath();
    const refused = await add(path, change);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toContain(reason);
    expect(readdirSync(dirname(path))).toEqual([]);
  });

  it('goes well once the command is put right', async () => {
    const path = freshPath();
    await add(path);
    const added = await add(path, { '--network': 'regtest' });
    expect(added).toMatchObject({ code: 0, stderr: '' });
    // A service reads its own database: a person must see that another one was made.
    expect(added.stdout).toContain(`Store 1 "Shop" is set up in the new database ${path}.\n`);
    // From here on the file knows its network.
    const other = { '--name': 'Other shop', '--callback-url': 'https://other.example/callback' };
    expect(await add(path, other)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Store 2 "Other shop" is set up.\n'),
    });
    const foreign = await add(path, { '--network': 'mainnet' });
    expect(foreign).toMatchObject({ code: 2, stdout: '' });
    expect(foreign.stderr).toContain('is for regtest, not mainnet');
  });
});

describe('a secret in the wrong place', () => {
  const shown = /xprv|abandon/;

  it.each<[name: string, args: readonly string[]]>([
    ['in a value', ['serve', '--electrum', `ssl://${xprv}:50002`]],
    ['behind =', ['serve', `--checkpoint=${xprv}`]],
    ['as an option', ['serve', `--${xprv}`]],
    ['as a choice', ['store', 'add', '--script', xprv]],
    ['as a name, which is kept', [...['store', 'add', '--name', xprv], '--xpub', regtest.account]],
    ['as a number', ['store', 'show', words.join(' ')]],
    ['as words without quotes behind a command', ['audit', ...words]],
    ['as words without quotes behind two commands', ['key', 'list', ...words]],
    ['as words without quotes', ['store', 'add', '--xpub', ...words, '--json']],
    ['as words behind =', ['store', 'add', `--xpub=${words[0]}`, ...words.slice(1), '--json']],
    ['as a list of words', ['store', 'add', ...words.flatMap((word) => ['-', word])]],
    [
      'as words with numbers, in a name',
      ['store', 'add', '--name', words.map((word, at) => `(${at + 1}) ${word}`).join(' ')],
    ],
    [
      'as words in a callback URL',
      [
        'store',
        'add',
        '--callback-url',
        `https://shop.example/?${words.map((w) => `&w=${w}`).join('')}`,
      ],
    ],
    ['glued to a word', ['store', 'add', '--name', `shop${xprv}`]],
    ['as a share', ['serve', '--electrum', 'ms10testsxxxxxxxxxxxxxxxxxxxxxxxxxx4nzvca9cmczlw']],
    ['as a file of a key', ['store', 'add', '--name', '-----BEGIN EC PRIVATE KEY-----\nMHQC']],
    ['as a command', [xprv]],
    ['as words alone', words],
  ])('is refused %s', (_, args) => {
    expect(() => refusePrivateInput(args, {})).toThrow(/private key or recovery words/);
    expect(() => refusePrivateInput(args, {})).not.toThrow(shown);
  });

  it.each(['PAYGATE_ELECTRUM', 'PAYGATE_DB'])('is refused in %s', (name) => {
    expect(() => refusePrivateInput([], { [name]: xprv })).toThrow(/private key/);
  });

  it('is ignored in variables of other programs', () => {
    expect(() => refusePrivateInput([], { WALLET_KEY: xprv })).not.toThrow();
  });

  it('is not found in a long harmless command', () => {
    const flags = ['--allow-private-callback', '--allow-http-callback', '--allow-depth', '--json'];
    const texts = [
      ...['--name', 'the shop with books and bread', '--xpub', regtest.account],
      ...['--callback-url', 'http://shop.example/order/paid/callback?secret=any'],
    ];
    expect(() => refusePrivateInput(['store', 'add', ...flags, ...texts], {})).not.toThrow();
  });

  it.each<[name: string, args: readonly string[]]>([
    ['an unknown option', ['serve', `--${xprv}`]],
    ['a wrong value', ['serve', '--log-level', xprv]],
    ['an unknown command', words],
  ])('ends the process as %s, before anything is shown or made', async (_, args) => {
    const path = freshPath();
    const refused = await runCli(args, { PAYGATE_DB: path });
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toMatch(/^paygate: .*private key or recovery words.*\n$/);
    expect(refused.stderr).not.toMatch(shown);
    expect(existsSync(path)).toBe(false);
  });
});

describe('address check', () => {
  const check = (env: Record<string, string>, ...args: string[]) =>
    runCli(['address', 'check', '--xpub', regtest.account, '--script', 'p2wpkh', ...args], env);

  it('takes the network from --network, else from the environment, like all other commands', async () => {
    const checked = await check({ PAYGATE_NETWORK: 'regtest' });
    expect(checked).toMatchObject({ code: 0, stderr: '' });
    expect(checked.stdout).toMatch(/^0 {2}bcrt1q/);
    expect((await check({ PAYGATE_NETWORK: 'mainnet' }, '--network', 'signet')).stdout).toMatch(
      /^0 {2}tb1q/,
    );
    const wrong = await check({}, '--network', 'mars');
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringMatching(/^paygate: --network: /)]);
  });

  it('names the option for the script type if the key does not determine it', async () => {
    const args = ['address', 'check', '--xpub', regtest.account, '--network', 'regtest'];
    const { code, stderr } = await runCli(args);
    expect(code).toBe(2);
    expect(stderr).toMatch(
      /^paygate: this tpub does not say which .* Give --script with the type whose address .*:\n {2}p2pkh /,
    );
  });
});

describe('help', () => {
  it('of a subcommand is the same as its --help', async () => {
    const { code, stdout, stderr } = await runCli(['help', 'store', 'add']);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^Usage: paygate store add /);
    expect(await runCli(['store', 'add', '--help'])).toMatchObject({ code: 0, stdout });
    expect((await runCli(['store', 'help', 'add'])).stdout).toBe(stdout);
    expect((await runCli(['help', 'store'])).stdout).toMatch(/^Usage: paygate store /);
  });

  it.each([[['help', 'stroe', 'add']], [['help', 'nothing']], [['help', 'backup', 'x']]])(
    '%j is refused with 2',
    async (args) => {
      const { code, stdout, stderr } = await runCli(args);
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toContain('unknown command');
    },
  );

  it('is printed to standard output by paygate without arguments', async () => {
    const { code, stdout, stderr } = await runCli([]);
    expect([code, stderr]).toEqual([2, '']);
    expect(stdout).toBe((await runCli(['--help'])).stdout);
  });

  it('groups the options of serve, and ends with examples', async () => {
    const { stdout } = await runCli(['help', 'serve']);
    const headings = [...stdout.matchAll(/^(\w[\w ]+):$/gm)].map(([, heading]) => heading);
    expect(headings).toEqual([
      ...['Database', 'Address', 'HTTPS', 'Chain', 'Dashboard', 'Wallet', 'Limits', 'Prices'],
      ...['Log and metrics', 'Options', 'Examples'],
    ]);
    expect((await runCli(['help', 'store', 'show'])).stdout).toMatch(
      /\nExamples:\n {2}paygate store show 1\n$/,
    );
  });

  it('lists the networks once, in the help of serve', async () => {
    expect((await runCli(['help', 'serve'])).stdout).toMatch(/--network <name> +mainnet, testnet3/);
    expect((await runCli(['help', 'store', 'list'])).stdout).toContain(
      '  --network <name>  network of the database\n',
    );
  });
});
