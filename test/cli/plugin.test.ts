// `paygate plugin FILE.zip --url … -o …` as an operator runs it, with a plugin in the manner of
// those that shops have.

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { readArchive } from '../../src/plugin/archive.ts';
import { type Member, zipOf } from '../plugin/zip.ts';
import { bundleEnv, bundleOf } from '../support/bundle.ts';
import { cleanUp, tempFolder } from '../support/files.ts';

afterEach(cleanUp);

const plugin: Member[] = [
  { name: 'pay/' },
  {
    name: 'pay/pay.php',
    content: `<?php
/* Author URI: https://www.blockonomics.co */
const BASE_URL = 'https://www.blockonomics.co';
const PRICE_URL = 'https://www.blockonomics.co/api/price';
const OTHER_URL = 'https://bch.blockonomics.co/api/price';
`,
  },
  {
    name: 'pay/checkout.js',
    content: `if (apiKey.length != 43) alert("\u001b[2J");
let ws = new WebSocket("wss://" + (c == 'btc' ? 'www' : c) + ".blockonomics.co/payment/" + addr)
`,
  },
  { name: 'pay/readme.txt', content: 'Get a key at https://www.blockonomics.co' },
];

const main = join(import.meta.dirname, '../../src/main.ts');

function paygate(...args: string[]) {
  const options = { encoding: 'utf8', env: bundleEnv(bundleOf(main)) } as const;
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [bundleOf(main), ...args],
    options,
  );
  return { status, stdout, stderr };
}

/** Runs it in a folder with `pay.zip`. */
function run(members: readonly Member[], ...args: string[]) {
  const folder = tempFolder();
  const [input, output] = [join(folder, 'pay.zip'), join(folder, 'out.zip')];
  writeFileSync(input, zipOf(members));
  const url = ['--url', 'https://pay.example.com'];
  return { ...paygate('plugin', ...args, input, ...url, '-o', output), input, output };
}

/** What the end of the output says for files that fit no family. */
const nextOf = (output: string) => `
Next, for a plugin of no known family:
  1. Change the places under LOOK AT THIS by hand, and pack the archive again under the same name.
  2. Install ${output} in your shop, and copy the Callback URL that the plugin shows.
  3. Add a store with exactly this Callback URL. Paste the extended public key of your wallet, and press Ctrl-D; the command prints the number of the store, ID:
       paygate store add --name "My shop" --xpub - --callback-url 'CALLBACK_URL'
  4. Make an API key for this store only, and enter it in the plugin:
       paygate key add --store ID --scope payments
  5. Save, and press the plugin's test button while paygate runs.
  6. Test without bitcoin: place an order, send a test payment to its address, and cancel the order in the shop afterwards. SAT is its amount in satoshis:
       paygate callbacks test --addr ADDRESS --value SAT --status 2
  7. Pay a small order yourself.

Each step is explained in docs/plugins.md.
`;

test('lists first what needs a review, then what it changed and what it left', async () => {
  const { status, stdout, stderr, output } = run(plugin);
  expect({ status, stderr }).toEqual({ status: 3, stderr: '' });
  expect(stdout).toBe(`LOOK AT THIS (1): the plugin may not work until you change it by hand:
  pay/checkout.js:1  Key.length != 43  (the plugin takes API keys of 43 characters only: paygate key show --short prints one)

Changed:
  pay/pay.php:3  https://www.blockonomics.co → https://pay.example.com
  pay/pay.php:4  https://www.blockonomics.co/api/price → https://pay.example.com/api/price
  pay/checkout.js:2  wss://" + (c == 'btc' ? 'www' : c) + ".blockonomics.co/payment/ → wss://" + "pay.example.com/payment/

Left as it is:
  pay/pay.php:2  https://www.blockonomics.co  (mentioned in text, a comment or a link)
  pay/pay.php:5  https://bch.blockonomics.co/api/price  (the same for another coin, which paygate does not serve)

Documents and translations that name the service, left as they are:
  pay/readme.txt

3 places changed, written to ${output}.
${nextOf(output)}`);
  const written = await readArchive(readFileSync(output));
  expect(written.map(({ name }) => name)).toEqual(plugin.map(({ name }) => name));
  expect(String(written[1]?.content)).toContain("BASE_URL = 'https://pay.example.com'");
});

test('as JSON, by its full name', () => {
  const { status, stdout, input, output } = run(plugin, 'rewrite', '--json');
  expect(status).toBe(3);
  const answer = JSON.parse(stdout);
  expect(answer).toMatchObject({ file: input, output, url: 'https://pay.example.com', look: 1 });
  expect(answer.changed).toHaveLength(3);
  expect(answer.left.map(({ look }: { look: boolean }) => look)).toEqual([false, false, true]);
  expect(answer.untouched).toEqual(['pay/readme.txt']);
});

