// `balance`, `searchhistory` and `tx_detail` (wire §§2-3), with a wallet that also spends.

import { HDKey } from '@scure/bip32';
import { afterEach, expect, test } from 'vitest';
import { descriptorChecksum } from '../../../src/bitcoin/descriptor.ts';
import type { Txid } from '../../../src/bitcoin/ids.ts';
import { deriveAddress, parseWalletKey } from '../../../src/bitcoin/keychain.ts';
import {
  closeApps,
  merchantKey,
  openReady,
  type Reply,
  type TestApp,
  untilReady,
} from '../../support/app.ts';

afterEach(closeApps);

const key = merchantKey();

function at(branch: 0 | 1, index: number, of = key) {
  const derived = deriveAddress(of, branch, index);
  if (derived === undefined) throw new Error('no such address');
  return derived;
}

function privateKey(path: string): Uint8Array {
  const root = HDKey.fromMasterSeed(new Uint8Array(32).fill(1), {
    private: 0x04358394,
    public: 0x043587cf,
  });
  const { privateKey } = root.derive(`m/84'/1'/0'/${path}`);
  if (privateKey === null) throw new Error('no private key');
  return privateKey;
}

const signed = (body: string): string => `${body}#${descriptorChecksum(body)}`;

const balances = async (app: TestApp, text: string) => {
  const { status, body } = await app.ask(`/api/balance?addr=${text}`);
  expect(status).toBe(200);
  return body.response.map(
    (each: { confirmed: number; unconfirmed: number }) =>
      [each.confirmed, each.unconfirmed] as const,
  );
};

/** Spends the first output of a payment, with change to the wallet's own branch. */
function spend(app: TestApp, txid: string, script: Uint8Array, path: string): void {
  const outputs = app.chain.transaction(txid as Txid)?.outputs ?? [];
  const vout = outputs.findIndex((each) => Buffer.compare(each.script, script) === 0);
  app.chain.spend([{ txid: txid as Txid, vout }], {
    privateKey: privateKey(path),
    outputs: [{ address: at(0, 0, merchantKey(9)).address, valueSat: 10_000 }],
    change: at(1, 0).script,
  });
}

test('P-33 an address: unconfirmed below 2 confirmations, confirmed from there on', async () => {
  const app = await openReady();
  const address = await app.newAddress();
  expect(await balances(app, address)).toEqual([[0, 0]]);
  app.pay(address, 50_000);
  await app.settle();
  expect(await balances(app, address)).toEqual([[0, 50_000]]);
  app.chain.mine();
  await app.settle();
  expect(await balances(app, address)).toEqual([[0, 50_000]]);
  app.chain.mine();
  await app.settle();
  expect(await balances(app, address)).toEqual([[50_000, 0]]);
});

test('P-33 a wallet: both branches, what is being spent is negative', async () => {
  const app = await openReady();
  const address = await app.newAddress();
  const txid = app.pay(address, 50_000);
  app.chain.mine(2);
  await app.settle();
  expect(await balances(app, key.account)).toEqual([[50_000, 0]]);
  spend(app, txid, at(0, 0).script, '0/0');
  await app.settle();
  app.chain.mine();
  await app.settle();
  const [[confirmed, unconfirmed]] = await balances(app, key.account);
  expect(confirmed).toBe(50_000);
  expect(unconfirmed).toBeLessThan(-10_000);
  expect(unconfirmed).toBeGreaterThan(-15_000);
  app.chain.mine();
  await app.settle();
  expect(await balances(app, key.account)).toEqual([[confirmed + unconfirmed, 0]]);
  expect(await balances(app, address)).toEqual([[0, 0]]);
});

test('P-34 used addresses from before paygate and beyond its own are found up to the gap', async () => {
  const before = [at(0, 3), at(1, 19), at(1, 39)];
  const app = await openReady({
    before: (chain) => {
      for (const [index, { address }] of before.entries()) {
        chain.pay([{ address, valueSat: 1_000 * 10 ** index }]);
      }
      chain.mine(2);
    },
  });
  expect(await balances(app, key.account)).toEqual([[111_000, 0]]);
});

