// Rows of CSV (RFC 4180). A text that a spreadsheet would run as a formula gets an apostrophe,
// because people and plugins type names. It also gets one after `;`, tab, `|` and the end of a row.
// A spreadsheet that splits there ignores quotes in the middle of a cell.

/** Without it, Excel reads the file in the machine's code page; programs skip it as utf-8-sig. */
export const byteOrderMark = '\ufeff';

export type CsvCell = string | number | null;

export const csvRow = (cells: readonly CsvCell[]): string => `${cells.map(csvCell).join(',')}\r\n`;

const formulaStart = /(?:^|[;\t|])(?=["'\s]*[=+\-@\t\r＝＋－＠])|\n(?=["'\s]*[=+\-@＝＋－＠])/gu;

function csvCell(value: CsvCell): string {
  if (value === null || typeof value === 'number') return String(value ?? '');
  const escaped = value.replace(formulaStart, "$&'");
  return /[",\r\n]/.test(escaped) ? `"${escaped.replaceAll('"', '""')}"` : escaped;
}
