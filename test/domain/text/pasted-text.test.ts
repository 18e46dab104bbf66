import { describe, expect, test } from 'vitest';
import {
  asciiHost,
  pastedAddress,
  trimInvisible,
  withKeyboardSpaces,
  withoutInvisible,
} from '../../../src/domain/text/pasted-text.ts';

/** What comes along when text is copied from a page, a document or a chat. */
const invisibles = [
  ...[' ', '\t', '\n', '\r\n', '\0', '\u00a0', '\u202f', '\u2009', '\u3000', '\u2028'],
  ...['\u200b', '\u200c', '\u200d', '\u2060', '\ufeff', '\u00ad', '\u061c', '\u180e', '\u2800'],
  ...['\u200e', '\u200f', '\u202a', '\u202e', '\u2066', '\u2069', '\u3164', '\ufe0f', '\u{e0020}'],
];

test.each(invisibles)('%j does not show', (character) => {
  const text = `${character}one${character}two${character}`;
  expect(trimInvisible(text)).toBe(`one${character}two`);
  expect(withoutInvisible(text)).toBe('onetwo');
});

test('text of invisible characters alone is empty', () => {
  expect(trimInvisible(invisibles.join(''))).toBe('');
  expect(trimInvisible('')).toBe('');
  expect(withoutInvisible(invisibles.join(''))).toBe('');
});

test('characters that join emoji and letters stay inside of a text', () => {
  expect(trimInvisible(' 👩‍🌾 می‌روم ')).toBe('👩‍🌾 می‌روم');
});

test('long white space is trimmed at once', () => {
  const blank = ' '.repeat(1_000_000);
  expect(trimInvisible(`a${blank}b${blank}`)).toHaveLength(1_000_002);
});

test.each([
  ['bc1qar0', 'bc1qar0'],
  ['\u2066bc1q\u200bar0\u00a0', 'bc1qar0'],
  ['bitcoin:bc1qar0?amount=1', 'bc1qar0'],
  ['BITCOIN:BC1QAR0', 'BC1QAR0'],
  ['bitcoin://bc1qar0', 'bc1qar0'],
  ['', ''],
])('%j has the address %s', (text, address) => {
  expect(pastedAddress(text)).toBe(address);
});

describe('a password', () => {
  test.each([
    ['abcd\u00a0efgh\u00a0ijkl', 'abcd efgh ijkl'],
    ['\u00a0abcd efgh\u202f', 'abcd efgh'],
    ['ab\u200bcd\ufeff', 'abcd'],
    ['\u200eabcd\u200f', 'abcd'],
    // Spaces of a keyboard may belong to it.
    [' a b ', ' a b '],
    ['\u3000a\u2003b', 'a b'],
    ['pä55wörd', 'pä55wörd'],
  ])('%j is %j', (text, password) => {
    expect(withKeyboardSpaces(text)).toBe(password);
  });
});

describe('a host name', () => {
  test.each([
    ['müller.example', 'xn--mller-kva.example'],
    // With the umlaut as a letter and a diacritic.
    ['mu\u0308ller.example', 'xn--mller-kva.example'],
    ['MÜLLER.Example', 'xn--mller-kva.example'],
    ['straße.example', 'xn--strae-oqa.example'],
    ['例え.テスト', 'xn--r8jz45g.xn--zckzah'],
    ['例え。テスト', 'xn--r8jz45g.xn--zckzah'],
    ['مثال.إختبار', 'xn--mgbh0fb.xn--kgbechtv'],
  ])('%s is %s', (name, ascii) => {
    expect(asciiHost(name)).toBe(ascii);
  });

  test.each([
    ...['Mail.Example.com', 'xn--mller-kva.example', '127.1', '0x7f.1', '::1', '', 'a b'],
    ...['müller.example:25', 'müller.example/x', 'x@müller.example', 'müller example', 'ü%41'],
    ...['xn--ü.example', '-ü-.example\u200b'],
  ])('%j stays as it is', (name) => {
    expect(asciiHost(name)).toBe(name);
  });
});
