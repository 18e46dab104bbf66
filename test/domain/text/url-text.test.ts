import { describe, expect, it } from 'vitest';
import { checkCallbackUrl } from '../../../src/domain/delivery/callback.ts';
import {
  copyError,
  decodeBars,
  parseCallbackUrl,
  trimUrl,
} from '../../../src/domain/text/url-text.ts';

const url = 'https://shop.example/?wc-api=WC_Gateway&secret=abc';
const strict = { allowPrivateCallback: false, allowHttpCallback: false };

/** Characters that are copied with a URL from a mail, a chat, a PDF or a page. */
const invisible = [
  ...[' ', '\t', '\n', '\r', '\r\n', '\v', '\f', '\0', '\x1b', '\x7f', '\x85'],
  ...['\u00a0', '\u1680', '\u2000', '\u2003', '\u2009', '\u200a', '\u2028', '\u2029', '\u202f'],
  ...['\u205f', '\u3000', '\u00ad', '\u034f', '\u061c', '\u115f', '\u17b4', '\u180e', '\u200b'],
  ...['\u200c', '\u200d', '\u200e', '\u200f', '\u202a', '\u202c', '\u202e', '\u2060', '\u2062'],
  ...['\u2066', '\u2069', '\u206a', '\u2800', '\u3164', '\ufe0f', '\ufeff', '\uffa0', '\u{e0001}'],
].map(
  (text) => [text, [...text].map((each) => each.codePointAt(0)?.toString(16)).join(' ')] as const,
);

describe('an invisible character', () => {
  it.each(invisible)('is removed around a URL: %#, U+%s', (text) => {
    expect(trimUrl(url + text)).toBe(url);
    expect(trimUrl(text + url)).toBe(url);
    expect(trimUrl(`${text} ${url}\n${text}`)).toBe(url);
  });

  it.each(invisible)('P-05 is named inside a URL, and never encoded: %#, U+%s', (text) => {
    for (const broken of [`${url}${text}x`, `${url}${text}`, `${text}${url}`]) {
      const fault = copyError(broken) ?? '';
      expect(fault).toMatch(/\(U\+[0-9A-F]{4,5}\)/);
      expect(fault).not.toMatch(/%|abc|shop\.example/);
      expect(() => checkCallbackUrl(broken, strict)).toThrow(`the callback URL ${fault}`);
    }
  });

  it('is reported with its position', () => {
    expect(copyError('https://shop.example/\u200bcb')).toBe(
      'has a zero-width space (U+200B) at character 22, which came along when it was copied: take it out',
    );
    expect(copyError(`${url}\u00a0`)).toMatch(/^ends with a no-break space \(U\+00A0\), which/);
    expect(copyError(`\ufeff${url}`)).toMatch(/^begins with a byte order mark \(U\+FEFF\), which/);
    expect(copyError(`\u{1f600}\u00ad`)).toMatch(/^ends with a soft hyphen/);
    expect(copyError(' \n')).toBe('is only a space (U+0020)');
  });
});

describe('quotation marks', () => {
  const pairs = [
    '""',
    "''",
    '``',
    '<>',
    '()',
    '[]',
    '{}',
    '“”',
    '„“',
    '«»',
    '»«',
    '‘’',
    '‹›',
    '「」',
  ];

  it.each(pairs)('are removed around a URL: %s', (pair) => {
    const [opens, closes] = pair;
    expect(trimUrl(`${opens}${url}${closes}`)).toBe(url);
    expect(trimUrl(`\u200b${opens} ${url}\n${closes} `)).toBe(url);
    expect(trimUrl(`${opens}${opens}${url}${closes}${closes}`)).toBe(url);
    expect(copyError(`${opens}${url}${closes}`)).toMatch(/^begins with .: leave the quotation/);
  });

  it.each(['"', '>', '`', '”', '»', '’', '}', ']'])(
    'are reported if one is unmatched: %s',
    (mark) => {
      expect(trimUrl(url + mark)).toBe(url + mark);
      expect(copyError(url + mark)).toBe(`ends with ${mark}: leave the quotation mark out`);
      expect(() => checkCallbackUrl(url + mark, strict)).toThrow('leave the quotation mark out');
    },
  );

  it.each(['https://shop.example/(a)', "https://shop.example/?it's'", 'https://shop.example/?a[]'])(
    'that a URL may contain stay: %s',
    (kept) => {
      expect([trimUrl(kept), copyError(kept)]).toEqual([kept, undefined]);
      expect(() => checkCallbackUrl(kept, strict)).not.toThrow();
    },
  );
});

