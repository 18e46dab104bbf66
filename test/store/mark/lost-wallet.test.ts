// A wallet that was added after the backup which was restored: its row is lost, customers hold its
// addresses. Added again, it goes on behind what was issued, whenever that is and whatever number
// it gets.

import { copyFileSync, renameSync } from 'node:fs';
import { afterEach, describe, expect, it, test } from 'vitest';
import { deriveAddress, firstAddresses } from '../../../src/bitcoin/keychain.ts';
import { markName } from '../../../src/domain/store/allocation.ts';
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
const added = (app: TestApp, key = lostKey, name = 'lost'): StoreOptions => ({
  name,
  key,
  callbackUrl: `${app.receiver.origin}/${name}`,
});

/** Adds it while paygate runs, as the CLI does, and waits until it was noticed. */
async function addNow(app: TestApp, options: StoreOptions): Promise<void> {
  await app.addStore(options);
  await app.world.advance(1_000);
  await untilReady(app);
}

/**
 * A shop that is stopped, with a backup in its place from before its second wallet issued this
 * many.
 */
async function restored(issued = 3): Promise<{ app: TestApp; given: string[] }> {
  const app = await openApp();
  await untilReady(app);
  await app.newAddress();
  await app.stop();
  copyFileSync(app.path, `${app.path}.bak`);
  await app.start();
  await addNow(app, added(app));
  const given: string[] = [];
  while (given.length < issued) given.push(await app.newAddress(lost));
  expect(given).toEqual(firstAddresses(lostKey, issued));
  await app.stop();
  renameSync(`${app.path}.bak`, app.path);
  return { app, given };
}

const goesOn = async (app: TestApp, given: readonly string[]) => {
  const more = [await app.newAddress(lost), await app.newAddress(lost)];
  expect([...given, ...more]).toEqual(firstAddresses(lostKey, given.length + 2));
};

describe.each([
  ['with a scan', undefined],
  ['with --start-index 0', 0],
])('P-17 a wallet that a restore lost, added again %s', (_what, startIndex) => {
  const again = (app: TestApp): StoreOptions => ({
    ...added(app),
    ...(startIndex === undefined ? {} : { startIndex }),
  });

  it('before paygate starts', async () => {
    const { app, given } = await restored();
    await app.addStore(again(app));
    await app.start();
    await untilReady(app);
    await goesOn(app, given);
  });

  it('while paygate runs', async () => {
    const { app, given } = await restored();
    await app.start();
    await untilReady(app);
    await addNow(app, again(app));
    await goesOn(app, given);
    await app.stop();
    await app.start();
    await untilReady(app);
    const [next] = firstAddresses(lostKey, 6).slice(5);
    expect(await app.newAddress(lost)).toBe(next);
  });

  it('after restarts that did not know it', async () => {
    const { app, given } = await restored();
    for (let starts = 0; starts < 3; starts += 1) {
      await app.start();
      await untilReady(app);
      await app.newAddress('?match_callback=/cb');
      await app.stop();
    }
    await app.start();
    await untilReady(app);
    await addNow(app, again(app));
    await goesOn(app, given);
  });

  it('under another id, while another wallet has its old one', async () => {
    const { app, given } = await restored();
    const other = merchantKey(3);
    await app.start();
    await addNow(app, { ...added(app, other, 'other'), startIndex: 0 });
    await addNow(app, again(app));
    const ids = await app.withStore(async ({ catalog }) => catalog.wallets());
    expect(ids.map(({ descriptor }) => descriptor)).toEqual([
      merchantKey().descriptor,
      other.descriptor,
      lostKey.descriptor,
    ]);
    expect([await app.newAddress('?match_callback=/other')]).toEqual(firstAddresses(other, 1));
    await goesOn(app, given);
  });

  it('issues no address before it has continued behind the mark', async () => {
    const { app, given } = await restored();
    await app.start();
    await untilReady(app);
    await app.addStore(again(app));
    const { status, headers } = await app.ask(`/api/new_address${lost}`);
    expect([status, headers.get('Retry-After')]).toEqual([503, '5']);
    await app.world.advance(1_000);
    await untilReady(app);
    await goesOn(app, given);
  });
});

