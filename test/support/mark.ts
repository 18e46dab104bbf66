// The position file of a mark, for tests that bring about what a crash or a copy leaves of it.

import { renameSync } from 'node:fs';
import { markPath } from '../../src/store/mark/high-water-mark.ts';
import { positionsBeside } from '../../src/store/mark/mark-position.ts';

/** As if the process had died between the sync of its last raise and the rename that follows it. */
export function withoutLastPosition(database: string): void {
  const mark = markPath(database);
  for (const { path } of positionsBeside(mark)) renameSync(path, `${mark}-at-0`);
}