test('P-34 used addresses are also found in the look-ahead, before any server was queried about them', async () => {
  const app = await openReady({ store: { startIndex: 100 } });
  // Right after a start it is still busy.
  await app.world.advance(100);
  await app.settle();
  expect(await app.withStore(async ({ addresses }) => addresses.derivedUntil(1))).toBe(200);
  for (const index of [119, 139, 155]) app.pay(at(0, index).address, 1_000 + index);
  app.chain.mine(2);
  await app.settle();
  expect(await balances(app, key.account)).toEqual([[3_413, 0]]);
  app.pay(at(0, 170).address, 500);
  app.chain.mine(2);
  await app.settle();
  expect(await balances(app, key.account)).toEqual([[3_913, 0]]);
});

test('P-33 several addresses in one request are answered in its order, however they are split', async () => {
  const app = await openReady();
  const [one, two] = [await app.newAddress(), await app.newAddress()];
  app.pay(two, 2_000);
  await app.settle();
  const text = `${two} ${one}%2B${two},${one}`;
  expect(await balances(app, text)).toEqual([
    [0, 2_000],
    [0, 0],
    [0, 2_000],
    [0, 0],
  ]);
  const posted = await app.ask('/api/balance', {
    method: 'POST',
    body: JSON.stringify({ addr: `${one}\n${two}%20${key.account}` }),
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
  });
  expect(posted.body.response.map((each: { addr: string }) => each.addr)).toEqual([
    one,
    two,
    key.account,
  ]);
  expect(posted.body.response[2]).toEqual({ addr: key.account, confirmed: 0, unconfirmed: 2_000 });
});

test.each([
  ['nothing', '', 400],
  ['what is no address', '?addr=abc', 400],
  ['more than 100', `?addr=${'a,'.repeat(101)}`, 400],
  ['an address of somebody else', `?addr=${at(0, 0, merchantKey(9)).address}`, 403],
  ['an xpub of somebody else', `?addr=${merchantKey(9).account}`, 403],
])('P-35 %s is refused', async (_name, query, status) => {
  const app = await openReady();
  expect((await app.ask(`/api/balance${query}`)).status).toBe(status);
});

test('P-35 foreign addresses are answered if a setting allows it', async () => {
  const app = await openReady({ config: { foreignBalances: true } });
  const stranger = at(0, 0, merchantKey(9)).address;
  app.pay(stranger, 7_000);
  app.chain.mine(2);
  await app.settle();
  expect(await balances(app, stranger)).toEqual([[7_000, 0]]);
});

test('P-33 100 addresses in one request, by GET and by POST, each paid or not', async () => {
  const app = await openReady();
  const issued: string[] = [];
  while (issued.length < 100) issued.push(await app.newAddress());
  // This many addresses in a row are watched after the last one.
  await app.world.advance(1_000);
  app.chain.pay(issued.slice(0, 50).map((address) => ({ address, valueSat: 1_000 })));
  await app.settle();
  const wanted = issued.map((addr, index) => ({
    ...{ addr, confirmed: 0 },
    unconfirmed: index < 50 ? 1_000 : 0,
  }));
  const got = await app.ask(`/api/balance?addr=${issued.join('+')}`);
  expect(got).toMatchObject({ status: 200, body: { response: wanted } });
  const body = JSON.stringify({ addr: issued.join('\n') });
  expect((await app.ask('/api/balance', { method: 'POST', body })).body.response).toEqual(wanted);
});

