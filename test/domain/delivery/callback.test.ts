import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  callbackQuery,
  callbackTarget,
  checkCallbackUrl,
  eventId,
  redactUrl,
} from '../../../src/domain/delivery/callback.ts';
import { addressClassOf } from '../../../src/domain/delivery/callback-url-policy.ts';

const txid = 'ab'.repeat(32);
const facts = { status: 0, address: 'bc1qexample', valueSat: 12_345, txid, rbf: false } as const;
const strict = { allowPrivateCallback: false, allowHttpCallback: false };

describe('the query of a callback', () => {
  it('P-55 has the four parameters in the order that receivers expect', () => {
    expect(callbackQuery(facts)).toBe(`status=0&addr=bc1qexample&value=12345&txid=${txid}`);
  });

  it('P-55 has rbf=1 only for an unconfirmed, replaceable transaction', () => {
    expect(callbackQuery({ ...facts, rbf: true })).toMatch(/&rbf=1$/);
    expect(callbackQuery({ ...facts, rbf: true, status: 1 })).not.toContain('rbf');
    expect(callbackQuery({ ...facts, rbf: true, status: 2 })).not.toContain('rbf');
  });
});

describe('an event id', () => {
  const event = { address: 'bc1qexample', txid, status: 1, cycle: 0 } as const;

  it('is the same in every release', () => {
    expect(eventId(event)).toBe('msg_22cBVKVCtebdaQ3PkFjEZDNfY2d2');
  });

  it('differs for each event', () => {
    const others = [
      { ...event, address: 'bc1qother' },
      { ...event, txid: 'cd'.repeat(32) },
      { ...event, status: 2 },
      { ...event, cycle: 1 },
    ] as const;
    expect(new Set([event, ...others].map(eventId)).size).toBe(5);
  });
});

describe('the target of a callback', () => {
  it.each([
    ['https://shop.example/cb', 'https://shop.example', '/cb?', ''],
    ['https://shop.example', 'https://shop.example', '/?', ''],
    ['https://shop.example?k=1', 'https://shop.example', '/?', 'k=1&'],
    ['https://shop.example/cb?', 'https://shop.example', '/cb?', ''],
    ['https://shop.example/cb?k=1&', 'https://shop.example', '/cb?', 'k=1&'],
    ['http://[::1]:8080//a/../b;c?x=/?', 'http://[::1]:8080', '//a/../b;c?', 'x=/?&'],
    [
      'https://shop.example/%7e%2F?s=a+b%20c&S=%c3%BC',
      'https://shop.example',
      '/%7e%2F?',
      's=a+b%20c&S=%c3%BC&',
    ],
  ])('of %s keeps its bytes', (url, origin, path, own) => {
    const query = `${own}status=0`;
    expect(callbackTarget(url, 'status=0')).toEqual({ origin, path: path + query, query });
  });

  it('retains every path and query, and signs exactly the text after the ?', () => {
    const bytes = fc.string({
      unit: fc.constantFrom(..."az09-._~!$&'()*+,;=:@%2F/"),
      maxLength: 40,
    });
    fc.assert(
      fc.property(bytes, bytes, (path, own) => {
        const target = callbackTarget(`https://shop.example/${path}?${own}`, 'status=0');
        expect(target.path.startsWith(`/${path}?${own}`)).toBe(true);
        expect(target.path).toBe(`/${path}?${target.query}`);
        expect(target.query.startsWith(own)).toBe(true);
        expect(target.query.endsWith('status=0')).toBe(true);
      }),
    );
  });
});

