// The configuration of the end-to-end tests: real servers, real time, one file after another,
// because they share one chain. Started by scripts/e2e.ts, never by `npm test`.

import { defineConfig } from 'vitest/config';
import { waitLimit } from './slowness.ts';

export default defineConfig({
  test: {
    include: ['test/e2e/*.e2e.ts'],
    globalSetup: ['test/support/bundle-folder.ts'],
    fileParallelism: false,
    testTimeout: waitLimit(120_000),
    hookTimeout: waitLimit(120_000),
    // Tests wait for conditions; this only ends the wait for a condition that never holds.
    expect: { poll: { interval: 30, timeout: waitLimit(30_000) } },
    reporters: ['verbose', ['json', { outputFile: process.env.PAYGATE_E2E_RESULT ?? '' }]],
  },
});
