import { describe, expect, test } from 'vitest';
import { parseNodeSettings } from '../../src/lightning/node-settings.ts';

const urlOf = (url: string, kind: 'lnd' | 'phoenixd' = 'lnd') =>
  parseNodeSettings(kind, url, '0201').url;

describe('the URL of a node', () => {
  const onion = `${'2gzyxa5ihm7nsggfxnu52rck2vv4rvmdlkiu3zzui5du4xyclen53wid'}.onion`;

  test.each([
    ['https://umbrel.local:8080', 'https://umbrel.local:8080'],
    [' <HTTPS://Node.Example.com:443/> ', 'https://node.example.com'],
    ['http://127.0.0.1:9740/', 'http://127.0.0.1:9740'],
    ['http://[::1]:9740', 'http://[::1]:9740'],
    ['http://192.168.1.7:9740', 'http://192.168.1.7:9740'],
    ['http://phoenixd:9740', 'http://phoenixd:9740'],
    [`http://${onion}:8080`, `http://${onion}:8080`],
  ])('%s', (text, url) => {
    expect(urlOf(text)).toBe(url);
  });

  test.each([
    ['', 'write the URL as https://umbrel.local:8080'],
    ['umbrel.local:8080', 'write the URL as https://umbrel.local:8080'],
    ['ftp://umbrel.local', 'write the URL as https://umbrel.local:8080'],
    ['https://umbrel.local/v1', 'write the URL as https://umbrel.local:8080'],
    ['https://umbrel.local/?a=b', 'write the URL as https://umbrel.local:8080'],
    ['https://umbrel.local/#a', 'write the URL as https://umbrel.local:8080'],
    ['https://:secret@umbrel.local', 'the URL of a node has no user and no password'],
    ['https://user@umbrel.local', 'the URL of a node has no user and no password'],
    ['http://node.example.com:9740', /^write https:/],
    ['http://8.8.8.8:9740', /^write https:/],
    ['http://expyuzz4wqqyqhjn.onion', /is an onion address of version 2/],
  ])('%s is refused', (text, error) => {
    expect(() => urlOf(text)).toThrow(error);
    expect(() => urlOf(text)).not.toThrow(/secret/);
  });

  test('an example is one of its kind', () => {
    expect(() => urlOf('', 'phoenixd')).toThrow('write the URL as http://127.0.0.1:9740');
  });
});

describe('the credential', () => {
  const credentialOf = (text: string, kind: 'lnd' | 'phoenixd' = 'lnd') =>
    parseNodeSettings(kind, 'https://node', text).credential;

  test('a macaroon is read as hex or base64, in several rows', () => {
    expect(credentialOf('0201\n03FF\n')).toBe('020103ff');
    expect(credentialOf('AgED/w==')).toBe('020103ff');
    expect(credentialOf('AgED_w')).toBe('020103ff');
  });

  test('a password stays as it is, without what does not show', () => {
    expect(credentialOf(' aB3+/= \u200b', 'phoenixd')).toBe('aB3+/=');
  });

  test.each(['', ' \n', 'a'.repeat(4097)])('one that is missing or too long is refused', (text) => {
    expect(() => credentialOf(text)).toThrow('the macaroon is missing or too long');
    expect(() => credentialOf(text, 'phoenixd')).toThrow('the password is missing or too long');
  });

  test('a macaroon that is neither is refused, unseen', () => {
    expect(() => credentialOf('AgED/secret!')).toThrow(/^the macaroon is neither hex nor base64/);
    expect(() => credentialOf('AgED/secret!')).not.toThrow(/secret!/);
  });
});
