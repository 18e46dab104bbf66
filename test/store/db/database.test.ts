// Group commit: who shares a transaction, who hears what, and when.

import { fstatSync, statSync } from 'node:fs';
import SqliteDatabase from 'better-sqlite3';
import { afterEach, describe, expect, it } from 'vitest';
import type { Raise } from '../../../src/domain/allocation.ts';
import { PaygateError } from '../../../src/lib/errors.ts';
import { nextTurn } from '../../../src/lib/next-turn.ts';
import {
  type Database,
  type DatabaseOptions,
  openDatabase,
  openFailure,
  useFailure,
} from '../../../src/store/db/database.ts';
import { settings } from '../../../src/store/db/schema.ts';
import { type Tx, writeFailure } from '../../../src/store/db/writer.ts';
import {
  cleanUp,
  commitsIn,
  connectionOf,
  look,
  pragma,
  type Sqlite,
  tempFolder,
  whenOver,
} from '../../support/files.ts';

afterEach(cleanUp);

interface Opened {
  readonly database: Database;
  readonly sqlite: Sqlite;
  readonly path: string;
  /** Writes a row; the work of a job. */
  put(name: string): void;
  /** The rows that another connection sees. */
  seen(): string[];
}

function open(options: Partial<DatabaseOptions> = {}): Opened {
  const path = `${tempFolder()}/paygate.db`;
  const database = openDatabase({ path, create: true, ...options });
  whenOver(() => database.close());
  const other = look(path, { readonly: true });
  const names = other.prepare('SELECT name FROM settings ORDER BY rowid').pluck();
  return {
    database,
    sqlite: connectionOf(database),
    path,
    put: (name) => void database.orm.insert(settings).values({ name, value: '' }).run(),
    seen: () => names.all() as string[],
  };
}

function raising(tx: Tx, put: Opened['put'], name: string): void {
  tx.raise('ab'.repeat(8), 0, 1);
  put(name);
}

/** What the commit alone notices, and refuses. */
function putOrphan(sqlite: Sqlite): void {
  sqlite.pragma('defer_foreign_keys = ON');
  sqlite.exec(`INSERT INTO addresses (wallet_id, branch, derivation_index, address, script,
    scripthash, origin) VALUES (99, 0, 0, '', x'', '', 'ahead')`);
}

const settle = (results: Promise<unknown>[]) => Promise.allSettled(results);
const outcomes = async (results: Promise<unknown>[]) =>
  (await settle(results)).map((result) =>
    result.status === 'fulfilled' ? result.value : result.reason,
  );

/** A disk that takes as long as the test wants. */
function slowDisk() {
  const waiting: ReturnType<typeof Promise.withResolvers<void>>[] = [];
  const synced: number[] = [];
  return {
    syncData(descriptor: number): Promise<void> {
      synced.push(fstatSync(descriptor).ino);
      const wait = Promise.withResolvers<void>();
      waiting.push(wait);
      return wait.promise;
    },
    /** The files that it was asked for, by their inodes. */
    synced,
    async asked(): Promise<void> {
      while (waiting.length === 0) await nextTurn();
    },
    answer: () => waiting.shift()?.resolve(),
    fail: (error: Error) => waiting.shift()?.reject(error),
  };
}

/** Far more than a write needs that waits for nothing. */
async function manyTurns(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await nextTurn();
}