/** A plugin of WooCommerce with everything that is to change in one. */
const shop: Member[] = [
  {
    name: 'woo/blockonomics-woocommerce.php',
    content: `<?php\r
/**\r
 * Plugin Name: Pay\r
 * Plugin URI: https://www.blockonomics.co/merchants\r
 * Version: 3.9.1\r
 */\r
$link = $base . '/#/search?q=' . $txid . '&addr=' . $address;\r
`,
  },
  { name: 'woo/php/Blockonomics.php', content: "<?php $base = 'https://www.blockonomics.co';" },
  {
    name: 'woo/php/admin-page.php',
    content: `<a href="https://www.blockonomics.co/register" target="_blank">Sign up</a>`,
  },
  {
    name: 'woo/js/checkout.js',
    content: `const url =
  'wss://' +
  (code == 'btc'
    ? 'www'
    : code) +
  '.blockonomics.co/payment/' +
  address;`,
  },
];

test('finishes the job for a plugin of WooCommerce, and leaves nothing to look at', async () => {
  const { status, stdout, output } = run(shop, '--json');
  expect(status).toBe(0);
  const { family, version, look, next, changed } = JSON.parse(stdout);
  expect({ family, version, look }).toEqual({ family: 'woocommerce', version: '3.9.1', look: 0 });
  expect(next.filter((step: string) => step.startsWith('paygate'))).toEqual([
    `paygate store add --name "My shop" --xpub - --callback-url 'CALLBACK_URL'`,
    'paygate store set ID --no-rbf-parameter',
    'paygate key add --store ID --scope payments',
    'paygate callbacks test --addr ADDRESS --value SAT --status 2',
  ]);
  expect(changed.at(-1)).toEqual({
    ...{ file: 'woo/blockonomics-woocommerce.php', line: 3 },
    ...{ before: '', after: 'Update URI: false' },
  });
  const written = await readArchive(readFileSync(output));
  expect(written.map(({ content }) => String(content))).toEqual([
    `<?php\r
/**\r
 * Plugin Name: Pay\r
 * Update URI: false\r
 * Plugin URI: https://www.blockonomics.co/merchants\r
 * Version: 3.9.1\r
 */\r
$link = $base . '/api/tx?txid=' . $txid . '&addr=' . $address;\r
`,
    "<?php $base = 'https://pay.example.com';",
    `<a href="https://pay.example.com/dashboard/stores" target="_blank">Sign up</a>`,
    `const url =
  'wss://' +
  'pay.example.com/payment/' +
  address;`,
  ]);
});

test('names the steps for a plugin of WooCommerce in the order of its screens', () => {
  const { stdout, output } = run(shop);
  expect(stdout).toMatch(/^Changed:\n/);
  expect(stdout).toContain('blockonomics-woocommerce.php:3  (added) → Update URI: false\n');
  const [, steps = ''] = stdout.split('\nNext, for WooCommerce (plugin 3.9.1):\n');
  const order = [
    ...['WordPress 6.2', output, 'copy the Callback URL', 'paygate store add'],
    ...['--no-rbf-parameter', 'paygate key add', 'Test Setup', 'docs/shops/woocommerce.md'],
  ].map((text) => steps.indexOf(text));
  expect(order).toEqual(order.toSorted((one, other) => one - other));
  expect(order[0]).toBeGreaterThan(-1);
});

test('a plugin that was rewritten before this switch existed gets it now', async () => {
  const content = '<?php\n/**\n * Plugin Name: Pay\n */\n';
  const { status, output } = run([{ name: 'woo/blockonomics-woocommerce.php', content }]);
  expect(status).toBe(0);
  const [main] = await readArchive(readFileSync(output));
  expect(String(main?.content)).toContain(' * Update URI: false\n');
});

test('OpenCart takes only names that end in .ocmod.zip', () => {
  const library = "<?php $url = 'https://www.blockonomics.co/api/price';";
  const { status, stderr, output } = run([
    { name: 'upload/catalog/controller/extension/payment/blockonomics.php', content: '<?php' },
    { name: 'upload/system/library/blockonomics.php', content: library },
  ]);
  expect(status).toBe(2);
  expect(stderr).toBe(
    `paygate: ${output}: the installer of this shop accepts only names that end in .ocmod.zip\n`,
  );
  expect(existsSync(output)).toBe(false);
});

