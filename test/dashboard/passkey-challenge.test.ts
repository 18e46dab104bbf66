import { expect, test } from 'vitest';
import { challengeMs, createPasskeyChallenges } from '../../src/dashboard/passkey-challenge.ts';
import { createTestWorld } from '../support/world.ts';

const cookie = 'a cookie';

test('a challenge is valid once, for five minutes, and for one cookie', async () => {
  const world = createTestWorld();
  const challenges = createPasskeyChallenges(world);
  const [first, second] = [challenges.issue(cookie), challenges.issue(cookie)];
  expect(first).not.toBe(second);
  expect(challenges.isValid(first, cookie)).toBe(true);
  expect(challenges.isValid(first, 'another cookie')).toBe(false);
  expect([challenges.use(first), challenges.use(first)]).toEqual([true, false]);
  expect(challenges.isValid(first, cookie)).toBe(false);
  expect(challenges.isValid(second, cookie)).toBe(true);
  await world.advance(challengeMs);
  expect(challenges.isValid(second, cookie)).toBe(false);
});

test('a used challenge stays used until it expires', async () => {
  const world = createTestWorld();
  const challenges = createPasskeyChallenges(world);
  const early = challenges.issue(cookie);
  challenges.use(early);
  await world.advance(challengeMs - 1);
  challenges.use(challenges.issue(cookie));
  expect(challenges.isValid(early, cookie)).toBe(false);
});

test('a changed, foreign or empty challenge is not valid', () => {
  const challenges = createPasskeyChallenges(createTestWorld());
  const issued = challenges.issue(cookie);
  const other = createPasskeyChallenges({
    monotonic: () => 0,
    randomBytes: (length) => new Uint8Array(length),
  }).issue(cookie);
  const bytes = Buffer.from(issued, 'base64url');
  for (const place of bytes.keys()) {
    const changed = Buffer.from(bytes);
    changed[place] = (changed[place] ?? 0) ^ 1;
    expect(challenges.isValid(changed.toString('base64url'), cookie)).toBe(false);
  }
  for (const text of ['', 'AAAA', other, `${issued}AAAA`, `${issued}=`, ` ${issued}`]) {
    expect(challenges.isValid(text, cookie)).toBe(false);
  }
});
