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

/** Whether the bare host in a text becomes that of paygate. */
const isRewritten = (text: string, name: string): boolean => {
  const { text: after, changes, left } = rewrite(text, name);
  expect(left.every(({ look }) => !look)).toBe(true);
  expect(after.includes('pay.example.com')).toBe(changes.length === 1);
  return changes.length === 1;
};
const host = 'https://www.blockonomics.co';

describe('a bare host is for a program or for people by its name', () => {
  const about = [
    ...['homepage', 'home_page', 'author', 'authorUrl', 'website', 'web_site'],
    ...['plugin_uri', 'author_url', 'theme_uri', 'module_url', 'Plugin URI'],
  ];
  const inCode = ['href', 'support_url', 'doc_uri', 'docs_url', 'documentation_url'];
  const inData = [
    ...['link', 'web', 'vendor', 'company', 'copyright', 'license', 'licence', 'support', 'help'],
    ...['docs', 'manual', 'bugs', 'issue', 'forum', 'wiki', 'source', 'repository', 'contact'],
    ...['email', 'mail', 'name', 'title', 'description', 'keywords', 'icon', 'logo'],
  ];
  const program = ['url', 'base', 'endpoint', 'gateway', 'unauthored', 'apihref'];

  test.each([...about, ...inCode])('in code: %s', (name) => {
    expect(isRewritten(`$${name} = '${host}';`, 'a.php')).toBe(false);
    expect(isRewritten(`["${name}" => "${host}"]`, 'a.php')).toBe(false);
    expect(isRewritten(`x['${name}'] = '${host}'`, 'a.js')).toBe(false);
  });

  test.each([...about, ...inCode, ...inData])('in data: %s', (name) => {
    const key = name.replace(' ', '_');
    expect(isRewritten(`{"${key}": "${host}"}`, 'data.json')).toBe(false);
    expect(isRewritten(`<${key}>${host}</${key}>`, 'data.xml')).toBe(false);
    expect(isRewritten(`<${key} id="1"><![CDATA[${host}]]></${key}>`, 'data.xml')).toBe(false);
    expect(isRewritten(`${key}: ${host}\n`, 'data.yml')).toBe(false);
  });

  test.each([...inData, ...program])('for programs in code: %s', (name) => {
    expect(isRewritten(`$${name} = '${host}';`, 'a.php')).toBe(true);
  });

  test.each(program)('for programs in data: %s', (name) => {
    expect(isRewritten(`{"${name}": "${host}"}`, 'data.json')).toBe(true);
    expect(isRewritten(`<${name}>${host}</${name}>`, 'data.xml')).toBe(true);
    expect(isRewritten(`${name} = ${host}`, 'data.ini')).toBe(true);
  });

  const manifests = [
    ...['package.json', 'package-lock.json', 'composer.json', 'install.xml', 'manifest.json'],
    ...['info.xml', 'module.xml', 'plugin.yaml', 'plugin.yml', 'bower.json', 'block.json'],
    ...['whmcs.json', 'addon.xml', 'extension.toml', 'setup.py', 'setup.cfg', 'pyproject.toml'],
    ...['cargo.toml', 'pubspec.yaml', 'a/pay.info', 'pay.info.yml', 'pay.info.yaml', 'a.gemspec'],
  ];
  const machines = [
    ...['api', 'apiBase', 'base_url', 'host', 'server', 'socket', 'ws', 'wss', 'endpoint'],
    ...['domain', 'origin', 'gateway', 'blockonomics_url', 'blockonomics_uri'],
  ];

  test.each(manifests)('in a description of a plugin, %s', (file) => {
    expect(isRewritten(`"url": "${host}"`, file)).toBe(false);
    expect(isRewritten(`"anything": "${host}"`, file)).toBe(false);
    expect(isRewritten(`"apiBase": "${host}"`, file)).toBe(true);
    // A link for merchants there is about the plugin, too.
    expect(isRewritten(`"url": "${host}/merchants"`, file)).toBe(false);
  });

  test.each(machines)('for programs in such a description: %s', (name) => {
    expect(isRewritten(`{"${name}": "${host}"}`, 'package.json')).toBe(true);
    expect(isRewritten(`{"${name}": "${host}"}`, 'my-package.json')).toBe(true);
  });

  const settings = [
    ...['.env', '.env.local', 'a.env', 'a.ini', 'a.conf', 'a.cfg', 'a.properties', 'a.yml'],
    ...['a.yaml', 'a.neon', 'a.toml', 'a.sh', 'a.bash', 'Dockerfile', 'pay.Dockerfile', 'Makefile'],
  ];

  test.each(settings)('without quotes in settings, %s', (file) => {
    expect(isRewritten(`A=1\n  PAY=${host}`, file)).toBe(true);
    expect(isRewritten(`PAY = ${host} # pay\n`, file)).toBe(true);
    expect(isRewritten(`PAY=${host} and more`, file)).toBe(false);
    expect(isRewritten(`See, ${host}`, file)).toBe(false);
    expect(isRewritten(`# PAY=${host}`, file)).toBe(false);
    expect(isRewritten(`PAY=${host}`, `x/${file}`)).toBe(true);
  });

  test.each(['a.php', 'x.envs', 'Dockerfiles'])('no settings: %s', (file) => {
    expect(isRewritten(`PAY=${host}`, file)).toBe(false);
  });

  test.each(['a.xml', 'a.xsd', 'a.config', 'a.plist'])('as an element of %s', (file) => {
    expect(isRewritten(`<pay>${host}</pay>`, file)).toBe(true);
    expect(isRewritten(`<pay>${host} or another</pay>`, file)).toBe(false);
    expect(isRewritten(`<pay>see ${host}</pay>`, file)).toBe(false);
    expect(isRewritten(`<p>${host}</p>`, 'a.html')).toBe(false);
  });

  test.each(['connect', 'default', 'frame', 'child', 'script', 'img'])('%s-src', (name) => {
    expect(isRewritten(`header('csp: ${name}-src self ${host}');`, 'a.php')).toBe(true);
    expect(isRewritten(`header('csp: font-src self ${host}');`, 'a.php')).toBe(false);
  });
});