describe('a write', () => {
  it('is told when the log is on the disk, not when it is committed', async () => {
    const disk = slowDisk();
    const { database, path, put, seen } = open(disk);
    const told: string[] = [];
    const write = database
      .write((tx) => {
        put('a');
        tx.afterCommit(() => told.push('after'));
      })
      .then(() => told.push('caller'));
    await disk.asked();
    await manyTurns();
    expect([seen(), told]).toEqual([['a'], []]);
    expect(disk.synced).toEqual([statSync(`${path}-wal`).ino]);
    disk.answer();
    await write;
    expect(told).toEqual(['after', 'caller']);
  });

  it('that somebody waits for shares no commit with another one such', async () => {
    const { database, path, put, seen } = open();
    const before = commitsIn(path);
    const writes = ['a', 'b'].map((name) => database.write(() => put(name), 'awaited'));
    await Promise.all(writes);
    expect(seen()).toEqual(['a', 'b']);
    expect(commitsIn(path) - before).toBe(2);
  });

  it('that comes meanwhile is begun when the disk is at rest, with all that came', async () => {
    const disk = slowDisk();
    const { database, path, put, seen } = open(disk);
    const before = commitsIn(path);
    const first = database.write(() => put('a'));
    await disk.asked();
    const more = [
      database.write(() => put('b')),
      database.write(() => put('claim'), 'losable'),
      database.write((tx) => raising(tx, put, 'c'), 'awaited'),
    ];
    await manyTurns();
    expect(seen()).toEqual(['a']);
    disk.answer();
    await first;
    await disk.asked();
    expect(seen()).toEqual(['a', 'c', 'b', 'claim']);
    disk.answer();
    await Promise.all(more);
    expect(commitsIn(path) - before).toBe(2);
  });

  it('that another one makes is begun when the disk is at rest as well', async () => {
    const disk = slowDisk();
    const { database, put, seen } = open(disk);
    const inner = Promise.withResolvers<void>();
    const outer = database.write(() => {
      put('outer');
      inner.resolve(database.write(() => put('inner')));
    });
    await disk.asked();
    await manyTurns();
    expect(seen()).toEqual(['outer']);
    disk.answer();
    await outer;
    await disk.asked();
    disk.answer();
    await inner.promise;
    expect(seen()).toEqual(['outer', 'inner']);
  });

  it('holds back whoever would tell of it before it is on the disk', async () => {
    const disk = slowDisk();
    const { database, put, seen } = open(disk);
    expect(database.syncing).toBeUndefined();
    const write = database.write(() => put('a'));
    await disk.asked();
    let isSynced = false;
    const reader = database.syncing?.then(() => {
      isSynced = true;
    });
    expect(seen()).toEqual(['a']);
    await manyTurns();
    expect([isSynced, reader === undefined]).toEqual([false, false]);
    disk.answer();
    await Promise.all([reader, write.then(() => expect(database.syncing).toBeUndefined())]);
    expect(isSynced).toBe(true);
  });

  it('that changes nothing waits for no disk, unless it raises a counter', async () => {
    const disk = slowDisk();
    const marked = Promise.withResolvers<void>();
    const { database, put } = open({ ...disk, beforeCommit: () => marked.promise });
    // The first of all is synced: a process that was killed may have left a log that is not.
    const first = database.write(() => undefined);
    await disk.asked();
    disk.answer();
    await first;
    const write = database.write(() => put('a'));
    await disk.asked();
    disk.answer();
    await write;
    expect(await database.write(() => 'nothing')).toBe('nothing');
    expect(disk.synced).toHaveLength(2);
    const told: string[] = [];
    const raise = database.write((tx) => tx.raise('1', 0, 1)).then(() => told.push('raised'));
    await disk.asked();
    disk.answer();
    await manyTurns();
    expect(told).toEqual([]);
    marked.resolve();
    await raise;
  });

  it('is waited for by a close', async () => {
    const disk = slowDisk();
    const { database, sqlite, put } = open(disk);
    const write = database.write(() => put('a'));
    await disk.asked();
    const closed = database.close();
    await manyTurns();
    expect(sqlite.open).toBe(true);
    disk.answer();
    await Promise.all([write, closed]);
    expect(sqlite.open).toBe(false);
  });
});