test('P-38 too many concurrent balances get 503, and the rest of the API works', async () => {
  const app = await openReady({ config: { foreignBalances: true } });
  const strangers = Array.from({ length: 200 }, (_, index) => at(0, index, merchantKey(9)).address);
  const end = app.server.inject({ kind: 'delay', ms: 60_000 });
  const asked = app.server.count('blockchain.scripthash.get_history');
  const hanging = [strangers.slice(0, 100), strangers.slice(100)].map((some) =>
    app.ask(`/api/balance?addr=${some.join()}`),
  );
  await app.world.until(
    () => app.server.count('blockchain.scripthash.get_history') > asked,
    'the readings to be under way',
  );
  const more = await app.ask(`/api/balance?addr=${at(1, 0, merchantKey(9)).address}`);
  expect(more.status).toBe(503);
  expect(more.headers.get('Retry-After')).toBe('5');
  expect((await app.ask('/api/new_address')).status).toBe(200);
  await app.world.advance(5_000);
  for (const { status, headers } of await Promise.all(hanging)) {
    expect([status, headers.get('Retry-After')]).toEqual([503, '5']);
  }
  end();
});

const recovery =
  'abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about';

test.each([
  ['an extended private key', `tprv${'8'.repeat(107)}`],
  ['the same in a descriptor', `wpkh(tprv${'8'.repeat(107)}/0/*)%23aaaaaaaa`],
  ['a single private key', 'cTpB4YiyKiBcPxnefsDpbnDxFDffjqJob8wGCEDXxgQ7zQoMXJdH'],
  ['recovery words', recovery],
])('P-37 %s is refused and never repeated', async (_name, secret) => {
  const app = await openReady({ config: { foreignBalances: true } });
  const { status, body } = await app.ask(`/api/balance?addr=${secret}`);
  expect(status).toBe(400);
  expect(JSON.stringify(body)).not.toContain(secret.slice(0, 14));
  expect(JSON.stringify(app.world.logs)).not.toContain(secret.slice(0, 14));
});

test('P-20 P-36 a wallet of several signers is named by its descriptor, beside others', async () => {
  const [one, two] = [merchantKey(3).account, merchantKey(4).account];
  const text = signed(`wsh(sortedmulti(1,${one}/0/*,${two}/0/*))`);
  const several = parseWalletKey(text, { network: 'regtest' });
  const app = await openReady({ store: { key: several } });
  const { body } = await app.ask(`/api/new_address?match_account=${encodeURIComponent(text)}`);
  expect(body).toMatchObject({ address: at(0, 0, several).address, account: text });
  app.pay(body.address, 8_000);
  await app.settle();
  const list = encodeURIComponent(`${body.address},${text} ${body.address.toUpperCase()}`);
  expect(await balances(app, list)).toEqual([
    [0, 8_000],
    [0, 8_000],
    [0, 8_000],
  ]);
  const otherWay = signed(`wsh(sortedmulti(1,[00000000/48h/1h]${two}/<0;1>/*,${one}/<0;1>/*))`);
  expect(await balances(app, encodeURIComponent(otherWay))).toEqual([[0, 8_000]]);
  const { pending } = (await app.ask(`/api/searchhistory?addr=${list}`)).body;
  expect(pending).toMatchObject([{ addr: [body.address], value: 8_000 }]);
  for (const path of ['/api/v2/wallets', '/api/address?only_xpub=true']) {
    const answer = (await app.ask(path)).body;
    expect((answer.data ?? answer)[0].address).toBe(text);
  }
  const unclosed = await app.ask(`/api/balance?addr=${encodeURIComponent(text.slice(0, 99))}`);
  expect(unclosed.status).toBe(400);
});

test('P-36 a wallet is recognised by every notation of its key', async () => {
  const app = await openReady();
  app.pay(await app.newAddress(), 4_000);
  await app.settle();
  const { account } = key;
  const ways = ['0', '<0;1>'].map((branch) => signed(`wpkh(${account}/${branch}/*)`));
  ways.push(account);
  const list = encodeURIComponent(ways.join(' '));
  expect(await balances(app, list)).toEqual(ways.map(() => [0, 4_000]));
  const others = encodeURIComponent(signed(`tr(${account}/0/*)`));
  expect((await app.ask(`/api/balance?addr=${others}`)).status).toBe(403);
});