test('OpenCart 4 takes the name of the archive as the folder of the extension', async () => {
  const library =
    "<?php $url = 'https://www.blockonomics.co/api/price'; public $version = '4.0.1';";
  const members = [
    { name: 'install.json', content: '{}' },
    { name: 'catalog/controller/payment/blockonomics.php', content: '<?php' },
    { name: 'system/library/blockonomics.php', content: library },
  ];
  const folder = tempFolder();
  const input = join(folder, 'in.zip');
  writeFileSync(input, zipOf(members));
  const rewritten = (name: string) =>
    paygate('plugin', input, '--url', 'https://a.example', '-o', join(folder, name));
  for (const name of ['out.zip', 'blockonomics-pay.ocmod.zip', 'xblockonomics.ocmod.zip']) {
    const { status, stderr } = rewritten(name);
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: `paygate: ${join(folder, name)}: OpenCart 4 names the extension's folder after the archive, and this plugin works in one folder only: name it blockonomics.ocmod.zip\n`,
    });
    expect(existsSync(join(folder, name))).toBe(false);
  }
  const { status, stdout } = rewritten('blockonomics.ocmod.zip');
  expect(status).toBe(0);
  expect(stdout).toMatch(/Next, for OpenCart \(plugin 4\.0\.1\):\n {2}1\. .*needs OpenCart 4\.0/);
});

test('OpenCart needs its files at the top of the archive', () => {
  const folder = tempFolder();
  const library = "<?php $url = 'https://www.blockonomics.co/api/price';";
  const rewritten = (top: string, ...others: Member[]) => {
    const [input, output] = [
      join(folder, `${top.length}.zip`),
      join(folder, `${top.length}.ocmod.zip`),
    ];
    const payment = 'catalog/controller/extension/payment/blockonomics.php';
    const files = [
      { name: `${top}${payment}`, content: '<?php' },
      { name: `${top}system/library/blockonomics.php`, content: library },
    ];
    writeFileSync(input, zipOf([...files, ...others]));
    const { status, stdout } = paygate('plugin', input, '--url', 'https://a.example', '-o', output);
    return { status, stdout };
  };
  const source = rewritten('opencart-plugin-3.2.4/');
  expect(source.status).toBe(3);
  expect(source.stdout).toMatch(/^LOOK AT THIS \(1\): .*\n {2}upload\/ .*install\.json/);
  expect(rewritten('upload/').status).toBe(0);
  expect(rewritten('', { name: 'install.json', content: '{}' }).status).toBe(0);
});

test('exits with 0 if nothing needs a review', () => {
  const members = plugin.map((member) =>
    member.name === 'pay/checkout.js' ? { ...member, content: '' } : member,
  );
  const { status, stdout, output } = run(members);
  expect(status).toBe(0);
  expect(stdout).toMatch(/^Changed:\n/);
  expect(stdout).toContain(`\n2 places changed, written to ${output}.\n`);
});

test('a script and a payment button of the old service are work that is left', async () => {
  const page = `<a href="https://www.blockonomics.co/pricing">Prices</a>
<a class="blockoPayBtn" data-uid="1" href="">Pay</a>
<script src="https://www.blockonomics.co/js/pay_button.js"></script>`;
  const { status, stdout, output } = run([
    { name: 'shop/page.html', content: page },
    {
      name: 'shop/order.php',
      content: "<?php $o = get('https://www.blockonomics.co/api/merchant_order/' . $id);",
    },
  ]);
  expect(status).toBe(3);
  expect(stdout).toContain(`LOOK AT THIS (2): the plugin may not work until you change it by hand:
  shop/page.html:3  https://www.blockonomics.co/js/pay_button.js  (a customer's browser loads this from that service: remove it, or what needs it)
  shop/order.php:1  https://www.blockonomics.co/api/merchant_order/  (paygate has no such route: remove what needs it)
`);
  expect(stdout).toContain('1 place changed');
  const [written, order] = await readArchive(readFileSync(output));
  expect(String(written?.content)).toBe(page);
  expect(String(order?.content)).toContain('https://pay.example.com/api/merchant_order/');
});

test('a plugin in another language', async () => {
  const { status, stdout, output } = run([
    { name: 'pay/api.py', content: 'BASE_URL = "https://www.blockonomics.co/api/"' },
    { name: 'pay/pay.module', content: "<?php $u = 'https://www.blockonomics.co/api/price';" },
    { name: 'pay/.env', content: 'PAY_URL=https://www.blockonomics.co' },
  ]);
  expect(status).toBe(0);
  expect(stdout).not.toContain('Documents');
  const written = await readArchive(readFileSync(output));
  expect(written.map(({ content }) => String(content))).toEqual([
    'BASE_URL = "https://pay.example.com/api/"',
    "<?php $u = 'https://pay.example.com/api/price';",
    'PAY_URL=https://pay.example.com',
  ]);
});

