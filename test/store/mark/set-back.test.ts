// A folder whose older contents are written over it in place, so that every inode stays: no address
// is issued twice. And changes of the mark file's metadata alone, which make no copy.

import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { minSkip } from '../../../src/domain/store/allocation.ts';
import { declareMoved, declareSetBack } from '../../../src/store/backup/restore.ts';
import { markPath } from '../../../src/store/mark/high-water-mark.ts';
import { positionsBeside } from '../../../src/store/mark/mark-position.ts';
import { cleanUp, tempFolder, tempRoot, whenOver } from '../../support/files.ts';
import { goOn, run, startCopy, stoppedAfter } from '../../support/running.ts';
import { accountKey, openTestStore } from '../../support/store.ts';

afterEach(cleanUp);

/** The files of a folder, by their path in it. */
const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));

function writeOver(saved: string, folder: string, names = filesIn(saved)): void {
  for (const name of names) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), readFileSync(join(saved, name)));
  }
}

function removeOthers(saved: string, folder: string): void {
  const kept = new Set(filesIn(saved));
  for (const name of filesIn(folder)) if (!kept.has(name)) rmSync(join(folder, name));
}

/** How people and tools put a saved folder back over another one. */
const ways: Readonly<Record<string, (saved: string, folder: string) => void>> = {
  'cat >': writeOver,
  'cat > of the database and its mark alone': (saved, folder) =>
    writeOver(saved, folder, ['paygate.db', 'paygate.db-wal', '.paygate-mark/paygate.db']),
  'cp -r': (saved, folder) => void execFileSync('cp', ['-r', `${saved}/.`, folder]),
  'cp -a': (saved, folder) => void execFileSync('cp', ['-a', `${saved}/.`, folder]),
  'tar --overwrite': (saved, folder) => {
    const archive = join(tempFolder(), 'saved.tar');
    execFileSync('tar', ['-cf', archive, '-C', saved, '.']);
    execFileSync('tar', ['--overwrite', '-xf', archive, '-C', folder]);
  },
  'rsync --inplace': writeOver,
  'rsync --inplace --delete': (saved, folder) => {
    removeOthers(saved, folder);
    writeOver(saved, folder);
  },
  'rsync --inplace --delete-after': (saved, folder) => {
    writeOver(saved, folder);
    removeOthers(saved, folder);
  },
  rsync(saved, folder) {
    for (const name of filesIn(saved)) {
      writeFileSync(join(folder, `${name}.new`), readFileSync(join(saved, name)));
      renameSync(join(folder, `${name}.new`), join(folder, name));
    }
  },
  'rm -r and cp -a'(saved, folder) {
    for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true });
    execFileSync('cp', ['-a', `${saved}/.`, folder]);
  },
};

function save(path: string): string {
  const saved = join(tempFolder(), 'saved');
  cpSync(dirname(path), saved, { recursive: true, preserveTimestamps: true });
  return saved;
}

describe('an older folder that is restored over the newer one', () => {
  it.each(Object.keys(ways))('that was copied while paygate ran: %s', async (way) => {
    const path = await stoppedAfter(3);
    const paygate = await run(path);
    const first = await paygate.issue(2);
    const saved = save(path);
    // Few enough for what is skipped where nothing says how far the newer one went.
    const since = await paygate.issue(minSkip - 10);
    await paygate.stop();
    ways[way]?.(saved, dirname(path));
    const { next = 0 } = await startCopy(path);
    expect([...first, ...since]).not.toContain(next);
    expect(next).toBeGreaterThan(since.at(-1) ?? Infinity);
    expect(await goOn(path, 1)).toEqual([next + 1]);
  });

  it.each(Object.keys(ways))('that was copied while paygate was stopped: %s', async (way) => {
    const path = await stoppedAfter(3);
    const saved = save(path);
    for (const count of [4, 4]) await goOn(path, count);
    ways[way]?.(saved, dirname(path));
    expect((await startCopy(path)).next).toBeGreaterThanOrEqual(11);
  });

  it('continues behind all addresses issued since, however many', async () => {
    const path = await stoppedAfter(3);
    const saved = save(path);
    for (const count of [75, 75, 75]) await goOn(path, count);
    writeOver(saved, dirname(path));
    expect((await startCopy(path)).next).toBeGreaterThanOrEqual(3 + 225 + minSkip);
  });

  it('before its first address, and several starts later', async () => {
    const path = await stoppedAfter(0);
    const saved = save(path);
    for (const count of [60, 60]) await goOn(path, count);
    writeOver(saved, dirname(path));
    expect((await startCopy(path)).next).toBeGreaterThanOrEqual(120);
  });

  it('a second time', async () => {
    const path = await stoppedAfter(3);
    const saved = save(path);
    await goOn(path, 5);
    writeOver(saved, dirname(path));
    const { next = 0 } = await startCopy(path);
    writeOver(saved, dirname(path));
    expect((await startCopy(path)).next).toBeGreaterThan(next);
  });

  it('with two wallets, of which the copy knows one', async () => {
    const path = await stoppedAfter(3);
    const saved = save(path);
    const records = await openTestStore({ path });
    await records.addWallet({ key: accountKey(2), startIndex: 0 });
    await records.database.close();
    await goOn(path, 5);
    writeOver(saved, dirname(path));
    expect((await startCopy(path)).next).toBeGreaterThanOrEqual(8);
  });

  it('cannot be declared as moved', async () => {
    const path = await stoppedAfter(3);
    const saved = save(path);
    await goOn(path, 5);
    writeOver(saved, dirname(path));
    const { database, ...records } = await openTestStore({ path });
    const declared = { ...records, path };
    expect(() => declareMoved(declared)).toThrow('this is an older copy; leave --moved out');
    await database.close();
    expect((await startCopy(path)).next).toBeGreaterThanOrEqual(8);
  });

  it('without an address issued since is in step', async () => {
    const path = await stoppedAfter(3);
    const saved = save(path);
    writeOver(saved, dirname(path));
    expect(await goOn(path, 1)).toEqual([3]);
  });
});

