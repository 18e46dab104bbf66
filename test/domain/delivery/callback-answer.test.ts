import { describe, expect, it } from 'vitest';
import { answersWithPage, judgeAnswer } from '../../../src/domain/delivery/callback-answer.ts';

const judged = (body: string, secrets: string[] = []) => {
  const { verdict, says } = judgeAnswer(Buffer.from(body), () => secrets);
  return [verdict, says];
};

describe('P-63 a response in prose', () => {
  it.each([
    // WooCommerce and GiveWP, OpenCart, PrestaShop, EDD, WHMCS, Magento 2.
    ['Error: secret does not match', 'wrong-secret'],
    ['Invalid secret', 'wrong-secret'],
    ['Secret not matching', 'wrong-secret'],
    ['Incorrect Secret', 'wrong-secret'],
    ['Secret verification failure', 'wrong-secret'],
    ['AUTH ERROR', 'wrong-secret'],
    ['secret mismatch', 'wrong-secret'],
    ['Missing secret', 'wrong-secret'],
    ['The secret doesn’t match.', 'wrong-secret'],
    ['Invalid signature', 'wrong-secret'],
    ['Unauthorized', 'wrong-secret'],
    ['Error: Blockonomics order not found', 'unknown-order'],
    ['Order not found', 'unknown-order'],
    ['No order found for this address', 'unknown-order'],
    ['Unknown address', 'unknown-order'],
    ['Could not find the order', 'unknown-order'],
    ['Can’t find this invoice', 'unknown-order'],
    ['The order doesn’t exist', 'unknown-order'],
    ['Invoice does not exist', 'unknown-order'],
    ['Module Not Activated', 'refused'],
    ['blockonomics exception error', 'refused'],
    ['error', 'refused'],
    ['false', 'refused'],
    ['Access denied', 'refused'],
    ['Briefly unavailable for scheduled maintenance.', 'refused'],
    ['Fatal error: Uncaught Error: Call to undefined function', 'refused'],
    ['Fehler', 'refused'],
    ['Not a valid secret', 'wrong-secret'],
    ['secret not valid', 'wrong-secret'],
    ['KO', 'refused'],
    ['NOK', 'refused'],
    ['no', 'refused'],
    ['{"status":false}', 'refused'],
    ['{"status":500}', 'refused'],
    ['{"code":"401"}', 'refused'],
    ['{success:false}', 'refused'],
    ['success=false', 'refused'],
    ['Bad Gateway', 'refused'],
    ['No input file specified.', 'refused'],
    ['Too many requests', 'refused'],
    ['Please log in', 'refused'],
    ['Not authenticated', 'refused'],
    ['Your IP has been blocked', 'refused'],
    ['Bestellung nicht gefunden', 'refused'],
    ['Pedido no encontrado', 'refused'],
    ['签名错误', 'refused'],
  ])('%j is %s', (body, verdict) => {
    expect(judged(body)).toEqual([verdict, body]);
  });

  it.each([
    ['Order 17 processed.\nInvalid secret\nbye', 'wrong-secret', 'Invalid secret'],
    [
      'There was an error. The secret does not match. Bye.',
      'wrong-secret',
      'The secret does not match.',
    ],
    ['unknown\n<p>Error: <b>Order not found</b></p>', 'unknown-order', 'Order not found'],
    ['{"status":"error","message":"order not found"}', 'unknown-order', 'order not found'],
    ['{"error":"Invalid secret"}', 'wrong-secret', 'Invalid secret'],
    ['{"error":"out of stock"}', 'refused', 'out of stock'],
    ['{"status":"error"}', 'refused', '{"status":"error"}'],
    ['{"success":false,"data":null}', 'refused', '{"success":false,"data":null}'],
  ])('%j shows the sentence that matters', (body, verdict, says) => {
    expect(judged(body)).toEqual([verdict, says]);
  });

  it.each([
    'ok',
    'OK',
    '-1',
    '*ok*',
    '{"error":null,"ok":true}',
    '{"errors":[]}',
    '{"success":true}',
    'error=0',
    'done, no errors',
    'terrorbyte, invalidated',
    'Payment received',
    '{"failed":false}',
    '{"success":true,"failed":[],"invalid":null,"missing": [ ],"denied":0}',
    '{"errors": [ ]}',
    '{"error":"none"}',
    '{"error":"No error"}',
    '{"error":{"code":0,"message":"OK"}}',
    '{"error":"0","exception":" "}',
    "{'error': None}",
    '{"unauthorized":false}',
    '{"refresh":"no","debug":"false"}',
    '<?xml version="1.0"?><response><status>ok</status><error>false</error></response>',
    '<error/>',
    'failed: 0, succeeded: 1',
    'Errors: none.',
    '0 failed',
    'not an error',
    'Secret verified, order updated',
    'valid secret',
    '{"secret":"valid"}',
    'OK<script>console.error("an error")</script>',
    `OK\n<!--\nPage Caching using disk\n(Requested URI is rejected)\n${'x'.repeat(900)}-->`,
  ])('%j is no refusal', (body) => {
    expect(judged(body)).toEqual(['accepted', null]);
  });

  it('is shown in one line, without control characters, cut, and without what the URL holds', () => {
    expect(judged('Invalid\u0007 secret \u001b[31mtulip\u202e!', ['tulip'])[1]).toBe(
      'Invalid secret [31m… !',
    );
    const [, says] = judged(`Error: ${'x'.repeat(5_000)}`);
    expect(says?.length).toBeLessThanOrEqual(160);
  });
});