describe('P-71 a callback URL to save', () => {
  it.each([
    'https://shop.example',
    'https://shop.example:8443/cb?secret=s3cr%C3%A9t&a[]=1',
    'https://shop.example/cb?stat=1&tx_id=2&addresses=3&v=4',
    'HTTPS://Shop.Example/wc-api/Paygate/',
    'https://my_shop.example/(a)!$&*+,;=:@',
    'https://1.1.1.1/cb',
    'https://[2606:4700:4700::1111]/cb',
  ])('may be %s', (url) => {
    expect(() => checkCallbackUrl(url, strict)).not.toThrow();
  });

  it.each([
    ['', 'whole URL'],
    ['shop.example/cb', 'whole URL'],
    [' https://shop.example', 'begins with a space (U+0020)'],
    ['javascript:alert(1)', 'whole URL'],
    ['ftp://shop.example/cb', 'must start with https://'],
    ['https://user:pw@shop.example/', 'user name'],
    ['https://user@shop.example/', 'user name'],
    ['https://good.example\\@evil.example/', 'user name'],
    ['https://good.example\\.evil.example/', 'no valid host name'],
    ['https:///cb', 'no valid host name'],
    ['https://shop.example:99999/', 'no valid host name'],
    ['https://shop.example:0/', 'port 0'],
    ['https://%31%32%37.0.0.1/', 'no valid host name'],
    ['https://1.2.3.4.5/', 'no valid host name'],
    ['https://shop.example/#top', '#fragment'],
    ['https://shop.example/a b', 'has a space (U+0020) at character 23'],
    ['https://shop.example/ü?q=ü', 'write it as https://shop.example/%C3%BC?q=%C3%BC'],
    ['https://shop.example/?q="x"', 'write it as https://shop.example/?q=%22x%22'],
    ['https://shop.example/100%', 'write it as https://shop.example/100%25'],
    ['https://shop.example/%zz', 'write it as https://shop.example/%25zz'],
    ['https://shop.example/a\nb', 'has a line end (U+000A) at character 23'],
    ['https://shop.example/\u212a\ud800', 'write it as https://shop.example/%E2%84%AA%EF%BF%BD'],
    ['https://shöp.example/cb', 'write it as https://xn--shp-tna.example/cb'],
    ['https://shop.example/?status=1', 'already has "status"'],
    ['https://shop.example/?a=1&addr', 'already has "addr"'],
    ['https://shop.example/?%74xid=1', 'already has "txid"'],
    ['https://shop.example/?Value=1', 'already has "Value"'],
    ['https://shop.example/?rbf=', 'already has "rbf"'],
    ['http://shop.example/', '--allow-http-callback'],
    ['http://1.1.1.1/', '--allow-http-callback'],
    ['http://localhost.shop.example/', '--allow-http-callback'],
    ['https://10.0.0.5/', '--allow-private-callback'],
    ['https://localhost/', '--allow-private-callback'],
    ['https://shop.localhost./', '--allow-private-callback'],
    ['https://0x7f.1/', '127.0.0.1 is a private address'],
    ['https://[::ffff:10.0.0.1]/', '--allow-private-callback'],
    ['https://169.254.169.254/', 'never'],
    ['https://[fe80::1]/', 'never'],
    ['https://0.0.0.0/', 'never'],
  ])('is not %j: %s', (url, message) => {
    expect(() => checkCallbackUrl(url, strict)).toThrow(message);
  });

  it('is proposed in its normal form', () => {
    const message = /write it as https:\/\/shop\.example\/a%7Cb$/;
    expect(() => checkCallbackUrl('https://shop.example/a|b', strict)).toThrow(message);
  });

  it('is not validated again if it does not change', () => {
    const before = { ...strict, callbackUrl: 'https://shop.example/?a=1&amp;b=2' };
    expect(() => checkCallbackUrl(before.callbackUrl, strict, before)).not.toThrow();
    const open = { ...strict, allowHttpCallback: true };
    expect(() => checkCallbackUrl(before.callbackUrl, open, before)).toThrow('&amp;');
    expect(() => checkCallbackUrl(`${before.callbackUrl}&c`, strict, before)).toThrow('&amp;');
  });

  it('may be private, also with plain http, if the store allows it', () => {
    const flags = { allowPrivateCallback: true, allowHttpCallback: false };
    for (const host of ['127.0.0.1:8080', '[::1]', 'localhost', '10.0.0.5', 'shop.lan']) {
      expect(() => checkCallbackUrl(`http://${host}/cb`, flags)).not.toThrow();
    }
    expect(() => checkCallbackUrl('http://1.1.1.1/', flags)).toThrow('--allow-http-callback');
    expect(() => checkCallbackUrl('http://169.254.1.1/', flags)).toThrow('never');
  });

  it('is validated against the addresses of this machine', () => {
    const here = { ownAddresses: ['1.1.1.1'] };
    const of = (url: string) => () => checkCallbackUrl(url, strict, undefined, here);
    expect(of('https://1.1.1.1/cb')).toThrow('1.1.1.1 is an address of this machine');
    expect(of('https://1.1.1.2/cb')).not.toThrow();
  });

  it('may be public plain http if the store allows it', () => {
    const flags = { allowPrivateCallback: false, allowHttpCallback: true };
    expect(() => checkCallbackUrl('http://shop.example/', flags)).not.toThrow();
    expect(() => checkCallbackUrl('http://127.0.0.1/', flags)).toThrow('--allow-private-callback');
  });
});