describe('a losable write', () => {
  const counting = () => {
    const disk = slowDisk();
    return {
      disk,
      ...open({
        syncData(descriptor) {
          const synced = disk.syncData(descriptor);
          disk.answer();
          return synced;
        },
      }),
    };
  };

  it('waits for no disk, and the next one does', async () => {
    const { disk, database, put, seen } = counting();
    const before = disk.synced.length;
    await database.write(() => put('a'), 'losable');
    expect([seen(), disk.synced.length - before]).toEqual([['a'], 0]);
    await database.write(() => put('b'));
    expect(disk.synced.length - before).toBe(1);
  });

  it('is durable with those that it shares a commit with', async () => {
    const { disk, database, put } = counting();
    const before = disk.synced.length;
    await Promise.all([database.write(() => put('a'), 'losable'), database.write(() => put('b'))]);
    expect(disk.synced.length - before).toBe(1);
  });
});

describe('an awaited write', () => {
  it('goes before those that were queued before it, and takes few of them along', async () => {
    const { database, path, put, seen } = open();
    const before = commitsIn(path);
    const first = Array.from({ length: 50 }, (_, at) => database.write(() => put(`durable ${at}`)));
    const claim = database.write(() => put('claim'), 'losable');
    const seenWith = database.write(() => put('awaited'), 'awaited').then(() => seen());
    const names = await seenWith;
    expect(names[0]).toBe('awaited');
    expect(names[1]).toBe('durable 0');
    expect(names.at(-1)).toBe('claim');
    expect(names).toHaveLength(1 + 10 + 1);
    await Promise.all([...first, claim]);
    expect(seen()).toHaveLength(52);
    expect(commitsIn(path) - before).toBe(3);
  });

  it('makes the groups after it smaller, until nobody has waited for a while', async () => {
    const { database, path, put } = open();
    const commitsOf100 = async () => {
      const before = commitsIn(path);
      await Promise.all(
        Array.from({ length: 100 }, (_, at) => database.write(() => put(`${before} ${at}`))),
      );
      return commitsIn(path) - before;
    };
    expect(await commitsOf100()).toBe(1);
    await database.write(() => put('awaited'), 'awaited');
    expect(await commitsOf100()).toBe(4);
    for (let group = 4; group < 20; group += 1) await database.write(() => put(`${group}`));
    expect(await commitsOf100()).toBe(1);
  });
});

describe('writes of one turn', () => {
  it('share one commit', async () => {
    const { database, path, put, seen } = open();
    const before = commitsIn(path);
    const names = Array.from({ length: 100 }, (_, at) => `${at}`);
    await Promise.all(names.map((name) => database.write(() => put(name))));
    expect(commitsIn(path) - before).toBe(1);
    expect(seen()).toEqual(names);
  });

  it('are joined by those of the turns that follow at once, in which more of them come', async () => {
    const { database, path, put, seen } = open();
    const before = commitsIn(path);
    const writes: Promise<void>[] = [];
    for (const name of ['a', 'b', 'c']) {
      writes.push(database.write(() => put(name)));
      await nextTurn();
    }
    await Promise.all(writes);
    expect(commitsIn(path) - before).toBe(1);
    expect(seen()).toEqual(['a', 'b', 'c']);
  });

  it('of later turns have a commit of their own', async () => {
    const { database, path, put } = open();
    const before = commitsIn(path);
    for (const name of ['a', 'b', 'c']) await database.write(() => put(name));
    expect(commitsIn(path) - before).toBe(3);
  });

  it('beyond 100 go on in the next group, in order, and none is lost', async () => {
    const { database, path, put, seen } = open();
    const before = commitsIn(path);
    const names = Array.from({ length: 241 }, (_, at) => `${at}`);
    const answers = names.map((name, at) =>
      database.write(() => {
        put(name);
        return at;
      }),
    );
    expect(await Promise.all(answers)).toEqual(names.map(Number));
    expect(commitsIn(path) - before).toBe(3);
    expect(seen()).toEqual(names);
  });

  it('that may be lost are done behind the others, and share their commit', async () => {
    const { database, path, put, seen } = open();
    const before = commitsIn(path);
    const last = database.write(() => put('last'), 'losable');
    await Promise.all([...['a', 'b'].map((name) => database.write(() => put(name))), last]);
    expect(seen()).toEqual(['a', 'b', 'last']);
    expect(commitsIn(path) - before).toBe(1);
  });

  it('that only read cost no commit', async () => {
    const { database, path } = open();
    const before = commitsIn(path);
    const count = await database.write(() => database.orm.select().from(settings).all().length);
    expect(count).toBe(0);
    expect(commitsIn(path)).toBe(before);
  });

  it('see what those before them wrote', async () => {
    const { database, put } = open();
    const [, rows] = await Promise.all([
      database.write(() => put('a')),
      database.write(() => database.orm.select().from(settings).all()),
    ]);
    expect(rows).toMatchObject([{ name: 'a' }]);
  });

  it('from within a write come after it', async () => {
    const { database, put, seen } = open();
    let inner: Promise<void> | undefined;
    await database.write(() => {
      inner = database.write(() => put('inner'));
      put('outer');
    });
    expect(seen()).toEqual(['outer']);
    await inner;
    expect(seen()).toEqual(['outer', 'inner']);
  });
});

