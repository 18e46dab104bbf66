// Signs SHA256SUMS of a release with minisign. The private key is a file that PAYGATE_RELEASE_KEY
// names; nothing else reads it. A machine that has only the sources, Node and minisign can sign what
// another one made: `node scripts/release/sign.mjs [PUBLIC_KEY]`. Another public key than that of the
// sources is the previous one, while the key is replaced.

import { execFileSync } from 'node:child_process';
import { accessSync, constants, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const notSigned = 'NOT-SIGNED.txt';
const keyFile = 'src/cli/install/release-signature.ts';

/** As text, because an older Node imports no TypeScript. @returns {string} */
function releaseKey() {
  const [, key] = /'(RW[\w+/]{54})'/.exec(readFileSync(keyFile, 'utf8')) ?? [];
  if (key === undefined) throw new Error(`${keyFile} has no public key of minisign`);
  return key;
}

/** @returns {string | undefined} the file of the private key @throws {Error} if it is of no use */
export function signingKey() {
  const key = process.env.PAYGATE_RELEASE_KEY;
  if (key === undefined) return undefined;
  accessSync(key, constants.R_OK);
  execFileSync('minisign', ['-v'], { stdio: 'ignore' });
  return key;
}

/**
 * Writes SHA256SUMS.minisig, or without a key a file and a line which say that there is none.
 * minisign asks for the password of the key, if it has one.
 * @param {string} folder of the release
 * @param {string} version
 * @param {string | undefined} key the file of the private key
 * @param {string} publicKey
 * @throws {Error} if the public key does not verify the signature
 */
export function sign(folder, version, key, publicKey = releaseKey()) {
  const note = join(folder, notSigned);
  if (key === undefined) {
    const text = 'THIS RELEASE IS NOT SIGNED: `paygate update` REFUSES IT';
    writeFileSync(note, `${text}\n`);
    console.log(text);
    return;
  }
  // Two builds of one version must never both be signed.
  if (
    !readFileSync(join(folder, 'RELEASE-NOTES.md'), 'utf8').startsWith(`# paygate ${version}\n`)
  ) {
    throw new Error(`${folder} is not a release of ${version}, but a snapshot or another version`);
  }
  const sums = join(folder, 'SHA256SUMS');
  const comments = ['-t', `paygate ${version}`, '-c', `signature of paygate ${version}`];
  execFileSync('minisign', ['-S', '-s', key, '-m', sums, ...comments], { stdio: 'inherit' });
  try {
    execFileSync('minisign', ['-V', '-q', '-H', '-P', publicKey, '-m', sums], { stdio: 'inherit' });
  } catch {
    rmSync(`${sums}.minisig`);
    throw new Error(`${key} is not the private half of ${publicKey} (${keyFile})`);
  }
  rmSync(note, { force: true });
  console.log(`${sums}.minisig: paygate ${version}`);
}

if (resolve(process.argv[1] ?? '') === fileURLToPath(import.meta.url)) {
  const key = signingKey();
  if (key === undefined) throw new Error('PAYGATE_RELEASE_KEY names no file');
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
  sign('dist/release', version, key, process.argv[2]);
}
