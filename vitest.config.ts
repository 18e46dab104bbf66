import { defineConfig } from 'vitest/config';
import { skippedReporter } from './test/support/chromium.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // `npm run test:slow` runs them.
    exclude: ['test/**/*.slow.test.ts'],
    globalSetup: ['test/support/bundle-folder.ts'],
    setupFiles: ['test/support/derived-once.ts'],
    reporters: ['default', skippedReporter],
    // A unit test is never held to a time; this only ends a run that hangs.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Two cores are the smallest machine paygate is built for.
    maxWorkers: 2,
    // What a test makes is short-lived: with V8's 16 MB, to collect it is a tenth of all work.
    execArgv: ['--max-semi-space-size=64'],
    // No test leaves a global changed, so files can share a worker.
    isolate: false,
    // Stylesheets are read as text, as the bundle reads them.
    css: true,
  },
});