describe('the class of an address', () => {
  it.each([
    ['1.1.1.1', 'public'],
    ['2606:4700:4700::1111', 'public'],
    ['::ffff:1.1.1.1', 'public'],
    ['64:ff9b::101:101', 'public'],
    ['127.0.0.1', 'private'],
    ['127.255.0.9', 'private'],
    ['10.1.2.3', 'private'],
    ['172.31.0.1', 'private'],
    ['192.168.1.1', 'private'],
    ['100.64.0.1', 'private'],
    ['::1', 'private'],
    ['fd12::1', 'private'],
    ['::ffff:127.0.0.1', 'private'],
    ['::ffff:7f00:1', 'private'],
    ['0.0.0.0', 'never'],
    ['0.1.2.3', 'never'],
    ['::', 'never'],
    ['::ffff:0.0.0.0', 'never'],
    ['::127.0.0.1', 'never'],
    ['::7f00:1', 'never'],
    ['::8.8.8.8', 'never'],
    ['::ffff:0:127.0.0.1', 'never'],
    ['64:ff9b::7f00:1', 'never'],
    ['64:ff9b::a9fe:a9fe', 'never'],
    ['64:ff9b:1::101:101', 'never'],
    ['2002:7f00:1::', 'never'],
    ['2002:101:101::1', 'never'],
    ['2001:0:7f00:1::', 'never'],
    ['169.254.169.254', 'never'],
    ['::ffff:169.254.169.254', 'never'],
    ['100.100.100.200', 'never'],
    ['168.63.129.16', 'never'],
    ['fd00:ec2::254', 'never'],
    ['fd00:ec2::23', 'never'],
    ['fd00:c1::a9fe:a9fe', 'never'],
    ['fd00:a9fe:a9fe::1', 'never'],
    ['fd00:42::42', 'never'],
    ['fd00:100::100:200', 'never'],
    ['fd00:42::43', 'private'],
    ['fe80::1', 'never'],
    ['fe80::1%eth0', 'never'],
    ['2606:4700::1111%eth0', 'never'],
    ['fec0::1', 'never'],
    ['224.0.0.1', 'never'],
    ['ff02::1', 'never'],
    ['255.255.255.255', 'never'],
    ['240.0.0.1', 'never'],
    ['192.0.2.1', 'never'],
    ['198.18.0.1', 'never'],
    ['2001:db8::1', 'never'],
    ['100::1', 'never'],
    ['4000::1', 'never'],
    ['5f00::1', 'never'],
    ['shop.example', 'never'],
    ['', 'never'],
  ])('%s is %s', (address, reach) => {
    expect(addressClassOf(address)).toBe(reach);
  });
});

describe('a URL for display', () => {
  it.each([
    ['https://shop.example/wc-api/paygate/?secret=1', 'https://shop.example/wc-api/paygate/?…'],
    ['https://shop.example/cb/5f3a9c81d2/v2', 'https://shop.example/cb/…/v2'],
    ['https://shop.example', 'https://shop.example'],
    ['https://user:pw@shop.example/cb#top', 'https://shop.example/cb'],
    ['https://shop.example/correct-horse-battery-staple', 'https://shop.example/…'],
    ['/login?next=%2Fcb%3Fsecret', '/login?…'],
    ['//other.example/cb', '//other.example/cb'],
    ['//user:pw@other.example/cb', '//other.example/cb'],
    ['\u0000\u0007', '…'],
  ])('%j becomes %j', (url, shown) => {
    expect(redactUrl(url)).toBe(shown);
  });
});
