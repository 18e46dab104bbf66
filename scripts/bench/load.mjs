// A shop that asks as fast as it is answered: so many keep-alive connections, one request at a time on
// each, for so long. Any answer but 200 ends the run with an error.

import { Pool } from 'undici';

/** Requests before the clock runs: connections are made, what was derived ahead is used up. */
const LEAD_IN = 64;

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
 * @returns {Promise<Load>}
 */
export async function load({ origin, path, apiKey, connections }, seconds) {
  const pool = new Pool(origin, { connections, pipelining: 1 });
  const headers = { authorization: `Bearer ${apiKey}` };
  /** @type {number[]} */
  const latenciesMs = [];
  /** @type {any[]} */
  const answers = [];

  async function ask() {
    const { statusCode, body } = await pool.request({ path, method: 'GET', headers });
    const text = await body.text();
    if (statusCode !== 200) throw new Error(`${path} answered ${statusCode}: ${text}`);
    return /^[{[]/.test(text) ? JSON.parse(text) : text;
  }

  /** @param {number} until */
  async function askUntil(until) {
    let now = performance.now();
    while (now < until) {
      answers.push(await ask());
      const answeredAt = performance.now();
      latenciesMs.push(answeredAt - now);
      now = answeredAt;
    }
  }

  async function leadIn() {
    for (let asked = 0; asked < LEAD_IN / connections; asked += 1) await ask();
  }

  try {
    await Promise.all(Array.from({ length: connections }, leadIn));
    const start = performance.now();
    const until = start + seconds * 1000;
    await Promise.all(Array.from({ length: connections }, () => askUntil(until)));
    return {
      rate: (answers.length * 1000) / (performance.now() - start),
      latenciesMs,
      answers,
    };
  } finally {
    await pool.close();
  }
}
