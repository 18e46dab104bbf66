import { describe, expect, test } from 'vitest';
import { type FlagValues, options, readConfig } from '../src/config.ts';
import { PaygateError } from '../src/lib/errors.ts';

const hash = '00000000007899e1a91526d0258948b023f565a35fe0b0d2f9c898a39906495b';

test('without flags and variables: the defaults', () => {
  expect(readConfig({}, {})).toMatchObject({
    db: 'paygate.db',
    listen: { host: '127.0.0.1', port: 8080 },
    network: undefined,
    checkpoint: undefined,
    electrum: [],
    logLevel: 'info',
  });
});

test('a flag overrides the environment, and the environment overrides the default', () => {
  const env = { PAYGATE_DB: 'env.db', PAYGATE_NETWORK: 'signet' };
  expect(readConfig({ db: ['flag.db'] }, env)).toMatchObject({ db: 'flag.db', network: 'signet' });
  expect(readConfig({}, { PAYGATE_DB: '' }).db).toBe('paygate.db');
});

test('an option has one name, as a flag and as a variable', () => {
  expect(options.db).toMatchObject({ flag: '--db', env: 'PAYGATE_DB' });
  expect(options.limitNewAddress).toMatchObject({
    flag: '--limit-new-address',
    env: 'PAYGATE_LIMIT_NEW_ADDRESS',
  });
});

describe('the public URL', () => {
  const read = (text: string) => () => readConfig({ publicUrl: [text] }, {}).publicUrl;

  test.each([
    ['https://pay.example.com', 'https://pay.example.com'],
    ['https://PAY.example.com:443/', 'https://pay.example.com'],
    ['http://192.168.1.7:8080/', 'http://192.168.1.7:8080'],
    ['https://[2001:db8::7]:8443', 'https://[2001:db8::7]:8443'],
    ['https://bücher.example', 'https://xn--bcher-kva.example'],
    ['http://shop_1.internal', 'http://shop_1.internal'],
  ])('%s', (text, origin) => expect(read(text)()).toBe(origin));

  test.each([
    ...['pay', 'pay/', 'btc/pay', '/', '?a', '?', '#', '#a', '%20'].map((path) => `/${path}`),
    '?a',
    '#a',
    '\\pay',
  ])('%s behind it is refused: pages below a path would lead out of it', (path) => {
    expect(read(`https://shop.example${path}`)).toThrow(
      /^--public-url: https:\/\/shop\.example alone expected, without a path/,
    );
  });

  test.each(['pay.example.com', 'ftp://a.example', 'https://', 'https://*.example', '//a.example'])(
    'not %s',
    (text) => expect(read(text)).toThrow(/^--public-url: a URL such as/),
  );

  test.each(['http://0.0.0.0:8080', 'http://[::]:8080', 'https://a.example:0'])(
    '%s is an address of nothing',
    (text) => expect(read(text)).toThrow(/^--public-url: the address at which shops reach/),
  );

  test('a password in it is neither taken nor repeated', () => {
    for (const user of ['you:hunter2', 'you', ':hunter2']) {
      for (const rest of ['pay.example.com', 'pay.example.com/?a', '', ':x']) {
        const refused = read(`https://${user}@${rest}`);
        expect(refused).toThrow('--public-url: no user and no password in it: it is shown to');
        expect(refused).not.toThrow('hunter2');
      }
    }
  });
});

test('a user or a password is refused where none is sent, and never repeated', () => {
  for (const [name, text] of [
    ['acmeDirectory', 'https://:hunter2@a.example/dir'],
    ['acmeDirectory', 'https://you:hunter2@a.example/dir'],
    ['priceSource', 'https://:hunter2@a.example/#{CODE}'],
    ['priceSource', 'https://you@a.example/#{CODE}'],
    ['electrum', 'tcp://you:hunter2@a.example:50001'],
    ['electrum', 'ssl://:hunter2@a.example'],
  ] as const) {
    const read = () => readConfig({ [name]: [text] }, {});
    expect([text, read]).toEqual([text, expect.any(Function)]);
    expect(read).toThrow(PaygateError);
    expect(read).not.toThrow('hunter2');
  }
});

