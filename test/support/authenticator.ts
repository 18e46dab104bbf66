// An authenticator in software, with a browser around it: it makes passkeys and signs with them as
// WebAuthn Level 3 says. A test can make it err in each way that a server must refuse.

import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';

/** What a test changes in an answer; everything else is right. */
export interface Deviation {
  readonly origin?: string;
  readonly challenge?: string;
  readonly rpId?: string;
  /** False if the authenticator did not verify its user. */
  readonly isVerified?: boolean;
  /** The signature counter; by default it stays 0, as for synchronised passkeys. */
  readonly counter?: number;
}

interface CreationOptions {
  readonly challenge: string;
  readonly rp: { readonly id: string };
}

interface RequestOptions {
  readonly challenge: string;
  readonly rpId: string;
}

type CborValue = number | string | Uint8Array | ReadonlyMap<number | string, CborValue>;

/** CBOR (RFC 8949) of what WebAuthn needs. */
function cbor(value: CborValue): Buffer {
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value);
  if (typeof value === 'string') return Buffer.concat([head(3, value.length), Buffer.from(value)]);
  if (value instanceof Uint8Array) return Buffer.concat([head(2, value.length), value]);
  const pairs = [...value].flatMap(([key, each]) => [cbor(key), cbor(each)]);
  return Buffer.concat([head(5, value.size), ...pairs]);
}

function head(type: number, length: number): Buffer {
  if (length < 24) return Buffer.from([(type << 5) | length]);
  if (length < 256) return Buffer.from([(type << 5) | 24, length]);
  return Buffer.from([(type << 5) | 25, length >> 8, length & 255]);
}

const sha256 = (data: string | Uint8Array): Buffer => createHash('sha256').update(data).digest();
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url');

function authenticatorData(rpId: string, { isVerified = true, counter = 0 }: Deviation, more = 0) {
  const data = Buffer.alloc(37);
  sha256(rpId).copy(data);
  data[32] = 0x01 | (isVerified ? 0x04 : 0) | more;
  data.writeUInt32BE(counter, 33);
  return data;
}

const clientData = (type: string, challenge: string, origin: string): Buffer =>
  Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }));

/** @param origin of the page that the browser shows */
export function createAuthenticator(origin: string) {
  const credentialId = randomBytes(32);
  const id = text(credentialId);
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  const coseKey = cbor(
    new Map<number, CborValue>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, Buffer.from(x, 'base64url')],
      [-3, Buffer.from(y, 'base64url')],
    ]),
  );
  const answer = (response: object) => ({
    ...{ id, rawId: id, type: 'public-key', response, clientExtensionResults: {} },
  });
  return {
    /** What `navigator.credentials.create` returns, as JSON. */
    create(options: CreationOptions, change: Deviation = {}): string {
      const challenge = change.challenge ?? options.challenge;
      const attested = Buffer.concat([
        Buffer.alloc(16),
        Buffer.from([0, 32]),
        credentialId,
        coseKey,
      ]);
      const authData = Buffer.concat([
        authenticatorData(change.rpId ?? options.rp.id, change, 0x40),
        attested,
      ]);
      const attestation = new Map<string, CborValue>([
        ['fmt', 'none'],
        ['attStmt', new Map()],
        ['authData', authData],
      ]);
      return JSON.stringify(
        answer({
          clientDataJSON: text(clientData('webauthn.create', challenge, change.origin ?? origin)),
          attestationObject: text(cbor(attestation)),
          transports: ['internal', 'hybrid'],
        }),
      );
    },
    /** What `navigator.credentials.get` returns, as JSON. */
    get(options: RequestOptions, change: Deviation = {}): string {
      const challenge = change.challenge ?? options.challenge;
      const client = clientData('webauthn.get', challenge, change.origin ?? origin);
      const data = authenticatorData(change.rpId ?? options.rpId, change);
      const signature = sign('sha256', Buffer.concat([data, sha256(client)]), privateKey);
      return JSON.stringify(
        answer({
          clientDataJSON: text(client),
          authenticatorData: text(data),
          signature: text(signature),
        }),
      );
    },
  };
}
