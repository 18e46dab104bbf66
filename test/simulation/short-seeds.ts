// Tests of short simulations, for consecutive seeds. A failure prints the command that replays it.
// Longer runs: npm run simulate.

import { afterAll, beforeAll, test } from 'vitest';
import { simulate } from './simulate.ts';
import { makeTemplate, type Template } from './template.ts';

const steps = 10;
/** Seeds in one test, for a readable report. */
const batch = 10;

export function testSeeds(first: number, count: number): void {
  let template: Template;
  beforeAll(async () => {
    template = await makeTemplate();
  });
  afterAll(() => template.remove());
  for (let from = first; from < first + count; from += batch) {
    test(`every invariant holds for the seeds ${from} to ${from + batch - 1}`, async () => {
      for (let seed = from; seed < from + batch; seed += 1) {
        await simulate({ seed, steps, template });
      }
    });
  }
}
