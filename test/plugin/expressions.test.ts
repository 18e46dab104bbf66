// biome-ignore-all lint/suspicious/noTemplateCurlyInString: strings are source text of plugins.

// Hosts and links that a plugin puts together from pieces. What JavaScript makes of them afterwards
// is found out by running it.

import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { parseTarget, receiptPartsOf, rewriteText } from '../../src/plugin/rewrite.ts';

const secure = parseTarget('https://pay.example.com');
const local = parseTarget('http://127.0.0.1:8080');

const socket = 'wss://pay.example.com/payment/bc1q';
const price = 'https://pay.example.com/api/price';
const receipt = 'https://pay.example.com/api/tx?txid=f00&addr=bc1q';

/** An expression of JavaScript and what it must come to, whatever the shop's page is like. */
const expressions: [source: string, result: string][] = [
  [
    "'wss://' +\n  (code == 'btc'\n    ? 'www'\n    : code) +\n  '.blockonomics.co/payment/' +\n  addr",
    socket,
  ],
  ["'wss://' + (code == 'btc' ? 'www' : code) + '.blockonomics.co' + '/payment/' + addr", socket],
  ["'wss://' + code.toLowerCase() + `.blockonomics.co/payment/${addr}`", socket],
  ["'wss://' + await_(code) + '.blockonomics.co/payment/'.concat(addr)", socket],
  [
    "(ssl ? 'wss://www.blockonomics.co' : 'wss://www.blockonomics.co') + '/payment/' + addr",
    socket,
  ],
  [
    "code == 'eth' ? 'wss://www.blockonomics.co/payment/' + addr : 'wss://' + code + '.blockonomics.co/payment/' + addr",
    socket,
  ],
  ["`wss://${code == 'btc' ? `www` : code}.blockonomics.co/payment/${addr}`", socket],
  ['`wss://${\n  code\n}.blockonomics.co/payment/${addr}`', socket],
  ["'wss://'.concat(code, '.blockonomics.co', '/payment/', addr)", socket],
  [
    "'wss://'.concat('btc' === code ? 'www' : code, '.blockonomics.co/payment/').concat(addr)",
    socket,
  ],
  ["'https:\\u002f\\u002fwww.blockonomics.co\\u002fapi\\x2fprice'", price],
  ["base + '/#/search?q=' + txid + (ssl ? '&addr=' + addr : '&addr=' + addr)", receipt],
  ['"wss:\\/\\/" + code + ".blockonomics.co\\/payment\\/" + addr', socket],
  ["'https://' + (code === 'btc' ? 'www.' : code + '.') + 'blockonomics.co/api/' + 'price'", price],
  ["base + (ssl ? '' : '') + '/api/price'", price],
  ["'https://www.blockonomics.co' + '/#/search?q=' + txid + '&addr=' + addr", receipt],
  ['`${base}/#/search?q=${txid}&addr=${addr}`', receipt],
  ["base + '\\/#\\/search?q=' + txid + '\\u0026addr=' + addr", receipt],
  ["base + query + txid + '&addr=' + addr", receipt],
  ['`${base}/#/search?q=${txid}\\u0026addr=${addr}`', receipt],
];

const setting = `
const base = 'https://www.blockonomics.co', query = '/#/search?q=';
const other = (code) => ({ a: [code] }), await_ = (code) => code;
`;

describe('a JavaScript expression evaluates to the URL of paygate', () => {
  test.each(expressions)('%s', (source, result) => {
    for (const [target, expected] of [
      [secure, result],
      [local, result.replace(/s:\/\/pay\.example\.com/, '://127.0.0.1:8080')],
    ] as const) {
      const { text, left } = rewriteText(`${setting}result = ${source};`, 'a.js', target);
      expect(left).toEqual([]);
      for (const page of [
        { ssl: true, code: 'btc', scheme: 'wss://', protocol: 'https:' },
        { ssl: false, code: 'eth', scheme: 'ws://', protocol: 'http:' },
      ]) {
        const names = { ...page, addr: 'bc1q', txid: 'f00', link: '', result: '' };
        runInNewContext(text, names);
        expect(names.result).toBe(expected);
      }
    }
  });
});