describe('a page for merchants', () => {
  const names = ['register', 'sign-up', 'signup', 'log-in', 'login', 'dashboard', 'merchants'];
  const views = ['store', 'stores', 'wallet', 'wallets', 'settings'];
  const stores = 'https://pay.example.com/dashboard/stores';
  const linked = (path: string) => rewrite(`<a href="${host}/${path}">`).text;

  test.each([...names, 'blockonomics'])('%s', (name) => {
    for (const path of [name, `#/${name}`, `#${name}`, `${name}#/page`, `${name}?a=1&b=2/`]) {
      expect(linked(path)).toBe(`<a href="${stores}">`);
    }
    for (const path of [`${name}-guide`, `${name}.html`, `${name}s2`, `x/${name}`]) {
      expect(linked(path)).toBe(`<a href="${host}/${path}">`);
    }
  });

  test.each(views)('#/%s', (name) => {
    expect(linked(`#/${name}`)).toBe(`<a href="${stores}">`);
    expect(linked(name)).toBe(`<a href="${host}/${name}">`);
  });

  test('a continued link is understood, or stays', () => {
    const page = `'${host}/dashboard#/store/' + `;
    expect(rewrite(`open(${page}f(id), 1)`).text).toBe(`open('${stores}', 1)`);
    expect(rewrite(`open(${page}id + '/x')`)).toMatchObject({
      text: `open(${page}id + '/x')`,
      left: [{ look: false }],
    });
    expect(rewrite(`'${host}/merchants' . $x`).text).toBe(`'${stores}' . $x`);
  });
});

test('a socket and a receipt are for programs, whatever is around them', () => {
  expect(rewrite('see wss://www.blockonomics.co/live?x=1').text).toBe(
    'see wss://pay.example.com/live?x=1',
  );
  const href = `<a href="${host}/#/search?q={{ t }}&addr={{ a }}">`;
  expect(rewrite(href).text).toContain('"https://pay.example.com/api/tx?txid={{ t }}&addr=');
  expect(rewrite(`u = '${host}/#/search' + q`).left).toMatchObject([{ look: true }]);
  expect(rewrite(`u = '${host}/#/searching'`).left).toMatchObject([{ look: false }]);
});