describe('P-63 an empty response', () => {
  it.each([
    '',
    ' \r\n',
    '\ufeff',
    '\nWarning: a in /b.php on line 3<br/>\n<br>',
    '<br />\n<b>Notice</b>:  a in <b>/b.php</b> on line <b>3</b><br />\n',
  ])('%j', (body) => {
    expect(judged(body)).toEqual(['empty', null]);
  });
});

describe('P-63 a web page', () => {
  it.each([
    ['<!DOCTYPE html><title>Log in</title><body>error', 'a web page titled "Log in"'],
    ['<!doctype HTML PUBLIC "-//W3C//DTD HTML 4.01//EN">', 'a web page'],
    ['\ufeff\n<html lang="de"><head>', 'a web page'],
    ['<?xml version="1.0"?>\n<!DOCTYPE html>', 'a web page'],
    ['<!-- cached -->\n<html>', 'a web page'],
    ['<head><meta http-equiv="refresh"></head>', 'a web page'],
    ['<script>location="/?bot"</script>', 'a web page'],
    ['ok<!doctype html><html></html>', 'a web page'],
    [
      '<br />\n<b>Warning</b>:  a in <b>/b.php</b> on line <b>3</b><br />\n<!DOCTYPE html><title>\nShop &amp; co\n</title>',
      'a web page titled "Shop &amp; co"',
    ],
  ])('%j', (body, says) => {
    expect(judged(body)).toEqual(['web-page', says]);
  });

  it('with a sentence before or after it is that sentence', () => {
    const page = '<!DOCTYPE html><html><title>Shop</title></html>';
    expect(judged(`Secret not matching${page}`)).toEqual(['wrong-secret', 'Secret not matching']);
    expect(judged(`${page}\nOrder not found`)).toEqual(['unknown-order', 'Order not found']);
  });
});

describe('P-63 a web page as the good answer of a plugin', () => {
  it.each([
    'https://shop.example/?edd-listener=blockonomics&secret=a',
    'https://shop.example/shop/?secret=a&EDD-Listener=blockonomics',
    'http://shop.example/?lang=de&edd-listener=blockonomics#x',
  ])('of %s', (url) => {
    expect(answersWithPage(url)).toBe(true);
  });

  it.each([
    'https://shop.example/?wc-api=WC_Gateway_Blockonomics&secret=a',
    'https://shop.example/?edd-listener=blockonomics2&secret=a',
    'https://shop.example/?edd-listener=IPN&secret=a',
    'https://shop.example/edd-listener=blockonomics?secret=a',
    'https://shop.example/?x=edd-listener=blockonomics',
  ])('not of %s', (url) => {
    expect(answersWithPage(url)).toBe(false);
  });

  const judgedGood = (body: string) => {
    const { verdict, says } = judgeAnswer(Buffer.from(body), () => [], true);
    return [verdict, says];
  };

  it.each([
    '<!DOCTYPE html><html><head><title>My shop</title></head><body>error 404 secret',
    '\n\t<!doctype html>\n<html lang="de">',
    '<html><title></title>',
    '<!-- cached --><!DOCTYPE html><title>Shop &#8211; 1</title>',
  ])('is no doubt: %j', (body) => {
    expect(judgedGood(body)).toEqual(['web-page', null]);
  });

  it('is a doubt if it is no page of a theme, or its title refuses', () => {
    const doubts = ['<script>location="/?bot"</script>', '<title>Shop</title>'];
    const titles = [
      'Maintenance',
      'Error 500',
      'Page not found – My shop',
      'Checking your browser',
    ];
    for (const page of doubts) expect(judgedGood(page)[1]).toMatch(/^a web page/);
    for (const title of titles) {
      const page = `<!DOCTYPE html><title>${title}</title>`;
      expect(judgedGood(page)).toEqual(['web-page', `a web page titled "${title}"`]);
    }
  });

  it('does not hide a refusal before or after it', () => {
    const page = '<!DOCTYPE html><title>Shop</title></html>';
    expect(judgedGood('Incorrect Secret')).toEqual(['wrong-secret', 'Incorrect Secret']);
    expect(judgedGood(`${page}Incorrect Secret`)[0]).toBe('wrong-secret');
    expect(judgedGood('')).toEqual(['empty', null]);
  });
});

