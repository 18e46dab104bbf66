// The pages of the shops: one for each family of plugins, with the commands that `paygate plugin`
// prints. The commands of WooCommerce are run.

import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { type FamilyName, familyTitles } from '../../src/plugin/families.ts';
import { nextSteps, pageOf } from '../../src/plugin/next-steps.ts';
import { zipOf } from '../plugin/zip.ts';
import { runCli, runProcess } from '../support/cli.ts';
import { cleanUp, tempFolder } from '../support/files.ts';
import { accountKey } from '../support/store.ts';

afterEach(cleanUp);

const read = (page: string): string => readFileSync(page, 'utf8');
const families = Object.keys(familyTitles) as FamilyName[];
/** The commands in the code blocks of a page, each on one row. */
const commandsIn = (page: string): string[] =>
  [...read(page).matchAll(/^ *```sh\n(.*?)```/gms)].flatMap(([, code = '']) =>
    code
      .replaceAll(/\\\n */g, '')
      .trim()
      .split(/\n */),
  );

describe.each(families)('the page for %s', (family) => {
  const page = pageOf({ family, version: null });
  const text = read(page);

  test('has numbered steps, and is listed with the result of its test', () => {
    const [, steps = ''] = /\n## Steps\n(.*?)(?:\n## |$)/s.exec(text) ?? [];
    expect([...steps.matchAll(/^\d\. /gm)].length).toBeGreaterThan(4);
    const name = page.replace('docs/', '');
    const row = new RegExp(
      String.raw`^\| \[${familyTitles[family]}\]\(${name}\) \| [^|]+\| [^|]+\|$`,
      'm',
    );
    expect(read('docs/plugins.md')).toMatch(row);
  });

  test('has the commands that follow the rewriting, in their order', () => {
    const commands = nextSteps({ family, version: null }, 'out.zip')
      .filter((step) => /^(?:paygate|php) /.test(step))
      .map((step) => step.replace(' ID ', ' 1 ').replace(/ --name .*/, ' --name'))
      .map((step) => step.replace(' ADDRESS ', ' bc1q… ').replace(' SAT ', ' 25000 '));
    const places = commands.map((command) => text.indexOf(command));
    expect(places).toEqual(places.toSorted((one, other) => one - other));
    expect(places).not.toContain(-1);
  });
});

/** The name that a heading has in a link. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');

const allPages = globSync(['*.md', 'docs/**/*.md', 'packaging/*.md']);

test.each(allPages)('each link in %s leads to a page', (page) => {
  const broken = [...read(page).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)].filter(
    ([, path = '', anchor]) => {
      const target = path === '' ? page : join(dirname(page), path);
      if (!existsSync(target)) return true;
      const headings = anchor === undefined ? [] : [...read(target).matchAll(/^#+ (.*)$/gm)];
      return (
        anchor !== undefined && !headings.some(([, heading = '']) => anchorOf(heading) === anchor)
      );
    },
  );
  expect(broken.map(([link]) => link)).toEqual([]);
});

/** The words of a command, without quotes, and with a secret in the place of `…`. */
const words = (command: string): string[] =>
  [...command.replace('…', 'tulip').matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, plain]) => double ?? single ?? plain ?? '',
  );

test('the commands for WooCommerce work in their order', async () => {
  const folder = tempFolder();
  const content = "<?php const BASE_URL = 'https://www.blockonomics.co';";
  const archive = zipOf([{ name: 'woo/blockonomics-woocommerce.php', content }]);
  writeFileSync(join(folder, 'woocommerce-plugin.zip'), archive);
  const env = { PAYGATE_DB: join(folder, 'paygate.db'), PAYGATE_NETWORK: 'regtest' };
  const commands = commandsIn('docs/shops/woocommerce.md');
  expect(commands).toHaveLength(6);
  // A test payment needs an order of the shop.
  for (const command of commands.filter((each) => !each.startsWith('paygate callbacks test'))) {
    const args = words(command)
      .slice(1)
      .map((word) => (word.endsWith('.zip') ? join(folder, word) : word));
    const isAdd = args[0] === 'store' && args[1] === 'add';
    const script = isAdd ? ['--script', 'p2wpkh', '--start-index', '0'] : [];
    const typed = [...args, ...script];
    const done = isAdd
      ? await runProcess(typed, env, accountKey().account)
      : await runCli(typed, env);
    expect(done, command).toMatchObject({ code: 0, stderr: '' });
  }
  const shown = await runCli(['store', 'show', '1', '--json'], env);
  expect(JSON.parse(shown.stdout)).toMatchObject({
    name: 'My shop',
    http_callback: expect.stringContaining('https://shop.example/?wc-api='),
    rbf_parameter: false,
  });
});
