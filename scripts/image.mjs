// `npm run image`: one container image for amd64 and arm64 from the archives of `npm run release`.
// It needs podman, and nothing of the other processor is run. The image has Docker's format, because
// OCI's has no health check. Usage: node scripts/image.mjs [--x64 FILE] [--arm64 FILE]
// [--base IMAGE] [--tag NAME] [--snapshot], where FILE is an archive or an executable. The base has
// a digest, because a name in a registry may lead to another image tomorrow.

import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { assertPinned, baseOf } from './release/base-image.mjs';

const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
const archiveOf = (/** @type {string} */ arch) =>
  `dist/release/paygate-${version}-linux-${arch}.tar.gz`;
const { values } = parseArgs({
  options: {
    x64: { type: 'string', default: archiveOf('x64') },
    arm64: { type: 'string', default: archiveOf('arm64') },
    base: { type: 'string' },
    snapshot: { type: 'boolean', default: false },
    tag: { type: 'string', default: `localhost/paygate:${version}` },
  },
});
const { x64, arm64, base, snapshot, tag } = values;
const dockerfile = resolve('packaging/Dockerfile');
if (!snapshot) assertPinned(base ?? baseOf(readFileSync(dockerfile, 'utf8')));

/** @param {string[]} words */
const podman = (...words) =>
  execFileSync('podman', words, { stdio: ['ignore', 'pipe', 'inherit'] });

/**
 * @param {string} source an executable, or the archive of one
 * @param {string} folder
 */
function placeExecutable(source, folder) {
  mkdirSync(folder);
  const place = join(folder, 'paygate');
  if (!source.endsWith('.tar.gz')) return copyFileSync(source, place);
  const wanted = ['--strip-components=1', '--wildcards', '*/paygate'];
  execFileSync('tar', ['-xzf', source, '-C', folder, ...wanted]);
}

/**
 * @param {string} platform as containers name the processor
 * @param {string} source
 */
function build(platform, source) {
  const context = mkdtempSync(join(tmpdir(), 'paygate-image-'));
  try {
    placeExecutable(source, join(context, 'dist'));
    const from = base === undefined ? [] : ['--from', base];
    // The same executables give the same image.
    const format = ['--format', 'docker', '--timestamp', '0', '--layers=false'];
    const names = ['--manifest', tag, '--file', dockerfile, context];
    podman('build', '--platform', `linux/${platform}`, ...format, ...from, ...names);
  } finally {
    rmSync(context, { recursive: true });
  }
}

try {
  podman('manifest', 'rm', tag);
} catch {
  // There was none.
}
podman('manifest', 'create', tag);
build('amd64', x64);
build('arm64', arm64);
console.log(`${tag} for amd64 and arm64`);
console.log(
  `To publish it: podman manifest push --all ${tag} docker://REGISTRY/paygate:${version}`,
);
