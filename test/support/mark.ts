// The position file of a high-water mark, for tests of its state after a crash or a copy.

import { renameSync } from 'node:fs';
import { markPath } from '../../src/store/mark/high-water-mark.ts';
import { positionsBeside } from '../../src/store/mark/mark-position.ts';

/** As if the process had died between the sync of its last raise and the rename that follows it. */
export function withoutLastPosition(database: string): void {
  const mark = markPath(database);
  for (const { path } of positionsBeside(mark)) renameSync(path, `${mark}-at-0`);
}