describe('prices', () => {
  const source = 'https://a.example/btc{code}#last';

  test('are on by default, from the built-in sources', () => {
    expect(readConfig({}, {})).toMatchObject({ price: 'on', priceSource: [] });
    const env = {
      PAYGATE_PRICE: 'own',
      PAYGATE_PRICE_SOURCE: `${source}  https://b.example#{CODE}`,
    };
    expect(readConfig({}, env)).toMatchObject({
      price: 'own',
      priceSource: [{ label: 'a.example' }, { label: 'b.example' }],
    });
    expect(readConfig({ price: ['off'] }, env).price).toBe('off');
  });

  test('a wrong setting is named', () => {
    const read = (flags: FlagValues) => () => readConfig(flags, {});
    expect(read({ price: ['yes'] })).toThrow('--price: one of on, off, own expected, not "yes"');
    expect(read({ priceSource: [source, 'a.example'] })).toThrow(
      /^--price-source: expected a URL and the path/,
    );
    const twice = ['ssl://a.example:1', 'ssl://b.example:1', 'ssl://A.example:1?own'];
    expect(read({ electrum: twice })).toThrow(
      '--electrum: ssl://a.example:1 is named twice; name each server once',
    );
    expect(readConfig({ electrum: twice.slice(0, 2) }, {}).electrum).toHaveLength(2);
    const ports = ['tcp://a.example:50001', 'ssl://a.example:50002'];
    expect(read({ electrum: ports })).toThrow(
      '--electrum: a.example is named with two ports, which is most likely one server; ' +
        'name it once, or write ?own behind both where it is yours',
    );
    // A machine may run two own servers, which are trusted anyway.
    for (const own of [
      ports.map((each) => each.replace('a.example', '192.168.1.2')),
      ports.map((each) => `${each}?own`),
    ]) {
      expect(readConfig({ electrum: own }, {}).electrum).toHaveLength(2);
    }
    const spelled = [
      ['tcp://[::1]:1', 'tcp://[0:0::1]:1'],
      ['tcp://a.example:1', 'tcp://a.example.:1'],
    ];
    for (const electrum of spelled) expect(read({ electrum })).toThrow(/is named twice/);
    expect(read({ electrumInFlight: ['0'] })).toThrow(/^--electrum-in-flight: a number from 1/);
    expect(readConfig({ electrumInFlight: ['7'] }, {}).electrumInFlight).toBe(7);
    expect(read({ logLevel: ['loud'] })).toThrow(/^--log-level: one of debug, info/);
  });
});

describe('the checkpoint', () => {
  test.each([
    ['149183', 149_183],
    ['0', 0],
    ['00000042', 42],
  ])('%s', (height, number) => {
    const read = { height: number, hash };
    expect(readConfig({ checkpoint: [`${height}:${hash}`] }, {}).checkpoint).toEqual(read);
    const env = { PAYGATE_CHECKPOINT: `${height}:${hash.toUpperCase()}` };
    expect(readConfig({}, env).checkpoint).toEqual(read);
  });

  test.each([
    '',
    hash,
    '149183',
    `149183:${hash.slice(1)}`,
    `149183:${hash}0`,
    `149183 ${hash}`,
    `-1:${hash}`,
    `1.5:${hash}`,
    `1e3:${hash}`,
    `100000000:${hash}`,
    `149183:0x${hash.slice(2)}`,
    ` 149183:${hash}`,
    `149183:${hash}\n`,
  ])('not %j', (text) => {
    const read = () => readConfig({ checkpoint: [text] }, {});
    expect(read).toThrow(PaygateError);
    expect(read).toThrow(/^--checkpoint: HEIGHT:HASH expected/);
    if (text === '') return;
    expect(() => readConfig({}, { PAYGATE_CHECKPOINT: text })).toThrow(/^PAYGATE_CHECKPOINT: /);
  });
});

test('takes a possible amount of whole satoshis', () => {
  const read = (text: string) => readConfig({ proveDepthAbove: [text] }, {}).proveDepthAbove;
  expect(readConfig({}, {}).proveDepthAbove).toBe(10_000_000);
  expect([read('0'), read('2100000000000000')]).toEqual([0, 21e14]);
  for (const text of ['', '-1', '1.5', '1e3', '2100000000000001', '0x10']) {
    expect(() => read(text), text).toThrow(/^--prove-depth-above: whole satoshis/);
  }
});

test.each(['shop.db ', '\tshop.db', 'shop.db\r', 'a\0b'])('the file name %j is refused', (db) => {
  for (const read of [
    () => readConfig({ db: [db] }, {}),
    () => readConfig({}, { PAYGATE_DB: db }),
  ]) {
    expect(read).toThrow(PaygateError);
  }
});
