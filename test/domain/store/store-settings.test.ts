import { describe, expect, test } from 'vitest';
import {
  checkStoreSettings,
  defaultStoreSettings,
  type StoreSettings,
  storeSettings,
} from '../../../src/domain/store/store-settings.ts';

const callbackUrl = 'https://shop.example/callback';
const webhookUrl = 'https://shop.example/hook';
const shop: StoreSettings = { ...defaultStoreSettings, name: 'Shop', callbackUrl };
const check = (change: Partial<StoreSettings>, before: StoreSettings | undefined = shop): void =>
  checkStoreSettings(change, before, {});

describe('the webhook URL', () => {
  test.each(['https://shop.example/hook', 'https://shop.example/?status=1', null])(
    'is allowed: %s',
    (url) => check({ webhookUrl: url }),
  );

  test.each([
    ['shop.example', 'the webhook URL must be a whole URL'],
    ['ftp://shop.example/', 'the webhook URL must start with https://'],
    ['https://me:pw@shop.example/', 'the webhook URL must not hold a user name'],
    ['https://shop.example/#a', 'the webhook URL must not have a #fragment'],
    ['http://shop.example/', 'plain http to shop.example'],
    ['https://127.0.0.1/', '--allow-private-callback'],
    ['https://169.254.169.254/', 'callbacks never go to'],
  ])('is refused: %s', (url, problem) => {
    expect(() => check({ webhookUrl: url })).toThrow(problem);
  });

  test('is checked again when the store allows less', () => {
    const before = { ...shop, webhookUrl: 'http://shop.example/', allowHttpCallback: true };
    expect(() => check({ allowHttpCallback: false }, before)).toThrow('plain http');
    check({ name: 'Other' }, { ...before, allowHttpCallback: false });
  });
});

describe('a store', () => {
  test('has a Callback URL, a webhook URL, both or none', () => {
    check({ callbackUrl: '', webhookUrl });
    check({ callbackUrl: '' }, { ...shop, webhookUrl });
    check({ ...shop, callbackUrl: '', webhookUrl }, undefined);
    check({ webhookUrl: null }, { ...shop, callbackUrl: '', webhookUrl });
    check({ ...shop, callbackUrl: '' }, undefined);
    check({ name: 'Other' }, { ...shop, callbackUrl: '' });
    expect(() => check({ callbackUrl: 'shop.example' })).toThrow('must be a whole URL');
  });
});

describe('the terms of orders', () => {
  const { orderSeconds, quoteSeconds, toleranceBasisPoints } = storeSettings;

  test.each([
    [orderSeconds, '0', 0],
    [orderSeconds, '300', 300],
    [orderSeconds, '31622400', 31_622_400],
    [quoteSeconds, '3600', 3_600],
    [toleranceBasisPoints, '0.5', 50],
    [toleranceBasisPoints, '0,29', 29],
    [toleranceBasisPoints, '10', 1_000],
  ])('%#: %s', (setting, text, value) => expect(setting.parse(text)).toBe(value));

  test.each([
    ...['299', '-1', '31622401', '1e3', '3600.5', 'never'].map(
      (text) => [orderSeconds, text] as const,
    ),
    ...['0', '299', '3601'].map((text) => [quoteSeconds, text] as const),
    ...['10.01', '0.001', '-1', '1 %'].map((text) => [toleranceBasisPoints, text] as const),
  ])('%# refuses %s', (setting, text) => {
    expect(() => setting.parse(text)).toThrow(/expected/);
  });

  test('the return URL is a link, under the rules of the Callback URL', () => {
    check({ returnUrl: 'https://shop.example/thanks' });
    expect(() => check({ returnUrl: 'javascript:alert(1)' })).toThrow(
      'the return URL must be a whole URL',
    );
    expect(() => check({ returnUrl: 'http://shop.example/' })).toThrow('must start with https://');
    check({ returnUrl: 'http://shop.example/', allowHttpCallback: true });
  });

  test('the language is one of the pages', () => {
    expect(storeSettings.language.parse('PT-br')).toBe('pt-BR');
    expect(() => storeSettings.language.parse('German')).toThrow('language tag');
    expect(() => storeSettings.language.parse('sv')).toThrow('one of en, es, pt-BR, de');
  });
});

describe('sites that may show the pages in a frame', () => {
  const { parse } = storeSettings.embedOrigins;

  test.each([
    ['https://shop.example', 'https://shop.example'],
    [
      ' https://Shop.example/  https://b.example:8443 ',
      'https://shop.example https://b.example:8443',
    ],
    ['https://shop.example https://shop.example:443', 'https://shop.example'],
    ['http://127.0.0.1:8080 http://[::1]', 'http://127.0.0.1:8080 http://[::1]'],
    ['https://bücher.example', 'https://xn--bcher-kva.example'],
    [' ', ''],
  ])('are origins: %s', (text, origins) => expect(parse(text)).toBe(origins));

  test.each([
    ...['shop.example', 'https://shop.example/a', 'https://shop.example?a', 'https://*.example'],
    ...['https://a;b.example', "https://a'b.example", '*', "'self'", 'https:', 'data:text/html,a'],
    ...['https://me@shop.example', 'https://shop.example;script-src'],
  ])('are nothing else: %s', (text) => expect(() => parse(text)).toThrow('an origin such as'));

  test('are 20 at most', () => {
    const origins = (count: number) =>
      Array.from({ length: count }, (_, at) => `https://s${at}.example`).join(' ');
    expect(parse(origins(20))).toBe(origins(20));
    expect(() => parse(origins(21))).toThrow('at most 20 origins');
  });

  test('have plain http on this machine, and where callbacks may', () => {
    const embedOrigins = 'http://shop.example';
    check({ embedOrigins: 'http://localhost:3000 http://127.0.0.1 http://[::1]:1' });
    expect(() => check({ embedOrigins })).toThrow('must start with https://');
    check({ embedOrigins, allowHttpCallback: true });
    const before = { ...shop, embedOrigins, allowHttpCallback: true };
    expect(() => check({ allowHttpCallback: false }, before)).toThrow('http://shop.example');
  });
});

describe('a time in the form', () => {
  const { orderSeconds, quoteSeconds } = storeSettings;

  test.each([
    [orderSeconds, '60', 3600],
    [orderSeconds, '0', 0],
    [orderSeconds, '7,5', 450],
    [orderSeconds, '5.02', 301],
    [quoteSeconds, '5', 300],
    [quoteSeconds, '60', 3600],
  ])('is in minutes: %#', ({ form, parse }, minutes, seconds) => {
    expect(form.parse(minutes)).toBe(seconds);
    expect(Number(form.show(seconds))).toBe(Number(minutes.replace(',', '.')));
    // The command line has seconds.
    expect(parse(String(seconds))).toBe(seconds);
  });

  test.each([
    [orderSeconds, '4', '5 minutes to 366 days, or 0 for never expected'],
    [orderSeconds, '', '5 minutes to 366 days, or 0 for never expected'],
    [quoteSeconds, '61', '5 to 60 minutes expected'],
    [quoteSeconds, 'soon', '5 to 60 minutes expected'],
  ])('is refused in minutes: %#', ({ form }, minutes, problem) => {
    expect(() => form.parse(minutes)).toThrow(problem);
  });

  test('shows each second of an hour so that it is read again', () => {
    const seconds = Array.from({ length: 3301 }, (_, place) => 300 + place);
    expect(seconds.map((each) => quoteSeconds.form.parse(quoteSeconds.form.show(each)))).toEqual(
      seconds,
    );
  });
});
