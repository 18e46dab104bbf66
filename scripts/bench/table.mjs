// The rows that benches give, and how they are printed: a table of text, JSON, or the table of
// docs/benchmarks.md.

/**
 * @typedef {object} Beside something else worth a look, measured in the same rounds
 * @property {string} name
 * @property {number} value
 * @property {number} ratio ours : this
 *
 * @typedef {object} Target what the row is held to
 * @property {string} text such as '≥ 0.65 of constant JSON'
 * @property {boolean} met
 *
 * @typedef {'/s' | 'ms' | 'MiB' | 'fsyncs'} Unit
 *
 * @typedef {object} Row
 * @property {string} name
 * @property {Unit} unit of `ours`, `floor`, `peer` and `beside`: a rate, a time, or an amount
 * @property {number} ours median
 * @property {number} [floor] median of what hardware, SQLite or a library costs alone
 * @property {number} [ratio] ours : floor, of pairs
 * @property {number} pairs
 * @property {Beside} [peer] Electrum's merchant daemon on the same node and Electrum server
 * @property {Beside[]} [beside]
 * @property {{ p50: number, p99: number }} [latencyMs] of single requests
 * @property {number} [memoryMib] resident, of paygate alone, at its highest
 * @property {Target[]} [targets]
 * @property {string[]} notes what is measured against what
 *
 * @typedef {object} Machine
 * @property {number} cores
 * @property {string} cpu
 * @property {string} node
 * @property {string} folder
 * @property {string} fileSystem
 */

const HEAD = ['name', 'ours', 'floor', 'ratio', 'peer', 'ratio', 'p50', 'p99', 'memory', 'target'];
/** The columns that hold words; the others hold numbers. */
const WORDS = new Set([0, 9]);
const EXPLANATION =
  'Medians; ratio = ours : the other, the median of pairs (of rates more is better, of times less).';

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
export function asText(machine, rows) {
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
  const place = `${describeMachine(machine)} (${machine.folder})`;
  return `${[place, '', ...table, '', EXPLANATION, ...notesOf(rows)].join('\n')}\n`;
}

/**
 * @param {Machine} machine
 * @param {readonly Row[]} rows
 */
export function asMarkdown(machine, rows) {
  const align = HEAD.map((_, column) => (WORDS.has(column) ? '---' : '---:'));
  const table = [HEAD, align, ...rows.flatMap(cellsOf)].map(
    (cells) => `| ${HEAD.map((_, column) => cells[column] ?? '').join(' | ')} |`,
  );
  const notes = notesOf(rows).map((note) => `- ${note}`);
  return [describeMachine(machine), '', ...table, '', EXPLANATION, '', ...notes].join('\n');
}

/** @param {Machine} machine */
function describeMachine({ cores, cpu, node, fileSystem }) {
  return `${cores} cores (${cpu}), Node ${node}, databases on ${fileSystem}`;
}

/** @param {readonly Row[]} rows */
function notesOf(rows) {
  return rows.flatMap(({ name, notes }) => notes.map((note) => `${name}: ${note}`));
}

/**
 * What a row comes to, while the others are still measured.
 * @param {Row} row
 */
export const inShort = (row) =>
  cellsOf(row)
    .map((cells) => cells.filter((cell) => cell !== '').join(' '))
    .join('; ');

/**
 * One line, and one more for each further thing beside it and each further target.
 * @param {Row} row
 * @returns {string[][]}
 */
function cellsOf(row) {
  const { name, unit, ours, floor, ratio, peer, latencyMs, memoryMib } = row;
  const { beside = [], targets = [] } = row;
  const [target, ...moreTargets] = targets.map(
    ({ text, met }) => `${text}: ${met ? 'met' : 'MISSED'}`,
  );
  const first = [
    name,
    show(ours, unit),
    floor === undefined ? '' : show(floor, unit),
    ratio?.toFixed(2) ?? '',
    peer ? show(peer.value, unit) : '',
    peer?.ratio.toFixed(2) ?? '',
    ...(latencyMs ? [show(latencyMs.p50, 'ms'), show(latencyMs.p99, 'ms')] : ['', '']),
    memoryMib === undefined ? '' : show(memoryMib, 'MiB'),
    target ?? '',
  ];
  const more = beside.map((each) => [
    `  ${each.name}`,
    '',
    show(each.value, unit),
    each.ratio.toFixed(2),
  ]);
  return [first, ...more, ...moreTargets.map((text) => [...Array(HEAD.length - 1).fill(''), text])];
}

/**
 * @param {number} value
 * @param {Unit} unit
 */
function show(value, unit) {
  const digits = value < 10 ? 2 : value < 100 ? 1 : 0;
  const number = value.toLocaleString('en', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
  return unit === '/s' ? `${number}/s` : `${number} ${unit}`;
}
