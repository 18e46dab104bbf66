// Output descriptors: paygate derives the same addresses as the node from the same text. This is
// checked for all six templates and each notation of the receive branch. Other shapes are refused.

import { expect } from 'vitest';
import type { MerchantWallet } from './network.ts';
import { type Stage, test } from './stage.ts';

const count = 50;
const signers = ['p2pkh', 'p2sh-p2wpkh', 'p2wpkh', 'p2tr'] as const;
const single = {
  p2pkh: (key: string) => `pkh(${key})`,
  'p2sh-p2wpkh': (key: string) => `sh(wpkh(${key}))`,
  p2wpkh: (key: string) => `wpkh(${key})`,
  p2tr: (key: string) => `tr(${key})`,
};

const purposes = { p2pkh: 44, 'p2sh-p2wpkh': 49, p2wpkh: 84, p2tr: 86 };
const several = {
  p2wsh: (keys: string) => `wsh(sortedmulti(1,${keys}))`,
  'p2sh-p2wsh': (keys: string) => `sh(wsh(sortedmulti(1,${keys})))`,
};
const shapes = ['', '/0/*', '/1/*', '/<0;1>/*', '/*', '/0/5'];

/** The descriptor with the node's checksum, even if the node would refuse it otherwise. */
async function withChecksum({ network }: Stage, body: string): Promise<string> {
  const { checksum } = await network.rpc('getdescriptorinfo', body);
  return `${body}#${checksum}`;
}

/** For `<0;1>` the node returns a list for each branch; the first is the receive branch. */
async function nodeAddresses({ network }: Stage, descriptor: string): Promise<string[]> {
  const found = await network.rpc('deriveaddresses', descriptor, [0, count - 1]);
  return Array.isArray(found[0]) ? found[0] : found;
}

const checkArgs = [
  ...['address', 'check', '--network', 'regtest'],
  ...['--count', `${count}`, '--json', '--xpub', '-'],
];

/** The message of an error under `--json`, which is one line. */
const errorOf = (stderr: string): string => {
  expect(stderr).toMatch(/^\{.*\}\n$/);
  return JSON.parse(stderr).error.message;
};

async function expectSame(stage: Stage, script: string, descriptor: string, asGiven = descriptor) {
  const { code, stdout, stderr } = await stage.run(checkArgs, `${asGiven}\n`);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const addresses = await nodeAddresses(stage, descriptor);
  expect(addresses).toHaveLength(count);
  expect(JSON.parse(stdout)).toEqual({ network: 'regtest', script, addresses });
}

const keysOf = (merchant: MerchantWallet): Promise<string[]> =>
  Promise.all(signers.map(async (each) => (await merchant.account(each)).tpub));

test('one key: the node’s own descriptors, and every notation of the branch', async ({ stage }) => {
  const { descriptors } = await stage.merchant.rpc('listdescriptors');
  for (const script of signers) {
    const { tpub } = await stage.merchant.account(script);
    const own = (descriptors as { desc: string; internal: boolean }[]).find(
      ({ desc, internal }) => desc.includes(tpub) && !internal,
    );
    await expectSame(stage, script, own?.desc ?? '');
    const fixed = await withChecksum(stage, single[script](`${tpub}/0/*`));
    await expectSame(stage, script, await withChecksum(stage, single[script](`${tpub}/<0;1>/*`)));
    // Without a path the node derives a single address, and paygate refuses.
    const bare = await stage.run(checkArgs, await withChecksum(stage, single[script](tpub)));
    expect(bare).toMatchObject({ code: 2, stdout: '' });
    expect(bare.stderr).toContain('has no path, which makes a single address');
    expect(
      await stage.network.rpc('deriveaddresses', await withChecksum(stage, single[script](tpub))),
    ).toHaveLength(1);
    await expectSame(stage, script, fixed, `[00000000/${purposes[script]}h/1h/0h]${tpub}/0/*`);
  }
});

