// What paygate must not do: serve a file twice, use a foreign file, or fail to end. Each refusal is
// one clear line and changes no file.

import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import { expect } from 'vitest';
import { expectAgreement } from './agreement.ts';
import type { Outcome } from './paygate.ts';
import { type Stage, test } from './stage.ts';

function expectRefusal(outcome: Outcome, code: number, reason: string | RegExp): void {
  expect(outcome).toMatchObject({ code, stdout: '' });
  expect(outcome.stderr).toMatch(/^paygate: .+\n$/);
  expect(outcome.stderr).toMatch(reason);
}

test('a second serve on the same file or port is refused, and the first goes on', async ({
  stage,
}) => {
  const { db, folder } = stage;
  const shop = await stage.openShop();
  await stage.addStore('p2wpkh', shop.callbackUrl);
  const server = await stage.serve();
  await server.settled();

  const second = await serve(stage, '--db', db);
  expectRefusal(second, 1, `${db}: another \`paygate serve\` uses this database`);
  const address = `127.0.0.1:${server.port}`;
  const other = ['--db', join(folder, 'other.db'), '--network', 'regtest', '--listen', address];
  expectRefusal(await serve(stage, ...other), 1, `cannot listen on ${address}: the port is taken`);

  // The first one still works.
  const [paid = ''] = await stage.newAddresses(server, 1);
  await stage.network.pay({ address: paid, valueSat: 41_000 });
  await expect.poll(() => shop.attempts(paid)).toEqual(['0:200']);
  await server.settled();
  await server.stop();
  await expectAgreement(stage);
});

test('a file and an Electrum server of another network are refused', async ({ stage }) => {
  const { db, folder, network } = stage;
  const shop = await stage.openShop();
  await stage.addStore('p2wpkh', shop.callbackUrl);
  const before = readFileSync(db);
  expectRefusal(
    await serve(stage, '--db', db, '--network', 'mainnet'),
    2,
    `${db}: this database is for regtest, not mainnet`,
  );
  expect(readFileSync(db).equals(before)).toBe(true);

  // A mainnet paygate must ignore a server of another chain.
  const mainnet = await stage.serve('--db', join(folder, 'main.db'), '--network', 'mainnet');
  await expect
    .poll(() => mainnet.health())
    .toMatchObject({
      network: 'mainnet',
      warnings: [expect.stringContaining('the genesis block of another network')],
      electrum: { server: null, height: null },
    });
  expect(mainnet.output()).toContain(network.electrum('first').tcp);
  await mainnet.stop();
});

test('files that are not paygate’s are refused and stay unchanged', async ({ stage }) => {
  const { folder } = stage;
  const foreign = join(folder, 'foreign.db');
  const sqlite = new SqliteDatabase(foreign);
  sqlite.exec("create table notes (text); insert into notes values ('not yours')");
  sqlite.close();
  const text = join(folder, 'text.db');
  writeFileSync(text, 'x'.repeat(500));
  const empty = join(folder, 'empty.db');
  writeFileSync(empty, '');
  const files = [
    { path: foreign, reason: 'is the database of another program' },
    { path: text, reason: 'is not a paygate database' },
    { path: empty, reason: 'is empty (0 bytes)' },
  ];
  for (const { path, reason } of files) {
    const before = readFileSync(path);
    const outcomes = await Promise.all([
      serve(stage, '--db', path, '--network', 'regtest'),
      stage.run(['callbacks', 'list', '--db', path]),
    ]);
    for (const outcome of outcomes) expectRefusal(outcome, 1, `${path}: ${reason}`);
    expect(readFileSync(path).equals(before)).toBe(true);
  }
});

test('each wrong argument is named in one line', async ({ stage }) => {
  const { db, folder } = stage;
  await stage.addStore('p2wpkh', 'http://127.0.0.1:9/callback');
  const { tpub } = await stage.merchant.account('p2wpkh');
  const key = ['--network', 'regtest', '--xpub', tpub, '--script', 'p2wpkh'];
  const addStore = (url: string) =>
    stage.run(['store', 'add', '--db', db, '--name', 'Shop', ...key, '--callback-url', url]);
  const refusals: readonly [outcome: Promise<Outcome>, code: number, reason: string | RegExp][] = [
    [serve(stage, '--db', join(folder, 'no', 'paygate.db')), 1, 'does not exist'],
    [stage.run(['store', 'list', '--db', join(folder, 'none.db')]), 1, 'no such database'],
    [serve(stage, '--electrum', 'http://a:1'), 2, /--electrum: .*tcp:\/\/host/],
    [addStore('shop.example/callback'), 2, 'must be a whole URL'],
    [addStore('http://127.0.0.1/callback'), 2, '--allow-private-callback'],
  ];
  for (const [outcome, code, reason] of refusals) expectRefusal(await outcome, code, reason);

  const unknown = await serve(stage, '--colour', 'red');
  expect(unknown).toMatchObject({ code: 2, stdout: '' });
  expect(unknown.stderr).toMatch(/^paygate: unknown option '--colour'\n/);
});

test('SIGTERM ends it in time, also while a shop hangs and a client stalls', async ({ stage }) => {
  const shop = await stage.openShop((_callback, before) => (before === 0 ? 'hang' : 200));
  const store = await stage.addStore('p2wpkh', shop.callbackUrl);
  let server = await stage.serve();
  await server.settled();
  const [address = ''] = await stage.newAddresses(server, 1);
  await stage.network.pay({ address, valueSat: 51_000 });
  await expect.poll(() => shop.attempts(address)).toEqual(['0:hang']);
  const client = connect(server.port, '127.0.0.1').on('error', () => {});
  await new Promise((sent) => client.write('GET /healthz HTTP/1.1\r\nHost: ', sent));
  await server.stop();
  client.destroy();

  // The next one delivers the callback that this one could not finish.
  server = await stage.serve();
  await expect.poll(() => shop.attempts(address)).toEqual(['0:hang', '0:200']);
  await server.settled();
  await server.stop();
  shop.verify(store.webhook_secret);
  await expectAgreement(stage);
});

/** `serve` that is expected to end by itself. */
function serve({ run, network }: Stage, ...args: readonly string[]): Promise<Outcome> {
  const listen = args.includes('--listen') ? [] : ['--listen', '127.0.0.1:0'];
  const electrum = args.includes('--electrum') ? [] : ['--electrum', network.electrum('first').tcp];
  return run(['serve', ...listen, ...electrum, ...args]);
}