/** Lines by which a customer's browser loads something from the old host. */
const loaded: [name: string, text: string][] = [
  ['a.html', '<script src="https://www.blockonomics.co/js/pay_button.js"></script>'],
  ['a.html', '<script type="text/javascript" src=https://www.blockonomics.co/pay></script>'],
  ['a.html', '<SCRIPT SRC="//blockonomics.co"></SCRIPT>'],
  ['a.php', 'echo \'<script src="https://www.blockonomics.co/widget"></script>\';'],
  ['a.php', 'echo "<script src=\\"https://www.blockonomics.co/widget\\"></script>";'],
  ['a.tsx', '<Script src="https://blockonomics.co/js/pay_widget.js" />'],
  ['a.tsx', '<Script src={"https://blockonomics.co/pay"} />'],
  ['a.vue', '<img :src="\'https://www.blockonomics.co/img/pay.png\'">'],
  ['a.html', '<img width=160 src="https://www.blockonomics.co/img/pay.png">'],
  ['a.html', '<img data-src="https://www.blockonomics.co/img/pay.png">'],
  ['a.html', '<img srcset="https://www.blockonomics.co/img/pay.png 2x">'],
  ['a.html', '<video poster="https://www.blockonomics.co/img/pay.png">'],
  ['a.html', '<form action="https://www.blockonomics.co/pay-url/1" method="post">'],
  ['a.html', '<link rel="stylesheet" href="https://www.blockonomics.co/css/pay">'],
  ['a.css', 'a { background: url(https://www.blockonomics.co/img/pay.png) }'],
  ['a.css', "@import 'https://www.blockonomics.co/css/pay';"],
  ['a.js', "import pay from 'https://www.blockonomics.co/pay'"],
  ['a.js', "const pay = await import('https://www.blockonomics.co/pay')"],
  ['a.js', "s = document.createElement('script'); s.src = 'https://www.blockonomics.co/pay'"],
  ['a.js', "s.setAttribute('src', 'https://www.blockonomics.co/pay')"],
  ['a.js', "$('<script>', { src: 'https://www.blockonomics.co/pay' })"],
  ['a.js', "importScripts('https://www.blockonomics.co/pay')"],
  ['a.js', "$.getScript('https://www.blockonomics.co/pay')"],
  ['a.js', "loadScript('https://www.blockonomics.co/pay')"],
  ['a.js', "injectScript('https://www.blockonomics.co/pay')"],
  ['a.php', "wp_register_script('pay', 'https://www.blockonomics.co/pay', false);"],
  ['a.php', 'wp_enqueue_script(\n  \'pay\',\n  "https://www.blockonomics.co/pay"\n);'],
  ['a.php', "wp_enqueue_style('pay', 'https://www.blockonomics.co/pay');"],
  ['a.php', "$this->context->controller->addJS('https://www.blockonomics.co/pay');"],
  ['a.php', "$this->document->addScript('https://bch.blockonomics.co/pay');"],
  ['a.php', "$page->registerJavascript('pay', 'https://help.blockonomics.co/pay');"],
  ['a.php', "USDT: ['https://www.blockonomics.co/js/web3-payment.js']"],
  ['a.js', 'const style = `https://www.blockonomics.co/css/pay.css?v=2`'],
  ['a.js', "const style = 'https://www.blockonomics.co/css/pay.css'"],
  ['a.js', "load('https://www.blockonomics.co/js/pay.mjs')"],
];

test.each(loaded)("LOOK AT THIS has what a customer's browser loads: %s: %s", (name, text) => {
  const { text: same, changes, left } = rewrite(text, name);
  expect({ same, changes }).toEqual({ same: text, changes: [] });
  expect(left).toMatchObject([{ look: true, why: expect.stringContaining('browser loads this') }]);
});

/** The same places where no browser loads them. */
const unloaded: [name: string, text: string][] = [
  ['a.html', '<a href="https://www.blockonomics.co/js/pay_button.js">the script</a>'],
  ['a.html', '<!-- <script src="https://www.blockonomics.co/js/pay_button.js"> -->'],
  ['a.php', "// wp_register_script('pay', 'https://www.blockonomics.co/js/pay.js');"],
  ['a.php', ' * import it from "https://www.blockonomics.co/js/pay.js"'],
  ['a.php', "/* addScript('https://www.blockonomics.co/js/pay.js') */"],
  ['a.py', "# src = 'https://www.blockonomics.co/js/pay.js'"],
  ['a.php', 'Load https://www.blockonomics.co/js/pay.js to pay'],
  ['a.php', "wp_enqueue_script('pay'); help('https://www.blockonomics.co/pricing')"],
  ['composer.json', '{"homepage": "https://www.blockonomics.co/js/pay.js"}'],
  ['a.html', '<link rel="stylesheet" href="pay.css"> <p>By https://www.blockonomics.co/pricing'],
];

test.each(unloaded)('a link stays one for people: %s: %s', (name, text) => {
  const { text: same, left } = rewrite(text, name);
  expect(same).toBe(text);
  expect(left).toMatchObject([{ look: false }]);
});

test('a comment that ended hides no script', () => {
  for (const before of ['/* pay */ ', '<!-- pay --> ', 'x = a //\n', "y = 'a#b' + ", 'a://b ']) {
    const { left } = rewrite(`${before}<script src="https://www.blockonomics.co/a">`, 'a.html');
    expect(left).toMatchObject([{ look: true }]);
  }
});

