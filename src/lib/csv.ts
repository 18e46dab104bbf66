// Rows of CSV (RFC 4180), or with semicolons and decimal commas, as many spreadsheets read them.
// A text that a spreadsheet would run as a formula gets an apostrophe, because people and plugins
// type names. It also gets one after any separator but that of the file, and after the end of a
// row. A spreadsheet that splits there ignores quotes in the middle of a cell.

/** Without it, Excel reads the file in the machine's code page; programs skip it as utf-8-sig. */
export const byteOrderMark = '\ufeff';

export const csvSeparators = ['comma', 'semicolon'] as const;
export type CsvSeparator = (typeof csvSeparators)[number];

/** A decimal number such as `12.50`. In a text, a point is no decimal point. */
export interface CsvDecimal {
  readonly decimal: string;
}

export type CsvCell = string | number | CsvDecimal | null;

export const csvDecimal = (text: string | null): CsvDecimal | null =>
  text === null ? null : { decimal: text };

interface Separation {
  readonly between: string;
  /** The start of a formula, also for a program that splits at another separator. */
  readonly formulaStart: RegExp;
  readonly quoted: RegExp;
}

const separations: Readonly<Record<CsvSeparator, Separation>> = {
  comma: {
    between: ',',
    formulaStart:
      /(?:^|[;\t|])(?=["'\s]*[=+\-@\t\r＝＋－＠])|(?:\n|\r(?!\n))(?=["'\s]*[=+\-@＝＋－＠])/gu,
    quoted: /[",\r\n]/,
  },
  semicolon: {
    between: ';',
    formulaStart:
      /(?:^|[,\t|])(?=["'\s]*[=+\-@\t\r＝＋－＠])|(?:\n|\r(?!\n))(?=["'\s]*[=+\-@＝＋－＠])/gu,
    quoted: /[";\r\n]/,
  },
};

export const csvRow = (cells: readonly CsvCell[], separator: CsvSeparator = 'comma'): string =>
  `${cells.map((cell) => csvCell(cell, separator)).join(separations[separator].between)}\r\n`;

function csvCell(value: CsvCell, separator: CsvSeparator): string {
  if (value === null || typeof value === 'number') return String(value ?? '');
  if (typeof value === 'object') {
    return separator === 'comma' ? value.decimal : value.decimal.replace('.', ',');
  }
  const { formulaStart, quoted } = separations[separator];
  const escaped = value.replace(formulaStart, "$&'");
  return quoted.test(escaped) ? `"${escaped.replaceAll('"', '""')}"` : escaped;
}
