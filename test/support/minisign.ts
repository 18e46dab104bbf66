// Keys and signatures in the form of minisign, and the program itself where it is installed.
// https://jedisct1.github.io/minisign/

import { spawnSync } from 'node:child_process';
import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { releaseKey } from '../../src/cli/install/release-signature.ts';
import { bundleOf } from './bundle.ts';

export interface SigningKey {
  /** The base64 line of the public key. */
  readonly publicKey: string;
  /** @returns the text of a `.minisig` file */
  signature(message: Uint8Array, trustedComment: string): string;
}

/** @param id of the key: 8 bytes */
export function makeSigningKey(id: Uint8Array = randomBytes(8)): SigningKey {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const raw = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url');
  return {
    publicKey: base64Of('Ed', id, raw),
    signature(message, trustedComment) {
      const own = sign(null, createHash('blake2b512').update(message).digest(), privateKey);
      const whole = sign(null, Buffer.concat([own, Buffer.from(trustedComment)]), privateKey);
      return [
        'untrusted comment: signature of a test',
        base64Of('ED', id, own),
        `trusted comment: ${trustedComment}`,
        `${whole.toString('base64')}\n`,
      ].join('\n');
    },
  };
}

const base64Of = (algorithm: string, ...parts: readonly Uint8Array[]): string =>
  Buffer.concat([Buffer.from(algorithm), ...parts]).toString('base64');

/** The bundle of a program in parts, with another release key. */
export function bundleWithKey(program: string, { publicKey }: SigningKey): string {
  const bundle = bundleOf(program);
  const folder = join(dirname(bundle), `key-${Buffer.from(publicKey).toString('hex')}`);
  if (existsSync(folder)) return join(folder, basename(bundle));
  for (const name of readdirSync(dirname(bundle), { recursive: true, encoding: 'utf8' })) {
    if (!/^paygate[^/]*(\/[^/]+)?\.cjs$/.test(name)) continue;
    const text = readFileSync(join(dirname(bundle), name), 'utf8');
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text.replaceAll(releaseKey, publicKey));
  }
  return join(folder, basename(bundle));
}

/** Why minisign cannot run here, or undefined. Prints how many tests are skipped. */
export function noMinisign(tests: number): string | undefined {
  const { error } = spawnSync('minisign', ['-v']);
  if (error === undefined) return undefined;
  const reason = `no minisign (${error.message}): ${tests} tests are skipped`;
  process.stdout.write(`${reason}\n`);
  return reason;
}