/** Requests that are rewritten, and that a person must look at. */
const looks: [text: string, after: string, shown: string, why: RegExp][] = [
  [
    "$c->get('https://www.blockonomics.co/api/merchant_order/' . $id);",
    "$c->get('https://pay.example.com/api/merchant_order/' . $id);",
    'https://www.blockonomics.co/api/merchant_order/',
    /no such route/,
  ],
  [
    "fetch('https:\\/\\/www.blockonomics.co\\/api\\/merchant_orders')",
    "fetch('https:\\/\\/pay.example.com\\/api\\/merchant_orders')",
    'https:\\/\\/www.blockonomics.co\\/api\\/merchant_orders',
    /no such route/,
  ],
  [
    "fetch('https://www.blockonomics.co/api/create_temp_product')",
    "fetch('https://pay.example.com/api/create_temp_product')",
    'https://www.blockonomics.co/api/create_temp_product',
    /no such route/,
  ],
  [
    "const TEMP = 'https://www.blockonomics.co/api/temp_wallet';",
    "const TEMP = 'https://pay.example.com/api/temp_wallet';",
    'https://www.blockonomics.co/api/temp_wallet',
    /no such route/,
  ],
  [
    "post('https://www.blockonomics.co/api/monitor_tx')",
    "post('https://pay.example.com/api/monitor_tx')",
    'https://www.blockonomics.co/api/monitor_tx',
    /no such route/,
  ],
  [
    "load('https://www.blockonomics.co/api/v1/pay.js')",
    "load('https://pay.example.com/api/v1/pay.js')",
    'https://www.blockonomics.co/api/v1/pay.js',
    /no such route/,
  ],
  [
    "load('https://www.blockonomics.co/api/pay.css')",
    "load('https://pay.example.com/api/pay.css')",
    'https://www.blockonomics.co/api/pay.css',
    /no such route/,
  ],
  // At a checkout, two carts would get one address.
  [
    "$url = 'https://www.blockonomics.co/api/new_address?reset=1';",
    "$url = 'https://pay.example.com/api/new_address?reset=1';",
    'new_address?reset=1',
    /two carts/,
  ],
  [
    "$u = 'https://www.blockonomics.co/api/new_address?match_callback=' . $s . '&reset=1';",
    "$u = 'https://pay.example.com/api/new_address?match_callback=' . $s . '&reset=1';",
    "new_address?match_callback=' . $s . '&reset=1",
    /two carts/,
  ],
  [
    "$more = '?reset=1&';\nget('https://www.blockonomics.co/api/new_address' . $more);",
    "$more = '?reset=1&';\nget('https://pay.example.com/api/new_address' . $more);",
    '?reset=1',
    /two carts/,
  ],
  [
    "$u = NEW_ADDRESS_URL;\n$u .= '&amp;reset=1'; $b = 'https://www.blockonomics.co';",
    "$u = NEW_ADDRESS_URL;\n$u .= '&amp;reset=1'; $b = 'https://pay.example.com';",
    ';reset=1',
    /two carts/,
  ],
];

test.each(looks)('LOOK AT THIS has a request that paygate answers otherwise: %s', (...given) => {
  const [text, after, shown, why] = given;
  const result = rewrite(text);
  expect(result).toMatchObject({ text: after, left: [{ text: shown, look: true }] });
  expect(result.changes).toHaveLength(1);
  expect(result.left[0]?.why).toMatch(why);
});

/** Requests of the same kind that are right. */
const fine = [
  "const A = 'https://www.blockonomics.co/api/price?merchant_order=1';",
  "const A = 'https://www.blockonomics.co/api/temp'; const B = BASE . '/api/merchant_order';",
  // The test of the settings asks for one address again and again.
  'if ($reset) {\n  $get = "?match_callback=$s&reset=1";\n} get(\'https://www.blockonomics.co/api/new_address\' . $get)',
  "if ($test_mode) $u = $u . '&reset=1'; get('https://www.blockonomics.co/api/new_address' . $u)",
  "get('https://www.blockonomics.co/api/new_address?a=1' + (again ? '&reset=1' : ''))",
  "get('https://www.blockonomics.co/api/new_address?reset=10')",
  "get('https://www.blockonomics.co/api/price'); link('/login?reset=1')",
];

test.each(fine)('nothing to look at: %s', (text) => {
  const { changes, left } = rewrite(text);
  expect(changes).toHaveLength(1);
  expect(left.filter(({ look }) => look)).toEqual([]);
});

test('a comment about reset=1 is no request', () => {
  const text = "// new_address?reset=1\n'https://www.blockonomics.co/api'";
  expect(rewrite(text).left).toMatchObject([{ text: 'new_address?reset=1', look: false }]);
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
