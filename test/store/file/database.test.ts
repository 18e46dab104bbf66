// Group commit: which writes share a transaction, what their callers get, and when.

import SqliteDatabase from 'better-sqlite3';
import { afterEach, describe, expect, it } from 'vitest';
import type { Raise } from '../../../src/domain/store/allocation.ts';
import { PaygateError } from '../../../src/lib/errors.ts';
import { nextTurn } from '../../../src/lib/next-turn.ts';
import { writeFailure } from '../../../src/store/db/disk-refusal.ts';
import type { Tx } from '../../../src/store/db/writer.ts';
import {
  type Database,
  type DatabaseOptions,
  openFailure,
  useFailure,
} from '../../../src/store/file/database.ts';
import { settings } from '../../../src/store/schema/schema.ts';
import {
  cleanUp,
  commitsIn,
  connectionOf,
  look,
  pragma,
  type Sqlite,
} from '../../support/files.ts';
import { openFile } from '../db/open-file.ts';

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
  const database = openFile(options);
  const { path } = database;
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

describe('a write', () => {
  it('is visible to no read of this process before another connection sees it', async () => {
    const { database, put, seen } = open();
    const writes = Array.from({ length: 250 }, (_, at) => database.write(() => put(`${at}`)));
    const counts: [own: number, others: number][] = [];
    while (database.queued() > 0) {
      await nextTurn();
      counts.push([database.orm.select().from(settings).all().length, seen().length]);
    }
    await Promise.all(writes);
    expect(new Set(counts.map(([own]) => own))).toEqual(new Set([100, 200, 250]));
    expect(counts.filter(([own, others]) => own !== others)).toEqual([]);
  });

  it('that is awaited shares no commit with another awaited one', async () => {
    const { database, path, put, seen } = open();
    const before = commitsIn(path);
    const writes = ['a', 'b'].map((name) => database.write(() => put(name), 'awaited'));
    await Promise.all(writes);
    expect(seen()).toEqual(['a', 'b']);
    expect(commitsIn(path) - before).toBe(2);
  });
});

describe('an awaited write', () => {
  it('precedes earlier queued writes, and includes few of them', async () => {
    const { database, path, put, seen } = open();
    const before = commitsIn(path);
    const first = Array.from({ length: 50 }, (_, at) => database.write(() => put(`bulk ${at}`)));
    const seenWith = database.write(() => put('awaited'), 'awaited').then(() => seen());
    const names = await seenWith;
    expect(names[0]).toBe('awaited');
    expect(names[1]).toBe('bulk 0');
    expect(names).toHaveLength(1 + 10);
    await Promise.all(first);
    expect(seen()).toHaveLength(51);
    expect(commitsIn(path) - before).toBe(2);
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

  it('are joined by those of the next turns while more of them arrive', async () => {
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

  it('that further requests join wait for those, one a turn, but for no more than 100', async () => {
    const { database } = open();
    const requests: number[] = [1];
    const served = database.write(() => requests.length, 'awaited');
    const others = async () => {
      while (requests.length < 300) {
        await nextTurn();
        requests.push(1);
        database.joined();
      }
    };
    const [count] = await Promise.all([served, others()]);
    expect(count).toBeGreaterThan(90);
    expect(count).toBeLessThanOrEqual(101);
  });

  it('of later turns have a commit of their own', async () => {
    const { database, path, put } = open();
    const before = commitsIn(path);
    for (const name of ['a', 'b', 'c']) await database.write(() => put(name));
    expect(commitsIn(path) - before).toBe(3);
  });

  it('beyond 100 continue in the next group, in order, and none is lost', async () => {
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

  it('that only read need no commit', async () => {
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

describe('a result', () => {
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

describe('a write that throws', () => {
  it('is rolled back alone, and only its caller gets the error', async () => {
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

  it('because of a constraint is also rolled back alone', async () => {
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

  it('passes on the thrown value, whatever it is', async () => {
    const { database } = open();
    for (const thrown of ['text', undefined, 0]) {
      const write = database.write(() => {
        throw thrown;
      });
      expect(await outcomes([write])).toEqual([thrown]);
    }
  });

  it('causes a second run of its group, and the next twenty groups run once', async () => {
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

  it('lets a running backup continue', async () => {
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

  it('after the commit fails no other of its group', async () => {
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
  it('fails every write of its group, and nothing is stored', async () => {
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

  it('are recorded before the commit, one range a wallet', async () => {
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

  it('of a failed write are not recorded', async () => {
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

  it('are not recorded if there are none', async () => {
    const { database, put, told } = recording();
    await database.write(() => put('a'));
    expect(told).toEqual([]);
  });

  it('that the mark file refuses prevent the commit, and fail every write', async () => {
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
  it('that is full fails every write, and is used again when there is space', async () => {
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

  it('that lost a write ends the process, because the state of the file is unknown', async () => {
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

  it('that lost the mark file also ends the process, and the commit does not happen', async () => {
    const fatal: Error[] = [];
    const cause = Object.assign(new Error('quota'), { code: 'EDQUOT', syscall: 'fdatasync' });
    const { database, put, seen } = open({
      beforeCommit: () => {
        throw cause;
      },
      onFatal: (error) => void fatal.push(error),
    });
    const [reason] = await outcomes([database.write((tx) => raising(tx, put, 'a'))]);
    expect(reason).toMatchObject({ code: 'unavailable', cause });
    expect(reason).toHaveProperty('message', expect.stringContaining('check before you repeat it'));
    expect(fatal).toEqual([cause]);
    expect(seen()).toEqual([]);
  });

  it('that only refuses a write does not end the process', async () => {
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

describe('a task after a commit', () => {
  it('runs before the caller gets the result, and never after a rollback', async () => {
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

it('names the reason if SQLite gets no shared memory', () => {
  const error = new SqliteDatabase.SqliteError('disk I/O error', 'SQLITE_IOERR_SHMMAP');
  expect(openFailure('/mnt/share/paygate.db', error)).toMatchObject({
    code: 'unavailable',
    message: expect.stringMatching(
      /^\/mnt\/share\/paygate\.db: its file system .* a disk of this machine$/,
    ),
  });
});

it('names the file that has no space, and changes no unrelated error', () => {
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

it('names the reason if the disk has no hard links', () => {
  const error = Object.assign(new Error('not permitted'), { code: 'EPERM', syscall: 'link' });
  expect(openFailure('/mnt/stick/paygate.db', error)).toMatchObject({
    code: 'unavailable',
    message: expect.stringMatching(/^\/mnt\/stick\/paygate\.db: .*\(FAT, exFAT\)/),
  });
  const full = Object.assign(new Error('no space left'), { code: 'ENOSPC', syscall: 'link' });
  expect(openFailure('/mnt/stick/paygate.db', full)).toBe(full);
});
