// `npm run test:faults`: what takes too long for each `npm test`, and belongs to the gate.

import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: { include: ['test/faults/*.faults.ts'], testTimeout: 540_000, hookTimeout: 60_000 },
});