describe('an answer', () => {
  it('leaves only after the commit of its whole group', async () => {
    const { database, put, seen } = open();
    const heard: string[][] = [];
    const listen = () => void heard.push(seen());
    const during: string[][] = [];
    await Promise.all(
      ['a', 'b', 'c'].map((name) =>
        database
          .write(() => {
            put(name);
            during.push(seen());
          })
          .then(listen),
      ),
    );
    expect(during).toEqual([[], [], []]);
    expect(heard).toEqual([
      ['a', 'b', 'c'],
      ['a', 'b', 'c'],
      ['a', 'b', 'c'],
    ]);
  });

  it('is whatever the work returned', async () => {
    const { database } = open();
    const result = { deep: [1] };
    expect(await database.write(() => result)).toBe(result);
    expect(await database.write(() => undefined)).toBeUndefined();
  });
});

describe('work that throws', () => {
  it('is undone alone, and only its caller hears of it', async () => {
    const { database, path, put, seen } = open();
    const before = commitsIn(path);
    const fault = new Error('no');
    const bad = database.write(() => {
      put('bad');
      throw fault;
    });
    const answers = [
      database.write(() => put('first')),
      bad,
      database.write(() => {
        put('last');
        return 'done';
      }),
    ];
    expect(await outcomes(answers)).toEqual([undefined, fault, 'done']);
    expect(seen()).toEqual(['first', 'last']);
    expect(commitsIn(path) - before).toBe(1);
  });

  it('by the file itself is undone alone as well', async () => {
    const { database, put, seen } = open();
    const answers = [
      database.write(() => put('a')),
      database.write(() => {
        put('b');
        put('a');
      }),
      database.write(() => put('c')),
    ];
    const [, refused] = await outcomes(answers);
    expect(refused).toMatchObject({ code: 'SQLITE_CONSTRAINT_PRIMARYKEY' });
    expect(seen()).toEqual(['a', 'c']);
  });

  it('hands on what it threw, whatever that is', async () => {
    const { database } = open();
    for (const thrown of ['text', undefined, 0]) {
      const write = database.write(() => {
        throw thrown;
      });
      expect(await outcomes([write])).toEqual([thrown]);
    }
  });

  it('has the others of its group done again, and those of the next twenty done once', async () => {
    const raised: (readonly Raise[])[] = [];
    const { database, put, seen } = open({ beforeCommit: (raises) => void raised.push(raises) });
    let runs = 0;
    let committed = 0;
    const group = () =>
      settle([
        database.write((tx) => {
          runs += 1;
          tx.afterCommit(() => (committed += 1));
          raising(tx, put, `good ${runs}`);
        }),
        database.write(() => {
          put('bad');
          throw new Error('no');
        }),
      ]);
    await group();
    expect([runs, committed]).toEqual([2, 1]);
    await group();
    expect([runs, committed]).toEqual([3, 2]);
    for (let quiet = 0; quiet < 20; quiet += 1) await database.write(() => undefined);
    await group();
    expect([runs, committed]).toEqual([5, 3]);
    expect(seen()).toEqual(['good 2', 'good 3', 'good 5']);
    const once = [{ wallet: 'ab'.repeat(8), from: 0, to: 1 }];
    expect(raised).toEqual([once, once, once]);
  });

  it('lets a backup under way go on from where it is', async () => {
    const { database, sqlite, path, put } = open();
    for (let count = 0; count < 400; count += 1)
      await database.write(() => put(`${count}`.repeat(200)));
    const remaining: number[] = [];
    const writes: Promise<unknown>[] = [];
    const progress = ({ remainingPages }: { remainingPages: number }) => {
      remaining.push(remainingPages);
      const name = `beside ${remaining.length}`;
      writes.push(database.write(() => put(name)));
      if (remaining.length % 30 === 0) {
        const bad = () => {
          put(name);
          put(name);
        };
        writes.push(database.write(bad).catch(() => undefined));
      }
      return 1;
    };
    await sqlite.backup(`${path}.copy`, { progress });
    await Promise.all(writes);
    expect(remaining.length).toBeGreaterThan(100);
    const risen = remaining.filter(
      (left, step) => step > 0 && left > (remaining[step - 1] ?? 0) + 5,
    );
    expect(risen).toEqual([]);
  });

  it('after the commit concerns no other of its group', async () => {
    const { database, put, seen } = open();
    const fault = new Error('no');
    const answers = [
      database.write((tx) => {
        tx.afterCommit(() => {
          throw fault;
        });
        put('first');
      }),
      database.write(() => put('second')),
    ];
    expect(await outcomes(answers)).toEqual([fault, undefined]);
    expect(seen()).toEqual(['first', 'second']);
  });

  it('in all of a group leaves nothing behind', async () => {
    const { database, put, seen } = open();
    const fail = () =>
      database.write(() => {
        put('x');
        throw new Error('no');
      });
    await settle([fail(), fail()]);
    expect(seen()).toEqual([]);
    await database.write(() => put('after'));
    expect(seen()).toEqual(['after']);
  });
});

