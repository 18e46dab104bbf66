// Keys: paygate derives the same addresses as the node's own wallet. It refuses an unsuitable key
// with one clear line. A private key leaves no trace in any file or output.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sha256 } from '@noble/hashes/sha2.js';
import { createBase58check } from '@scure/base';
import { expect } from 'vitest';
import type { ScriptType } from '../../src/bitcoin/address.ts';
import { type Stage, test } from './stage.ts';

const scriptTypes: readonly ScriptType[] = ['p2pkh', 'p2sh-p2wpkh', 'p2wpkh', 'p2tr'];
const callbackUrl = 'http://127.0.0.1:9/callback';
const base58check = createBase58check(sha256);

test('the first 50 addresses of each script type are the node’s own', async ({ stage }) => {
  const check = async (script: ScriptType, asInput: boolean) => {
    const { tpub, addresses } = await stage.merchant.account(script);
    const options = ['--network', 'regtest', '--script', script, '--count', '50', '--json'];
    const { code, stdout, stderr } = await stage.run(
      ['address', 'check', ...options, '--xpub', asInput ? '-' : tpub],
      asInput ? `${tpub}\n` : '',
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const answer = { network: 'regtest', script, addresses: await addresses(50) };
    expect(JSON.parse(stdout)).toEqual(answer);
  };
  await Promise.all([...scriptTypes.map((each) => check(each, false)), check('p2wpkh', true)]);
});

test('unsuitable keys are refused in one clear line', async ({ stage }) => {
  const { tpub, addresses } = await stage.merchant.account('p2wpkh');
  const mistyped = tpub.replace(/.$/, (last) => (last === '1' ? '2' : '1'));
  const refusals = [
    [mistyped, /checksum is wrong/],
    [tpub.slice(0, -1), /wrong length|checksum/],
    [withVersion(tpub, 0x0488b21e), /this xpub is of mainnet; paygate runs on regtest/],
    [withVersion(tpub, 0x04b24746), /this zpub is of mainnet/],
    [withVersion(tpub, 0x02575483), /a Vpub is the key of one signer .* output descriptor/],
    [withVersion(tpub, 0x044a5262), /a upub is for p2sh-p2wpkh addresses, not for p2wpkh/],
    [`[00000000/86h/1h/0h]${tpub}/0/*`, /is, by its path, for p2tr addresses, not for p2wpkh/],
    [`[00000000/48h/1h/0h/2h]${tpub}/0/*`, /is the key of one signer of a multisig wallet/],
    [`[00000000/84h/1h/0h]${tpub}/1/*`, /another path behind it/],
    ['hello', /not an extended public key/],
  ] as const;
  const refuse = ([key]: readonly [string, RegExp]) => addStore(stage, key, ['--script', 'p2wpkh']);
  const [one, ...others] = refusals;
  // The first command creates the file; the others run at the same time.
  const results = [await refuse(one), ...(await Promise.all(others.map(refuse)))];
  for (const [index, { code, stdout, stderr }] of results.entries()) {
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^paygate: .+\n$/);
    expect(stderr).toMatch(refusals[index]?.[1] ?? /^$/);
    expect(stderr).not.toContain(tpub.slice(4, 30));
  }

  // Without a script type: the first address of each, for the merchant to compare with the wallet.
  const { code, stderr } = await addStore(stage, tpub);
  expect(code).toBe(2);
  const [first] = await addresses(1);
  expect(stderr).toMatch(new RegExp(`^  p2wpkh +${first}$`, 'm'));
  expect(stderr.match(/^ {2}p2[\w-]+ +\w+$/gm)).toHaveLength(scriptTypes.length);
  expect(existsSync(stage.db)).toBe(false);
});

test('a private key is refused and leaves no trace', async ({ stage }) => {
  const { wallet } = await stage.addStore('p2wpkh', callbackUrl);
  const server = await stage.serve();
  const account = await stage.merchant.privateKey('p2wpkh');
  const secrets = [
    account,
    withVersion(account, 0x04b2430c), // the same as zprv
    singleKey(account),
    'legal winner thank year wave sausage worth useful legal winner thank yellow',
  ];
  const spaced = `${account.slice(0, 60)} ${account.slice(60)}`;

  const outcomes = await Promise.all([
    ...[...secrets, spaced, `wpkh(${account}/0/*)`].map((secret) =>
      addStore(stage, secret, ['--script', 'p2wpkh']),
    ),
    addStore(stage, '-', ['--script', 'p2wpkh'], `${account}\n`),
    stage.run(['address', 'check', '--network', 'regtest', '--xpub', account]),
  ]);
  for (const { code, stdout, stderr } of outcomes) {
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^paygate: this looks like a private key or recovery words.*\n$/);
  }
  await server.settled();
  await server.stop();

  const places = [
    server.output(),
    ...outcomes.map(({ stderr }) => stderr),
    ...filesIn(stage.folder),
  ];
  const isSomewhere = (part: string) => places.some((place) => place.includes(part));
  expect(partsOf(wallet.account).every(isSomewhere)).toBe(true); // the search works
  expect(secrets.flatMap(partsOf).filter(isSomewhere)).toEqual([]);
});

function addStore({ run, db }: Stage, key: string, options: readonly string[] = [], input = '') {
  const file = ['--db', db, '--network', 'regtest'];
  const shop = ['--name', 'Shop', '--callback-url', callbackUrl, '--allow-private-callback'];
  return run(['store', 'add', ...file, ...shop, '--xpub', key, ...options], input);
}

/** The same extended key with other version bytes: `0x04b24746` turns a tpub into a zpub. */
function withVersion(key: string, version: number): string {
  const payload = base58check.decode(key);
  new DataView(payload.buffer, payload.byteOffset).setUint32(0, version);
  return base58check.encode(payload);
}

/** The key alone, as wallets export it (WIF): version, 32 bytes, 1 for a compressed public key. */
const singleKey = (extended: string): string =>
  base58check.encode(Uint8Array.of(0xef, ...base58check.decode(extended).slice(46, 78), 1));

/** Every substring of 12 characters: long enough that none occurs by chance. */
const partsOf = (secret: string): string[] =>
  Array.from({ length: secret.length - 11 }, (_, start) => secret.slice(start, start + 12));

/** The bytes of every file in a folder, as text. */
const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'));
