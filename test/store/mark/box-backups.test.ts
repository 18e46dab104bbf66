// Backups of home servers copy files of a running paygate: the database alone, with its WAL,
// without hidden files, or the whole folder. Each is restored on a new machine, and over the newer
// files. No address is issued twice.

import { cpSync, mkdirSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { minSkip } from '../../../src/domain/allocation.ts';
import { cleanUp, tempFolder } from '../../support/files.ts';
import { goOn, run, startCopy, stoppedAfter } from '../../support/running.ts';

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

/** How a server puts a backup into a data folder. */
const places: Readonly<Record<string, (saved: string, folder: string) => string>> = {
  'on a new machine': (saved) => saved,
  'over the newer files': (saved, folder) => {
    cpSync(saved, folder, { recursive: true, preserveTimestamps: true });
    return folder;
  },
};

const cases = Object.keys(copies).flatMap((what) =>
  Object.keys(places).map((where) => [what, where] as const),
);

it.each(cases)('%s, restored %s', async (what, where) => {
  const path = await stoppedAfter(3);
  const paygate = await run(path);
  const before = await paygate.issue(2);
  const saved = copyOf(dirname(path), copies[what] ?? (() => false));
  const since = await paygate.issue(minSkip - 10);
  await paygate.stop();

  const folder = places[where]?.(saved, dirname(path)) ?? '';
  const { next = 0 } = await startCopy(join(folder, 'paygate.db'));
  expect(next).toBeGreaterThan(Math.max(...before, ...since));
  expect(await goOn(join(folder, 'paygate.db'), 1)).toEqual([next + 1]);
});
