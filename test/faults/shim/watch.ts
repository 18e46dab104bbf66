// Runs a program on a database and records its operations on the database's folder.

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { startChildWith } from '../../support/child.ts';
import { tempFolder } from '../../support/files.ts';
import { readLog, type Step } from './log.ts';
import { buildShim } from './shim.ts';

export interface Watched {
  readonly folder: string;
  /** The files before the first step, by path. */
  readonly before: Map<string, { readonly inode: string; readonly bytes: Buffer }>;
  readonly steps: Step[];
}

/** @param program must exit with code 0 and no errors, and print `closed` last */
export async function watch(program: string, path: string, ...args: string[]): Promise<Watched> {
  const folder = dirname(path);
  const before = filesOf(folder);
  const log = join(tempFolder(), 'log');
  const env = { LD_PRELOAD: buildShim(tempFolder()), FAULTS_ROOT: folder, FAULTS_LOG: log };
  const child = startChildWith(env, program, path, ...args);
  const { by, errors } = await child.ended;
  const last = (await child.rest()).at(-1);
  expect({ by, errors, last }).toEqual({ by: 0, errors: '', last: 'closed' });
  return { folder, before, steps: readLog(log) };
}

function filesOf(folder: string): Watched['before'] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const paths = names.map((name) => join(folder, name)).filter((path) => statSync(path).isFile());
  return new Map(
    paths.map((path) => [path, { inode: `${statSync(path).ino}`, bytes: readFileSync(path) }]),
  );
}
