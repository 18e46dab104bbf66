// Challenges: to a passkey, and to type a code after the password. A challenge is sealed with a key
// of this process and bound to its purpose and to the cookie of its page. Issuing one takes no
// memory, so a flood of requests displaces none. Only a challenge with a correct answer is stored,
// until it expires.
// Source: https://www.w3.org/TR/webauthn-3/#sctn-cryptographic-challenges

import { createHmac, timingSafeEqual } from 'node:crypto';
import { lazy } from '../../lib/lazy.ts';
import { minuteMs } from '../../lib/time-units.ts';
import type { World } from '../../world/world.ts';

export const challengeMs = 5 * minuteMs;
const keyBytes = 32;
const nonceBytes = 16;
const expiryBytes = 8;
const bodyBytes = expiryBytes + nonceBytes;

/** What the answer of a passkey does: adds it, signs in, or confirms an action. */
export type PasskeyPurpose = 'add' | 'sign-in' | 'confirm';

/** The second: a code completes the sign-in of the person who is described after the colon. */
export type ChallengePurpose = PasskeyPurpose | `code:${string}`;

export interface Challenges {
  /** @param token the cookie of the page that asks @returns base64url */
  issue(token: string, purpose: ChallengePurpose): string;
  /**
   * Whether the challenge was issued for this cookie and purpose, has not expired, and was not
   * used.
   */
  isValid(challenge: string, token: string, purpose: ChallengePurpose): boolean;
  /** Marks a challenge as used; false if it is used already. */
  use(challenge: string): boolean;
}

export function createChallenges({
  monotonic,
  randomBytes,
}: Pick<World, 'monotonic' | 'randomBytes'>): Challenges {
  const key = lazy(() => randomBytes(keyBytes));
  /** Used challenges, each with the time when it expires. */
  const used = new Map<string, number>();

  const seal = (body: Uint8Array, token: string, purpose: ChallengePurpose): Buffer =>
    createHmac('sha256', key())
      .update(body)
      .update(JSON.stringify([purpose, token]))
      .digest();

  return {
    issue(token, purpose) {
      const expiry = Buffer.alloc(expiryBytes);
      expiry.writeDoubleBE(monotonic() + challengeMs);
      const body = Buffer.concat([expiry, randomBytes(nonceBytes)]);
      return Buffer.concat([body, seal(body, token, purpose)]).toString('base64url');
    },
    isValid(challenge, token, purpose) {
      const bytes = Buffer.from(challenge, 'base64url');
      const body = bytes.subarray(0, bodyBytes);
      const expected = seal(body, token, purpose);
      const given = bytes.subarray(bodyBytes);
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) return false;
      // Another spelling of the same bytes would not be found among the used ones.
      if (bytes.toString('base64url') !== challenge) return false;
      return body.readDoubleBE() > monotonic() && !used.has(challenge);
    },
    use(challenge) {
      const now = monotonic();
      for (const [each, expiresAt] of used) if (expiresAt <= now) used.delete(each);
      if (used.has(challenge)) return false;
      used.set(challenge, now + challengeMs);
      return true;
    },
  };
}
