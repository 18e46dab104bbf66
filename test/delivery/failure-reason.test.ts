import { describe, expect, it, test } from 'vitest';
import { excerpt, reasonFor, secretsOf } from '../../src/delivery/failure-reason.ts';
import { type AttemptEnd, deadlineCode, outcomeOf } from '../../src/domain/delivery/retry.ts';

const told = (ending: AttemptEnd, location?: string) =>
  reasonFor({ ...ending, outcome: outcomeOf(ending), host: 'shop.example', location });

describe('a reason', () => {
  it.each([
    [{ phase: 'body', status: 200 }, null],
    [
      { phase: 'resolve', errorCode: 'EAI_AGAIN' },
      'could not be resolved: the name server does not',
    ],
    [{ phase: 'connect', errorCode: 'EHOSTUNREACH' }, 'could not be reached: there is no way'],
    [{ phase: 'connect', errorCode: 'EWHATEVER' }, 'could not be reached: EWHATEVER'],
    [{ phase: 'connect', errorCode: 'CERT_HAS_EXPIRED' }, 'its certificate has expired'],
    [{ phase: 'connect', errorCode: 'UND_ERR_CONNECT_TIMEOUT' }, 'waited in vain for a connection'],
    [{ phase: 'tls', errorCode: 'CERT_HAS_EXPIRED' }, 'its certificate has expired'],
    [{ phase: 'tls', errorCode: 'ERR_TLS_CERT_ALTNAME_INVALID' }, 'is for another name'],
    [{ phase: 'tls', errorCode: 'UND_ERR_SOCKET' }, 'during the TLS handshake'],
    [{ phase: 'tls', errorCode: deadlineCode }, 'waited in vain for the TLS handshake'],
    [{ phase: 'response', errorCode: deadlineCode }, 'waited in vain for an answer'],
    [{ phase: 'body', status: 200, errorCode: deadlineCode }, 'for the end of its answer'],
    [{ phase: 'response', errorCode: 'UND_ERR_SOCKET' }, 'closed the connection without an answer'],
    [{ phase: 'body', status: 201 }, 'answered 201; only 200 counts'],
    [{ phase: 'body', status: 301 }, 'answered 301, without a Location'],
    [{ phase: 'body', status: 200, errorCode: 'ECONNRESET' }, 'broke off before the end'],
  ] as const)('for %j says what a merchant can act on', (ending, words) => {
    expect(told(ending)).toEqual(words && expect.stringContaining(words));
  });

  it('shows where a redirect pointed: redacted, printable and short', () => {
    const redirect = { phase: 'body', status: 302 } as const;
    expect(told(redirect, 'https://www.shop.example/cb?secret=s')).toContain(
      'pointing to https://www.shop.example/cb?…;',
    );
    expect(told(redirect, '//ev\u009b31mil/cb')).toContain('pointing to //ev 31mil/cb;');
    expect(told(redirect, `https://${'x'.repeat(9000)}/`)?.length).toBeLessThan(300);
  });
});

test('a redirect shows no secret of the URL, in whatever part of its Location', () => {
  const url = 'https://shop.example/hook?secret=velvetotterladder&key=tulip';
  for (const location of [
    'https://velvetotterladder.log.example/cb',
    'https://tulip.log.example/cb',
    'https://shop.example/velvetotterladder/cb',
    '/tulip/cb?key=tulip',
    'https://user:velvetotterladder@shop.example/cb',
  ]) {
    const ending = { phase: 'body', status: 302 } as const;
    const outcome = outcomeOf(ending);
    const secrets = () => secretsOf(url);
    const reason = reasonFor({ ...ending, outcome, host: 'shop.example', location, secrets });
    expect(reason).toContain('/cb');
    expect(reason).not.toMatch(/tulip|velvet/);
  }
});

describe('an excerpt', () => {
  it('leaves out the half of a character at its end', () => {
    expect(excerpt(new TextEncoder().encode(`x${'é'.repeat(600)}`))).toBe(`x${'é'.repeat(511)}`);
  });

  it('replaces what is not UTF-8', () => {
    expect(excerpt(Uint8Array.of(0x61, 0xff, 0x62))).toBe('a\ufffdb');
  });
});

describe('what an answer echoes of the callback URL', () => {
  const url = 'https://shop.example/hook/s3cr3tPath99/cb?secret=gar%64en%20gate&id=7';

  it('is redacted, raw and decoded', () => {
    const echo = `GET ${url}&status=0: wrong secret "garden gate" for s3cr3tPath99, id 7`;
    const shown = excerpt(new TextEncoder().encode(echo), () => secretsOf(url));
    expect(shown).toBe(
      'GET https://shop.example/hook/…/cb?…&status=0: wrong secret "…" for …, id 7',
    );
  });

  it.each([
    'https://shop.example/wc-api/WC_Gateway_Blockonomics/?secret=tulips',
    'https://shop.example/?wc-api=WC_Gateway_Blockonomics&secret=tulips',
    'https://shop.example/?edd-listener=blockonomics&secret=tulips',
  ])('is no name of a plugin, which its answers have: %s', (named) => {
    const echo = 'Error: Blockonomics order not found for tulips';
    const shown = excerpt(new TextEncoder().encode(echo), () => secretsOf(named));
    expect(shown).toBe('Error: Blockonomics order not found for …');
  });

  it('is redacted before the text is cut', () => {
    const long = `${'x'.repeat(1018)}gar%64en%20gate`;
    expect(excerpt(new TextEncoder().encode(long), () => secretsOf(url))).toMatch(/^x+…$/);
  });

  it('is redacted whole if a shorter secret is its beginning', () => {
    const longer = 'https://shop.example/?user=shop&pass=shopkeeper';
    const shown = excerpt(new TextEncoder().encode('who is shopkeeper at shop?'), () =>
      secretsOf(longer),
    );
    expect(shown).toBe('who is … at …?');
  });

  it('has at least four letters', () => {
    expect(secretsOf('https://shop.example/?pin=1234&day=123')).toEqual([
      'pin=1234&day=123',
      '1234',
    ]);
    const echo = (text: string) =>
      excerpt(new TextEncoder().encode(text), () => secretsOf('https://shop.example/?pin=1234'));
    expect([echo('1234'), echo(' 123 ')]).toEqual(['…', '123']);
  });

  it('is not part of the host, but may be an address in the path', () => {
    const host = 's3cr3tHost9999.shop.example';
    expect(secretsOf(`https://${host}/cb`)).toEqual([]);
    expect(secretsOf('https://shop.example/to/http://s3cr3tPath99/cb')).toContain('s3cr3tPath99');
  });

  it('is nothing for a URL without secrets', () => {
    expect(secretsOf('https://shop.example/callback')).toEqual([]);
    expect(secretsOf('https://shop.example')).toEqual([]);
    expect(secretsOf('https://shop.example/?a=b%zz-wxyz')).toContain('b%zz-wxyz');
  });
});
