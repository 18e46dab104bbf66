// The rank table of docs/architecture.md, held against the code: an arrow that runs the wrong way, a
// cycle, a barrel, a door to time or chance beside World, a file that is too long. Functions are held
// to 70 lines by the linter.

import { globSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findingsIn } from './support/prose.ts';

/**
 * Folders of `src`, and files that lie in `src` itself, from the lowest rank to the highest. A folder imports only from
 * lower ranks; those of one rank never import each other.
 */
const ranks: readonly (readonly string[])[] = [
  ['lib'],
  ['bitcoin'],
  ['domain'],
  ['world'],
  ['store', 'electrum', 'tls'],
  ['lightning'],
  ['watcher', 'delivery', 'price'],
  ['status', 'notify'],
  ['web'],
  ['api', 'checkout', 'dashboard', 'plugin', 'doctor'],
  ['config.ts', 'greenfield'],
  ['app.ts'],
  ['sandbox'],
  ['cli'],
  ['main.ts'],
];

/**
 * The same inside `store/`: a folder for each subject, then the files where they meet. `db` is
 * SQLite, `file` the database file with its guards and copies.
 */
const storeRanks: readonly string[] = [
  'schema',
  'db',
  'mark',
  'file',
  'access',
  'wallets',
  'chain',
  'delivery',
  'payments',
  'orders',
  'ledger.ts',
  'open-records.ts',
  'resume',
  'backup',
];

/** Who may read the process, the clock, chance and the console. */
const worldly = new Set(['world/node-world.ts', 'cli', 'main.ts']);
const worldlyWords =
  /\b(Date\.now|new Date\(\)|Math\.random|performance\.now|setTimeout|setInterval|process\.(env|argv|stdout|stderr|exit)|console\.)/;

/** Ranks 0 to 2 are pure: nothing of Node, and no packages but these. */
const purePackages = /^(@scure\/|@noble\/|ipaddr\.js$)/;

const longestFile = 600;

interface SourceFile {
  readonly path: string;
  readonly room: string;
  readonly text: string;
  /** Paths of our own that it imports. */
  readonly own: readonly string[];
  readonly packages: readonly string[];
}

const files = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((path) => /(?<!\.d)\.tsx?$/.test(path))
  .map(read);

function read(path: string): SourceFile {
  const text = readFileSync(join('src', path), 'utf8');
  const imports = [
    ...text.matchAll(/^(?:import|export)\b[^;]*?\bfrom '([^']+)'/gms),
    ...text.matchAll(/\bimport\(\s*'([^']+)'/g),
  ].map(([, from = '']) => from);
  return {
    path,
    room: path.split('/')[0] ?? path,
    text,
    own: imports
      .filter((from) => from.startsWith('.'))
      .map((from) => normalize(join(dirname(path), from)))
      .filter((target) => !target.startsWith('..')),
    packages: imports.filter((from) => !from.startsWith('.')),
  };
}

const roomOf = (path: string): string => path.split('/')[0] ?? path;
const rankOf = (room: string): number => ranks.findIndex((names) => names.includes(room));

test('every folder has a rank, and every rank its folders', () => {
  expect(new Set(files.map(({ room }) => room))).toEqual(new Set(ranks.flat()));
  expect(files.length).toBeGreaterThan(50);
});

test('imports run from higher ranks to lower ones, and never between siblings', () => {
  const wrong = files.flatMap(({ path, room, own }) =>
    own
      .filter((target) => roomOf(target) !== room && rankOf(roomOf(target)) >= rankOf(room))
      .map((target) => `${path} → ${target}`),
  );
  expect(wrong).toEqual([]);
});

test('inside the store, too', () => {
  const folderOf = (path: string): string => path.split('/')[1] ?? path;
  const rank = (path: string): number => storeRanks.indexOf(folderOf(path));
  const inStore = files.filter(({ room }) => room === 'store');
  expect(new Set(inStore.map(({ path }) => folderOf(path)))).toEqual(new Set(storeRanks));
  const wrong = inStore.flatMap(({ path, own }) =>
    own
      .filter((target) => roomOf(target) === 'store' && rank(target) >= rank(path))
      .filter((target) => folderOf(target) !== folderOf(path))
      .map((target) => `${path} → ${target}`),
  );
  expect(wrong).toEqual([]);
});

