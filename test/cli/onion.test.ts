// A shop behind Tor, as it is set up and tried from a command line.

import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { startSocks } from '../electrum/socks-server.ts';
import { runCli } from '../support/cli.ts';
import { cleanUp, tempFolder } from '../support/files.ts';
import { startReceiver } from '../support/receiver.ts';
import { accountKey } from '../support/store.ts';

afterEach(cleanUp);

const onion = '2gzyxa5ihm7nsggfxnu52rck2vv4rvmdlkiu3zzui5du4xyclen53wid.onion';
const url = `http://${onion}/cb?secret=x`;

async function openShop(callbackUrl = url) {
  const path = join(tempFolder(), 'paygate.db');
  const wallet = ['--xpub', accountKey().account, '--script', 'p2wpkh', '--start-index', '0'];
  const added = await runCli([
    ...['store', 'add', '--db', path, '--name', 'Shop', '--callback-url', callbackUrl],
    ...[...wallet, '--network', 'regtest', '--json'],
  ]);
  const run = (...args: string[]) => runCli([...args, '--db', path, '--json']);
  return { added, run };
}

it('needs no --allow-http-callback, and the output names the proxy that serve needs', async () => {
  const { added, run } = await openShop();
  expect(added.code).toBe(0);
  const note = expect.stringContaining('start serve with --proxy socks5://127.0.0.1:9050');
  expect(JSON.parse(added.stdout)).toMatchObject({ http_callback: url, note });
  const set = await run('store', 'set', '1', '--callback-url', `${url}y`);
  expect(JSON.parse(set.stdout)).toMatchObject({ http_callback: `${url}y`, note });
  const named = await run('store', 'set', '1', '--name', 'Renamed');
  expect(JSON.parse(named.stdout)).not.toHaveProperty('note');
});

it.each([
  ['http://expyuzz4wqqyqhjn.onion/cb', 'version 2'],
  [url.replace('2gzy', '2gzz'), 'checksum is wrong'],
])('is refused if no such service can exist: %s', async (wrong, said) => {
  const { added } = await openShop(wrong);
  expect([added.code, added.stderr]).toEqual([2, expect.stringContaining(said)]);
});

it('is tested through the named proxy, and refused without one', async () => {
  const receiver = await startReceiver();
  const socks = await startSocks({ names: { [onion]: receiver.port } });
  try {
    const { run } = await openShop();
    const refused = await run('callbacks', 'test', '--store', '1');
    expect([refused.code, JSON.parse(refused.stdout)]).toMatchObject([
      1,
      { outcome: 'refused', reason: expect.stringContaining('start serve with --proxy socks5://') },
    ]);
    const proxy = `socks5://127.0.0.1:${socks.proxy.port}`;
    const tried = await run('callbacks', 'test', '--store', '1', '--proxy', proxy);
    expect([tried.code, JSON.parse(tried.stdout)]).toMatchObject([0, { outcome: 'delivered' }]);
    expect(receiver.requests).toHaveLength(1);
  } finally {
    await socks.close();
    await receiver.close();
  }
});
