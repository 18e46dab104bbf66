// Rows of CSV: no text of a stranger becomes a formula, whatever the spreadsheet splits cells at.

import { expect, test } from 'vitest';
import { csvRow } from '../../src/lib/csv.ts';

test('a line of a text is no formula', () => {
  // A spreadsheet that splits at `;` ignores these quotes, and begins a row at each line.
  expect(csvRow([1, 'a gift\n=HYPERLINK(A1)\r\n@b'])).toBe(
    '1,"a gift\n\'=HYPERLINK(A1)\r\n\'@b"\r\n',
  );
  expect(csvRow(['two\r\n\r\nplain lines', 'a-b', '=c'])).toBe(
    '"two\r\n\r\nplain lines",a-b,\'=c\r\n',
  );
});
