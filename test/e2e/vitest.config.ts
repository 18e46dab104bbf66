// The end-to-end test's own configuration: real servers, real time, one file after another, because
// they share one chain. Started by scripts/e2e.mjs, never by `npm test`.

import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/e2e/*.e2e.ts'],
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // What is waited for is a condition; this only ends the wait for one that never comes.
    expect: { poll: { interval: 30, timeout: 30_000 } },
    reporters: ['verbose', ['json', { outputFile: process.env.PAYGATE_E2E_RESULT ?? '' }]],
  },
});