describe('a commit that fails', () => {
  it('is nobody’s success: all of the group hear of it, and nothing is left', async () => {
    const { database, sqlite, put, seen } = open();
    const answers = [database.write(() => put('a')), database.write(() => putOrphan(sqlite))];
    const failure = expect.objectContaining({ code: 'SQLITE_CONSTRAINT_FOREIGNKEY' });
    expect(await outcomes(answers)).toEqual([failure, failure]);
    expect(seen()).toEqual([]);
    expect(sqlite.inTransaction).toBe(false);
    await database.write(() => put('after'));
    expect(seen()).toEqual(['after']);
  });
});

describe('raises of counters', () => {
  function recording(fail?: () => void) {
    const told: { raises: readonly Raise[]; committed: string[] }[] = [];
    const opened: Opened = open({
      beforeCommit: (raises) => {
        told.push({ raises, committed: opened.seen() });
        fail?.();
        return undefined;
      },
    });
    return { ...opened, told };
  }

  it('are told before the commit, one range a wallet', async () => {
    const { database, put, told } = recording();
    const raise = (name: string, ...ranges: [string, number, number][]) =>
      database.write((tx) => {
        put(name);
        for (const range of ranges) tx.raise(...range);
      });
    await Promise.all([
      raise('a', ['1', 5, 6]),
      raise('b', ['2', 0, 1], ['1', 6, 7]),
      raise('c', ['1', 7, 27], ['2', 1, 2]),
      raise('d', ['1', 4, 6]),
    ]);
    expect(told).toEqual([
      {
        raises: [
          { wallet: '1', from: 4, to: 27 },
          { wallet: '2', from: 0, to: 2 },
        ],
        committed: [],
      },
    ]);
  });

  it('of work that failed are not told', async () => {
    const { database, told } = recording();
    await settle([
      database.write((tx) => tx.raise('1', 5, 6)),
      database.write((tx) => {
        tx.raise('1', 6, 900);
        tx.raise('2', 0, 900);
        throw new Error('no');
      }),
    ]);
    expect(told.map(({ raises }) => raises)).toEqual([[{ wallet: '1', from: 5, to: 6 }]]);
  });

  it('are not asked after where there are none', async () => {
    const { database, put, told } = recording();
    await database.write(() => put('a'));
    expect(told).toEqual([]);
  });

  it('that the mark refuses prevent the commit, and everyone hears of it', async () => {
    const fault = new Error('the mark is full');
    let refuse = true;
    const { database, put, seen, sqlite } = recording(() => {
      if (refuse) throw fault;
    });
    const answers = [
      database.write(() => put('a')),
      database.write((tx) => {
        put('b');
        tx.raise('1', 0, 1);
      }),
    ];
    expect(await outcomes(answers)).toEqual([fault, fault]);
    expect(seen()).toEqual([]);
    expect(sqlite.inTransaction).toBe(false);
    refuse = false;
    await database.write((tx) => tx.raise('1', 0, 1));
    await database.write(() => put('after'));
    expect(seen()).toEqual(['after']);
  });
});

