// Backups of home servers copy files of a running paygate: the database alone, with its WAL,
// without hidden files, or the whole folder. Each is restored on a new machine, and over the newer
// files. No address is issued twice.

import { cpSync, mkdirSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { minSkip } from '../../../src/domain/store/allocation.ts';
import { cleanUp, tempFolder } from '../../support/files.ts';
import { run, startCopy, stoppedAfter } from '../../support/running.ts';

afterEach(cleanUp);

/** Which entries of the data folder a backup has. */
const copies: Readonly<Record<string, (name: string) => boolean>> = {
  'paygate.db alone': (name) => name === 'paygate.db',
  'paygate.db and its WAL': (name) => /^paygate\.db(-wal)?$/.test(name),
  'everything but hidden files': (name) => !name.startsWith('.'),
  'the whole folder': () => true,
};

function copyOf(folder: string, isIncluded: (name: string) => boolean): string {
  const saved = join(tempFolder(), 'saved');
  mkdirSync(saved);
  for (const name of readdirSync(folder).filter(isIncluded)) {
    cpSync(join(folder, name), join(saved, name), { recursive: true, preserveTimestamps: true });
  }
  return saved;
}

/** A shop that stopped some addresses after its folder was copied. */
async function savedShop(isIncluded: ((name: string) => boolean)[]) {
  const path = await stoppedAfter(3);
  const paygate = await run(path);
  await paygate.issue(2);
  const saved = isIncluded.map((each) => copyOf(dirname(path), each));
  const since = await paygate.issue(minSkip - 10);
  await paygate.stop();
  return { folder: dirname(path), saved, last: Math.max(...since) };
}

async function expectNoRepeat(folder: string, last: number): Promise<void> {
  const { next = 0 } = await startCopy(join(folder, 'paygate.db'));
  expect(next).toBeGreaterThan(last);
}

it('on a new machine, each of them', async () => {
  const { saved, last } = await savedShop(Object.values(copies));
  for (const folder of saved) await expectNoRepeat(folder, last);
});

it.each(Object.entries(copies))('over the newer files: %s', async (_what, isIncluded) => {
  const { folder, saved, last } = await savedShop([isIncluded]);
  cpSync(saved[0] ?? '', folder, { recursive: true, preserveTimestamps: true });
  await expectNoRepeat(folder, last);
});
