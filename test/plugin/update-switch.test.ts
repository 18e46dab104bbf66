import { expect, test } from 'vitest';
import { switchUpdatesOff } from '../../src/plugin/update-switch.ts';

/** WordPress' own reading of a header field, written down from its documentation. */
function wordPressReads(text: string, name: string): string {
  const head = text.slice(0, 8192).replaceAll('\r', '\n');
  const form = new RegExp(String.raw`^(?:[ \t]*<\?php)?[ \t/*#@]*${name}:(.*)$`, 'im');
  return (form.exec(head)?.[1] ?? '').replace(/\s*(?:\*\/|\?>).*/, '').trim();
}

const headers: [what: string, before: string, after: string][] = [
  [
    'a comment of stars',
    '<?php\n/**\n * Plugin Name: Pay\n * Version: 1.0\n */\n',
    '<?php\n/**\n * Plugin Name: Pay\n * Update URI: false\n * Version: 1.0\n */\n',
  ],
  [
    'newlines of Windows',
    '<?php\r\n/*\r\nPlugin Name: Pay\r\nVersion: 1.0\r\n*/\r\n',
    '<?php\r\n/*\r\nPlugin Name: Pay\r\nUpdate URI: false\r\nVersion: 1.0\r\n*/\r\n',
  ],
  [
    'newlines of an old Macintosh',
    '<?php\r/*\rPlugin Name: Pay\r*/\r',
    '<?php\r/*\rPlugin Name: Pay\rUpdate URI: false\r*/\r',
  ],
  [
    'a comment in one row',
    '<?php\n/* Plugin Name: Pay */\ncode();\n',
    '<?php\n/* Plugin Name: Pay\n * Update URI: false */\ncode();\n',
  ],
  [
    'a comment that begins in the row of PHP',
    '<?php /** Plugin Name: Pay\n */\n',
    '<?php /** Plugin Name: Pay\n * Update URI: false\n */\n',
  ],
  [
    'comments of one row each',
    '<?php // Plugin Name: Pay\n// Version: 1\ncode();',
    '<?php // Plugin Name: Pay\n// Update URI: false\n// Version: 1\ncode();',
  ],
  [
    'a name without a newline',
    '<?php # Plugin Name: Pay',
    '<?php # Plugin Name: Pay\n# Update URI: false',
  ],
  [
    'the address of an update server',
    '<?php\n/**\n * Update URI: https://www.blockonomics.co/updates\n * Plugin Name: Pay\n */',
    '<?php\n/**\n * Update URI: false\n * Plugin Name: Pay\n */',
  ],
  [
    'an address at the end of its comment',
    '<?php /* Plugin Name: Pay\n Update URI:https://a.example/ */ code();',
    '<?php /* Plugin Name: Pay\n Update URI: false */ code();',
  ],
];

test.each(headers)('sets Update URI in %s', (_, before, after) => {
  const result = switchUpdatesOff(before, 'pay/pay.php');
  expect(result?.text).toBe(after);
  expect(result?.change?.after).toBe('Update URI: false');
  expect(wordPressReads(after, 'Update URI')).toBe('false');
  expect(wordPressReads(after, 'Plugin Name')).toBe('Pay');
  expect(switchUpdatesOff(after, 'pay/pay.php')).toEqual({ text: after, change: undefined });
});

test('names the row, and the value that was there', () => {
  const header = '<?php\n/**\n * Plugin Name: Pay\n * Update URI: a.example\n */';
  expect(switchUpdatesOff(header, 'pay.php')?.change).toEqual({
    line: 4,
    before: 'Update URI: a.example',
    after: 'Update URI: false',
  });
});

test.each([
  ['pay/readme.txt', '/**\n * Plugin Name: Pay\n */'],
  ['pay/php/Pay.php', '<?php /* Plugin Name: Pay */'],
  ['pay/pay.php', '<?php /* Name: Pay */'],
  ['pay/pay.php', `<?php ${'/'.repeat(9000)}\n/* Plugin Name: Pay */`],
  ['pay/pay.php', '<?php $header = "Plugin Name: Pay";'],
])('WordPress takes no header from this: %s', (name, text) => {
  expect(switchUpdatesOff(text, name)).toBeUndefined();
});
