// A wall clock that is wrong: the chain is watched and addresses are issued, but nothing is signed and no
// certificate learnt until it is right, and nothing is put off for ever by it.

import { afterEach, describe, expect, test } from 'vitest';
import { buildApp } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import { clockFault } from '../../src/domain/clock.ts';
import { cleanUp, whenOver } from '../support/files.ts';
import { closeHouses, type House, openHouse, untilReady } from '../support/house.ts';
import { openTestStore } from '../support/store.ts';
import { createTestWorld } from '../support/world.ts';
import { makeCertificate } from '../unit/electrum/certificates.ts';
import { startServer } from '../unit/electrum/scripted-server.ts';

afterEach(closeHouses);
afterEach(cleanUp);

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const yearMs = 365.25 * dayMs;

const warnings = ({ app }: House): string => app.health().warnings.join('\n');

async function openReady(): Promise<House> {
  const house = await openHouse();
  await untilReady(house);
  expect(warnings(house)).toBe('');
  return house;
}

describe('a clock', () => {
  const now = Date.UTC(2026, 10, 21);
  const right = { now, earliest: now - dayMs, newestBlock: now };

  test('is believed within two hours of the newest block, and without one', () => {
    expect(clockFault(right)).toBeUndefined();
    expect(clockFault({ ...right, newestBlock: undefined })).toBeUndefined();
    expect(clockFault({ ...right, newestBlock: now + 2 * hourMs })).toBeUndefined();
  });

  test('cannot be right further behind it, or before paygate was made', () => {
    const behind = clockFault({ ...right, newestBlock: now + 2 * hourMs + 1 });
    expect(behind).toBe(
      'the clock of this machine says 2026-11-21T00:00 UTC, which is hours behind the newest block',
    );
    const early = clockFault({ now: 0, earliest: 1, newestBlock: undefined });
    expect(early).toBe(
      'the clock of this machine says 1970-01-01T00:00 UTC, which is before this paygate was made',
    );
  });
});

test.each([
  ['in 1970', (now: number) => 1000 - now],
  ['a day behind', () => -dayMs],
])('%s: payments are recorded, and told once the clock is right', async (_what, offBy) => {
  const house = await openReady();
  const { world } = house;
  const jump = offBy(world.now());
  world.jumpWallClock(jump);
  expect(warnings(house)).toContain('hours behind the newest block: set it (NTP)');
  const address = await house.newAddress();
  house.pay(address, 5_000);
  await house.settle();
  await world.advance(hourMs / 2);
  expect(house.app.health().callbacks.owed).toBe(1);
  expect(house.told()).toEqual([]);
  world.jumpWallClock(-jump);
  await world.advance(1_000);
  await house.settle();
  expect(house.statuses(address)).toEqual(['0']);
  expect(warnings(house)).not.toContain('clock');
});

test('a clock from before this paygate was made signs nothing, whatever the chain says', async () => {
  const house = await openHouse({ earliest: Date.UTC(2080, 0) });
  await untilReady(house);
  expect(warnings(house)).toContain('before this paygate was made: set it (NTP)');
  house.pay(await house.newAddress(), 5_000);
  await house.settle();
  expect(house.told()).toEqual([]);
});

test('56 years ahead: what was put off there is told soon after the clock is right', async () => {
  const house = await openReady();
  const { world, receiver } = house;
  world.jumpWallClock(56 * yearMs);
  receiver.script({ status: 500 });
  const address = await house.newAddress();
  house.pay(address, 5_000);
  await house.settle();
  expect(house.told()).toHaveLength(1);
  world.jumpWallClock(-56 * yearMs);
  await world.advance(hourMs);
  await house.settle();
  expect(house.statuses(address)).toEqual(['0', '0']);
  expect(house.app.health().callbacks.owed).toBe(0);
});

test('56 years ahead and back at a restart: the same', async () => {
  const house = await openReady();
  const { world, receiver } = house;
  world.jumpWallClock(56 * yearMs);
  receiver.script({ status: 500 });
  const address = await house.newAddress();
  house.pay(address, 5_000);
  await house.settle();
  await house.stop();
  world.jumpWallClock(-56 * yearMs);
  await house.start();
  await untilReady(house);
  expect(house.statuses(address)).toEqual(['0', '0']);
});

test.each([
  ['right', 0, 'pinned'],
  ['wrong', Date.UTC(2080, 0), undefined],
])('a certificate under a clock that is %s', async (_what, earliest, learnt) => {
  const { path, ...store } = await openTestStore();
  const server = await startServer({}, { tls: makeCertificate() });
  whenOver(() => server.close());
  const { label } = server.address;
  const world = createTestWorld();
  const config = readConfig({ db: [path], electrum: [label], listen: ['127.0.0.1:0'] }, {});
  const onFatal = (error: Error): never => {
    throw error;
  };
  const app = await buildApp(config, world, { onFatal, earliest });
  whenOver(() => app.stop());
  await app.start();
  await world.until(() => app.health().electrum.servers[0]?.state === 'live', 'the connection');
  expect(store.servers.trust(label)?.kind).toBe(learnt);
});
