import { expect, test } from 'vitest';
import { challengeMs, createChallenges } from '../../../src/dashboard/guard/challenges.ts';
import { createTestWorld } from '../../support/world.ts';

const cookie = 'a cookie';
const purpose = 'sign-in';

test('a challenge is valid once, for five minutes, and for one cookie', async () => {
  const world = createTestWorld();
  const challenges = createChallenges(world);
  const [first, second] = [challenges.issue(cookie, purpose), challenges.issue(cookie, purpose)];
  expect(first).not.toBe(second);
  expect(challenges.isValid(first, cookie, purpose)).toBe(true);
  expect(challenges.isValid(first, 'another cookie', purpose)).toBe(false);
  expect([challenges.use(first), challenges.use(first)]).toEqual([true, false]);
  expect(challenges.isValid(first, cookie, purpose)).toBe(false);
  expect(challenges.isValid(second, cookie, purpose)).toBe(true);
  await world.advance(challengeMs);
  expect(challenges.isValid(second, cookie, purpose)).toBe(false);
});

test('a used challenge stays used until it expires', async () => {
  const world = createTestWorld();
  const challenges = createChallenges(world);
  const early = challenges.issue(cookie, purpose);
  challenges.use(early);
  await world.advance(challengeMs - 1);
  challenges.use(challenges.issue(cookie, purpose));
  expect(challenges.isValid(early, cookie, purpose)).toBe(false);
});

test('a challenge is valid for its purpose only', () => {
  const challenges = createChallenges(createTestWorld());
  const purposes = ['add', 'sign-in', 'confirm'] as const;
  const seen = purposes.map((issued) => {
    const challenge = challenges.issue(cookie, issued);
    return purposes.filter((given) => challenges.isValid(challenge, cookie, given));
  });
  expect(seen).toEqual([['add'], ['sign-in'], ['confirm']]);
  // The seal keeps purpose and cookie apart: no other pair of them reads the same.
  const challenge = challenges.issue('cookie', 'add');
  expect(challenges.isValid(challenge, 'addcookie', '' as 'add')).toBe(false);
});

test('a changed, foreign or empty challenge is not valid', () => {
  const challenges = createChallenges(createTestWorld());
  const issued = challenges.issue(cookie, purpose);
  const other = createChallenges({
    monotonic: () => 0,
    randomBytes: (length) => new Uint8Array(length),
  }).issue(cookie, purpose);
  const bytes = Buffer.from(issued, 'base64url');
  for (const place of bytes.keys()) {
    const changed = Buffer.from(bytes);
    changed[place] = (changed[place] ?? 0) ^ 1;
    expect(challenges.isValid(changed.toString('base64url'), cookie, purpose)).toBe(false);
  }
  for (const text of ['', 'AAAA', other, `${issued}AAAA`, `${issued}=`, ` ${issued}`]) {
    expect(challenges.isValid(text, cookie, purpose)).toBe(false);
  }
});
