import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PaygateError } from '../../src/lib/errors.ts';
import { parseTarget, rewriteText } from '../../src/plugin/rewrite.ts';

const target = parseTarget('https://pay.example.com');
const rewrite = (text: string, name = 'a.php') => rewriteText(text, name, target);

/** A snippet that is changed, by the file it stands in, and what it becomes. */
const changes: [name: string, before: string, after: string][] = [
  // WooCommerce and its kin
  [
    'a.php',
    "const BASE_URL = 'https://www.blockonomics.co';",
    "const BASE_URL = 'https://pay.example.com';",
  ],
  [
    'a.php',
    "const BASE = 'https://www.blockonomics.co/api/';",
    "const BASE = 'https://pay.example.com/api/';",
  ],
  [
    'a.php',
    "const LIST = 'https://www.blockonomics.co/api/address?&no_balance=true&only_xpub=true';",
    "const LIST = 'https://pay.example.com/api/address?&no_balance=true&only_xpub=true';",
  ],
  [
    'a.php',
    '$url = "http://blockonomics.co/api/price?currency=$code";',
    '$url = "https://pay.example.com/api/price?currency=$code";',
  ],
  [
    'a.php',
    '"https://www.blockonomics.co/api/tx?txid={$txid}&addr=$addr"',
    '"https://pay.example.com/api/tx?txid={$txid}&addr=$addr"',
  ],
  [
    'a.php',
    "Configuration::updateValue('WS', 'wss://www.blockonomics.co');",
    "Configuration::updateValue('WS', 'wss://pay.example.com');",
  ],
  [
    'a.phtml',
    '<script>new WebSocket("wss://www.blockonomics.co/payment/<?= $addr ?>")',
    '<script>new WebSocket("wss://pay.example.com/payment/<?= $addr ?>")',
  ],
  [
    'a.php',
    "'https://'.$sub.'.blockonomics.co/api/new_address'",
    "'https://'.'pay.example.com/api/new_address'",
  ],
  ['a.php', '"https://{$sub}.blockonomics.co/api/price"', '"https://pay.example.com/api/price"'],
  [
    'a.php',
    '$a = \'<a href="https://\' . $sub . ".blockonomics.co/api/tx?txid=$txid\\">";',
    '$a = \'<a href="https://\' . "pay.example.com/api/tx?txid=$txid\\">";',
  ],
  // the browser's part
  [
    'a.js',
    'new WebSocket("wss://www.blockonomics.co/payment/" + addr + "?timestamp=" + t)',
    'new WebSocket("wss://pay.example.com/payment/" + addr + "?timestamp=" + t)',
  ],
  [
    'a.js',
    'new Socket("wss://" + sub + \'.blockonomics.co/payment/\' + addr)',
    'new Socket("wss://" + \'pay.example.com/payment/\' + addr)',
  ],
  [
    'a.js',
    'new Socket("wss://" + (this.data.coin.code == \'btc\' ? \'www\' : this.data.coin.code) + ".blockonomics.co/payment/" + a)',
    'new Socket("wss://" + "pay.example.com/payment/" + a)',
  ],
  [
    'a.js',
    `new WebSocket(\`wss://\${sub}.blockonomics.co/payment/\${addr}\`)`,
    `new WebSocket(\`wss://pay.example.com/payment/\${addr}\`)`,
  ],
  ['a.js', "fetch('//www.blockonomics.co/api/price')", "fetch('//pay.example.com/api/price')"],
  [
    'a.json',
    '{"base": "https:\\/\\/www.blockonomics.co\\/api\\/price"}',
    '{"base": "https:\\/\\/pay.example.com\\/api\\/price"}',
  ],
  ['a.js', "const host = 'www.blockonomics.co'", "const host = 'pay.example.com'"],
  ['a.js', "const api = 'blockonomics.co/api'", "const api = 'pay.example.com/api'"],
  ['a.js', "'https://www.blockonomics.co:443/api'", "'https://pay.example.com/api'"],
  [
    'a.ts',
    'export const DEFAULT_BASE_URL = "https://www.blockonomics.co"',
    'export const DEFAULT_BASE_URL = "https://pay.example.com"',
  ],
  [
    'a.ts',
    "'HTTPS://WWW.Blockonomics.co/API'.toLowerCase(), 'WSS://Blockonomics.co'",
    "'HTTPS://WWW.Blockonomics.co/API'.toLowerCase(), 'wss://pay.example.com'",
  ],
  // settings
  [
    'a.xml',
    '<base_url>https://www.blockonomics.co</base_url>',
    '<base_url>https://pay.example.com</base_url>',
  ],
  [
    'csp.xml',
    '<value id="pay" type="host">www.blockonomics.co</value>',
    '<value id="pay" type="host">pay.example.com</value>',
  ],
  ['a.xml', '<ws>wss://www.blockonomics.co</ws>', '<ws>wss://pay.example.com</ws>'],
  ['.env', 'PAY_URL=https://www.blockonomics.co\n', 'PAY_URL=https://pay.example.com\n'],
  ['settings.json', '{"url": "https://www.blockonomics.co"}', '{"url": "https://pay.example.com"}'],
  ['.env', 'PAY_HOST=www.blockonomics.co # host', 'PAY_HOST=pay.example.com # host'],
  ['a.yaml', '  base_url: https://www.blockonomics.co', '  base_url: https://pay.example.com'],
  ['a.yaml', 'hosts:\n  - www.blockonomics.co', 'hosts:\n  - pay.example.com'],
  ['a.conf', 'proxy_pass https://www.blockonomics.co;', 'proxy_pass https://pay.example.com;'],
  ['Dockerfile', 'ENV PAY_URL=https://www.blockonomics.co', 'ENV PAY_URL=https://pay.example.com'],
  ['a.ini', 'api = https://www.blockonomics.co', 'api = https://pay.example.com'],
  [
    'package.json',
    '{"config": {"apiBase": "https://www.blockonomics.co"}}',
    '{"config": {"apiBase": "https://pay.example.com"}}',
  ],
  [
    'a.php',
    "header('Content-Security-Policy: connect-src https://*.blockonomics.co');",
    "header('Content-Security-Policy: connect-src https://pay.example.com');",
  ],
  // the wizard and other links for merchants
  ...(
    [
      ['a.php', '<a href="https://www.blockonomics.co/register" target="_blank">Sign up</a>'],
      ['a.php', '<a href="https://www.blockonomics.co/register#/">Sign up</a>'],
      ['a.php', '<a href="https://www.blockonomics.co/dashboard#/wallet">Wallet</a>'],
      ['a.php', "__('a <a href=\"https://blockonomics.co/dashboard#/store\">store</a>', 'x')"],
      ['a.php', '<a href="https://www.blockonomics.co/merchants#/page6">Merchants</a>'],
      ['a.tpl', '<a\nhref="https://www.blockonomics.co/merchants" a>Blockonomics\nMerchants</a>'],
      ['a.php', `'<a href="https://www.blockonomics.co/merchants#/api">API Key</a>'`],
      ['a.php', "$a = 'https://www.blockonomics.co/#/merchants';"],
      ['system.xml', '<![CDATA[(<a href="https://www.blockonomics.co/blockonomics#/settings">]]>'],
      ['a.php', "'[Dashboard](https://www.blockonomics.co/dashboard#/store).'"],
      ['a.go', 'Link: "https://www.blockonomics.co/dashboard#/store",'],
      ['a.html', 'Sign up at https://www.blockonomics.co/register.'],
    ] as const
  ).map(([name, before]): [string, string, string] => [
    name,
    before,
    before.replace(
      /https:\/\/(?:www\.)?blockonomics\.co\/(?:#\/)?\w+(?:#\/\w*)?/,
      'https://pay.example.com/dashboard/stores',
    ),
  ]),
  [
    'a.php',
    `echo '<a href="https://' . $domain . 'blockonomics.co/merchants">Get started</a>';`,
    `echo '<a href="https://' . 'pay.example.com/dashboard/stores">Get started</a>';`,
  ],
  [
    'a.js',
    'x = "<a href=\\"https:\\/\\/www.blockonomics.co\\/merchants#\\/\\">"',
    'x = "<a href=\\"https:\\/\\/pay.example.com\\/dashboard\\/stores\\">"',
  ],
  [
    'a.js',
    "open('https://www.blockonomics.co/dashboard#/store/' + id)",
    "open('https://pay.example.com/dashboard/stores')",
  ],
];

describe('a URL that a shop requests is rewritten', () => {
  test.each(changes)('%s: %s', (name, before, after) => {
    const result = rewrite(before, name);
    expect(result.text).toBe(after);
    expect(result.changes).toHaveLength(1);
    const [change] = result.changes;
    expect(before.replace(change?.before ?? '', () => change?.after ?? '')).toBe(after);
    // And once is enough.
    expect(rewrite(result.text, name)).toMatchObject({ text: after, changes: [] });
  });

  test.each([
    "{ hostname: 'www.blockonomics.co', port: 443 }",
    "{ host: 'www.blockonomics.co', port: 443 }",
    '["host" => "www.blockonomics.co", "port" => 443]',
  ])('a host with a separate port needs a review if paygate has a port: %s', (text) => {
    const own = parseTarget('https://pay.example.com:8443');
    const { text: same, left } = rewriteText(text, 'a.php', own);
    expect(same).toBe(text);
    expect(left).toMatchObject([{ look: true, why: expect.stringContaining('port') }]);
    const usual = rewriteText(text, 'a.php', parseTarget('https://pay.example.com'));
    expect(usual.text).toContain('pay.example.com');
  });

  test('an origin with a port, over plain http', () => {
    const local = parseTarget('http://127.0.0.1:8080/');
    const text =
      '"https://www.blockonomics.co/api" "wss://www.blockonomics.co" "www.blockonomics.co"';
    expect(rewriteText(text, 'a.js', local).text).toBe(
      '"http://127.0.0.1:8080/api" "ws://127.0.0.1:8080" "127.0.0.1:8080"',
    );
  });

  test('line numbers are those of an editor', () => {
    const line = "a('https://www.blockonomics.co/api/x');";
    const text = `<?php\r\n${line} ${line}\n\n// mail support@blockonomics.co\n${line}`;
    const { changes, left } = rewrite(text);
    expect(changes.map((each) => each.line)).toEqual([2, 2, 5]);
    expect(left).toEqual([
      { line: 4, text: 'blockonomics.co', why: 'an e-mail address', look: false },
    ]);
  });
});

/** A snippet that stays as it is, why, and whether a person must look at it. */
const lefts: [name: string, text: string, why: RegExp, look: boolean][] = [
  ['a.php', ' * Author URI: https://www.blockonomics.co', /in text, a comment or a link/, false],
  ['a.php', ' * @author Admin <admin@blockonomics.co>', /e-mail/, false],
  ['a.php', '<a href="https://www.blockonomics.co" target="_blank">', /in text/, false],
  ['a.html', 'See https://www.blockonomics.co for more', /in text/, false],
  ['a.php', '<a href="https://www.blockonomics.co/merchants-guide">', /for people/, false],
  ['a.php', '"https://www.blockonomics.co/views/api.html"', /for people/, false],
  ['a.php', '"https://www.blockonomics.co/apidocs"', /for people/, false],
  ['a.php', "USDT: ['https://www.blockonomics.co/js/web3-payment.js']", /page or file/, false],
  ['a.php', '"http://help.blockonomics.co/support/solutions"', /another host/, false],
  ['a.php', "const BCH = 'https://bch.blockonomics.co/api/price';", /another coin/, false],
  ['a.js', "new WebSocket('wss://ltc.blockonomics.co/payment/' + a)", /another coin/, false],
  ['a.js', 'const ours = /^https:\\/\\/www\\.blockonomics\\.co\\/api/;', /pattern/, true],
  ['a.php', "preg_match('~//www[.]blockonomics[.]co/api~', $u);", /pattern/, true],
  ['a.py', '__author__ = "https://www.blockonomics.co"', /mentioned in text/, false],
  ['a.php', "const BASE = 'https://staging.blockonomics.co';", /another host/, true],
  ['a.php', "const BASE = 'https://whmcs.testblockonomics.com/';", /another host/, true],
  ['a.js', "// const BASE = 'https://whmcs.testblockonomics.com/'", /another host/, false],
  ['a.php', "'https://'.$domain.'blockonomics.co/pricing'", /for people/, false],
  ['a.php', "$a = f() . '.blockonomics.co/api/new_address'", /computed while/, true],
  ['package.json', '{"homepage": "https://www.blockonomics.co"}', /in text/, false],
  ['composer.json', '{"url": "https://www.blockonomics.co"}', /in text/, false],
  ['composer.json', '{"support": {"docs": "https://www.blockonomics.co"}}', /in text/, false],
  ['composer.json', '{"keywords": ["blockonomics.co"]}', /in text/, false],
  ['package.json', '{"bugs": {"url": "https://www.blockonomics.co"}}', /in text/, false],
  ['package.json', '{"repository": "https://www.blockonomics.co"}', /in text/, false],
  ['install.json', '{"link": "https://blockonomics.co"}', /in text/, false],
  ['a/manifest.json', '{"author_url": "https://www.blockonomics.co"}', /in text/, false],
  ['whmcs.json', '{"support_url": "https://www.blockonomics.co"}', /in text/, false],
  ['install.xml', '<link>https://www.blockonomics.co</link>', /in text/, false],
  ['a.xml', '<authorUrl>https://www.blockonomics.co</authorUrl>', /in text/, false],
  ['config.xml', '<author><![CDATA[https://www.blockonomics.co]]></author>', /in text/, false],
  ['info.xml', '<website>https://www.blockonomics.co</website>', /in text/, false],
  ['setup.py', 'setup(url="https://www.blockonomics.co")', /in text/, false],
  ['a.php', " * Plugin URI: 'https://www.blockonomics.co'", /in text/, false],
  ['a.php', "<?php /* 'https://www.blockonomics.co' */", /in text/, false],
  ['a.php', "$this->author_uri = 'https://www.blockonomics.co';", /in text/, false],
  ['a.php', "['link' => 'https://www.blockonomics.co']", /in text/, false],
  ['.env', 'SUPPORT_URL=https://www.blockonomics.co', /in text/, false],
  ['a.conf', '# proxy_pass https://www.blockonomics.co;', /in text/, false],
  ['a.yaml', 'homepage: https://www.blockonomics.co', /in text/, false],
  ['a.js', 'if (newApiKey.length != 43) {', /43 characters/, true],
  // pages for merchants, where the text is about the plugin or the service
  ['a.php', ' * Plugin URI: https://www.blockonomics.co/merchants', /for people/, false],
  ['a.php', '<?php // see https://www.blockonomics.co/dashboard#/store', /for people/, false],
  ['a.php', "$this->author_uri = 'https://www.blockonomics.co/merchants';", /for people/, false],
  ['composer.json', '{"homepage": "https://www.blockonomics.co/merchants"}', /for people/, false],
  ['install.json', '{"link": "https://www.blockonomics.co/merchants"}', /for people/, false],
  [
    'a.js',
    `'by <a href="https://www.blockonomics.co/merchants" target="_blank">Blockonomics</a>'`,
    /for people/,
    false,
  ],
  ['a.php', '<a href="https://bch.blockonomics.co/merchants">', /another coin/, false],
  ['a.php', '<a href="https://help.blockonomics.co/register">', /another host/, false],
  ['a.php', "$d . 'blockonomics.co/merchants'", /for people/, false],
];

describe('links for people stay, and are reported', () => {
  test.each(lefts)('%s: %s', (name, text, why, look) => {
    const result = rewrite(text, name);
    expect(result).toMatchObject({ text, changes: [], left: [{ line: 1, look }] });
    expect(result.left[0]?.why).toMatch(why);
  });

  test('domains that only look alike', () => {
    const text =
      "'https://www.blockonomics.com/api' 'https://blockonomics.co.example/api' 'https://notblockonomics.co/api' 'https://my-blockonomics.co/api' 'https://blockonomics.co-op.example/api'";
    expect(rewrite(text)).toEqual({ text, changes: [], left: [] });
  });
});

test('every other byte stays unchanged', () => {
  const bytes = fc.uint8Array({ maxLength: 200 });
  fc.assert(
    fc.property(bytes, bytes, (before, after) => {
      const text = (part: Uint8Array) => Buffer.from(part).toString('latin1');
      const call = '\n"https://www.blockonomics.co/api/price"\n';
      const { text: result } = rewrite(text(before) + call + text(after), 'a.js');
      const own = '\n"https://pay.example.com/api/price"\n';
      expect(result).toBe(text(before) + own + text(after));
    }),
  );
});

test('hostile files cost no more than their length', () => {
  const mebi = 1024 * 1024;
  const bombs = [
    'a'.repeat(mebi),
    'a.'.repeat(mebi / 2),
    '-'.repeat(mebi),
    '/'.repeat(mebi),
    `"wss://" + ${'('.repeat(mebi)}`,
    '"wss://" + a.a.a.a.a.a'.repeat(mebi / 32),
    'wss://${a'.repeat(mebi / 16),
    `${'x'.repeat(200)}.blockonomics.co`.repeat(mebi / 256),
    'www.blockonomics.co/'.repeat(mebi / 32),
    `https://www.blockonomics.co/${'a'.repeat(mebi)}`,
  ];
  // Were one of them worked up in the square of its length, this would never end.
  for (const bomb of bombs) expect(rewrite(bomb, 'a.js')).toMatchObject({ changes: [] });
});

describe('the URL of a paygate', () => {
  test.each(['https://pay.example.com', 'https://pay.example.com/', 'HTTPS://PAY.example.com:443'])(
    '%s',
    (text) => {
      expect(parseTarget(text)).toEqual({
        origin: 'https://pay.example.com',
        host: 'pay.example.com',
      });
    },
  );

  test.each([
    '',
    'pay.example.com',
    'ftp://pay.example.com',
    'https://pay.example.com/btc',
    'https://pay.example.com/?a=1',
    'https://pay.example.com/#a',
    'https://user:word@pay.example.com',
    "javascript:alert('x')",
  ])('not %j', (text) => {
    expect(() => parseTarget(text)).toThrow(PaygateError);
  });
});
