// `npm run test:faults`: what takes too long for each `npm test`, and belongs to the gate.

import { defineConfig } from 'vitest/config';

const all = process.env.PAYGATE_FAULTS_ALL !== undefined;

export default defineConfig({
  test: {
    include: ['test/faults/*.faults.ts'],
    testTimeout: all ? 14_400_000 : 540_000,
    // Executables are made before some: half a minute on an idle machine.
    hookTimeout: 540_000,
    maxWorkers: 2,
  },
});