const maxFilesInFolder = 20;

test(`no folder has more than ${maxFilesInFolder} files`, () => {
  const inFolder = new Map<string, number>();
  for (const path of globSync('src/**/*.*').map(dirname)) {
    inFolder.set(path, (inFolder.get(path) ?? 0) + 1);
  }
  expect([...inFolder].filter(([, count]) => count > maxFilesInFolder)).toEqual([]);
});

test('there are no import cycles', () => {
  const graph = new Map(files.map(({ path, own }) => [path, own]));
  const done = new Set<string>();
  const cycles: string[] = [];
  function visit(path: string, way: readonly string[]): void {
    if (way.includes(path)) cycles.push([...way.slice(way.indexOf(path)), path].join(' → '));
    if (done.has(path) || way.includes(path)) return;
    for (const target of graph.get(path) ?? []) visit(target, [...way, path]);
    done.add(path);
  }
  for (const { path } of files) visit(path, []);
  expect(cycles).toEqual([]);
});

test('ranks 0 to 2 are pure', () => {
  const impure = files
    .filter(({ room }) => rankOf(room) <= 2)
    .flatMap(({ path, packages }) =>
      packages.filter((name) => !purePackages.test(name)).map((name) => `${path} → ${name}`),
    );
  expect(impure).toEqual([]);
});

test('S-141 only World accesses time, chance, the process and the console', () => {
  const found = files
    .filter(({ room, path }) => !worldly.has(room) && !worldly.has(path))
    .flatMap(({ path, text }) => {
      const [word] = worldlyWords.exec(withoutComments(text)) ?? [];
      return word === undefined ? [] : [`${path}: ${word}`];
    });
  expect(found).toEqual([]);
});

test('a base name belongs to one file', () => {
  const paths = new Map<string, string[]>();
  for (const path of readdirSync('src', { recursive: true, encoding: 'utf8' })) {
    const [name = ''] = basename(path).split('.');
    if (/\.\w+$/.test(path)) paths.set(name, [...(paths.get(name) ?? []), path]);
  }
  expect([...paths.values()].filter(({ length }) => length > 1)).toEqual([]);
});

