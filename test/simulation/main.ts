// npm run simulate -- --seed N --steps N [--seeds COUNT] [--verbose] [--log]
// Runs one simulation, or COUNT of them with consecutive seeds. By default the seed comes from the
// clock; it is printed.

import { parseArgs } from 'node:util';
import { reasonOf } from '../../src/lib/errors.ts';
import { simulate } from './simulate.ts';
import { makeTemplate } from './template.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    steps: { type: 'string', default: '40' },
    seeds: { type: 'string', default: '1' },
    /** Prints the steps even if nothing fails. */
    verbose: { type: 'boolean', default: false },
    /** Prints paygate's log with a failure. */
    log: { type: 'boolean', default: false },
  },
});
const first = Number(values.seed ?? Date.now() % 1_000_000_000);
const steps = Number(values.steps);
const count = Number(values.seeds);
const say = (text: string): void => void process.stdout.write(`${text}\n`);

const template = await makeTemplate();
const startedAt = performance.now();
const failed: number[] = [];
for (let seed = first; seed < first + count; seed += 1) {
  try {
    const run = await simulate({ seed, steps, template, withLog: values.log });
    if (values.verbose) say(run.steps.join('\n'));
  } catch (error) {
    failed.push(seed);
    say(`${reasonOf(error)}\n`);
  }
}
template.remove();
const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
say(`${count} seed(s) from ${first} on, ${steps} steps each, ${seconds} s`);
say(failed.length === 0 ? 'every invariant held' : `FAILED: ${failed.join(', ')}`);
process.exitCode = failed.length === 0 ? 0 : 1;