test('P-35 a foreign descriptor is answered if that is allowed; a foreign xpub alone is ambiguous', async () => {
  const app = await openReady({ config: { foreignBalances: true } });
  const { account } = merchantKey(9);
  app.pay(at(0, 0, merchantKey(9)).address, 7_000);
  app.chain.mine(2);
  await app.settle();
  const text = encodeURIComponent(signed(`wpkh(${account}/0/*)`));
  expect(await balances(app, text)).toEqual([[7_000, 0]]);
  const { status, body } = await app.ask(`/api/balance?addr=${account}`);
  expect(status).toBe(400);
  expect(body.message).toContain('descriptor');
});

test('P-12 P-46 a wallet is listed with its balance on request, within the limit of balances', async () => {
  const app = await openReady({ config: { limitBalance: { perMinute: 30, burst: 1 } } });
  app.pay(await app.newAddress(), 6_000);
  await app.settle();
  const bare = await app.ask('/api/v2/wallets/1?balance=false');
  expect(bare.body.data).not.toHaveProperty('balance');
  const { body } = await app.ask('/api/v2/wallets/1?balance=true');
  expect(body).toMatchObject({
    data: { ...bare.body.data, balance: { confirmed: 0, unconfirmed: 6_000 } },
  });
  expect((await app.ask('/api/v2/wallets?balance=true')).status).toBe(429);
  expect((await app.ask('/api/v2/wallets/1?balance=true')).status).toBe(429);
  expect((await app.ask('/api/v2/wallets/1')).status).toBe(200);
});

test('without a server the client gets a Retry-After', async () => {
  const app = await openReady();
  app.server.disconnectAll();
  await app.world.until(() => !app.running.health().electrum.caught_up, 'the server to be gone');
  const { status, headers } = await app.ask(`/api/balance?addr=${key.account}`);
  expect(status).toBe(503);
  expect(Number(headers.get('Retry-After'))).toBeGreaterThan(0);
});

test('P-10 P-38 a slow server: the client gets 503 first, and then its answer', async () => {
  const app = await openReady();
  app.pay(await app.newAddress(), 4_000);
  await app.settle();
  const end = app.server.inject({ kind: 'delay', ms: 8_000 });
  let refused: Reply | undefined;
  app.ask(`/api/balance?addr=${key.account}`).then((reply) => {
    refused = reply;
  });
  while (refused === undefined) await app.world.advance(1_000);
  expect(refused.status).toBe(503);
  expect(refused.headers.get('Retry-After')).toBe('5');
  end();
  await app.world.advance(8_000);
  expect(await balances(app, key.account)).toEqual([[0, 4_000]]);
});

test('P-10 P-38 a slow server: tx_detail and a history of old blocks wait no longer than a balance', async () => {
  const app = await openReady({ blocks: 160 });
  const txid = app.pay(await app.newAddress(), 4_000);
  app.chain.mine(2);
  await app.settle();
  for (const path of [`tx_detail?txid=${txid}`, `searchhistory?addr=${key.account}`]) {
    const end = app.server.inject({ kind: 'delay', ms: 8_000 });
    let refused: Reply | undefined;
    app.ask(`/api/${path}`).then((reply) => {
      refused = reply;
    });
    while (refused === undefined) await app.world.advance(1_000);
    expect([path, refused.status, refused.headers.get('Retry-After')]).toEqual([path, 503, '5']);
    end();
    await app.world.advance(8_000);
    expect([path, (await app.ask(`/api/${path}`)).status]).toEqual([path, 200]);
  }
});

