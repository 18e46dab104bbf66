// Tests of short simulations, as many seeds from a first one on. One that fails says how to replay it;
// longer ones: npm run simulate.

import { afterAll, beforeAll, test } from 'vitest';
import { simulate } from './simulate.ts';
import { makeTemplate, type Template } from './template.ts';

const steps = 10;
/** So many in one test, for a report that can be read. */
const batch = 20;

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
