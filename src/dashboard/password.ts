// The operator's password: what may be one, and its scrypt hash (RFC 7914). One hash is made at a time,
// since each takes 32 MiB; who comes while too many wait is told to come back. One line has two of the places at
// most, and two are left to those who are in or were lately, so that strangers' wrong passwords do not keep them out.

import { scrypt, timingSafeEqual } from 'node:crypto';
import { PaygateError } from '../lib/errors.ts';

export const leastPasswordLength = 15;
const mostPasswordLength = 1000;
/** "Very unguessable" in the words of zxcvbn: offline, at a hash that is slow. */
const leastGuessesLog10 = 10;
const wordsOfPaygate = ['paygate', 'bitcoin', 'dashboard', 'merchant'];
/**
 * The same work as N = 2^17, p = 1 in a quarter of the memory, by OWASP's table of equal settings: three times 32 MiB, one
 * after the other. https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html#scrypt
 */
const usual = { logN: 15, r: 8, p: 3 };
const saltBytes = 16;
const hashBytes = 32;
const mostMemory = 256 * 1024 * 1024;
const mostWaiting = 8;
const mostOfLine = 2;
const leftByStrangers = 2;

export interface Trier {
  /** Of the network, as `lineOf` says. */
  readonly line: string;
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
  verify(password: string, stored: string, trier: Trier): Promise<boolean>;
  /**
   * A hash of the password that was right, where making the one that is kept takes more memory than we use now;
   * undefined where it does not.
   */
  renew(password: string, stored: string): Promise<string | undefined>;
}

export function createPasswords(randomBytes: (length: number) => Uint8Array): Passwords {
  let last: Promise<unknown> = Promise.resolve();
  /** The lines whose turns have not ended; undefined for who sets a password. */
  const waiting: (string | undefined)[] = [];

  function inTurn<T>(trier: Trier | undefined, work: () => Promise<T>): Promise<T> {
    const line = trier?.line;
    const places = trier?.isKnown === false ? mostWaiting - leftByStrangers : mostWaiting;
    const own = waiting.filter((each) => each === line).length;
    if (waiting.length >= places || (line !== undefined && own >= mostOfLine)) {
      throw new PaygateError('limited', 'Too many sign in at once; wait a little', {
        retryAfterSeconds: 5,
      });
    }
    waiting.push(line);
    // They end in the order in which they came.
    const done = last.then(work).finally(() => waiting.shift());
    last = done.catch(() => {});
    return done;
  }

  async function make(text: string): Promise<string> {
    const salt = Buffer.from(randomBytes(saltBytes));
    const { logN, r, p } = usual;
    const made = await inTurn(undefined, () => derive(text, salt, usual));
    return ['scrypt', logN, r, p, salt.toString('base64'), made.toString('base64')].join(':');
  }

  return {
    async hash(password, words = []) {
      const text = checked(password);
      await refuseGuessable(text, words);
      return make(text);
    },
    renew: async (password, stored) =>
      costOf(stored).logN > usual.logN ? make(comparable(password)) : undefined,
    async verify(password, stored, trier) {
      const [, , , , salt = '', hash = ''] = stored.split(':');
      const cost = costOf(stored);
      const text = comparable(password);
      const given = Buffer.from(salt, 'base64');
      const made = await inTurn(trier, () => derive(text, given, cost));
      return timingSafeEqual(made, Buffer.from(hash, 'base64'));
    },
  };
}

function costOf(stored: string): typeof usual {
  const [, logN, r, p] = stored.split(':').map(Number);
  return { logN: logN ?? 0, r: r ?? 0, p: p ?? 0 };
}

const comparable = (password: string): string =>
  password.normalize('NFKC').slice(0, mostPasswordLength);

function checked(password: string): string {
  const text = password.normalize('NFKC');
  const { length } = [...text];
  if (length >= leastPasswordLength && text.length <= mostPasswordLength) return text;
  throw new PaygateError(
    'invalid',
    `a password has at least ${leastPasswordLength} characters; four or five words do well`,
  );
}

async function refuseGuessable(text: string, words: readonly string[]): Promise<void> {
  const { guessesLog10 } = await import('./password-strength.ts');
  if (guessesLog10(text, [...wordsOfPaygate, ...words]) >= leastGuessesLog10) return;
  throw new PaygateError(
    'invalid',
    'This password is among the first that are guessed: known, or made of few words or a pattern. ' +
      'Four or five words that have nothing to do with each other do well',
  );
}

const derive = (text: string, salt: Buffer, { logN, r, p }: typeof usual): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const options = { N: 2 ** logN, r, p, maxmem: mostMemory };
    scrypt(text, salt, hashBytes, options, (error, made) =>
      error === null ? resolve(made) : reject(error),
    );
  });