test('P-40 searchhistory: pending and confirmed entries, newest first, spends are negative', async () => {
  const app = await openReady();
  const address = await app.newAddress();
  const first = app.pay(address, 50_000);
  app.chain.mine(2);
  await app.settle();
  spend(app, first, at(0, 0).script, '0/0');
  app.chain.mine();
  const third = app.pay(address, 3_000);
  await app.settle();
  const { body } = await app.ask(`/api/searchhistory?addr=${key.account}`);
  const time = Math.floor(app.world.now() / 1000);
  expect(body.pending).toEqual([
    { status: 0, addr: [address], time, value: 3_000, txid: third },
    {
      status: 1,
      addr: expect.arrayContaining([address, at(1, 0).address]),
      time: expect.any(Number),
      value: expect.any(Number),
      txid: expect.stringMatching(/^[0-9a-f]{64}$/),
    },
  ]);
  expect(body.pending[1].value).toBeLessThan(-10_000);
  expect(body.history).toEqual([
    { addr: [address], time: expect.any(Number), value: 50_000, txid: first },
  ]);
  const posted = await app.ask('/api/searchhistory', {
    method: 'POST',
    body: JSON.stringify({ addr: address }),
  });
  expect(posted.body.history).toEqual(body.history);
});

test('P-40 searchhistory: unconfirmed entries are in the order in which they were seen', async () => {
  const app = await openReady();
  const address = await app.newAddress();
  const seen: string[] = [];
  for (const valueSat of [20_000, 21_000, 22_000, 23_000, 24_000]) {
    seen.unshift(app.pay(address, valueSat));
    await app.settle();
    await app.world.advance(1_000);
  }
  const { body } = await app.ask(`/api/searchhistory?addr=${address}`);
  expect(body.pending.map(({ txid }: { txid: string }) => txid)).toEqual(seen);
});

test('P-39 an address with a notified, unshown history has no balance of 0', async () => {
  const app = await openReady();
  const address = await app.newAddress();
  const when = (method: string) => method === 'blockchain.scripthash.get_history';
  app.server.inject({ kind: 'error', code: 1, message: 'busy', when });
  app.pay(address, 50_000);
  app.chain.mine(3);
  await app.settle();
  expect(await app.ask(`/api/balance?addr=${address}`)).toMatchObject({ status: 503 });
  app.server.heal();
  await app.world.advance(60_000);
  await app.settle();
  expect(await balances(app, address)).toEqual([[50_000, 0]]);
});

test('P-39 a payment counts as confirmed by its proof, not by the height of a server', async () => {
  const app = await openReady();
  const address = await app.newAddress();
  app.pay(address, 50_000);
  await app.settle();
  // It does not notify the block of the payment, but answers requests for it.
  const when = (method: string) => method === 'blockchain.scripthash.subscribe';
  app.server.inject({ kind: 'stopNotifications', when });
  app.chain.mine(3);
  await app.settle();
  expect(await balances(app, address)).toEqual([[0, 50_000]]);
  app.server.heal();
  await app.stop();
  await app.start();
  await untilReady(app);
  await app.settle();
  expect(await balances(app, address)).toEqual([[50_000, 0]]);
});

test.each([
  ['balance?addr=ADDRESS', 'blockchain.scripthash.get_history'],
  ['balance?addr=ACCOUNT', 'blockchain.transaction.get'],
  ['searchhistory?addr=ADDRESS', 'blockchain.transaction.get'],
  ['tx_detail?txid=TXID', 'blockchain.transaction.get'],
  ['v2/wallets/1?balance=true', 'blockchain.scripthash.get_history'],
])('%s: if the server refuses %s, the client gets a Retry-After', async (path, method) => {
  const app = await openReady();
  const address = await app.newAddress();
  const txid = app.pay(address, 50_000);
  await app.settle();
  const asked = path
    .replace('ADDRESS', address)
    .replace('ACCOUNT', key.account)
    .replace('TXID', txid);
  const words = 'excessive resource usage of 203.0.113.9';
  const end = app.server.inject({
    ...{ kind: 'error', code: -101, message: words },
    when: (wanted) => wanted === method,
  });
  const { status, headers, body } = await app.ask(`/api/${asked}`);
  expect([status, headers.get('Retry-After')]).toEqual([503, '10']);
  expect(JSON.stringify(body)).not.toContain('203.0.113.9');
  end();
  expect((await app.ask(`/api/${asked}`)).status).toBe(200);
});

