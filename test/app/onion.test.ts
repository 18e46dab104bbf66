// A store whose shop is behind Tor, on a paygate with a proxy and on one without.

import { afterEach, expect, test } from 'vitest';
import { startSocks } from '../electrum/socks-server.ts';
import { closeApps, openReady, type TestApp } from '../support/app.ts';
import { signedIn } from '../support/visitor.ts';

afterEach(closeApps);

const onion = '2gzyxa5ihm7nsggfxnu52rck2vv4rvmdlkiu3zzui5du4xyclen53wid.onion';
const http_callback = `http://${onion}/cb?secret=x`;

async function write(app: TestApp): Promise<[number, string]> {
  await app.withStore(({ keys, database }) =>
    database.write((tx) => keys.allowPlugin(tx, app.world.now(), 1, app.world.now() + 9e5)),
  );
  const init = { method: 'POST', body: JSON.stringify({ http_callback }) };
  const { status, body } = await app.ask('/api/v2/stores/1', init);
  return [status, String(body.message)];
}

test('without a proxy an onion URL is refused as a setting, and a stored one is never called', async () => {
  const app = await openReady();
  const said = `${onion} is reached only through Tor: start serve with --proxy`;
  expect(await write(app)).toEqual([400, expect.stringContaining(said)]);
  const fields = { name: 'Shop', 'callback-url': http_callback, confirmations: '2' };
  const visitor = await signedIn(app);
  const seen = await visitor.submit('/dashboard/stores/1/callbacks', 'change', fields);
  expect([seen.status, seen.text]).toEqual([400, expect.stringContaining(said)]);

  // It may have been entered before, or by the command line.
  await app.withStore(({ catalog, database }) =>
    database.write((tx) => catalog.changeStore(tx, 1, { callbackUrl: http_callback })),
  );
  app.pay(await app.newAddress(), 10_000);
  await app.settle();
  const [attempt] = await app.withStore(async ({ outbox }) =>
    outbox.attempts(outbox.list({ limit: 1 })[0]?.id ?? 0),
  );
  expect(attempt).toMatchObject({ outcome: 'refused', reason: expect.stringContaining(said) });
});

test('with a proxy its callbacks go through it, and no other request to the shop', async () => {
  let app: TestApp | undefined;
  const socks = await startSocks({
    names: {
      get [onion]() {
        return app?.receiver.port ?? 0;
      },
    },
  });
  try {
    // The servers of a test are reached through it as well.
    app = await openReady({ config: { proxy: socks.proxy } });
    expect(await write(app)).toEqual([200, 'undefined']);
    const address = await app.newAddress();
    app.pay(address, 10_000);
    await app.settle();
    expect(app.statuses(address)).toEqual(['0']);
    expect(socks.asked.filter(({ host }) => host === onion)).toHaveLength(1);
    expect(app.receiver.requests[0]?.headers.host).toBe(onion);
  } finally {
    await closeApps();
    await socks.close();
  }
});