/** As other languages have it: the file, its text, and what becomes of it. */
const texts: [name: string, before: string, after: string][] = [
  [
    'a.php',
    '<?php $u = "wss://{$s}.blockonomics.co/payment/$a";',
    '<?php $u = "wss://pay.example.com/payment/$a";',
  ],
  [
    'a.php',
    '<?php $u = "wss://{$o["sub"]}.blockonomics.co/payment/{$a}";',
    '<?php $u = "wss://pay.example.com/payment/{$a}";',
  ],
  [
    'a.php',
    '<?php $u = "wss://$sub.blockonomics.co/payment/$a";',
    '<?php $u = "wss://pay.example.com/payment/$a";',
  ],
  [
    'a.php',
    '<?php $u = "https://$o->sub.blockonomics.co/api/price";',
    '<?php $u = "https://pay.example.com/api/price";',
  ],
  [
    'a.php',
    "<?php $u = sprintf('https://%2$s/api/%1$s', 'price', 'www.blockonomics.co');",
    "<?php $u = sprintf('https://%2$s/api/%1$s', 'price', 'pay.example.com');",
  ],
  [
    'a.php',
    '<?php $u = "https://www.blockonomics.co{$path}";',
    '<?php $u = "https://pay.example.com{$path}";',
  ],
  [
    'a.php',
    '<?php $u = "https://www.blockonomics.co/$path";',
    '<?php $u = "https://pay.example.com/$path";',
  ],
  [
    'a.php',
    '<?php $u = <<<HTML\n<script>ws = new WebSocket("wss://{$s}.blockonomics.co/payment/$a"); it = "don\'t"</script>\nHTML;',
    '<?php $u = <<<HTML\n<script>ws = new WebSocket("wss://pay.example.com/payment/$a"); it = "don\'t"</script>\nHTML;',
  ],
  [
    'a.php',
    "<?php $u = <<<'JS'\nnew WebSocket('wss://' +\n (c ? 'www' : c) + '.blockonomics.co/payment/' + a)\nJS;",
    "<?php $u = <<<'JS'\nnew WebSocket('wss://' +\n 'pay.example.com/payment/' + a)\nJS;",
  ],
  [
    'a.php',
    "<?php echo '<script>new WebSocket(\\'wss://\\' + c + \\'.blockonomics.co/payment/\\' + a)</script>';",
    "<?php echo '<script>new WebSocket(\\'wss://\\' + \\'pay.example.com/payment/\\' + a)</script>';",
  ],
  [
    'a.php',
    '<?php echo "<script>new WebSocket(\'wss://" . $s . ".blockonomics.co/payment/" . $a . "\')</script>";',
    '<?php echo "<script>new WebSocket(\'wss://" . "pay.example.com/payment/" . $a . "\')</script>";',
  ],
  [
    'a.phtml',
    '<script>new WebSocket("wss://<?= $c == "btc" ? "www" : $c ?>.blockonomics.co/payment/<?= $a ?>")</script>',
    '<script>new WebSocket("wss://pay.example.com/payment/<?= $a ?>")</script>',
  ],
  [
    'a.html',
    "<a onclick=\"pay('wss://' + c + '.blockonomics.co/payment/' + a)\">it's</a>",
    "<a onclick=\"pay('wss://' + 'pay.example.com/payment/' + a)\">it's</a>",
  ],
  [
    'a.twig',
    "{{ 'wss://' ~ sub ~ '.blockonomics.co/payment/' ~ addr }}",
    "{{ 'wss://' ~ 'pay.example.com/payment/' ~ addr }}",
  ],
  [
    'a.liquid',
    '<script>s = "wss://{{ sub }}.blockonomics.co/payment/{{ a }}"</script>',
    '<script>s = "wss://pay.example.com/payment/{{ a }}"</script>',
  ],
  [
    'a.vue',
    '<a :href="`https://${s}.blockonomics.co/api/tx?txid=${t}`">',
    '<a :href="`https://pay.example.com/api/tx?txid=${t}`">',
  ],
  [
    'a.svelte',
    '<script>const s = "wss://" +\n c + ".blockonomics.co/payment/" + a</script>',
    '<script>const s = "wss://" +\n "pay.example.com/payment/" + a</script>',
  ],
  [
    'a.tsx',
    '<Pay url={`https://${s}.blockonomics.co/api/price`} />',
    '<Pay url={`https://pay.example.com/api/price`} />',
  ],
  [
    'a.py',
    'u = f"https://{sub}.blockonomics.co/api/price"  # don\'t',
    'u = f"https://pay.example.com/api/price"  # don\'t',
  ],
  [
    'a.rb',
    'u = "https://#{sub}.blockonomics.co/api/price"',
    'u = "https://pay.example.com/api/price"',
  ],
  [
    'A.java',
    'String u = "https://" + sub + ".blockonomics.co/api/price";',
    'String u = "https://" + "pay.example.com/api/price";',
  ],
  [
    'a.php',
    "<?php $u = 'https://www.blockonomics.co/#/search?q=' . $t . '&addr=' . $a;",
    "<?php $u = 'https://pay.example.com/api/tx?txid=' . $t . '&addr=' . $a;",
  ],
  [
    'a.php',
    "<?php $u = self::BASE_URL . '/#/search?q=' . $t\n . '&addr=' . $a;",
    "<?php $u = self::BASE_URL . '/api/tx?txid=' . $t\n . '&addr=' . $a;",
  ],
  [
    'a.php',
    "<?php $u = sprintf('%s/#/search?q=%s&addr=%s', BASE, $t, $a);",
    "<?php $u = sprintf('%s/api/tx?txid=%s&addr=%s', BASE, $t, $a);",
  ],
  [
    'a.twig',
    '<a href="{{ base }}/#/search?q={{ t }}&addr={{ a }}">',
    '<a href="{{ base }}/api/tx?txid={{ t }}&addr={{ a }}">',
  ],
  [
    'a.tpl',
    '<a href="{$base}/#/search?q={$t}&amp;addr={$a}">',
    '<a href="{$base}/api/tx?txid={$t}&amp;addr={$a}">',
  ],
  [
    'a.blade.php',
    '<a href="{{ $b }}/#/search?q={{ $t }}&addr={{ $a }}">',
    '<a href="{{ $b }}/api/tx?txid={{ $t }}&addr={{ $a }}">',
  ],
  [
    'a.phtml',
    '<a href="<?= BASE ?>/#/search?q=<?= $t ?>&addr=<?= $a ?>">',
    '<a href="<?= BASE ?>/api/tx?txid=<?= $t ?>&addr=<?= $a ?>">',
  ],
];

