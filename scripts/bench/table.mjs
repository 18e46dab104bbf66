// The rows that benches return, printed as a table of text or as JSON.

/**
 * @typedef {'/s' | 'ms' | 'KiB' | 'MiB' | '×'} Unit
 *
 * @typedef {object} Row
 * @property {string} name
 * @property {Unit} unit of `figure` and `peer.figure`
 * @property {number} figure a median, unless a detail says otherwise
 * @property {{ name: string, figure: number }} [peer] what the figure is held against
 * @property {number} [ratio] ours to the peer's: the median of pairs
 * @property {string} floor such as '≥ 0.6 of constant JSON'
 * @property {boolean} holds
 * @property {string[]} details
 *
 * @typedef {object} Machine
 * @property {number} cores
 * @property {string} cpu
 * @property {string} node
 * @property {string} fileSystem of the databases
 */

const HEAD = ['row', 'figure', 'peer', 'ratio', 'floor', ''];

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
export function asText({ cores, cpu, node, fileSystem }, rows) {
  const lines = [HEAD, ...rows.map(cellsOf)];
  const widths = HEAD.map((_, column) => Math.max(...lines.map((cells) => widthOf(cells, column))));
  const table = lines.map((cells) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  const details = rows.flatMap(({ name, details }) => details.map((each) => `${name}: ${each}`));
  const machine = `${cores} cores (${cpu}), Node ${node}, databases on ${fileSystem}`;
  return `${[machine, '', ...table, '', ...details].join('\n')}\n`;
}

/** @param {Row} row */
export const asLine = (row) =>
  cellsOf(row)
    .filter((cell) => cell !== '')
    .join('  ');

/**
 * @param {string[]} cells
 * @param {number} column
 */
const widthOf = (cells, column) => cells[column]?.length ?? 0;

/**
 * @param {Row} row
 * @returns {string[]}
 */
function cellsOf({ name, unit, figure, peer, ratio, floor, holds }) {
  return [
    name,
    show(figure, unit),
    peer === undefined ? '' : `${peer.name}: ${show(peer.figure, unit)}`,
    ratio?.toFixed(2) ?? '',
    floor,
    holds ? 'holds' : 'DOES NOT HOLD',
  ];
}

/**
 * @param {number} value
 * @param {Unit} unit
 */
export function show(value, unit) {
  const digits = value < 10 ? 2 : value < 100 ? 1 : 0;
  const number = value.toLocaleString('en', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
  return unit === '/s' ? `${number}/s` : `${number} ${unit}`;
}
