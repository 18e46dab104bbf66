// Each family by the files that its published archives have, and the steps that follow.

import { describe, expect, test } from 'vitest';
import { type FamilyName, familyTitles, recognise } from '../../src/plugin/families.ts';
import { nextSteps, pageOf } from '../../src/plugin/next-steps.ts';

/** Files of an archive, with the text that states the version. */
const archives: [family: FamilyName, files: Record<string, string>, version: string | null][] = [
  [
    'woocommerce',
    {
      'woocommerce-plugin-3.9.1/blockonomics-woocommerce.php':
        '<?php\r\n/**\r\n * Plugin Name: Pay\r\n * Version: 3.9.1\r\n */',
      'woocommerce-plugin-3.9.1/php/Blockonomics.php': '',
      'woocommerce-plugin-3.9.1/composer.json': '{"version": "9.9"}',
    },
    '3.9.1',
  ],
  ['givewp', { 'blockonomics-givewp.php': '<?php\n/**\n * Version: 0.1.1\n */' }, '0.1.1'],
  [
    'edd',
    { 'edd/edd-blockonomics.php': ' * Version: 1.3.8\n', 'edd/php/Blockonomics.php': '' },
    '1.3.8',
  ],
  [
    'whmcs',
    {
      'modules/gateways/blockonomics.php': '',
      'modules/gateways/callback/blockonomics.php': '',
      'modules/gateways/blockonomics/blockonomics.php': "private $version = '1.9.8';",
    },
    '1.9.8',
  ],
  [
    'prestashop',
    {
      'blockonomics/blockonomics.php': "$this->version = '1.7.94';",
      'blockonomics/controllers/front/validation.php': '',
    },
    '1.7.94',
  ],
  [
    'opencart',
    {
      'upload/catalog/controller/extension/payment/blockonomics.php': '',
      'upload/system/library/blockonomics.php': "public $version = '3.2.4';",
    },
    '3.2.4',
  ],
  [
    'opencart',
    {
      'install.json': '{"link": "https://blockonomics.co"}',
      'catalog/controller/payment/blockonomics.php': '',
      'system/library/blockonomics.php': '',
    },
    null,
  ],
  [
    'magento',
    { 'registration.php': '', 'etc/module.xml': '', 'composer.json': '{"version": "0.2.2"}' },
    '0.2.2',
  ],
  [
    'fossbilling',
    { 'Blockonomics.php': '', 'module/manifest.json': '{"version": "0.2.0"}' },
    '0.2.0',
  ],
  [
    'medusa',
    {
      'package/.medusa/server/src/providers/blockonomics/index.js': '',
      'package/package.json': '{"version": "v1.0.0"}',
    },
    '1.0.0',
  ],
];

const filesOf = (files: Record<string, string>) =>
  Object.entries(files).map(([name, head]) => ({ name, head }));

test.each(archives)('recognises %s', (family, files, version) => {
  expect(recognise(filesOf(files))).toEqual({ family, version });
});

test('a text that names a shop makes no family', () => {
  const text =
    '/* Plugin Name: WooCommerce Blockonomics\n * Version: 3.9.1 blockonomics-woocommerce.php */';
  const files = { 'pay.php': text, 'not-blockonomics-woocommerce.php': '', 'blockonomics.php': '' };
  expect(recognise(filesOf(files))).toEqual({ family: null, version: null });
});

test('files of two families make none', () => {
  const files = {
    'blockonomics-woocommerce.php': ' * Version: 1.0',
    'blockonomics-givewp.php': '',
  };
  expect(recognise(filesOf(files))).toEqual({ family: null, version: null });
});

test('a version is a number, or none', () => {
  const version = (stated: string) =>
    recognise([{ name: 'blockonomics-givewp.php', head: ` * Version: ${stated}\n` }]).version;
  expect(version('1.2.3-beta')).toBe('1.2.3');
  expect(version('\u001b[2J1.2')).toBe(null);
  expect(version('1.2.3.4.5')).toBe(null);
  expect(version('123456.1')).toBe(null);
  expect(version('$(id)')).toBe(null);
});

describe('the next steps', () => {
  const families = Object.keys(familyTitles) as FamilyName[];
  const stepsOf = (family: FamilyName | null) => nextSteps({ family, version: '3.9.1' }, 'out.zip');

  test.each([...families, null])(
    'of %s add the store, its settings and the key, then test it',
    (family) => {
      const commands = stepsOf(family).filter((step) => step.startsWith('paygate '));
      const [store = '', ...others] = commands;
      expect(others.pop()).toBe('paygate callbacks test --addr ADDRESS --value SAT --status 2');
      expect(store).toMatch(/^paygate store add .*--xpub - --callback-url 'CALLBACK_URL'$/);
      expect(others.at(-1)).toBe('paygate key add --store ID --scope payments');
      expect(others.slice(0, -1).every((each) => each.startsWith('paygate store set ID '))).toBe(
        true,
      );
    },
  );

  test.each([...families, null])(
    'of %s: a colon introduces a command, a dot ends a step',
    (family) => {
      const steps = stepsOf(family);
      for (const [at, step] of steps.entries()) {
        if (/^(?:paygate|php) /.test(step)) continue;
        const isIntroduction = /^(?:paygate|php) /.test(steps[at + 1] ?? '');
        expect(step.at(-1)).toBe(isIntroduction ? ':' : '.');
      }
    },
  );

  test('let replaceable payments count in the plugins that ignore them otherwise', () => {
    const ignoring = families.filter((family) =>
      stepsOf(family).includes('paygate store set ID --no-rbf-parameter'),
    );
    expect(ignoring).toEqual(['woocommerce', 'givewp', 'medusa']);
  });

  test('set a minimum for OpenCart', () => {
    expect(stepsOf('opencart')).toContain('paygate store set ID --minimum 10000');
  });

  test('name the oldest WordPress of WooCommerce plugins from 3.9 on', () => {
    expect(stepsOf('woocommerce')[0]).toContain('WordPress 6.2');
    const older = nextSteps({ family: 'woocommerce', version: '3.8.2' }, 'out.zip');
    expect(older.join(' ')).not.toContain('6.2');
  });

  test('name the last OpenCart of the plugin for OpenCart 4', () => {
    const steps = (version: string | null) => nextSteps({ family: 'opencart', version }, 'o')[0];
    expect(steps('4.0.1')).toContain('needs OpenCart 4.0');
    for (const version of ['3.2.4', '0.4.1', null]) expect(steps(version)).not.toContain('4.0');
  });

  test('name the versions of Easy Digital Downloads first', () => {
    expect(stepsOf('edd')[0]).toMatch(
      /Easy Digital Downloads 3\.2: from 3\.3 on .*empty.* HTTP 500/,
    );
  });

  test('name a page of the documentation', () => {
    expect(pageOf({ family: 'givewp', version: null })).toBe('docs/shops/givewp.md');
    expect(pageOf({ family: null, version: null })).toBe('docs/plugins.md');
  });
});
