// A shop that asks as fast as it is answered: so many keep-alive connections, one request at a time on
// each, for so long or so often. Any answer but 200 ends the run with an error.

import { openLine } from './line.mjs';

/** Requests before the clock runs: connections are made. */
export const LEAD_IN = 64;

/**
 * @typedef {object} Target
 * @property {string} origin
 * @property {string} path
 * @property {string} apiKey
 * @property {number} connections
 *
 * @typedef {object} Load
 * @property {number} rate answers a second
 * @property {number[]} latenciesMs of each request, from its writing to the end of its answer
 * @property {any[]} answers
 */

/**
 * @param {Target} target
 * @param {number} seconds
 * @param {number} [leadIn] requests before the clock runs
 * @returns {Promise<Load>}
 */
export function load(target, seconds, leadIn = LEAD_IN) {
  let until = 0;
  return run(target, leadIn, () => {
    until ||= performance.now() + seconds * 1000;
    return performance.now() < until;
  });
}

/**
 * The same, so many requests instead of so long.
 * @param {Target} target
 * @param {number} count
 * @param {number} [leadIn] requests before them
 * @returns {Promise<Load>}
 */
export function burst(target, count, leadIn = LEAD_IN) {
  let left = count;
  return run(target, leadIn, () => {
    left -= 1;
    return left >= 0;
  });
}

/**
 * @param {Target} target
 * @param {number} leadIn
 * @param {() => boolean} goesOn asked before each request
 * @returns {Promise<Load>}
 */
async function run({ origin, path, apiKey, connections }, leadIn, goesOn) {
  const request = `GET ${path} HTTP/1.1\r\nhost: ${new URL(origin).host}\r\nauthorization: Bearer ${apiKey}\r\n\r\n`;
  const lines = await Promise.all(Array.from({ length: connections }, () => openLine(origin)));
  /** @type {number[]} */
  const latenciesMs = [];
  /** @type {any[]} */
  const answers = [];

  /** @param {import('./line.mjs').Line} line */
  async function ask(line) {
    const { status, text } = await line.ask(request);
    if (status !== 200) throw new Error(`${path} answered ${status}: ${text}`);
    return /^[{[]/.test(text) ? JSON.parse(text) : text;
  }

  /** @param {import('./line.mjs').Line} line */
  async function askOn(line) {
    while (goesOn()) {
      const askedAt = performance.now();
      answers.push(await ask(line));
      latenciesMs.push(performance.now() - askedAt);
    }
  }

  /** @param {import('./line.mjs').Line} line */
  async function askFirst(line) {
    for (let asked = 0; asked < leadIn / connections; asked += 1) await ask(line);
  }

  try {
    await Promise.all(lines.map(askFirst));
    const start = performance.now();
    await Promise.all(lines.map(askOn));
    return {
      rate: (answers.length * 1000) / (performance.now() - start),
      latenciesMs,
      answers,
    };
  } finally {
    for (const line of lines) line.end();
  }
}