describe('other languages', () => {
  test.each(texts)('%s: %s', (name, before, after) => {
    const result = rewriteText(before, name, secure);
    expect(result).toMatchObject({ text: after, left: [] });
    expect(result.changes).toHaveLength(1);
    expect(rewriteText(after, name, secure)).toMatchObject({ text: after, changes: [] });
  });
});

/** What a person has to look at. */
const looks: [name: string, text: string, shown: string][] = [
  [
    'a.js',
    "result = 'wss://' + ((((code == 'btc') ? ('www') : (code)))) + '.blockonomics.co/payment/' + addr;",
    '.blockonomics.co/payment/',
  ],
  [
    'a.js',
    'result = ("wss://" + (code == "btc" ? "www" : code)) + (".blockonomics.co" + ("/payment/" + addr));',
    '.blockonomics.co',
  ],
  [
    'a.js',
    "result = 'wss://' /* it's */ + // the \"host\"\n code + '.blockonomics.co/payment/' + addr;",
    '.blockonomics.co/payment/',
  ],
  [
    'a.js',
    "result = 'wss:' + '//' + 'www' + '.' + 'blockonomics' + '.' + 'co' + '/' + 'payment' + '/' + addr;",
    "'blockonomics' + '.'",
  ],
  [
    'a.js',
    "result = 'wss://' + other(code, { a: ')' }, [code]).a[0] + '.blockonomics.co/payment/' + addr;",
    '.blockonomics.co/payment/',
  ],
  [
    'a.js',
    "result = (ssl ? 'wss://' : 'ws://') + 'www.blockonomics.co/payment/' + addr;",
    'www.blockonomics.co/payment/',
  ],
  [
    'a.js',
    "result = (ssl ? 'wss://' : 'ws://') + 'blockonomics.co/payment/' + addr;",
    'blockonomics.co/payment/',
  ],
  [
    'a.js',
    "result = (ssl ? 'wss:' : 'ws:') + '//www.blockonomics.co/payment/' + addr;",
    '//www.blockonomics.co/payment/',
  ],
  [
    'a.js',
    "result = (ssl ? 'wss' : 'ws') + '://' + (code == 'btc' ? 'www' : code) + '.blockonomics.co/payment/' + addr;",
    "//' + (code == 'btc' ? 'www' : code) + '.blockonomics.co/payment/",
  ],
  [
    'a.js',
    "result = 'ws' + (ssl ? 's' : '') + '://www.blockonomics.co/payment/' + addr;",
    '//www.blockonomics.co/payment/',
  ],
  ['a.js', "result = scheme + 'www.blockonomics.co' + '/payment/' + addr;", 'www.blockonomics.co'],
  [
    'a.js',
    "result = scheme + code + '.blockonomics.co/payment/' + addr;",
    '.blockonomics.co/payment/',
  ],
  [
    'a.js',
    "result = `${ssl ? 'wss' : 'ws'}://www.blockonomics.co/payment/${addr}`;",
    '//www.blockonomics.co/payment/${addr}',
  ],
  [
    'a.js',
    'result = `${scheme}www.blockonomics.co/payment/${addr}`;',
    'www.blockonomics.co/payment/${addr}',
  ],
  [
    'a.js',
    "result = ['wss:/', `/${code}.blockonomics.co`, '/payment/', addr].join('');",
    '.blockonomics.co',
  ],
  [
    'a.js',
    "result = ['wss://', code, '.blockonomics.co/payment/', addr].join('');",
    '.blockonomics.co/payment/',
  ],
  [
    'a.js',
    "result = 'wss://' + ['www', 'blockonomics', 'co'].join('.') + '/payment/' + addr;",
    "'blockonomics', 'co'",
  ],
  [
    'a.js',
    "result = (code == 'btc' ? 'https://www' : 'https://bch') + '.blockonomics.co/api/price';",
    '.blockonomics.co/api/price',
  ],
  [
    'a.js',
    "result = protocol + '//www.blockonomics.co/api/price';",
    '//www.blockonomics.co/api/price',
  ],
  [
    'a.php',
    "<?php $u = 'https://' . ($c === 'btc'\n  ? 'www' // it's\n  : $c) # or not\n  . '.blockonomics.co'\n  . '/api/price';",
    '.blockonomics.co',
  ],
  [
    'a.php',
    "<?php $u = 'https://' . (string) $s . '.blockonomics.co/api/price';",
    '.blockonomics.co/api/price',
  ],
  [
    'a.php',
    "<?php $u = self::SCHEME . $this->sub() . '.blockonomics.co/api/price';",
    '.blockonomics.co/api/price',
  ],
  [
    'a.php',
    "<?php $u = sprintf('https://%s.blockonomics.co/api/%s', $s, $p);",
    's.blockonomics.co/api/%s',
  ],
  [
    'a.php',
    "<?php $u = sprintf('%s://%s.%s/api/price', 'https', 'www', 'blockonomics.co');",
    'blockonomics.co',
  ],
  [
    'a.php',
    "<?php $u = implode('', array('https://', $s, '.blockonomics.co/api/price'));",
    '.blockonomics.co/api/price',
  ],
  [
    'a.php',
    "<?php $u = 'https://' . implode('.', ['www', 'blockonomics', 'co']) . '/api';",
    "'blockonomics', 'co'",
  ],
  [
    'a.phtml',
    "<p>It's</p><script>new WebSocket('wss://' + <?= json_encode($c) ?> + '.blockonomics.co/payment/' + a)</script>",
    '.blockonomics.co/payment/',
  ],
  [
    'a.tpl',
    '"wss://{if $c}www{else}bch{/if}.blockonomics.co/payment/{$a}"',
    '.blockonomics.co/payment/{$a}',
  ],
  ['a.blade.php', "'wss://' + {{ $s }} + '.blockonomics.co/payment/'", '.blockonomics.co/payment/'],
  ['a.py', 'u = "https://%s.blockonomics.co/api/price" % sub', 's.blockonomics.co/api/price'],
  ['a.py', 'u = "https://{}.blockonomics.co/api".format(sub)', '.blockonomics.co/api'],
  ['a.py', 'u = ("https://www."\n  "blockonomics.co" "/api/price")', 'blockonomics.co'],
  [
    'a.go',
    'u := fmt.Sprintf("https://%s.blockonomics.co/api/price", s)',
    's.blockonomics.co/api/price',
  ],
  [
    'a.php',
    "<?php echo 'https://', $s, '.blockonomics.co/api/price';",
    '.blockonomics.co/api/price',
  ],
  [
    'a.php',
    "<?php $u = 'https://' . match($c) { 'btc' => 'www', default => $c } . '.blockonomics.co/api';",
    '.blockonomics.co/api',
  ],
  [
    'a.php',
    "<?php $u = 'https://' . \\My\\sub($c ?: 'x') . '.blockonomics.co/api';",
    '.blockonomics.co/api',
  ],
  ['a.js', "url = 'https://%s.blockonomics.co/api'.replace('%s', code)", 's.blockonomics.co/api'],
  ['a.js', "base = scheme + sub + '.blockonomics.co'", '.blockonomics.co'],
  ['a.js', "url = 'https://staging.blockonomics.co/api'", 'https://staging.blockonomics.co/api'],
  ['a.js', "host = pick() + '.blockonomics.co/payment/'", '.blockonomics.co/payment/'],
  ['a.js', "url = 'https://www.blockonomics.' + tld + '/api/price'", "//www.blockonomics.' +"],
  ['a.js', "url = 'https://www.'; url += 'blockonomics.co'", 'blockonomics.co'],
  [
    'a.js',
    "url = 'https://www.' + (c ? 'blockonomics.co' : 'a.example') + '/api/price'",
    'blockonomics.co',
  ],
  [
    'a.js',
    "url = ['https://www', 'blockonomics', 'co/api/price'].join('.')",
    "'blockonomics', 'co/",
  ],
  [
    'a.php',
    "<?php $u = 'https://www.blockonomics.co/#/search?q=' . $addr;",
    'https://www.blockonomics.co/#/search?q=',
  ],
  [
    'a.php',
    "<?php $b = 'https://bch.blockonomics.co'; $u = add_query_arg(['q' => $t, 'addr' => $a], BASE . '/#/search');",
    '#/search',
  ],
];

