// The Chromium for tests. None is ever downloaded: PAYGATE_CHROMIUM names it, or Debian's is used
// if installed. An empty PAYGATE_CHROMIUM means none. Debian's shell is the same Chromium without
// windows, and opens a page in a quarter of the processor time.

import { existsSync } from 'node:fs';
import type { Reporter, TestModule } from 'vitest/node';

const usualPaths = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];
const named = process.env.PAYGATE_CHROMIUM;

/** Undefined where there is none. One that was named must be there: its launch fails otherwise. */
export const chromiumPath: string | undefined = (named ?? usualPaths.find(existsSync)) || undefined;

const reason =
  named === undefined
    ? `there is no ${usualPaths.join(' or ')}, and PAYGATE_CHROMIUM names no other`
    : 'PAYGATE_CHROMIUM is empty';

/** Ends a run without a browser with one line: how many tests were skipped for that, and why. */
export const skippedReporter: Reporter = {
  onTestRunEnd(modules) {
    const count = modules.reduce((sum, each) => sum + skippedIn(each), 0);
    if (chromiumPath !== undefined || count === 0) return;
    process.stdout.write(`test/browser: ${count} tests skipped, for ${reason}\n`);
  },
};

function skippedIn({ relativeModuleId, children }: TestModule): number {
  if (!relativeModuleId.startsWith('test/browser/')) return 0;
  return [...children.allTests('skipped')].length;
}
