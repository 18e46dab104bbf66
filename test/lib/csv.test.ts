// Rows of CSV: no text of a stranger becomes a formula, whatever the spreadsheet splits cells at.

import { expect, test } from 'vitest';
import { csvDecimal, csvRow, csvSeparators } from '../../src/lib/csv.ts';

test('a line of a text is no formula', () => {
  // A spreadsheet that splits at `;` ignores these quotes, and begins a row at each line.
  expect(csvRow([1, 'a gift\n=HYPERLINK(A1)\r\n@b'])).toBe(
    '1,"a gift\n\'=HYPERLINK(A1)\r\n\'@b"\r\n',
  );
  expect(csvRow(['two\r\n\r\nplain lines', 'a-b', '=c'])).toBe(
    '"two\r\n\r\nplain lines",a-b,\'=c\r\n',
  );
});

test('a carriage return begins a row as a line feed does', () => {
  expect(csvRow(['a\r=1', 'b\r\n=1'])).toBe('"a\r\'=1","b\r\n\'=1"\r\n');
});

test('semicolons separate decimal commas, and quote only what has one', () => {
  const cells = [
    csvDecimal('12.50'),
    csvDecimal(null),
    7,
    null,
    '1.5',
    'a;b',
    'c,d',
    'e"f',
    'g\nh',
  ];
  expect(csvRow(cells, 'semicolon')).toBe('12,50;;7;;1.5;"a;b";c,d;"e""f";"g\nh"\r\n');
  expect(csvRow(cells, 'comma')).toBe('12.50,,7,,1.5,a;b,"c,d","e""f","g\nh"\r\n');
  expect(csvRow(cells)).toBe(csvRow(cells, 'comma'));
});

test.each([
  ['comma', 'a,=1', '"a,=1"'],
  ['comma', 'a;=1', "a;'=1"],
  ['semicolon', 'a,=1', "a,'=1"],
  ['semicolon', 'a;=1', '"a;=1"'],
] as const)('with %s, %s begins no formula at another separator', (separator, text, cell) => {
  expect(csvRow([text], separator)).toBe(`${cell}\r\n`);
});

test.each(csvSeparators)('with %s, a formula gets an apostrophe wherever a cell begins', (name) => {
  for (const sign of '=+-@＝＋－＠') {
    for (const before of ['', '"', ' \n', "'", 'x\t', 'x|', 'x| "', 'x\n', 'x\r', 'x\r\n ']) {
      const [cell = ''] = csvRow([`${before}${sign}1`], name).split('\u0000');
      expect([before, cell.replaceAll('""', '"')]).toEqual([
        before,
        expect.stringMatching(/(?:^|[\t|\r\n])"?'/),
      ]);
    }
  }
  expect(csvRow(['a-b', '1+1', '\t', '\r'], name)).toBe(
    `${['a-b', '1+1', "'\t", '"\'\r"'].join(name === 'comma' ? ',' : ';')}\r\n`,
  );
});
