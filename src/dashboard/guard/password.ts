// The operator's password: its rules and its scrypt hash (RFC 7914). Hashes are made one at a time,
// because each takes 32 MiB. The queue is limited, also for each network prefix. It has places for
// known clients only, so that wrong passwords of strangers cannot lock them out.

import { scrypt, timingSafeEqual } from 'node:crypto';
import { PaygateError } from '../../lib/errors.ts';
import { SerialQueue } from '../../lib/serial-queue.ts';
import { isGuessable } from './password-strength.ts';

export const minPasswordLength = 15;
const maxPasswordLength = 1000;
/**
 * As much work as N = 2^17, p = 1 in a quarter of the memory: three times 32 MiB in sequence. OWASP
 * lists both as equivalent.
 * https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html#scrypt
 */
const defaultCost = { logN: 15, r: 8, p: 3 };
const saltBytes = 16;
const hashBytes = 32;
const maxMemoryBytes = 256 * 1024 * 1024;
const maxQueued = 8;
const maxQueuedPerNetwork = 2;
const queueReservedForKnown = 2;

export interface PasswordClient {
  /** Network prefix of the client, from `networkPrefix48`. */
  readonly network: string;
  /** The client has a session, or its network prefix has had one recently. */
  readonly isKnown: boolean;
}

export interface Passwords {
  /**
   * @param names of the stores and hosts, which an attacker tries first
   * @throws PaygateError limited, or invalid if too short or easy to predict
   */
  hash(password: string, names?: readonly string[]): Promise<string>;
  /** @throws PaygateError limited */
  verify(password: string, stored: string, client: PasswordClient): Promise<boolean>;
}

export function createPasswords(randomBytes: (length: number) => Uint8Array): Passwords {
  const queue = new SerialQueue();
  /** Network prefixes of the queued hashes; undefined for a new password. */
  const queuedNetworks: (string | undefined)[] = [];

  function enqueue<T>(client: PasswordClient | undefined, work: () => Promise<T>): Promise<T> {
    const network = client?.network;
    const capacity = client?.isKnown === false ? maxQueued - queueReservedForKnown : maxQueued;
    const own = queuedNetworks.filter((each) => each === network).length;
    if (
      queuedNetworks.length >= capacity ||
      (network !== undefined && own >= maxQueuedPerNetwork)
    ) {
      throw new PaygateError('limited', 'Too many sign-ins at once; wait a few seconds', {
        retryAfterSeconds: 5,
      });
    }
    queuedNetworks.push(network);
    // The queue is first in, first out.
    return queue.run(work).finally(() => queuedNetworks.shift());
  }

  return {
    async hash(password, names = []) {
      const text = normalizedNew(password);
      refuseGuessable(text, names);
      const salt = Buffer.from(randomBytes(saltBytes));
      const { logN, r, p } = defaultCost;
      const made = await enqueue(undefined, () => derive(text, salt, defaultCost));
      return ['scrypt', logN, r, p, salt.toString('base64'), made.toString('base64')].join(':');
    },
    async verify(password, stored, client) {
      const [, , , , salt = '', hash = ''] = stored.split(':');
      const cost = costOf(stored);
      const text = normalized(password);
      const given = Buffer.from(salt, 'base64');
      const made = await enqueue(client, () => derive(text, given, cost));
      return timingSafeEqual(made, Buffer.from(hash, 'base64'));
    },
  };
}

function costOf(stored: string): typeof defaultCost {
  const [, logN, r, p] = stored.split(':').map(Number);
  return { logN: logN ?? 0, r: r ?? 0, p: p ?? 0 };
}

const normalized = (password: string): string =>
  password.normalize('NFKC').slice(0, maxPasswordLength);

function normalizedNew(password: string): string {
  const text = password.normalize('NFKC');
  const { length } = [...text];
  if (length >= minPasswordLength && text.length <= maxPasswordLength) return text;
  throw new PaygateError(
    'invalid',
    `a password has at least ${minPasswordLength} characters; use four or five words`,
  );
}

function refuseGuessable(text: string, names: readonly string[]): void {
  if (!isGuessable(text, names)) return;
  throw new PaygateError(
    'invalid',
    'This password is easy to guess: it is a known one, or few words, or a pattern. ' +
      'Use four or five words that have nothing to do with each other',
  );
}

const derive = (text: string, salt: Buffer, { logN, r, p }: typeof defaultCost): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const options = { N: 2 ** logN, r, p, maxmem: maxMemoryBytes };
    scrypt(text, salt, hashBytes, options, (error, made) =>
      error === null ? resolve(made) : reject(error),
    );
  });
