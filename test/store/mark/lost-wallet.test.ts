// A wallet that was added after the backup which was restored: its row is lost, customers hold its
// addresses. Added again, it goes on behind what was issued, whenever that is and whatever number it gets.

import { copyFileSync, renameSync } from 'node:fs';
import { afterEach, describe, expect, it, test } from 'vitest';
import { deriveAddress, firstAddresses } from '../../../src/bitcoin/keychain.ts';
import { markName } from '../../../src/domain/allocation.ts';
import { openHighWaterMark } from '../../../src/store/mark/high-water-mark.ts';
import {
  closeApps,
  merchantKey,
  openApp,
  type StoreOptions,
  type TestApp,
  untilReady,
} from '../../support/app.ts';

afterEach(closeApps);

const lostKey = merchantKey(2);
const lost = '?match_callback=/lost';
const added = (house: TestApp, key = lostKey, name = 'lost'): StoreOptions => ({
  name,
  key,
  callbackUrl: `${house.receiver.origin}/${name}`,
});

/** Adds it while paygate runs, as the CLI does, and waits until it was noticed. */
async function addNow(house: TestApp, options: StoreOptions): Promise<void> {
  await house.addStore(options);
  await house.world.advance(1_000);
  await untilReady(house);
}

/** A shop that is stopped, with a backup in its place from before its second wallet issued this many. */
async function restored(issued = 3): Promise<{ house: TestApp; given: string[] }> {
  const house = await openApp();
  await untilReady(house);
  await house.newAddress();
  await house.stop();
  copyFileSync(house.path, `${house.path}.bak`);
  await house.start();
  await addNow(house, added(house));
  const given: string[] = [];
  while (given.length < issued) given.push(await house.newAddress(lost));
  expect(given).toEqual(firstAddresses(lostKey, issued));
  await house.stop();
  renameSync(`${house.path}.bak`, house.path);
  return { house, given };
}

const goesOn = async (house: TestApp, given: readonly string[]) => {
  const more = [await house.newAddress(lost), await house.newAddress(lost)];
  expect([...given, ...more]).toEqual(firstAddresses(lostKey, given.length + 2));
};

describe.each([
  ['with a scan', undefined],
  ['with --start-index 0', 0],
])('P-17 a wallet that a restore lost, added again %s', (_what, startIndex) => {
  const again = (house: TestApp): StoreOptions => ({
    ...added(house),
    ...(startIndex === undefined ? {} : { startIndex }),
  });

  it('before paygate starts', async () => {
    const { house, given } = await restored();
    await house.addStore(again(house));
    await house.start();
    await untilReady(house);
    await goesOn(house, given);
  });

  it('while paygate runs', async () => {
    const { house, given } = await restored();
    await house.start();
    await untilReady(house);
    await addNow(house, again(house));
    await goesOn(house, given);
    await house.stop();
    await house.start();
    await untilReady(house);
    const [next] = firstAddresses(lostKey, 6).slice(5);
    expect(await house.newAddress(lost)).toBe(next);
  });

  it('after restarts that did not know it', async () => {
    const { house, given } = await restored();
    for (let starts = 0; starts < 3; starts += 1) {
      await house.start();
      await untilReady(house);
      await house.newAddress('?match_callback=/cb');
      await house.stop();
    }
    await house.start();
    await untilReady(house);
    await addNow(house, again(house));
    await goesOn(house, given);
  });

  it('under another number, while another wallet has its old one', async () => {
    const { house, given } = await restored();
    const other = merchantKey(3);
    await house.start();
    await addNow(house, { ...added(house, other, 'other'), startIndex: 0 });
    await addNow(house, again(house));
    const ids = await house.withStore(async ({ catalog }) => catalog.wallets());
    expect(ids.map(({ descriptor }) => descriptor)).toEqual([
      merchantKey().descriptor,
      other.descriptor,
      lostKey.descriptor,
    ]);
    expect([await house.newAddress('?match_callback=/other')]).toEqual(firstAddresses(other, 1));
    await goesOn(house, given);
  });

  it('gives no address before it has gone on', async () => {
    const { house, given } = await restored();
    await house.start();
    await untilReady(house);
    await house.addStore(again(house));
    const { status, headers } = await house.ask(`/api/new_address${lost}`);
    expect([status, headers.get('Retry-After')]).toEqual([503, '5']);
    await house.world.advance(1_000);
    await untilReady(house);
    await goesOn(house, given);
  });
});