describe('a disk', () => {
  it('that is full changes nothing, says so to everyone, and is used again when there is room', async () => {
    const { database, sqlite, put, seen } = open();
    await database.write(() => put('before'));
    const pages = pragma(sqlite, 'page_count') as number;
    pragma(sqlite, `max_page_count = ${pages}`);
    const fill = (name: string) => () => {
      for (let at = 0; at < 400; at += 1) put(`${name} ${at} ${'x'.repeat(100)}`);
    };
    const answers = [database.write(() => put('small')), database.write(fill('large'))];
    for (const refused of await outcomes(answers)) {
      expect(refused).toBeInstanceOf(PaygateError);
      expect(refused).toMatchObject({ code: 'unavailable', retryAfterSeconds: 30 });
      expect((refused as PaygateError).message).toContain('SQLITE_FULL');
    }
    expect(seen()).toEqual(['before']);
    pragma(sqlite, `max_page_count = ${pages + 1000}`);
    await Promise.all([database.write(() => put('small')), database.write(fill('large'))]);
    expect(seen()).toHaveLength(402);
  });

  it('that lost a write ends the process: nothing is certain any more', async () => {
    const fatal: Error[] = [];
    const lost = Object.assign(new Error('i/o error, fdatasync'), { code: 'EIO' });
    const { database } = open({
      beforeCommit: () => {
        throw lost;
      },
      onFatal: (error) => void fatal.push(error),
    });
    await settle([database.write((tx) => tx.raise('1', 0, 1))]);
    expect(fatal).toEqual([lost]);
  });

  it('that the log did not reach the disk does as well, whatever is said of it', async () => {
    const disk = slowDisk();
    const fatal: Error[] = [];
    const { database, put } = open({ ...disk, onFatal: (error) => void fatal.push(error) });
    const told: string[] = [];
    const write = database.write((tx) => {
      put('a');
      tx.afterCommit(() => told.push('after'));
    });
    const failure = settle([write]);
    await disk.asked();
    const cause = Object.assign(new Error('no space, fdatasync'), { code: 'ENOSPC' });
    disk.fail(cause);
    expect(await failure).toEqual([{ status: 'rejected', reason: fatal[0] }]);
    expect(fatal).toEqual([expect.objectContaining({ cause })]);
    expect(told).toEqual([]);
  });

  it('that the mark did not reach the disk does as well: the commit stands without it', async () => {
    const disk = slowDisk();
    const fatal: Error[] = [];
    const cause = Object.assign(new Error('quota, fdatasync'), { code: 'EDQUOT' });
    const { database, put } = open({
      ...disk,
      beforeCommit: () => Promise.reject(cause),
      onFatal: (error) => void fatal.push(error),
    });
    const refused = outcomes([database.write((tx) => raising(tx, put, 'a'))]);
    await disk.asked();
    disk.answer();
    const [reason] = await refused;
    expect(reason).toMatchObject({ code: 'unavailable', cause });
    expect(reason).toHaveProperty('message', expect.stringContaining('look before you repeat it'));
    expect(fatal).toEqual([reason]);
  });

  it('leaves its mark to be synced before the next transaction is begun', async () => {
    const marks = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const left = [...marks];
    const { database, sqlite, put, seen } = open({ beforeCommit: () => left.shift()?.promise });
    const failing = database.write((tx) => {
      raising(tx, put, 'a');
      putOrphan(sqlite);
    });
    await expect(failing).rejects.toMatchObject({ code: 'SQLITE_CONSTRAINT_FOREIGNKEY' });
    const next = database.write((tx) => raising(tx, put, 'b'));
    await manyTurns();
    expect([seen(), left.length]).toEqual([[], 1]);
    for (const mark of marks) mark.resolve();
    await next;
    expect([seen(), left.length]).toEqual([['b'], 0]);
  });

  it('that only refuses a write does not', async () => {
    const fatal: Error[] = [];
    const { database, sqlite, put } = open({ onFatal: (error) => void fatal.push(error) });
    pragma(sqlite, `max_page_count = ${pragma(sqlite, 'page_count')}`);
    await settle([
      database.write(() => {
        for (let at = 0; at < 400; at += 1) put(`${at} ${'x'.repeat(100)}`);
      }),
    ]);
    expect(fatal).toEqual([]);
  });
});

