// The finder of forbidden language: what it finds, what it leaves alone, and in which line.

import { expect, test } from 'vitest';
import { commentProse, markdownProse, proseFindings } from './prose.ts';

test('a page of Markdown is paragraphs, items, headings and cells, without its code', () => {
  const page = [
    '# Title',
    'One\ntwo.',
    '',
    '- item\n  goes on',
    '| a | `b\\|c` |\n| --- | --- |',
    '```sh\nkept\n```',
  ].join('\n');
  expect(markdownProse(page)).toEqual([
    { line: 1, text: 'Title' },
    { line: 2, text: 'One\ntwo.' },
    { line: 5, text: 'item\ngoes on' },
    { line: 7, text: 'a' },
    { line: 7, text: '`b\\|c`' },
  ]);
});

test('consecutive comments are one block; code and strings are no prose', () => {
  const source = `// Opens.
// Goes on.

/**
 * Returns it.
 */
const url = 'https://example.com'; // Trails.
/** One line. */
`;
  expect(commentProse(source)).toEqual([
    { line: 1, text: 'Opens.\nGoes on.' },
    { line: 4, text: '\nReturns it.' },
    { line: 7, text: 'Trails.' },
    { line: 8, text: 'One line.' },
  ]);
});

test.each([
  ['Of two servers one answers.', '1: begins with "Of"'],
  ['It stops.\nWhere it stops, it waits.', '2: begins with "Where"'],
  ['| a |\n| so a reader waits |', '2: begins with "so a"'],
  ['The shop is told.', '1: "told" (write: request, response, notification)'],
  ['It skips behind\nthe mark.', '1: "the mark" (write: high-water mark, mark file)'],
  [`${'word\n'.repeat(26)}.`, '1: 26 words in one sentence'],
  [`${'longword '.repeat(11)}.\nShort. ${'x'.repeat(100)}`, '2: 107 columns'],
])('in %j it finds %j', (text, finding) => {
  expect(proseFindings('page.md', text)).toEqual([finding]);
});

test.each([
  '`paygate mark` answers "nobody was told".',
  'The high-water mark and the mark file lie beside the database.',
  'A node, of which there are two. It knows where.',
  `[docs](${'long/'.repeat(30)}) have it.`,
  `| ${'cell '.repeat(24)} |`,
])('in %j it finds nothing', (text) => {
  expect(proseFindings('page.md', text)).toEqual([]);
});

test('a noun can be allowed by file, and a file header has a maximum length', () => {
  expect(proseFindings('page.md', 'It is kept.', ['kept'])).toEqual([]);
  expect(proseFindings('a.ts', '// One.\n'.repeat(6))).toEqual(['1: a header of 6 lines']);
  expect(proseFindings('a.ts', `// ${'wide '.repeat(20)}`)).toEqual(['1: 103 columns']);
});
