import { sha256 } from '@noble/hashes/sha2.js';
import { createBase58check } from '@scure/base';
import { HDKey } from '@scure/bip32';
import { afterEach, describe, expect, it } from 'vitest';
import { descriptorChecksum } from '../../../src/bitcoin/descriptor.ts';
import { decodeExtendedKey } from '../../../src/bitcoin/extended-key.ts';
import { deriveAddress, parseWalletKey } from '../../../src/bitcoin/keychain.ts';
import { formatApiKey } from '../../../src/domain/access/api-key.ts';
import { cleanUp, look } from '../../support/files.ts';
import { accountKey, now, openTestStore, type TestRecords } from '../../support/store.ts';

afterEach(cleanUp);

const hour = 3_600_000;
const secret = (fill: number) => new Uint8Array(32).fill(fill);

describe('the merchant key', () => {
  const rotate = (records: TestRecords, fill: number, overlapMs: number, at = now) =>
    records.write((tx) => records.keys.rotateMerchantKey(tx, at, secret(fill), overlapMs));
  const isValid = ({ keys }: TestRecords, key: string, at = now) =>
    keys.find(key, at) !== undefined;

  it('does not exist before its creation, and then is found by its text alone', async () => {
    const records = await openTestStore();
    expect(records.keys.merchantKey()).toBeUndefined();
    expect(isValid(records, formatApiKey(secret(1)))).toBe(false);
    const key = await rotate(records, 1, 0);
    expect(key).toBe(formatApiKey(secret(1)));
    expect(records.keys.merchantKey()).toBe(key);
    expect(isValid(records, key)).toBe(true);
    for (const wrong of ['', key.slice(0, -1), `${key} `, key.toLowerCase(), '%', "' OR 1=1"]) {
      expect(isValid(records, wrong)).toBe(false);
    }
  });

  it('is the same one for later stores, and after a restart', async () => {
    const records = await openTestStore();
    const key = await rotate(records, 1, 0);
    await records.addWallet();
    await records.addStore();
    await records.addStore({ name: 'Second' });
    expect(records.keys.merchantKey()).toBe(key);
    await records.database.close();
    const again = await openTestStore({ path: records.path });
    expect(again.keys.merchantKey()).toBe(key);
    expect(again.keys.find(key, now)).toBeDefined();
  });

  it('stays valid for the overlap, to the millisecond, and no longer', async () => {
    const records = await openTestStore();
    const old = await rotate(records, 1, 0);
    const fresh = await rotate(records, 2, 24 * hour);
    expect(records.keys.merchantKey()).toBe(fresh);
    expect(isValid(records, old, now + 24 * hour - 1)).toBe(true);
    expect(isValid(records, old, now + 24 * hour)).toBe(false);
    expect(isValid(records, fresh, now + 1000 * hour)).toBe(true);
  });

  it('ends at once without an overlap', async () => {
    const records = await openTestStore();
    const old = await rotate(records, 1, 0);
    await rotate(records, 2, 0);
    expect(isValid(records, old)).toBe(false);
  });

  it('ends as early as an earlier rotation decided', async () => {
    const records = await openTestStore();
    const first = await rotate(records, 1, 0);
    await rotate(records, 2, hour);
    await rotate(records, 3, 24 * hour);
    expect(isValid(records, first, now + hour - 1)).toBe(true);
    expect(isValid(records, first, now + hour)).toBe(false);
  });

  it('that was stolen can be ended at once, even during an overlap', async () => {
    const records = await openTestStore();
    const stolen = await rotate(records, 1, 0);
    const second = await rotate(records, 2, 24 * hour);
    await rotate(records, 3, 0, now + hour);
    expect(isValid(records, stolen, now + hour)).toBe(false);
    expect(isValid(records, second, now + hour)).toBe(false);
  });

  it('cannot be created twice', async () => {
    const records = await openTestStore();
    const key = await rotate(records, 1, 0);
    await expect(rotate(records, 1, 0)).rejects.toMatchObject({
      code: 'SQLITE_CONSTRAINT_UNIQUE',
    });
    // The failed rotation ended nothing.
    expect(isValid(records, key, now + hour)).toBe(true);
    expect(records.keys.merchantKey()).toBe(key);
  });
});

/** The same key under another prefix (SLIP-132). */
function rewritten(account: string, version: number): string {
  const base58check = createBase58check(sha256);
  const bytes = base58check.decode(account);
  new DataView(bytes.buffer).setUint32(0, version);
  return base58check.encode(bytes);
}
const vpub = 0x045f1cf6;