describe('operations that leave the mark file valid', () => {
  const around = (path: string): string[] => [
    dirname(path),
    ...[...filesIn(dirname(path)), '.paygate-mark'].map((name) => join(dirname(path), name)),
  ];

  it.each<[string, (path: string) => void]>([
    ['chmod -R', (path) => void execFileSync('chmod', ['-R', 'u+rwX', dirname(path)])],
    [
      'chown -R',
      (path) => void execFileSync('chown', ['-R', `${process.getuid?.()}`, dirname(path)]),
    ],
    [
      'modes that were changed and put back',
      (path) => {
        for (const each of around(path)) chmodSync(each, 0o700);
      },
    ],
    [
      'touch with a time of long ago, and of days to come',
      (path) => {
        for (const at of [86_400, 9_999_999_999]) {
          for (const each of around(path)) utimesSync(each, at, at);
        }
      },
    ],
    [
      'cp -al, whose names are removed again',
      (path) => {
        const linked = mkdtempSync(join(tempRoot, 'paygate-linked-'));
        whenOver(() => rmSync(linked, { recursive: true, force: true }));
        for (const [at, name] of filesIn(dirname(path)).entries()) {
          linkSync(join(dirname(path), name), join(linked, `${at}`));
        }
        rmSync(linked, { recursive: true });
      },
    ],
    [
      'cp -al of the mark alone, whose names stay',
      (path) => {
        for (const { path: each } of positionsBeside(markPath(path)))
          linkSync(each, `${path}.linked`);
        linkSync(markPath(path), `${path}.mark`);
      },
    ],
    ['a backup that only reads', (path) => void save(path)],
    [
      'a folder of another name',
      (path) => {
        const moved = `${dirname(path)}-moved`;
        renameSync(dirname(path), moved);
        renameSync(moved, dirname(path));
      },
    ],
  ])('%s: it goes on silently', async (_what, touch) => {
    const path = await stoppedAfter(3);
    touch(path);
    expect(await goOn(path, 2)).toEqual([3, 4]);
    const paygate = await run(path);
    expect(await paygate.issue(1)).toEqual([5]);
    for (const each of [`${path}.linked`, `${path}.mark`]) rmSync(each, { force: true });
    touch(path);
    expect(await paygate.issue(1)).toEqual([6]);
    await paygate.stop();
    expect(await goOn(path, 1)).toEqual([7]);
  });
});

describe('a position file', () => {
  it('follows each raise, as the only file beside its mark file', async () => {
    const path = await stoppedAfter(0);
    const paygate = await run(path);
    const positions: number[] = [];
    for (let count = 0; count < 3; count += 1) {
      await paygate.issue(1);
      const [only, ...others] = positionsBeside(markPath(path));
      expect(others).toEqual([]);
      positions.push(only?.position ?? 0);
    }
    const [first = 0] = positions;
    expect(positions).toEqual([first, first + 1, first + 2]);
    await paygate.stop();
  });

  it('that is missing means a copy', async () => {
    const path = await stoppedAfter(3);
    for (const each of positionsBeside(markPath(path))) rmSync(each.path);
    expect(await startCopy(path)).toMatchObject({ reason: 'its mark file is a copy as well' });
    expect(existsSync(markPath(path))).toBe(true);
  });

  it('is not trusted after the machine was set back either', async () => {
    const path = await stoppedAfter(3);
    const { database, ...records } = await openTestStore({ path });
    declareSetBack({ ...records, path });
    await database.close();
    expect((await startCopy(path)).next).toBeGreaterThanOrEqual(3 + minSkip);
  });
});

it('a mark file from another kind of file system is that of a copy', async () => {
  const path = await stoppedAfter(3);
  const mark = markPath(path);
  const bytes = readFileSync(mark, 'latin1');
  writeFileSync(mark, bytes.replace(/"fileSystem":\d/, '"fileSystem":9'), 'latin1');
  expect(await startCopy(path)).toMatchObject({
    reason: 'its mark file was made on another kind of file system',
  });
});