describe('notices of PHP', () => {
  const html = (level: string, text: string) =>
    `<br />\n<b>${level}</b>:  ${text} in <b>/srv/www/shop/callback.php</b> on line <b>17</b><br />\n`;
  const plain = (level: string, text: string) =>
    `\n${level}: ${text} in /srv/www/my shop/callback.php on line 17\n`;
  const openCart =
    '<b>Unknown</b>: Creation of dynamic property Proxy::$invalid is deprecated in <b>/srv/engine/proxy.php</b> on line <b>30</b>';
  const xdebug =
    "<br />\n<font size='1'><table class='xdebug-error xe-warning' dir='ltr'><tr><th>( ! ) Warning: Undefined variable $error in a.php on line <i>3</i></th></tr>\n</table></font>\n";

  const levels = ['Notice', 'Warning', 'Deprecated', 'Strict Standards'];
  const kinds: [string, string][] = [
    ...levels.map((level): [string, string] => [
      `${level}, HTML`,
      html(level, 'Undefined variable $error'),
    ]),
    ...levels.map((level): [string, string] => [
      `${level}, text`,
      plain(level, 'Undefined array key "secret"'),
    ]),
    ['of several lines, HTML', html('Warning', 'Unknown error:\n  missing\n\n  in the middle')],
    ['of several lines, text', plain('PHP Warning', 'an unknown error:\nmissing')],
    [
      'of a log',
      `\n[26-Nov-2026 10:00:00 UTC] PHP Deprecated:  Invalid use in /srv/a.php on line 1\n`,
    ],
    ['of OpenCart', openCart],
    ['several of OpenCart', openCart.repeat(3)],
    [
      'several of PHP',
      html('Deprecated', 'wrong') + html('Notice', 'missing') + plain('Warning', 'denied'),
    ],
    [
      'with a link',
      html('Warning', "include(): Failed [<a href='function.include'>function.include</a>]"),
    ],
    [
      'of code from eval',
      plain('Warning', 'invalid').replace('callback.php', "a.php(3) : eval()'d code"),
    ],
    ['of Xdebug', xdebug],
    ['after a mark of UTF-8', `\ufeff${html('Notice', 'missing')}\ufeff`],
    [
      'of Xdebug with the calls below it',
      `${plain('Warning', 'x')}\nCall Stack:\n    0.1  1. Error->fail() /x.php:0\n`,
    ],
    [
      'with a trace below it',
      `${plain('Notice', 'x')}\nPHP Stack trace:\nPHP   1. failed() /x.php:0\n`,
    ],
    [
      'of Xdebug without a debugger',
      '\nXdebug: [Step Debug] Could not connect to debugging client.\n',
    ],
    ['that PHP calls deprecated by its user', plain('User Deprecated', 'invalid')],
    [
      'in strong',
      html('Warning', 'error').replaceAll('<b>', '<strong>').replaceAll('</b>', '</strong>'),
    ],
    ['of more than a kilobyte', html('Warning', `missing ${'x'.repeat(1_500)}`).repeat(3)],
  ];

  it.each(kinds)('P-65 %s are removed before the response is classified', (_, notice) => {
    expect(judged(`${notice}Invalid secret`)).toEqual(['wrong-secret', 'Invalid secret']);
    expect(judged(`${notice}OK`)).toEqual(['accepted', null]);
    expect(judged(`OK${notice}`)).toEqual(['accepted', null]);
    expect(judged(`${notice}`)).toEqual(['empty', null]);
    expect(judged(`${notice}<!DOCTYPE html>`)[0]).toBe('web-page');
    expect(judged(`${notice}Order not found${notice}`)).toEqual([
      'unknown-order',
      'Order not found',
    ]);
  });

  it('that are fatal errors are not removed', () => {
    const fatal = html('Fatal error', 'Uncaught Error: Call to undefined function a()');
    expect(judged(html('Notice', 'a') + fatal)).toEqual([
      'refused',
      expect.stringMatching(/^Fatal error/),
    ]);
  });

  it('that are incomplete hide nothing', () => {
    expect(judged('Notice: Invalid secret')).toEqual(['wrong-secret', 'Notice: Invalid secret']);
    expect(judged('<b>Unknown</b>: order not found')[0]).toBe('unknown-order');
  });
});

describe('a hostile response', () => {
  it.each([
    '<b>Notice</b>:',
    'Warning: ',
    'secret ',
    'order order ',
    '"\\',
    '[',
    '<!--',
    '{"a":',
    ' in <b>',
    'no ',
    '<title>',
    '<',
    '\n\n',
  ])('of %j over and over costs little', (piece) => {
    const body = Buffer.from(piece.repeat(Math.ceil(16_384 / piece.length)));
    const began = process.cpuUsage();
    for (let times = 0; times < 10; times += 1) judgeAnswer(body, () => []);
    const { user } = process.cpuUsage(began);
    // A quadratic one takes seconds.
    expect(user / 10).toBeLessThan(100_000);
  });
});