describe('an expression that is not understood needs a review, and stays', () => {
  test.each(looks)('%s: %s', (name, text, shown) => {
    const result = rewriteText(text, name, secure);
    expect(result).toMatchObject({ text, changes: [] });
    expect(result.left.filter(({ look }) => look).map((each) => each.text)).toEqual([shown]);
  });
});

test.each([
  [
    'a.js',
    "p = (c == 'eth' ? 'www.blockonomics.co' : c + '.blockonomics.co') + '/payment/'",
    "p = (c == 'eth' ? 'pay.example.com' : c + '.blockonomics.co') + '/payment/'",
    ['.blockonomics.co'],
  ],
  [
    'a.js',
    "d = 'blockonomics.co'; u = 'wss://' + sub + '.' + d + '/payment/'; v = 'www.blockonomics.co'",
    "d = 'blockonomics.co'; u = 'wss://' + sub + '.' + d + '/payment/'; v = 'pay.example.com'",
    ['blockonomics.co'],
  ],
  [
    'a.js',
    "const b = 'https://www.blockonomics.co'; u = b + '/#/search' + '?q=' + t + '&addr=' + a",
    "const b = 'https://pay.example.com'; u = b + '/#/search' + '?q=' + t + '&addr=' + a",
    ['#/search'],
  ],
  [
    'a.php',
    '<?php $h = \'https://www.blockonomics.co\'; $u = "$base/#/search?addr=$a&amp;q=$t";',
    '<?php $h = \'https://pay.example.com\'; $u = "$base/#/search?addr=$a&amp;q=$t";',
    ['#/search'],
  ],
  [
    'a.php',
    "<?php $h = 'https://www.blockonomics.co'; const PATH = '/#/search';",
    "<?php $h = 'https://pay.example.com'; const PATH = '/#/search';",
    ['#/search'],
  ],
  [
    'a.php',
    "<?php $h = 'https://www.blockonomics.co'; find('/#/search?q=', $words);",
    "<?php $h = 'https://pay.example.com'; find('/#/search?q=', $words);",
    [],
  ],
  [
    'a.php',
    "<?php $h = 'https://www.blockonomics.co'; // was BASE . '/#/search'",
    "<?php $h = 'https://pay.example.com'; // was BASE . '/#/search'",
    [],
  ],
  [
    'a.php',
    "<?php $u = BASE . '/#/search?q=' . $t;\n$u .= '&addr=' . $a;",
    "<?php $u = BASE . '/api/tx?txid=' . $t;\n$u .= '&addr=' . $a;",
    [],
  ],
  [
    'bin/run',
    "#!/usr/bin/env php\n<?php $u = 'https://' . SUB . '.blockonomics.co/api'; # don't",
    "#!/usr/bin/env php\n<?php $u = 'https://' . 'pay.example.com/api'; # don't",
    [],
  ],
])('a URL that several expressions build, in %s: %s', (name, before, after, shown) => {
  const { text, left } = rewriteText(before, name, secure);
  expect(text).toBe(after);
  expect(left.filter(({ look }) => look).map((each) => each.text)).toEqual(shown);
});

