import { describe, expect, it } from 'vitest';
import { guardTarget } from '../../src/delivery/target-guard.ts';
import type { CallbackFlags } from '../../src/domain/delivery/callback-url-policy.ts';

const strict = { allowPrivateCallback: false, allowHttpCallback: false };
const open = { allowPrivateCallback: true, allowHttpCallback: true };
const unasked = async (): Promise<never> => {
  throw new Error('a literal address is not looked up');
};

const nowhere = { listeners: [], ownAddresses: [] };

const guardLiteral = (host: string, flags: CallbackFlags) => () =>
  guardTarget(new URL(`https://${host}`), flags, nowhere, unasked);

describe('P-71 a literal address', () => {
  it.each([
    '127.0.0.1',
    '127.1',
    '127.0.0.1.',
    '2130706433',
    '017700000001',
    '0177.0.0.1',
    '0x7f000001',
    '0x7f.0.0.1',
    '１２７.0.0.1',
    '127。0。0。1',
    '%31%32%37.0.0.1',
    '127.255.255.254',
    '[::1]',
    '[0:0:0:0:0:0:0:1]',
    '[0000:0000:0000:0000:0000:0000:0000:0001]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[0:0:0:0:0:ffff:7f00:0001]',
  ])('%s is loopback however it is written', (host) => {
    expect(guardLiteral(host, strict)).toThrow(/private address/);
    expect(guardLiteral(host, open)).not.toThrow();
  });

  it.each([
    '0',
    '0.0.0.0',
    '[::]',
    '[::127.0.0.1]',
    '[64:ff9b::127.0.0.1]',
    '[64:ff9b::a00:1]',
    '168.63.129.16',
    '[64:ff9b::168.63.129.16]',
    '[2002:7f00:1::]',
    '[2001:0:7f00:1::]',
    '169.254.169.254',
    '0xa9fea9fe',
    '[::ffff:169.254.169.254]',
    '[fe80::1]',
    '224.0.0.1',
    '255.255.255.255',
  ])('%s is never called', (host) => {
    expect(guardLiteral(host, strict)).toThrow(/never/);
    expect(guardLiteral(host, open)).toThrow(/never/);
  });

  it('may be a public one', () => {
    expect(guardLiteral('1.1.1.1', strict)).not.toThrow();
    expect(guardLiteral('[2606:4700::1111]', strict)).not.toThrow();
  });
});

describe('S-151 a name', () => {
  const resolve = (addresses: string[], flags: CallbackFlags, scheme = 'https') =>
    guardTarget(
      new URL(`${scheme}://shop.example`),
      flags,
      nowhere,
      async () => addresses,
    )('shop.example');

  it('P-72 is dialled at the addresses that were checked', async () => {
    const addresses = ['1.1.1.1', '2606:4700::1111'];
    expect(await resolve(addresses, strict)).toEqual(addresses);
  });

  it('without an address is not dialled', async () => {
    await expect(resolve([], strict)).rejects.toMatchObject({ code: 'ENODATA' });
  });

  it('is refused for a single private answer among public ones', async () => {
    await expect(resolve(['1.1.1.1', '10.0.0.1'], strict)).rejects.toThrow(
      'shop.example (10.0.0.1) is a private address',
    );
    await expect(resolve(['1.1.1.1', '169.254.1.1'], open)).rejects.toThrow('never');
  });

  it('may speak plain http to private addresses alone, unless the store allows more', async () => {
    const flags = { allowPrivateCallback: true, allowHttpCallback: false };
    expect(await resolve(['10.0.0.1'], flags, 'http')).toEqual(['10.0.0.1']);
    await expect(resolve(['10.0.0.1', '1.1.1.1'], flags, 'http')).rejects.toThrow('plain http');
    expect(await resolve(['10.0.0.1', '1.1.1.1'], open, 'http')).toHaveLength(2);
  });
});

describe('P-71 paygate itself', () => {
  const ownAddresses = ['127.0.0.1', '::1', '203.0.114.7', '2a01:4f8::7'];
  const guard = (origin: string, host: string, answer: string) => {
    const departure = { listeners: [{ host, port: 8080 }], ownAddresses };
    return guardTarget(new URL(origin), open, departure, async () => [answer])('any');
  };

  it.each([
    ['http://any:8080', '127.0.0.1', '127.0.0.1'],
    ['http://any:8080', '::ffff:127.0.0.1', '127.0.0.1'],
    ['http://any:8080', 'localhost', '::1'],
    ['http://any:8080', '0.0.0.0', '127.0.0.1'],
    ['http://any:8080', '::', '::1'],
    ['http://any:8080', '203.0.114.9', '203.0.114.9'],
    ['http://any:8080', '*', '203.0.114.7'],
    ['http://any:8080', '0.0.0.0', '203.0.114.7'],
    ['http://any:8080', '::', '2a01:4f8:0::7'],
    ['http://any:8080', '*', '::ffff:203.0.114.7'],
    ['http://any:8080', '*', '64:ff9b::203.0.114.7'],
    ['http://any:8080', '203.0.114.7', '203.0.114.7'],
  ])('is not called at %s when it listens on %s', async (origin, host, answer) => {
    await expect(guard(origin, host, answer)).rejects.toThrow('paygate itself');
  });

  it('leaves neighbouring ports and addresses allowed', async () => {
    expect(await guard('http://any:8081', '127.0.0.1', '127.0.0.1')).toEqual(['127.0.0.1']);
    expect(await guard('http://any:8080', '127.0.0.1', '10.0.0.1')).toEqual(['10.0.0.1']);
    // It listens on loopback alone.
    const own = '203.0.114.7';
    expect(await guard('http://any:8080', '127.0.0.1', own)).toEqual([own]);
    expect(await guard('http://any:8081', '*', own)).toEqual([own]);
  });
});

describe('P-71 an address of this machine', () => {
  const departure = { listeners: [], ownAddresses: ['203.0.114.7', '2a01:4f8::7', 'fe80::1'] };
  const guard = (scheme: string, flags: CallbackFlags, answer: string) =>
    guardTarget(new URL(`${scheme}://any`), flags, departure, async () => [answer])('any');

  it.each(['203.0.114.7', '::ffff:203.0.114.7', '64:ff9b::203.0.114.7', '2A01:4F8:0:0::7'])(
    '%s must be allowed as a private one, though it is public',
    async (address) => {
      const said = 'is an address of this machine, which this store must allow: --allow-private';
      await expect(guard('https', strict, address)).rejects.toThrow(said);
      const http = { allowPrivateCallback: false, allowHttpCallback: true };
      await expect(guard('http', http, address)).rejects.toThrow(said);
      const allowed = { allowPrivateCallback: true, allowHttpCallback: false };
      expect(await guard('http', allowed, address)).toEqual([address]);
    },
  );

  it('needs the flag of private addresses, also written as a number', () => {
    for (const host of ['203.0.114.7', '[2a01:4f8::7]', '0xcb007207']) {
      const literal = () => guardTarget(new URL(`https://${host}`), strict, departure, unasked);
      expect(literal).toThrow('is an address of this machine');
    }
  });

  it('that is always refused stays refused; its neighbours are public', async () => {
    await expect(guard('https', open, 'fe80::1')).rejects.toThrow('never');
    expect(await guard('https', strict, '203.0.114.8')).toEqual(['203.0.114.8']);
  });
});
