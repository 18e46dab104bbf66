// A store whose shop is behind Tor, on a paygate with a proxy and on one without.

import { afterEach, expect, test } from 'vitest';
import { startSocks } from '../electrum/socks-server.ts';
import { closeApps, openReady, type TestApp } from '../support/app.ts';
import { signedIn } from '../support/visitor.ts';

afterEach(closeApps);

const onion = '2gzyxa5ihm7nsggfxnu52rck2vv4rvmdlkiu3zzui5du4xyclen53wid.onion';
const http_callback = `http://${onion}/cb?secret=x`;

async function write(house: TestApp): Promise<[number, string]> {
  await house.withStore(({ keys, database }) =>
    database.write((tx) => keys.allowPlugin(tx, house.world.now(), 1, house.world.now() + 9e5)),
  );
  const init = { method: 'POST', body: JSON.stringify({ http_callback }) };
  const { status, body } = await house.ask('/api/v2/stores/1', init);
  return [status, String(body.message)];
}

test('without a proxy it is refused where it is entered, and called by nobody', async () => {
  const house = await openReady();
  const said = `${onion} is reached only through Tor: start serve with --proxy`;
  expect(await write(house)).toEqual([400, expect.stringContaining(said)]);
  const fields = { name: 'Shop', 'callback-url': http_callback, confirmations: '2' };
  const visitor = await signedIn(house);
  const seen = await visitor.submit('/dashboard/stores/1', 'change', fields);
  expect([seen.status, seen.text]).toEqual([400, expect.stringContaining(said)]);

  // It may have been entered before, or by the command line.
  await house.withStore(({ catalog, database }) =>
    database.write((tx) => catalog.changeStore(tx, 1, { callbackUrl: http_callback })),
  );
  house.pay(await house.newAddress(), 10_000);
  await house.settle();
  const [attempt] = await house.withStore(async ({ outbox }) =>
    outbox.attempts(outbox.list({ limit: 1 })[0]?.id ?? 0),
  );
  expect(attempt).toMatchObject({ outcome: 'refused', reason: expect.stringContaining(said) });
});

test('with one its callbacks go through it, and nothing else of the shop does', async () => {
  let house: TestApp | undefined;
  const socks = await startSocks({
    names: {
      get [onion]() {
        return house?.receiver.port ?? 0;
      },
    },
  });
  try {
    // The servers of a test are reached through it as well.
    house = await openReady({ config: { proxy: socks.proxy } });
    expect(await write(house)).toEqual([200, 'undefined']);
    const address = await house.newAddress();
    house.pay(address, 10_000);
    await house.settle();
    expect(house.statuses(address)).toEqual(['0']);
    expect(socks.asked.filter(({ host }) => host === onion)).toHaveLength(1);
    expect(house.receiver.requests[0]?.headers.host).toBe(onion);
  } finally {
    await closeApps();
    await socks.close();
  }
});