test.each(['before', 'after'])(
  'another wallet added %s the start under its number begins at 0',
  async (when) => {
    const { house } = await restored();
    const other = merchantKey(3);
    const options = { ...added(house, other, 'other'), startIndex: 0 };
    if (when === 'before') await house.addStore(options);
    await house.start();
    if (when === 'after') await addNow(house, options);
    await untilReady(house);
    expect([await house.newAddress('?match_callback=/other')]).toEqual(firstAddresses(other, 1));
  },
);

describe('a restored file', () => {
  const copy = /this database is a copy/;
  const toldBy = ({ running: app }: TestApp) =>
    app.health().warnings.filter((each) => copy.test(each));

  it('says that a wallet is missing, and what to do', async () => {
    const { house } = await restored();
    await house.start();
    await untilReady(house);
    expect(toldBy(house)).toEqual([
      expect.stringMatching(
        /: no address was skipped; 1 wallet\(s\) that were added later are not in it, .* add their stores again$/,
      ),
    ]);
  });

  it('asks for no gap limit where nothing was issued since', async () => {
    const house = await openApp();
    await untilReady(house);
    await house.newAddress();
    await house.stop();
    copyFileSync(house.path, `${house.path}.bak`);
    renameSync(`${house.path}.bak`, house.path);
    await house.start();
    expect(toldBy(house)).toEqual([expect.stringMatching(/: no address was skipped$/)]);
  });
});

test('P-61 payments to what it had issued call back, also those from while it was unknown', async () => {
  const { house, given } = await restored();
  const [first = '', second = ''] = given;
  house.pay(first, 1_000);
  await house.start();
  await untilReady(house);
  await addNow(house, added(house));
  await house.settle();
  expect(house.statuses(first)).toEqual(['0']);
  house.pay(second, 2_000);
  await house.settle();
  expect(house.statuses(second)).toEqual(['0']);
});

test.each([
  ['with --start-index 0', { startIndex: 0 }],
  ['with a scan', {}],
])(
  'a stop in the middle of a long skip, %s, is heard, and the next start goes on with it',
  async (_what, how) => {
    const { house } = await restored();
    const mark = openHighWaterMark(house.path, 'house');
    await mark.raise([{ wallet: markName(lostKey.descriptor), from: 1_999, to: 2_000 }]);
    mark.close();
    await house.start();
    await untilReady(house);
    await house.addStore({ ...added(house), ...how });
    await house.world.advance(1_000);
    await house.stop();
    const before = await house.withStore(async ({ catalog }) => catalog.wallet(2).nextIndex);
    expect(before).toBeLessThan(2_000);
    await house.start();
    await untilReady(house);
    const address = deriveAddress(lostKey, 0, 2_000)?.address;
    expect(await house.newAddress(lost)).toBe(address);
    expect(house.running.health().warnings.join()).not.toContain('is a copy');
  },
);

test('lost a second time before its scan, it is known still', async () => {
  const { house, given } = await restored();
  copyFileSync(house.path, `${house.path}.bak`);
  await house.addStore(added(house));
  house.server.inject({ kind: 'refuse' });
  await house.start();
  await house.stop();
  renameSync(`${house.path}.bak`, house.path);
  await house.start();
  await house.addStore({ ...added(house), startIndex: 0 });
  await house.world.advance(1_000);
  await house.settle();
  await goesOn(house, given);
});

test('it goes on also while no server can be reached', async () => {
  const { house, given } = await restored();
  house.server.inject({ kind: 'refuse' });
  await house.start();
  await house.addStore({ ...added(house), startIndex: 0 });
  await house.world.advance(1_000);
  await house.settle();
  await goesOn(house, given);
});