describe('an escape of a page or a program', () => {
  it.each([
    ['&amp;', '&'],
    ['&AMP;', '&'],
    ['&#38;', '&'],
    ['&#038;', '&'],
    ['&#x26;', '&'],
    ['&#X0026;', '&'],
    ['&amp;amp;', '&'],
    ['&#x3D;', '='],
    ['&#47;', '/'],
    ['\\u0026', '&'],
    ['\\/', '/'],
    ['\\&', '&'],
  ])('is refused, and the decoded URL is proposed: %s', (text, meant) => {
    const at = 'https://shop.example/?wc-api=WC_Gateway'.length + 1;
    const given = `https://shop.example/?wc-api=WC_Gateway${text}secret=abc`;
    expect(trimUrl(given)).toBe(given);
    const proposed = `https://shop.example/?wc-api=WC_Gateway${meant}secret=abc`;
    const fault = new RegExp(
      ` at character ${at}, .* write it as ${proposed.replace('?', '\\?')}$`,
    );
    expect(() => checkCallbackUrl(given, strict)).toThrow(fault);
  });

  it('is decoded everywhere at once', () => {
    expect(copyError('https:\\/\\/shop.example\\/?a=1&amp;b=2&#38;c=3&nbsp;')).toMatch(
      /write it as https:\/\/shop\.example\/\?a=1&b=2&c=3$/,
    );
    expect(copyError(`${'&amp;'.repeat(2)}#`)).toMatch(/write it as &&#$/);
  });

  it.each(['&quot;', '&rsquo;', '&zwnj;', '&ZeroWidthSpace;', '&shy;', '\\n', '\\r', '\\'])(
    'at the end is omitted from the proposal: %s',
    (text) => {
      const url = 'https://shop.example/?a=1&secret=abc';
      expect(copyError(url + text)).toMatch(
        / write it as https:\/\/shop\.example\/\?a=1&secret=abc$/,
      );
    },
  );

  it.each([
    'https://shop.example/?a=%26amp;b',
    'https://shop.example/?amp;a=1',
    'https://s.example/?a&ampb=2',
  ])('is not detected in %s', (kept) => expect(copyError(kept)).toBeUndefined());

  it('costs no time, however long', () => {
    const long = `${'&#38;'.repeat(3_000)}${'&amp;'.repeat(3_000)}`;
    expect(copyError(long)).toContain('at character 1,');
    expect(trimUrl(`${'\u200b'.repeat(20_000)}x`)).toBe('x');
    expect(trimUrl('"'.repeat(20_000))).toBe('');
  });
});

describe('a | in a Callback URL', () => {
  const bare = 'https://shop.example/index.php?route=extension/pay/pay|callback&secret=abc';
  const encoded = bare.replace('|', '%7C');

  it.each([bare, encoded, bare.replace('|', '%7c'), ` "${bare}" `])(
    'is saved as %%7C: %s',
    (url) => {
      expect(parseCallbackUrl(url)).toBe(encoded);
      expect(copyError(parseCallbackUrl(url))).toBeUndefined();
    },
  );

  it('is shown to the shop as the shop writes it', () => {
    expect(decodeBars(parseCallbackUrl(bare))).toBe(bare);
    expect(decodeBars('https://shop.example/?a=%7B|%7C')).toBe('https://shop.example/?a=%7B||');
  });

  it('is the only character that is encoded', () => {
    for (const text of ['https://shop.example/?a={b}^é', 'https://shop.example/?a=%7B%7d', '']) {
      expect(parseCallbackUrl(text)).toBe(text);
    }
  });
});

describe('a typographic quote or an ellipsis inside', () => {
  it.each(['“', '’', '«', '＂'])('is named, and not encoded into the secret: %s', (mark) => {
    const url = `https://shop.example/cb?secret=${mark}abc`;
    expect(copyError(url)).toContain(`has ${mark} at character 32: if it came along`);
    expect(copyError(url)).not.toContain('write it as');
  });

  it('that replaces omitted text asks for the whole URL', () => {
    expect(copyError('https://shop.example/cb?…')).toContain('copy the whole of it');
    expect(copyError('https://shop.example/cb?secret=ab…yz')).toContain('copy the whole of it');
  });
});
