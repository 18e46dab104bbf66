// The folder of the bundles of a run: each program is bundled once, with V8's compile cache beside
// it. `bundleOf` fills it. A watcher's next run bundles again, because sources may have changed.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    readonly bundleFolder: string;
  }
}

export function setup(project: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'paygate-bundles-'));
  project.provide('bundleFolder', folder);
  const clear = () => rmSync(folder, { recursive: true, force: true });
  project.onTestsRerun(async () => {
    clear();
    mkdirSync(folder);
  });
  return clear;
}