describe('what waits for a commit', () => {
  it('runs after it and before the caller hears of it; never when the write is undone', async () => {
    const { database, put, seen } = open();
    const told: string[] = [];
    const kept = database
      .write((tx) => {
        put('kept');
        tx.afterCommit(() => told.push(`kept ${seen().includes('kept')}`));
      })
      .then(() => told.push('answered'));
    const undone = database.write((tx) => {
      tx.afterCommit(() => told.push('undone'));
      throw new Error('no');
    });
    await expect(undone).rejects.toThrow('no');
    await kept;
    expect(told).toEqual(['kept true', 'answered']);
  });
});

it('says why a file is not opened where SQLite gets no shared memory', () => {
  const error = new SqliteDatabase.SqliteError('disk I/O error', 'SQLITE_IOERR_SHMMAP');
  expect(openFailure('/mnt/share/paygate.db', error)).toMatchObject({
    code: 'unavailable',
    message: expect.stringMatching(
      /^\/mnt\/share\/paygate\.db: its file system .* a disk of this machine$/,
    ),
  });
});

it('names the file that found no room while it was in use, and leaves alone what is of no file', () => {
  const path = '/srv/paygate.db';
  const full = new SqliteDatabase.SqliteError('database or disk is full', 'SQLITE_FULL');
  const told = {
    code: 'unavailable',
    message: `${path}: the disk is full (SQLITE_FULL): free some room`,
  };
  expect(useFailure(path, full)).toMatchObject(told);
  expect(useFailure(path, writeFailure(full))).toMatchObject(told);
  const other = Object.assign(new Error('permission denied'), { code: 'EACCES' });
  expect(useFailure(path, other)).toBe(other);
});

it('says why a file is not made where there are no hard links', () => {
  const error = Object.assign(new Error('not permitted'), { code: 'EPERM', syscall: 'link' });
  expect(openFailure('/mnt/stick/paygate.db', error)).toMatchObject({
    code: 'unavailable',
    message: expect.stringMatching(/^\/mnt\/stick\/paygate\.db: .*\(FAT, exFAT\)/),
  });
  const full = Object.assign(new Error('no space left'), { code: 'ENOSPC', syscall: 'link' });
  expect(openFailure('/mnt/stick/paygate.db', full)).toBe(full);
});