test('several keys, in every order and notation', async ({ stage }) => {
  const keys = await keysOf(stage.merchant);
  const [a = '', b = '', c = ''] = keys;
  const cases = [
    ['p2wsh', `wsh(sortedmulti(2,${a}/0/*,${b}/0/*,${c}/0/*))`],
    ['p2wsh', `wsh(sortedmulti(1,[d34db33f/48h/1h/0h/2h]${c}/<0;1>/*,${a}/<0;1>/*))`],
    ['p2wsh', `wsh(sortedmulti(4,${keys.map((key) => `${key}/0/*`)}))`],
    ['p2sh-p2wsh', `sh(wsh(sortedmulti(2,${b}/0/*,${a}/0/*)))`],
    ['p2sh-p2wsh', `sh(wsh(sortedmulti(3,${b}/<0;1>/*,${c}/<0;1>/*,${a}/<0;1>/*)))`],
  ] as const;
  for (const [script, body] of cases)
    await expectSame(stage, script, await withChecksum(stage, body));
});

// About 200 processes and requests.
test('keys of every shape: as the node derives them, or refused', { timeout: 300_000 }, async ({
  stage,
}) => {
  const [a = '', b = ''] = await keysOf(stage.merchant);
  const bodies = [
    ...signers.flatMap((script) =>
      shapes.map((shape) => [script, single[script](a + shape), [shape]] as const),
    ),
    ...(['p2wsh', 'p2sh-p2wsh'] as const).flatMap((script) =>
      shapes.flatMap((one) =>
        shapes.map(
          (other) => [script, several[script](`${a}${one},${b}${other}`), [one, other]] as const,
        ),
      ),
    ),
  ];
  const taken = new Set<string>();
  const compare = async ([script, body, given]: (typeof bodies)[number]) => {
    const descriptor = await withChecksum(stage, body);
    const { code, stdout, stderr } = await stage.run(checkArgs, descriptor);
    if (code === 0) {
      const addresses = await nodeAddresses(stage, descriptor);
      expect(JSON.parse(stdout)).toEqual({ network: 'regtest', script, addresses });
      taken.add(given.join(' '));
    } else {
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(errorOf(stderr)).toMatch(/^.*path.*$/);
    }
  };
  while (bodies.length > 0) await Promise.all(bodies.splice(0, 6).map(compare));
  expect(taken).toEqual(new Set(['/0/*', '/<0;1>/*', '/0/* /0/*', '/<0;1>/* /<0;1>/*']));
});

test('the descriptors of a node’s own wallet, as it lists them', async ({ stage }) => {
  const list = JSON.stringify(await stage.merchant.rpc('listdescriptors'));
  for (const script of signers) {
    const args = [...checkArgs, '--script', script];
    const { code, stdout, stderr } = await stage.run(args, list);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const { addresses } = await stage.merchant.account(script);
    expect(JSON.parse(stdout).addresses).toEqual(await addresses(count));
  }
  const withoutScript = await stage.run(checkArgs, list);
  expect(withoutScript.code).toBe(2);
  for (const script of signers) {
    const [first] = await (await stage.merchant.account(script)).addresses(1);
    expect(errorOf(withoutScript.stderr)).toMatch(new RegExp(`^  ${script} +${first}$`, 'm'));
  }
});

test('a payment to a multisig store is sent as a callback', async ({ stage }) => {
  const [a = '', b = ''] = await keysOf(stage.merchant);
  const descriptor = await withChecksum(stage, `wsh(sortedmulti(2,${a}/0/*,${b}/0/*))`);
  const added = await stage.run(
    [
      ...['store', 'add', '--db', stage.db, '--network', 'regtest', '--name', 'Shop', '--json'],
      ...['--callback-url', 'http://127.0.0.1:9/callback', '--allow-private-callback'],
      ...['--xpub', '-'],
    ],
    descriptor,
  );
  expect(added).toMatchObject({ code: 0, stderr: '' });
  const { api_key, wallet } = JSON.parse(added.stdout);
  expect(wallet).toEqual({ id: 1, script: 'p2wsh', account: descriptor });
  const server = await stage.serve();
  await server.settled();
  const headers = { Authorization: `Bearer ${api_key}` };
  const { body } = await server.ask('/api/new_address', { headers });
  const [first] = await nodeAddresses(stage, descriptor);
  expect(body).toMatchObject({ address: first, account: descriptor });

  const txid = await stage.network.pay({ address: body.address, valueSat: 70_000 });
  await stage.network.mine();
  await expect
    .poll(() => stage.callbacks(), { timeout: 20_000 })
    .toContainEqual(expect.objectContaining({ txid, value: 70_000, status: 1 }));
});