test.each(['before', 'after'])(
  'another wallet that is added %s the start under its id begins at 0',
  async (when) => {
    const { app } = await restored();
    const other = merchantKey(3);
    const options = { ...added(app, other, 'other'), startIndex: 0 };
    if (when === 'before') await app.addStore(options);
    await app.start();
    if (when === 'after') await addNow(app, options);
    await untilReady(app);
    expect([await app.newAddress('?match_callback=/other')]).toEqual(firstAddresses(other, 1));
  },
);

describe('a restored file', () => {
  const copy = /this database is a copy/;
  const toldBy = ({ running: app }: TestApp) =>
    app.health().warnings.filter((each) => copy.test(each));

  it('reports the missing wallet, and what to do', async () => {
    const { app } = await restored();
    await app.start();
    await untilReady(app);
    expect(toldBy(app)).toEqual([
      expect.stringMatching(
        /: no address was skipped; 1 wallet added later is not in it, .* add their stores again$/,
      ),
    ]);
  });

  it('requires no larger gap limit if nothing was issued since', async () => {
    const app = await openApp();
    await untilReady(app);
    await app.newAddress();
    await app.stop();
    copyFileSync(app.path, `${app.path}.bak`);
    renameSync(`${app.path}.bak`, app.path);
    await app.start();
    expect(toldBy(app)).toEqual([expect.stringMatching(/: no address was skipped$/)]);
  });
});

test('P-61 payments to its addresses send callbacks, also those made while it was missing', async () => {
  const { app, given } = await restored();
  const [first = '', second = ''] = given;
  app.pay(first, 1_000);
  await app.start();
  await untilReady(app);
  await addNow(app, added(app));
  await app.settle();
  expect(app.statuses(first)).toEqual(['0']);
  app.pay(second, 2_000);
  await app.settle();
  expect(app.statuses(second)).toEqual(['0']);
});

test.each([
  ['with --start-index 0', { startIndex: 0 }],
  ['with a scan', {}],
])(
  'a stop in the middle of a long skip, %s, takes effect, and the next start continues the skip',
  async (_what, how) => {
    const { app } = await restored();
    const mark = openHighWaterMark(app.path, 'app');
    await mark.raise([{ wallet: markName(lostKey.descriptor), from: 1_999, to: 2_000 }]);
    mark.close();
    await app.start();
    await untilReady(app);
    await app.addStore({ ...added(app), ...how });
    await app.world.advance(1_000);
    await app.stop();
    const before = await app.withStore(async ({ catalog }) => catalog.wallet(2).nextIndex);
    expect(before).toBeLessThan(2_000);
    await app.start();
    await untilReady(app);
    const address = deriveAddress(lostKey, 0, 2_000)?.address;
    expect(await app.newAddress(lost)).toBe(address);
    expect(app.running.health().warnings.join()).not.toContain('is a copy');
  },
);

test('lost a second time before its scan, it is still in the mark file', async () => {
  const { app, given } = await restored();
  copyFileSync(app.path, `${app.path}.bak`);
  await app.addStore(added(app));
  app.server.inject({ kind: 'refuse' });
  await app.start();
  await app.stop();
  renameSync(`${app.path}.bak`, app.path);
  await app.start();
  await app.addStore({ ...added(app), startIndex: 0 });
  await app.world.advance(1_000);
  await app.settle();
  await goesOn(app, given);
});

test('it continues also without a reachable server', async () => {
  const { app, given } = await restored();
  app.server.inject({ kind: 'refuse' });
  await app.start();
  await app.addStore({ ...added(app), startIndex: 0 });
  await app.world.advance(1_000);
  await app.settle();
  await goesOn(app, given);
});
