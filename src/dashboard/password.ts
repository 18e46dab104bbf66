// The operator's password: what may be one, and its scrypt hash (RFC 7914). One hash is made at a time,
// since each takes 32 MiB; who comes while too many wait is told to come back. One line has two of the places at
// most, and two are left to those who are in or were lately, so that strangers' wrong passwords do not keep them out.

import { scrypt, timingSafeEqual } from 'node:crypto';
import { PaygateError } from '../lib/errors.ts';

export const minPasswordLength = 15;
const maxPasswordLength = 1000;
/** "Very unguessable" in the words of zxcvbn: offline, at a hash that is slow. */
const minGuessesLog10 = 10;
const productWords = ['paygate', 'bitcoin', 'dashboard', 'merchant'];
/**
 * The same work as N = 2^17, p = 1 in a quarter of the memory, by OWASP's table of equal settings: three times 32 MiB, one
 * after the other. https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html#scrypt
 */
const defaultCost = { logN: 15, r: 8, p: 3 };
const saltBytes = 16;
const hashBytes = 32;
const maxMemoryBytes = 256 * 1024 * 1024;
const maxQueued = 8;
const maxQueuedPerNetwork = 2;
const queueReservedForKnown = 2;

export interface PasswordClient {
  /** Of the network, as `lineOf` says. */
  readonly network: string;
  /** Who is in, or comes from where somebody was lately. */
  readonly isKnown: boolean;
}

export interface Passwords {
  /**
   * @param words of this gateway, which are guessed first
   * @throws PaygateError invalid for what is no password, or soon guessed; limited
   */
  hash(password: string, words?: readonly string[]): Promise<string>;
  /** @throws PaygateError limited */
  verify(password: string, stored: string, trier: PasswordClient): Promise<boolean>;
  /**
   * A hash of the password that was right, where making the one that is kept takes more memory than we use now;
   * undefined where it does not.
   */
  rehash(password: string, stored: string): Promise<string | undefined>;
}

export function createPasswords(randomBytes: (length: number) => Uint8Array): Passwords {
  let last: Promise<unknown> = Promise.resolve();
  /** The lines whose turns have not ended; undefined for who sets a password. */
  const queuedNetworks: (string | undefined)[] = [];

  function enqueue<T>(trier: PasswordClient | undefined, work: () => Promise<T>): Promise<T> {
    const line = trier?.network;
    const places = trier?.isKnown === false ? maxQueued - queueReservedForKnown : maxQueued;
    const own = queuedNetworks.filter((each) => each === line).length;
    if (queuedNetworks.length >= places || (line !== undefined && own >= maxQueuedPerNetwork)) {
      throw new PaygateError('limited', 'Too many sign in at once; wait a little', {
        retryAfterSeconds: 5,
      });
    }
    queuedNetworks.push(line);
    // They end in the order in which they came.
    const done = last.then(work).finally(() => queuedNetworks.shift());
    last = done.catch(() => {});
    return done;
  }

  async function hashed(text: string): Promise<string> {
    const salt = Buffer.from(randomBytes(saltBytes));
    const { logN, r, p } = defaultCost;
    const made = await enqueue(undefined, () => derive(text, salt, defaultCost));
    return ['scrypt', logN, r, p, salt.toString('base64'), made.toString('base64')].join(':');
  }

  return {
    async hash(password, words = []) {
      const text = normalizedNew(password);
      await refuseGuessable(text, words);
      return hashed(text);
    },
    rehash: async (password, stored) =>
      costOf(stored).logN > defaultCost.logN ? hashed(normalized(password)) : undefined,
    async verify(password, stored, trier) {
      const [, , , , salt = '', hash = ''] = stored.split(':');
      const cost = costOf(stored);
      const text = normalized(password);
      const given = Buffer.from(salt, 'base64');
      const made = await enqueue(trier, () => derive(text, given, cost));
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
    `a password has at least ${minPasswordLength} characters; four or five words do well`,
  );
}

async function refuseGuessable(text: string, words: readonly string[]): Promise<void> {
  const { guessesLog10 } = await import('./password-strength.ts');
  if (guessesLog10(text, [...productWords, ...words]) >= minGuessesLog10) return;
  throw new PaygateError(
    'invalid',
    'This password is among the first that are guessed: known, or made of few words or a pattern. ' +
      'Four or five words that have nothing to do with each other do well',
  );
}

const derive = (text: string, salt: Buffer, { logN, r, p }: typeof defaultCost): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const options = { N: 2 ** logN, r, p, maxmem: maxMemoryBytes };
    scrypt(text, salt, hashBytes, options, (error, made) =>
      error === null ? resolve(made) : reject(error),
    );
  });
