import { describe, expect, it } from 'vitest';
import { excerpt, reasonFor } from '../../../src/delivery/reason.ts';
import { classify, deadlineFault, type Ending } from '../../../src/domain/retry.ts';

const told = (ending: Ending, location?: string) =>
  reasonFor({ ...ending, outcome: classify(ending), host: 'shop.example', location });

describe('a reason', () => {
  it.each([
    [{ phase: 'body', status: 200 }, null],
    [{ phase: 'resolve', fault: 'EAI_AGAIN' }, 'could not be resolved: the name server does not'],
    [{ phase: 'connect', fault: 'EHOSTUNREACH' }, 'could not be reached: there is no way'],
    [{ phase: 'connect', fault: 'EWHATEVER' }, 'could not be reached: EWHATEVER'],
    [{ phase: 'connect', fault: 'CERT_HAS_EXPIRED' }, 'its certificate has expired'],
    [{ phase: 'connect', fault: 'UND_ERR_CONNECT_TIMEOUT' }, 'waited in vain for a connection'],
    [{ phase: 'response', fault: deadlineFault }, 'waited in vain for an answer'],
    [{ phase: 'response', fault: 'UND_ERR_SOCKET' }, 'closed the connection without an answer'],
    [{ phase: 'body', status: 201 }, 'answered 201; only 200 counts'],
    [{ phase: 'body', status: 301 }, 'answered 301, pointing to nowhere'],
    [{ phase: 'body', status: 200, fault: 'ECONNRESET' }, 'broke off before the end'],
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

describe('an excerpt', () => {
  it('leaves out the half of a character at its end', () => {
    expect(excerpt(new TextEncoder().encode(`x${'é'.repeat(600)}`))).toBe(`x${'é'.repeat(511)}`);
  });

  it('replaces what is not UTF-8', () => {
    expect(excerpt(Uint8Array.of(0x61, 0xff, 0x62))).toBe('a\ufffdb');
  });
});