test('P-41 tx_detail: inputs and outputs of a known transaction; unknown ones are not requested', async () => {
  const app = await openReady();
  const address = await app.newAddress();
  const txid = app.pay(address, 50_000);
  expect((await app.ask(`/api/tx_detail?txid=${txid}`)).status).toBe(404);
  await app.settle();
  const { body } = await app.ask(`/api/tx_detail?txid=${txid}`);
  const sum = (sides: { value: number }[]) => sides.reduce((total, { value }) => total + value, 0);
  expect(body).toMatchObject({ status: 'Unconfirmed', rbf: 1 });
  expect(body.vout).toContainEqual({ address, value: 50_000 });
  expect(body.fee).toBe(sum(body.vin) - sum(body.vout));
  expect(body.fee).toBeGreaterThan(0);
  app.chain.mine(1);
  await app.settle();
  const later = await app.ask(`/api/tx_detail?txid=${txid}`);
  expect(later.body).toMatchObject({ status: 'Partially Confirmed', rbf: 0, size: body.size });
});

test.each([
  ['balance', 'limitBalance'],
  ['searchhistory', 'limitSearchHistory'],
])('P-12 %s has a limit of its own', async (path, setting) => {
  const app = await openReady({ config: { [setting]: { perMinute: 30, burst: 1 } } });
  const ask = () => app.ask(`/api/${path}?addr=${key.account}`);
  expect((await ask()).status).toBe(200);
  const refused = await ask();
  expect(refused.status).toBe(429);
  expect(refused.headers.get('Retry-After')).toBe('2');
  expect((await app.ask('/api/new_address')).status).toBe(200);
});

test('tx_detail: a gone transaction is marked as gone and not replaceable', async () => {
  const app = await openReady();
  const address = await app.newAddress();
  const txid = app.pay(address, 50_000);
  await app.settle();
  expect((await app.ask(`/api/tx_detail?txid=${txid}`)).body).not.toHaveProperty('dropped');
  app.chain.replace(txid as Txid, [{ address, valueSat: 40_000 }]);
  await app.settle();
  const { body } = await app.ask(`/api/tx_detail?txid=${txid}`);
  expect(body).toMatchObject({ status: 'Unconfirmed', rbf: 0, dropped: true });
});

test('tx_detail: a transaction that no server has gets no 503', async () => {
  const app = await openReady();
  const address = await app.newAddress();
  const txid = app.pay(address, 50_000);
  await app.settle();
  app.chain.replace(txid as Txid, [{ address, valueSat: 40_000 }]);
  await app.settle();
  app.world.jumpWallClock(15 * 86_400_000);
  await app.world.advance(120_000);
  await app.settle();
  const raw = await app.withStore(async ({ ledger }) => ledger.rawOf(txid as Txid));
  expect(raw).toBeUndefined();
  const { status, body } = await app.ask(`/api/tx_detail?txid=${txid}`);
  expect([status, body.message]).toEqual([404, expect.stringContaining('gone')]);
});

test('tx_detail: a gone transaction whose parent is gone gets no 503', async () => {
  const app = await openReady();
  const address = await app.newAddress();
  const parent = app.chain.pay([{ address: at(0, 0, merchantKey(9)).address, valueSat: 10_000 }]);
  const txid = app.chain.pay([{ address, valueSat: 50_000 }], { inputs: 'unconfirmed' });
  await app.settle();
  const ask = () => app.ask(`/api/tx_detail?txid=${txid}`);
  expect((await ask()).body).toMatchObject({ status: 'Unconfirmed', rbf: 1 });
  app.chain.replace(parent, [{ address: at(0, 1, merchantKey(9)).address, valueSat: 10_000 }]);
  await app.settle();
  await app.outlastAbsence();
  const known = await app.ask(`/api/merchant/tx?txid=${txid}`);
  expect(known.body).toMatchObject({ dropped: true });
  // A paygate that has not asked for it before.
  await app.stop();
  await app.start();
  await untilReady(app);
  const { status, body } = await ask();
  expect([status, body.message]).toEqual([404, expect.stringContaining('gone')]);
});