describe('a wallet', () => {
  it('is the same for every notation of its key', async () => {
    const records = await openTestStore();
    const tpub = accountKey(1, 'p2wpkh');
    const written = parseWalletKey(rewritten(tpub.account, vpub), { network: 'regtest' });
    expect(written.account).toMatch(/^vpub/);
    const first = await records.addWallet({ key: tpub, startIndex: undefined });
    const second = await records.addWallet({ key: written, startIndex: undefined });
    expect(second).toEqual(first);
    expect(records.catalog.wallets()).toHaveLength(1);
    expect(second.account).toBe(tpub.account);
  });

  it('is the same for any depth and parent in its key', async () => {
    const records = await openTestStore();
    const key = accountKey();
    const { publicKey, chainCode } = decodeExtendedKey(key.account).key;
    const versions = { private: 0x04358394, public: 0x043587cf };
    const bare = new HDKey({ versions, publicKey, chainCode }).publicExtendedKey;
    expect(bare).not.toBe(key.account);
    await records.addWallet({ key });
    const other = parseWalletKey(bare, { network: 'regtest', scriptType: 'p2wpkh' });
    expect((await records.addWallet({ key: other, startIndex: undefined })).id).toBe(1);
  });

  it('is the same for a key and its descriptor', async () => {
    const records = await openTestStore();
    const key = accountKey(1, 'p2wpkh');
    const body = `wpkh([d34db33f/84h/1h/0h]${key.account}/<0;1>/*)`;
    const descriptor = `${body}#${descriptorChecksum(body)}`;
    await records.addWallet({ key: parseWalletKey(descriptor, { network: 'regtest' }) });
    const second = await records.addWallet({ key, startIndex: undefined });
    expect(second).toMatchObject({ id: 1, account: descriptor });
    // The key comes from the descriptor, which is what the row holds.
    expect(records.catalog.walletKey(1)).toMatchObject({ account: descriptor, network: 'regtest' });
    expect(deriveAddress(records.catalog.walletKey(1), 0, 7)).toEqual(deriveAddress(key, 0, 7));
  });

  it('is read from its row, also if its text would be refused today', async () => {
    const records = await openTestStore();
    const several = [1, 2].map((number) => accountKey(number).account);
    const written = (keys: string[]) => {
      const body = `wsh(sortedmulti(1,${keys}))`;
      return `${body}#${descriptorChecksum(body)}`;
    };
    const key = parseWalletKey(written(several.map((each) => `${each}/0/*`)), {
      network: 'regtest',
      allowDepth: true,
    });
    const account = written(several);
    expect(() => parseWalletKey(account, { network: 'regtest' })).toThrow('has no path');
    await records.addWallet({ key: { ...key, account } });
    const known = records.catalog.walletKey(1);
    expect(known).toEqual({ ...key, account });
    expect(deriveAddress(known, 0, 7)).toEqual(deriveAddress(key, 0, 7));
    expect(deriveAddress(known, 1, 7)).toEqual(deriveAddress(key, 1, 7));
  });

  it('is the same for any order of its signers', async () => {
    const records = await openTestStore();
    const accounts = [1, 2, 3].map((number) => accountKey(number).account);
    const wallet = (...order: number[]) => {
      const body = `wsh(sortedmulti(2,${order.map((at) => `${accounts[at]}/0/*`).join(',')}))`;
      const text = `${body}#${descriptorChecksum(body)}`;
      return parseWalletKey(text, { network: 'regtest', allowDepth: true });
    };
    await records.addWallet({ key: wallet(0, 1, 2) });
    const second = await records.addWallet({ key: wallet(2, 0, 1), startIndex: undefined });
    expect(second).toMatchObject({ id: 1, scriptType: 'p2wsh' });
    expect(records.catalog.walletKey(1).keys).toHaveLength(3);
    expect((await records.addWallet({ key: wallet(2, 0) })).id).toBe(2);
  });

  it('is another one with another script type', async () => {
    const records = await openTestStore();
    const types = ['p2pkh', 'p2sh-p2wpkh', 'p2wpkh', 'p2tr'] as const;
    for (const type of types) await records.addWallet({ key: accountKey(1, type) });
    expect(records.catalog.wallets().map(({ id, scriptType }) => [id, scriptType])).toEqual([
      [1, 'p2pkh'],
      [2, 'p2sh-p2wpkh'],
      [3, 'p2wpkh'],
      [4, 'p2tr'],
    ]);
    const first = types.map((_, at) => deriveAddress(records.catalog.walletKey(at + 1), 0, 0));
    const expected = types.map((type) => deriveAddress(accountKey(1, type), 0, 0));
    expect(first).toEqual(expected);
  });

  it('waits for its scan unless it has a start index', async () => {
    const records = await openTestStore();
    expect(await records.addWallet({ startIndex: undefined })).toMatchObject({
      scannedAt: null,
      nextIndex: 0,
      createdAt: now,
    });
    expect(await records.addWallet({ key: accountKey(2), startIndex: 500 })).toMatchObject({
      scannedAt: now,
      nextIndex: 500,
    });
  });

  it('that exists keeps its counter: a start index is refused, and nothing changes', async () => {
    const records = await openTestStore();
    await records.addWallet({ startIndex: 3 });
    await records.addStore();
    await records.issue();
    for (const startIndex of [0, 3, 4, 900]) {
      await expect(records.addWallet({ startIndex })).rejects.toMatchObject({
        code: 'conflict',
        message: expect.stringMatching(/is wallet 1 already.* at index 4/),
      });
    }
    expect(await records.addWallet({ startIndex: undefined })).toMatchObject({ nextIndex: 4 });
  });

  it('has its key after a restart, as one object while the file is open', async () => {
    const records = await openTestStore();
    await records.addWallet();
    expect(records.catalog.walletKey(1)).toBe(records.catalog.walletKey(1));
    await records.database.close();
    const again = await openTestStore({ path: records.path });
    expect(again.catalog.walletKey(1)).toEqual(accountKey());
  });

  it('that was rolled back leaves no key to the next one with its id', async () => {
    const records = await openTestStore();
    const failed = records.write((tx) => {
      const { id } = records.catalog.ensureWallet(tx, now, accountKey(1), 0);
      records.catalog.walletKey(id);
      throw new Error('no');
    });
    await expect(failed).rejects.toThrow('no');
    await records.addWallet({ key: accountKey(2), startIndex: 0 });
    expect(records.catalog.walletKey(1)).toEqual(accountKey(2));
  });

  it('of an unknown id is not found', async () => {
    const { catalog } = await openTestStore();
    expect(() => catalog.wallet(1)).toThrow('there is no wallet 1');
    expect(() => catalog.walletKey(1)).toThrow('there is no wallet 1');
  });
});

describe('a store', () => {
  async function shops(): Promise<TestRecords> {
    const records = await openTestStore();
    await records.addWallet();
    await records.addStore();
    await records.addStore({ name: 'Second' });
    return records;
  }
  const archive = (records: TestRecords, id: number, stop = false, at = now) =>
    records.write((tx) => records.catalog.archiveStore(tx, at, id, stop));
  const names = ({ catalog }: TestRecords, archived?: boolean) =>
    catalog.stores(archived === undefined ? undefined : { archived }).map(({ name }) => name);

  it('is stored byte for byte', async () => {
    const records = await openTestStore();
    await records.addWallet();
    const fields = {
      name: 'Zoë’s "café" 🥐',
      callbackUrl: 'https://shop.example/%7e?s=a+b%20c&',
      requiredConfirmations: 6,
      allowPrivateCallback: true,
      allowHttpCallback: true,
      webhookSecret: 'whsec_x',
    };
    const added = await records.addStore(fields);
    expect(added).toMatchObject({ ...fields, id: 1, walletId: 1, createdAt: now });
    await records.database.close();
    const again = await openTestStore({ path: records.path });
    expect(again.catalog.store(1)).toEqual(added);
    expect(added).toMatchObject({ archivedAt: null, callbacksStopped: false });
  });

  it('of an unknown wallet is refused', async () => {
    const records = await openTestStore();
    await expect(records.addStore({ walletId: 3 })).rejects.toMatchObject({
      code: 'SQLITE_CONSTRAINT_FOREIGNKEY',
    });
    expect(records.catalog.stores()).toEqual([]);
  });

  it('that was removed is archived: not listed, never deleted', async () => {
    const records = await shops();
    expect(await archive(records, 1)).toMatchObject({ archivedAt: now, callbacksStopped: false });
    expect(names(records)).toEqual(['Second']);
    expect(names(records, false)).toEqual(['Second']);
    expect(names(records, true)).toEqual(['Shop', 'Second']);
    expect(records.catalog.store(1)).toMatchObject({ name: 'Shop', archivedAt: now });
    expect(records.catalog.wallets()).toHaveLength(1);
  });

  it('that was removed twice has its first date, and can have its callbacks stopped the second time', async () => {
    const records = await shops();
    await archive(records, 1);
    expect(await archive(records, 1, true, now + hour)).toMatchObject({
      archivedAt: now,
      callbacksStopped: true,
    });
    expect(records.catalog.store(2)).toMatchObject({ archivedAt: null, callbacksStopped: false });
  });

  it('that does not exist cannot be removed', async () => {
    const records = await shops();
    await expect(archive(records, 9)).rejects.toMatchObject({
      code: 'not_found',
      message: 'there is no store 9',
    });
  });
});

it('a store or wallet with references cannot be deleted', async () => {
  const records = await openTestStore();
  await records.addWallet();
  await records.addStore();
  await records.issue();
  const other = look(records.path);
  other.pragma('foreign_keys = ON');
  for (const table of ['stores', 'wallets']) {
    expect(() => other.exec(`DELETE FROM ${table}`)).toThrow('FOREIGN KEY');
  }
});
