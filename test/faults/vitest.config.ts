// The configuration of `npm run test:faults`: tests that take too long for `npm test`.

import { defineConfig } from 'vitest/config';

const all = process.env.PAYGATE_FAULTS_ALL !== undefined;

export default defineConfig({
  test: {
    include: ['test/faults/*.faults.ts'],
    globalSetup: ['test/support/bundle-folder.ts'],
    testTimeout: all ? 14_400_000 : 540_000,
    // Some build an executable first, which takes half a minute on an idle machine.
    hookTimeout: 540_000,
    maxWorkers: 2,
  },
});