test('a comment needs no review, and a shop retains its own search', () => {
  for (const text of [
    "// it was pick() + '.blockonomics.co/payment/'\n",
    "/* it's '.blockonomics.co/api' */ /* https://www.blockonomics.co/#/search?q=1 */",
    "router.push('/#/search?q=' + words)",
    'x = \'<a href="https://www.blockonomics.co/#/search">\'',
    "open('https://shop.example/#/search?q=' + words + '&addr=' + where)",
  ]) {
    const result = rewriteText(text, 'a.js', secure);
    expect(result).toMatchObject({ text, changes: [] });
    expect(result.left.filter(({ look }) => look)).toEqual([]);
  }
});

test('the parts of a receipt link may be in several files', () => {
  const files = [
    "<?php const SEARCH = '/#/search?q=';",
    "<?php $u = URL . SEARCH . $t . '&addr=' . $a;",
  ];
  const [first = ''] = files;
  expect(rewriteText(first, 'a.php', secure, receiptPartsOf(files)).text).toBe(
    "<?php const SEARCH = '/api/tx?txid=';",
  );
  expect(rewriteText(first, 'a.php', secure).text).toBe(first);
});

/**
 * Each grows with its count; were one worked up in the square of its length, this would never end.
 */
const bombs: [name: string, text: string][] = [
  ['one line', "a='wss://'+b+'.blockonomics.co/payment/'+c;".repeat(16_000)],
  ['quotes', `blockonomics.co${'\'"`'.repeat(33_333)}`],
  ['unclosed brackets', `"wss://"+${'('.repeat(100_000)}a+".blockonomics.co/payment/"`],
  ['brackets before hosts', `"wss://"+${"(a(b)+'.blockonomics.co'".repeat(10_000)}`],
  ['brackets in brackets', `"wss://"+(${`(${'a'.repeat(250)}`.repeat(1_000)}blockonomics.co`],
  ['slashes before hosts', `${'//"+a+"'.repeat(100)}.blockonomics.co`.repeat(500)],
  ['choices', `${"(a?'blockonomics.co':".repeat(6_666)}b${')'.repeat(6_666)}`],
  ['a long sum', `"https://www.blockonomics.co/api"${"+b+'.blockonomics.co/api'".repeat(6_666)}`],
  ['arguments', `"wss://".concat(${'a(b)'.repeat(20_000)},".blockonomics.co")`],
  ['templates', `https://${'${'.repeat(50_000)}.blockonomics.co`],
  ['islands', `https://${'<?'.repeat(50_000)}.blockonomics.co`],
  ['subdomains', `${'a.'.repeat(60)}blockonomics.co `.repeat(3_000)],
  ['names', `${'x_add_js_script'.repeat(20)} blockonomics.co\n`.repeat(1_000)],
  ['blanks', `href${' '.repeat(290)}blockonomics.co\n`.repeat(1_000)],
  ['tags', `<link ${'a '.repeat(140)}blockonomics.co\n`.repeat(1_000)],
  ['comments', `${' //'.repeat(100)} blockonomics.co\n`.repeat(1_000)],
  ['addresses', 'new_address?'.repeat(30_000)],
  ['resets', 'new_address?reset=1 if '.repeat(20_000)],
  ['receipts', '"/#/search?q="+'.repeat(6_666)],
  ['ampersands', `base+"/#/search?q="${'&amp;'.repeat(50_000)}`],
];

test.each(bombs)('a hostile file costs no more than its length: %s', (_name, text) => {
  for (const name of ['a.js', 'a.php']) expect(rewriteText(text, name, secure)).toBeDefined();
});
