// Addresses that are requested one after another, and a kill or a copy in between. No address is
// issued twice, and a kill skips none that was not written.

import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { markPath } from '../../../src/store/mark/high-water-mark.ts';
import { positionsBeside } from '../../../src/store/mark/mark-position.ts';
import { cleanUp } from '../../support/files.ts';
import { goOn, run, stoppedAfter } from '../../support/running.ts';

afterEach(cleanUp);

/** @returns puts files as they are now back, each in the same inode */
function contentNow(...paths: string[]): () => void {
  const contents = paths.map((path) => (existsSync(path) ? readFileSync(path) : undefined));
  return () => {
    for (const [place, path] of paths.entries()) {
      const content = contents[place];
      if (content === undefined) rmSync(path, { force: true });
      else writeFileSync(path, content);
    }
  };
}

/** @returns puts the database as it is now back */
const databaseNow = (path: string): (() => void) =>
  contentNow(path, ...['-wal', '-shm'].map((end) => `${path}${end}`));

/** @returns puts the database and its mark file back, as a kill leaves them now */
function filesNow(path: string): () => void {
  const mark = markPath(path);
  const back = [databaseNow(path), contentNow(mark)];
  const [before] = positionsBeside(mark);
  return () => {
    for (const each of back) each();
    const [now] = positionsBeside(mark);
    if (before && now) renameSync(now.path, before.path);
  };
}

describe('a rush', () => {
  it('that is killed after an answer skips nothing', async () => {
    const path = await stoppedAfter(0);
    let last = -1;
    for (let count = 5; count < 9; count += 1) {
      const paygate = await run(path);
      const issued = await paygate.issue(count);
      const [first] = issued;
      expect(first).toBe(last + 1);
      expect(paygate.warnings).toEqual([]);
      last = Math.max(...issued);
      const putBack = filesNow(path);
      await paygate.stop();
      putBack();
    }
    expect(await goOn(path, 1)).toEqual([last + 1]);
  });

  it('whose database is set back in place to a moment of it repeats nothing', async () => {
    const path = await stoppedAfter(0);
    const paygate = await run(path);
    await paygate.issue(5);
    const older = databaseNow(path);
    const issued = await paygate.issue(9);
    const newer = filesNow(path);
    await paygate.stop();
    newer();
    older();
    const last = Math.max(...issued);
    const again = await run(path);
    expect((await again.issue(1))[0]).toBeGreaterThan(last);
  });
});
