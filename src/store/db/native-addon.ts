// The native code of the SQLite driver. The driver finds it in node_modules; the single executable
// has it as an asset. The loader maps files only, so the asset goes to a file without a name, which
// ends with the process. It is never loaded from an existing file.
// O_TMPFILE: https://man7.org/linux/man-pages/man2/open.2.html

import { randomUUID } from 'node:crypto';
import { closeSync, constants, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { getRawAsset, isSea } from 'node:sea';
import { PaygateError, reasonOf } from '../../lib/errors.ts';

/** What scripts/executable/make.mjs calls it. */
const assetName = 'better_sqlite3.node';
const memory = '/dev/shm';
/**
 * Node has no name for it. The flag of folders, which differs between processors, is a part of it.
 */
const withoutName = 0o20_000_000 | constants.O_DIRECTORY;

let loaded: object | undefined;

/**
 * The addon in this executable; undefined if it runs from sources or from the bundle.
 * @throws PaygateError unavailable if no folder lets native code run
 */
export function embeddedAddon(dataFolder: string): object | undefined {
  if (!isSea()) return undefined;
  loaded ??= loadAddon(new Uint8Array(getRawAsset(assetName)), {
    folders: [memory, tmpdir(), dataFolder],
    dataFolder,
  });
  return loaded;
}

export interface AddonPlaces {
  readonly folders: readonly string[];
  /** Last resort: the folder for a file with a name, which needs neither /proc nor O_TMPFILE. */
  readonly dataFolder: string;
}

/** @throws PaygateError unavailable, which says of each folder why it was none */
export function loadAddon(bytes: Uint8Array, { folders, dataFolder }: AddonPlaces): object {
  const failures: string[] = [];
  const ways = [
    ...folders.map((folder) => ({ folder, load: loadNameless })),
    { folder: dataFolder, load: loadNamed },
  ];
  for (const { folder, load } of ways) {
    try {
      return load(bytes, folder);
    } catch (error) {
      failures.push(`${folder}: ${reasonOf(error)}`);
    }
  }
  throw new PaygateError(
    'unavailable',
    `SQLite cannot be loaded, no folder lets it run (${failures.join('; ')}); ` +
      'mount one of them without noexec',
  );
}

function loadNameless(bytes: Uint8Array, folder: string): object {
  const file = openSync(folder, withoutName | constants.O_RDWR | constants.O_EXCL, 0o600);
  try {
    writeFileSync(file, bytes);
    return dlopen(`/proc/self/fd/${file}`);
  } finally {
    closeSync(file);
  }
}

function loadNamed(bytes: Uint8Array, folder: string): object {
  // With a slash also where the folder is `.`: the loader looks for a bare name among the system's
  // libraries.
  const path = `${folder}/.paygate-${randomUUID()}.node`;
  try {
    writeFileSync(path, bytes, { flag: 'wx', mode: 0o600 });
    return dlopen(path);
  } finally {
    rmSync(path, { force: true });
  }
}

function dlopen(path: string): object {
  const module = { exports: {} };
  process.dlopen(module, path);
  return module.exports;
}
