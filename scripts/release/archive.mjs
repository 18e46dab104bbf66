// The archive of a release: one folder with the executable and the pages that go with it. The same
// files give the same bytes. src/cli/release-archive.ts reads exactly this form.

import { execFile } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

const pages = ['README.md', 'LICENSE', 'CHANGELOG.md'];
/** 2020-01-01: tar warns when it unpacks files of 1970. */
const modifiedAt = '@1577836800';
const form = [
  ...['--format=ustar', '--sort=name', `--mtime=${modifiedAt}`],
  ...['--owner=0', '--group=0', '--numeric-owner'],
];

/**
 * @param {string} program the executable
 * @param {string} folder where `NAME.tar.gz` is written
 * @param {string} name of the one folder inside
 * @returns {Promise<string>} the path of the archive
 */
export async function makeArchive(program, folder, name) {
  const parent = mkdtempSync(join(tmpdir(), 'paygate-archive-'));
  try {
    const inside = join(parent, name);
    mkdirSync(inside);
    chmodSync(inside, 0o755);
    for (const page of pages) {
      copyFileSync(page, join(inside, basename(page)));
      chmodSync(join(inside, basename(page)), 0o644);
    }
    copyFileSync(program, join(inside, 'paygate'));
    chmodSync(join(inside, 'paygate'), 0o755);
    const tar = join(parent, 'tar');
    await promisify(execFile)('tar', [...form, '-cf', tar, '-C', parent, name]);
    const archive = join(folder, `${name}.tar.gz`);
    writeFileSync(archive, await promisify(gzip)(readFileSync(tar), { level: 9 }));
    return archive;
  } finally {
    rmSync(parent, { recursive: true });
  }
}