test('no barrels: no file re-exports another', () => {
  const barrels = files.filter(({ text }) => /^export\b[^;]*?\bfrom '/ms.test(withoutBodies(text)));
  expect(barrels.map(({ path }) => path)).toEqual([]);
});

test(`no file is longer than ${longestFile} lines`, () => {
  const long = globSync('src/**/*.*')
    .map((path) => ({ path, lines: readFileSync(path, 'utf8').split('\n').length - 1 }))
    .filter(({ lines }) => lines > longestFile);
  expect(long).toEqual([]);
});

test('no literal is spread, because that hides unknown properties from the types', () => {
  expect(files.filter(({ text }) => /\.\.\.\{\s/.test(text)).map(({ path }) => path)).toEqual([]);
});

test('limits are named max and min', () => {
  const declared = /\b(?:const|function|readonly|let) #?(?:most|least|longest|furthest)[A-Z]\w*/;
  const found = files.flatMap(
    ({ path, text }) => declared.exec(text)?.map((each) => `${path}: ${each}`) ?? [],
  );
  expect(found).toEqual([]);
});

test('identifiers have the words of the prose', () => {
  const unclear =
    /(?:\b|_)(?:told|kept|amiss|unreceived|spoken)(?![a-z])|(?:Told|Kept|Amiss|Unreceived|Spoken)(?![a-z])/;
  const found = files.flatMap(({ path, text }) => {
    const code = withoutComments(text).replaceAll(/'[^'\n]*'|`[^`]*`|>[^<>{}]*</g, '');
    return unclear.exec(code)?.map((word) => `${path}: ${word}`) ?? [];
  });
  expect(found).toEqual([]);
});

test('every file begins with a comment', () => {
  const silent = files.filter(({ text }) => !/^(#!.*\n)?\/\/ /.test(text));
  expect(silent.map(({ path }) => path)).toEqual([]);
});

/** Where a word of the code may stand: the names of files, in the order of the alphabet. */
const placesOf = (word: RegExp): string[] =>
  files
    .filter(({ text }) => word.test(withoutComments(text)))
    .map(({ path }) => path)
    .sort();

test('an open database is made durable by SQLite alone', () => {
  expect(placesOf(/synchronous *= *(OFF|NORMAL|[01])/i)).toEqual([]);
  // These look whether the index of a write-ahead log is there, or remove what lies beside a copy.
  expect(placesOf(/-shm\b/)).toEqual([
    'store/backup/daily-check.ts',
    'store/backup/integrity-check.ts',
    'store/db/empty-log.ts',
    'store/db/file-path.ts',
    'store/file/file-guards.ts',
  ]);
  // Of the mark and of files that no connection has open: copies, certificates, executables, units.
  expect(placesOf(/\bf(data)?sync(Sync)?\b(?!')/)).toEqual([
    'store/mark/high-water-mark.ts',
    'world/disk.ts',
  ]);
  expect(placesOf(/\b(syncPath|replaceFile)\(/)).toEqual([
    'cli/install/install-command.ts',
    'cli/install/update-binary.ts',
    'store/backup/backup-schedule.ts',
    'store/backup/restore.ts',
    'store/file/backup.ts',
    'store/mark/high-water-mark.ts',
    'tls/acme-state.ts',
    'world/disk.ts',
  ]);
});

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/(^|\s)\/\/.*$/gm, '');
}

/** Only lines that begin a statement at the top level, so that no string in a body is misread. */
function withoutBodies(text: string): string {
  return withoutComments(text)
    .split('\n')
    .filter((line) => /^(export (\*|\{|type \{)|\} from)/.test(line))
    .join('\n');
}

describe('S-74 packages are locked by their SHA-512, without a download address:', () => {
  interface Locked {
    readonly integrity?: string;
    readonly resolved?: string;
    readonly inBundle?: boolean;
  }
  const isOurs = (path: string): boolean => !/(^|\/)(node_modules|\.git|dist)(\/|$)/.test(path);
  const found = (pattern: string): string[] =>
    globSync(pattern, { exclude: (path) => !isOurs(path) }).sort();
  const lockFiles = found('**/package-lock.json');

  test('each package.json has its lock file, and nothing else names packages to fetch', () => {
    expect(lockFiles).toEqual(['package-lock.json', 'packaging/startos/package-lock.json']);
    expect(found('**/package.json').map((path) => path.replace('.json', '-lock.json'))).toEqual(
      lockFiles,
    );
    expect(
      found(
        '**/{npm-shrinkwrap.json,yarn.lock,pnpm-lock.yaml,bun.lock*,deno.json,composer.*,requirements*.txt,pyproject.toml,go.mod,Cargo.toml,Gemfile}',
      ),
    ).toEqual([]);
  });

  test.each(lockFiles)('%s', (file) => {
    const { packages }: { packages: Record<string, Locked> } = JSON.parse(
      readFileSync(file, 'utf8'),
    );
    /** The package whose archive holds this one: itself, or the one that bundles it. */
    function archiveOf(path: string): Locked | undefined {
      const own = packages[path];
      const outer = path.lastIndexOf('/node_modules/');
      return own?.inBundle && outer > 0 ? archiveOf(path.slice(0, outer)) : own;
    }
    const paths = Object.keys(packages).filter((path) => path !== '');
    expect(paths.length).toBeGreaterThan(100);
    const isLocked = (path: string): boolean =>
      /^sha512-[A-Za-z0-9+/]{86}==$/.test(archiveOf(path)?.integrity ?? '');
    expect(paths.filter((path) => !isLocked(path))).toEqual([]);
    expect(paths.filter((path) => packages[path]?.resolved !== undefined)).toEqual([]);
  });
});

describe('decisions', () => {
  const folder = 'docs/decisions';
  const index = readFileSync(join(folder, 'README.md'), 'utf8');
  const pages = readdirSync(folder)
    .filter((name) => name !== 'README.md')
    .sort();
  const numberOf = (page: string): string => page.slice(0, 3);

  test('the index has each one under its number, with its title', () => {
    const rows = pages.map((page) => {
      const [heading = ''] = readFileSync(join(folder, page), 'utf8').split('\n');
      const [, number = '', title = ''] = /^# (\d{3})\. (.+)$/.exec(heading) ?? [];
      expect([page, number]).toEqual([page, numberOf(page)]);
      return `- ${number} [${title}](${page})`;
    });
    expect(rows.length).toBeGreaterThan(40);
    expect(index.split('\n').filter((row) => row.startsWith('- '))).toEqual(rows);
  });

  test('each number belongs to one, or the index names it as missing', () => {
    const [, missing = ''] = /The missing numbers became one: ([\d,\s]+)\./.exec(index) ?? [];
    const numbers = [...pages.map(numberOf), ...missing.split(/,\s+/)].sort();
    expect(numbers).toEqual(numbers.map((_, place) => String(place + 1).padStart(3, '0')));
  });

  test('the code or a page names each one, and none that is missing', () => {
    const named = globSync(['{src,docs,scripts,test}/**/*.{ts,tsx,js,mjs,md}', '*.md'], {
      exclude: (path) => path.startsWith(folder),
    }).flatMap((path) => {
      const found = readFileSync(path, 'utf8').matchAll(/\bdecisions\/(\d{3})/g);
      return [...found].map(([, number]) => number);
    });
    expect([...new Set(named)].sort()).toEqual(pages.map(numberOf));
  });
});

describe('language', () => {
  /** Files and folders whose prose follows the rules. A folder means all Markdown and TypeScript in it. */
  const plain = [
    'CHANGELOG.md',
    'CONTRIBUTING.md',
    'README.md',
    'SECURITY.md',
    'docs/accounts.md',
    'docs/api.md',
    'docs/architecture.md',
    'docs/benchmarks.md',
    'docs/btcpay',
    'docs/callbacks.md',
    'docs/commands.md',
    'docs/dashboard.md',
    'docs/decisions',
    'docs/electrum-servers.md',
    'docs/lightning.md',
    'docs/monitoring.md',
    'docs/notifications.md',
    'docs/operations.md',
    'docs/payments.md',
    'docs/plugins.md',
    'docs/promises.md',
    'docs/receivers.md',
    'docs/releases.md',
    'docs/second-machine.md',
    'docs/security.md',
    'docs/settings.md',
    'docs/shops',
    'docs/webhooks.md',
    'src',
    'test/api',
    'test/app',
    'test/bitcoin',
    'test/browser/checkout.test.ts',
    'test/browser/dashboard.test.ts',
    'test/browser/orders.test.ts',
    'test/browser/passkeys.test.ts',
    'test/browser/reference.test.ts',
    'test/browser/sandbox.test.ts',
    'test/checkout',
    'test/cli',
    'test/config.test.ts',
    'test/dashboard',
    'test/delivery',
    'test/docs',
    'test/doctor',
    'test/domain',
    'test/e2e',
    'test/faults',
    'test/notify',
    'test/electrum',
    'test/lightning',
    'test/plugin',
    'test/price',
    'test/release.test.ts',
    'test/sandbox',
    'test/shops',
    'test/simulation',
    'test/status',
    'test/store',
    'test/support',
    'test/tls',
    'test/watcher',
    'test/web',
    'test/world',
  ];
  /** Nouns that a file may use, in small letters: `{ 'docs/api.md': ['kept'] }`. */
  const allowed: Readonly<Record<string, readonly string[]>> = {
    // The state of a delivery.
    'docs/dashboard.md': ['held'],
    // The lines of the Electrum protocol.
    'src/electrum/framing.ts': ['a line', 'the line'],
    'src/electrum/refusals.ts': ['a line', 'the line'],
  };

  test('prose has short sentences, plain nouns and narrow lines', () => {
    expect(findingsIn(plain, allowed)).toEqual([]);
  });
});