test('files that are not text are named first, and the archive is written', () => {
  const content = Buffer.from('\0asm www.blockonomics.co\0');
  const { status, stdout, output } = run([
    { name: 'pay/pay.wasm', content },
    {
      name: 'pay/lib.phar',
      content: '<?php "https://www.blockonomics.co/api"; __HALT_COMPILER();',
    },
    { name: 'pay/theme.zip', content: zipOf(plugin), stored: true },
    { name: 'pay/pay.js.map', content: '{"sources": ["https://www.blockonomics.co/api"]}' },
  ]);
  expect(status).toBe(3);
  expect(stdout).toBe(`LOOK AT THIS (3): the plugin may not work until you change it by hand:
  pay/pay.wasm  blockonomics.co  (the service is named in a file that is not text: replace it, or ask who made the plugin)
  pay/lib.phar  blockonomics.co  (the service is named in a file that is not text: replace it, or ask who made the plugin)
  pay/theme.zip  blockonomics.co  (an archive in the archive names the service: rewrite that one too, and put it back)

Left as it is:
  pay/pay.js.map  blockonomics.co  (a source map, which only a debugger reads)

0 places changed, written to ${output}.
${nextOf(output)}`);
  expect(existsSync(output)).toBe(true);
});

test('names the places of the service if nothing has to change', () => {
  const { status, stderr, output } = run([
    { name: 'readme.md', content: 'https://www.blockonomics.co/api' },
    { name: 'de.po', content: '"https://www.blockonomics.co/api"' },
    { name: 'a.php', content: '<?php // by https://www.blockonomics.co' },
  ]);
  expect(status).toBe(2);
  expect(stderr).toBe(
    'paygate: nothing in this archive is to change: it names that service in links for people and in documents only ("a.php", "readme.md", "de.po"), or was rewritten already\n',
  );
  expect(existsSync(output)).toBe(false);
});

test('refuses in one line, and writes nothing', () => {
  const evil = run([...plugin, { name: '../../evil.php' }]);
  const stderr = 'paygate: this archive is refused: "../../evil.php" leads out of its folder\n';
  expect(evil).toMatchObject({ status: 2, stdout: '', stderr });
  const other = run([{ name: 'a.php', content: '<?php /* Plugin Name: Other */' }]);
  expect(other).toMatchObject({ status: 2, stdout: '' });
  expect(other.stderr).toMatch(/^paygate: nothing in this archive .+\n$/);
  for (const { output } of [evil, other]) expect(existsSync(output)).toBe(false);
});

test('leaves no partial archive on a full disk', () => {
  const folder = tempFolder();
  const [input, output] = [join(folder, 'pay.zip'), join(folder, 'out.zip')];
  writeFileSync(
    input,
    zipOf([...plugin, { name: 'logo.png', content: Buffer.alloc(8_192), stored: true }]),
  );
  const args = [bundleOf(main), 'plugin', input, '--url', 'https://pay.example.com', '-o', output];
  const few = 'trap "" XFSZ; ulimit -f 4; exec "$@"';
  const { status, stdout, stderr } = spawnSync('sh', ['-c', few, 'sh', process.execPath, ...args], {
    encoding: 'utf8',
    env: { ...bundleEnv(bundleOf(main)), PATH: process.env.PATH },
  });
  expect({ status, stdout, stderr }).toEqual({
    ...{ status: 2, stdout: '' },
    stderr: `paygate: ${output}: EFBIG\n`,
  });
  expect(existsSync(output)).toBe(false);
});

test('never writes over a file, and asks for a URL without a path', () => {
  const folder = tempFolder();
  const [input, output] = [join(folder, 'pay.zip'), join(folder, 'out.zip')];
  writeFileSync(input, zipOf(plugin));
  const url = ['--url', 'https://pay.example.com'];
  const refusal = (...args: string[]) => {
    const { status, stderr } = paygate('plugin', ...args);
    expect(status).toBe(2);
    return stderr;
  };
  expect(refusal(input, ...url, '-o', input)).toBe(
    `paygate: ${input}: exists already; name a new file\n`,
  );
  expect(readFileSync(input)).toEqual(zipOf(plugin));
  expect(refusal(input, '--url', 'https://a.example/btc', '-o', output)).toContain(
    'without a path',
  );
  expect(refusal(join(folder, 'no.zip'), ...url, '-o', output)).toContain('does not exist');
  expect(refusal(input, ...url)).toContain('plugin rewrite needs -o, --output <file>');
  expect(existsSync(output)).toBe(false);
});
