// The rows that benches give, and how they are printed.

/**
 * @typedef {object} Beside something else worth a look, measured in the same rounds
 * @property {string} name
 * @property {number} value
 * @property {number} ratio ours : this
 *
 * @typedef {object} Row
 * @property {string} name
 * @property {'/s' | 'ms'} unit of `ours`, `floor` and `beside`: a rate, or a time
 * @property {number} ours median
 * @property {number} floor median
 * @property {number} ratio ours : floor, of pairs
 * @property {number} pairs
 * @property {Beside[]} [beside]
 * @property {{ p50: number, p99: number }} [latencyMs] of single requests
 * @property {string[]} notes what is measured against what
 *
 * @typedef {object} Machine
 * @property {number} cores
 * @property {string} cpu
 * @property {string} node
 * @property {string} folder
 * @property {string} fileSystem
 */

const HEAD = ['name', 'ours', 'floor', 'ratio', 'beside it', '', 'ratio', 'p50', 'p99'];
/** The columns that hold words; the others hold numbers. */
const WORDS = new Set([0, 5]);

/**
 * @param {Machine} machine
 * @param {readonly Row[]} rows
 */
export function asJson(machine, rows) {
  return `${JSON.stringify({ machine, rows }, null, 2)}\n`;
}

/**
 * @param {Machine} machine
 * @param {readonly Row[]} rows
 */
export function asText({ cores, cpu, node, folder, fileSystem }, rows) {
  const lines = [HEAD, ...rows.flatMap(cellsOf)];
  const widths = HEAD.map((_, column) =>
    Math.max(...lines.map((cells) => (cells[column] ?? '').length)),
  );
  const table = lines.map((cells) =>
    widths
      .map((width, column) => {
        const cell = cells[column] ?? '';
        return WORDS.has(column) ? cell.padEnd(width) : cell.padStart(width);
      })
      .join('  ')
      .trimEnd(),
  );
  const notes = rows.flatMap(({ name, notes }) => notes.map((note) => `${name}: ${note}`));
  return `${[
    `${cores} cores (${cpu}), Node ${node}, databases on ${fileSystem} (${folder})`,
    '',
    ...table,
    '',
    'Medians; ratio = ours : the other, the median of pairs (of rates more is better, of times less).',
    ...notes,
  ].join('\n')}\n`;
}

/**
 * One line, and one more for each further thing beside it.
 * @param {Row} row
 * @returns {string[][]}
 */
function cellsOf({ name, unit, ours, floor, ratio, beside = [], latencyMs }) {
  const [first, ...more] = beside.map((each) => [
    show(each.value, unit),
    each.name,
    each.ratio.toFixed(2),
  ]);
  const latency = latencyMs ? [show(latencyMs.p50, 'ms'), show(latencyMs.p99, 'ms')] : [];
  return [
    [
      name,
      show(ours, unit),
      show(floor, unit),
      ratio.toFixed(2),
      ...(first ?? ['', '', '']),
      ...latency,
    ],
    ...more.map((cells) => ['', '', '', '', ...cells]),
  ];
}

/**
 * @param {number} value
 * @param {Row['unit']} unit
 */
function show(value, unit) {
  const digits = value < 100 ? 1 : 0;
  const number = value.toLocaleString('en', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
  return unit === '/s' ? `${number}/s` : `${number} ms`;
}
