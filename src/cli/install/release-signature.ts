// The signature of a release: SHA256SUMS.minisig over SHA256SUMS, both hostile until verified. It
// accepts only the prehashed form (`ED`), which minisign makes by default.
// https://jedisct1.github.io/minisign/, "Signature format" and "Public key format"

import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';
import { throwInvalid } from '../../lib/errors.ts';

/**
 * The public key of releases, in the form of minisign: its base64 line. `paygate update` accepts no
 * other. The owner of a repository puts their own key here: docs/releases.md. The private half of
 * this placeholder was never stored, so it verifies nothing.
 */
export const releaseKey = 'RWSJS92B47kbdQ98LTBlW9zV6GZLzh/KGTZebek5zXLIWSCR5VSROMYf';

/** Bytes of the largest signature file. */
export const maxSignatureBytes = 4096;

const keyIdBytes = 8;

const form =
  /^untrusted comment: [^\n]*\n([A-Za-z0-9+/]{99}=)\ntrusted comment: ([\x20-\x7e]+)\n([A-Za-z0-9+/]{86}==)\n?$/;

/**
 * The version that the signature states, in the trusted comment `paygate VERSION`.
 * @param sums the bytes of SHA256SUMS
 * @param signature the text of SHA256SUMS.minisig
 * @param publicKey the base64 line of a minisign key
 * @throws PaygateError invalid, unless `publicKey` signed both `sums` and the comment
 */
export function signedVersion(sums: Uint8Array, signature: string, publicKey: string): string {
  const ours = parseKey(publicKey);
  const [, first = '', comment = '', last = ''] = form.exec(signature) ?? [];
  const [signed, commentSignature] = [bytesOf(first), bytesOf(last)];
  const algorithm = signed.toString('latin1', 0, 2);
  if (algorithm !== 'ED')
    throwInvalid('it is no prehashed signature of minisign; download it again');
  const keyId = signed.subarray(2, 2 + keyIdBytes);
  if (!keyId.equals(ours.id)) {
    throwInvalid(
      `key ${shownId(keyId)} made it, not paygate's release key ${shownId(ours.id)}; ` +
        'get the release from where you got paygate',
    );
  }
  const own = signed.subarray(2 + keyIdBytes);
  const hash = createHash('blake2b512').update(sums).digest();
  if (!verify(null, hash, ours.key, own)) {
    throwInvalid('it does not match SHA256SUMS; download both again');
  }
  if (!verify(null, Buffer.concat([own, Buffer.from(comment)]), ours.key, commentSignature)) {
    throwInvalid('its trusted comment was changed; download it again');
  }
  const [, version] = /^paygate (\d+\.\d+\.\d+[\w.+-]*)$/.exec(comment) ?? [];
  return version ?? throwInvalid(`it is for "${comment}", not for a version of paygate`);
}

/** Decodes only the canonical form: other base64 of the same bytes gives nothing. */
function bytesOf(base64: string): Buffer {
  const bytes = Buffer.from(base64, 'base64');
  return bytes.toString('base64') === base64 ? bytes : Buffer.alloc(0);
}

function parseKey(publicKey: string): { readonly id: Buffer; readonly key: KeyObject } {
  const bytes = bytesOf(publicKey);
  if (bytes.length !== 2 + keyIdBytes + 32 || bytes.toString('latin1', 0, 2) !== 'Ed') {
    throw new Error('the release key is not a public key of minisign');
  }
  const x = bytes.subarray(2 + keyIdBytes).toString('base64url');
  return {
    id: bytes.subarray(2, 2 + keyIdBytes),
    key: createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' }),
  };
}

/** As minisign prints it: a little-endian number. */
const shownId = (id: Buffer): string =>
  id.readBigUInt64LE().toString(16).toUpperCase().padStart(16, '0');
