// The archive of a release: one folder with the executable and the pages that go with it. The same
// files give the same bytes. src/cli/install/release-archive.ts reads exactly this form.

import { execFile } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

/** Pages, and the configuration files that they tell an operator to install. */
const pages = [
  ...['README.md', 'LICENSE', 'CHANGELOG.md', 'docs'],
  ...['packaging/litestream', 'packaging/prometheus', 'packaging/grafana'],
];
/** 2020-01-01: tar warns when it unpacks files of 1970. */
const modifiedAt = '@1577836800';
const form = [
  ...['--format=ustar', '--sort=name', `--mtime=${modifiedAt}`],
  ...['--owner=0', '--group=0', '--numeric-owner', '--mode=u=rwX,go=rX'],
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
    for (const page of pages) cpSync(page, join(inside, page), { recursive: true });
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
