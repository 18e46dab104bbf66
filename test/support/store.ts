// A store's file for a test, with its high-water mark as at the server, and a merchant's wallet.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HDKey } from '@scure/bip32';
import type { ScriptType } from '../../src/bitcoin/address.ts';
import { parseWalletKey, type WalletKey } from '../../src/bitcoin/keychain.ts';
import type { NetworkName } from '../../src/bitcoin/network.ts';
import { markName } from '../../src/domain/store/allocation.ts';
import { lazy } from '../../src/lib/lazy.ts';
import type { Tx } from '../../src/store/db/writer.ts';
import { openDatabase } from '../../src/store/file/database.ts';
import { type OpenOptions, openRecords, type Records } from '../../src/store/open-records.ts';
import type { IssuedAddress } from '../../src/store/wallets/address-row.ts';
import type { NewStore, StoreRow, WalletRow } from '../../src/store/wallets/catalog.ts';
import { tempFolder, tempRoot, whenOver } from './files.ts';

/** What the tests take as the present. */
export const now = 1_763_650_000_000;

export interface TestRecords extends Records {
  readonly path: string;
  /** Runs in one commit. */
  write<T>(work: (tx: Tx) => T): Promise<T>;
  /** A wallet whose addresses may be issued at once, unless it waits for its scan. */
  addWallet(options?: { key?: WalletKey; startIndex?: number | undefined }): Promise<WalletRow>;
  addStore(changes?: Partial<NewStore>): Promise<StoreRow>;
  issue(walletId?: number, storeId?: number): Promise<IssuedAddress>;
}

const accounts = new Map<number, HDKey>();

/** A merchant's account of regtest; another number is another wallet. */
export function accountOf(number: number): HDKey {
  const seed = new Uint8Array(32).fill(number);
  const versions = { private: 0x04358394, public: 0x043587cf };
  const account =
    accounts.get(number) ?? HDKey.fromMasterSeed(seed, versions).derive("m/84'/1'/0'");
  accounts.set(number, account);
  return account;
}

/** The key of that account, without what can spend. */
export function accountKey(number = 1, scriptType: ScriptType = 'p2wpkh'): WalletKey {
  const account = accountOf(number).publicExtendedKey;
  return parseWalletKey(account, { network: 'regtest', scriptType });
}

/** Name of that key's wallet in the mark file. */
export const markOf = (number = 1): string => markName(accountKey(number).descriptor);

export interface TestStoreOptions
  extends Pick<OpenOptions, 'beforeCommit' | 'floorOf' | 'hasLock'> {
  readonly path?: string;
  readonly network?: NetworkName | undefined;
}

/** The bytes of a new file. To make its tables takes a fifth of an app's start. */
const emptyFile = lazy(async (): Promise<Buffer> => {
  const folder = mkdtempSync(join(tempRoot, 'paygate-empty-'));
  const path = join(folder, 'paygate.db');
  try {
    await openDatabase({ path, create: true }).close();
    return readFileSync(path);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

/** @returns the path of a new file in the folder, which belongs to no network yet */
export async function newFileIn(folder: string): Promise<string> {
  const path = join(folder, 'paygate.db');
  writeFileSync(path, await emptyFile(), { flag: 'wx', mode: 0o644 });
  return path;
}

/** Opens a file, a new one unless a path is given; it is closed when the test is over. */
export async function openTestStore(options: TestStoreOptions = {}): Promise<TestRecords> {
  const path = options.path ?? (await newFileIn(tempFolder()));
  const network = 'network' in options ? options.network : 'regtest';
  const records = await openRecords({
    ...options,
    path,
    create: true,
    network,
    newInstance: () => 'test',
  });
  const { database, catalog, addresses } = records;
  whenOver(() => database.close());
  return {
    ...records,
    path,
    write: (work) => database.write(work),
    addWallet: ({ key = accountKey(), startIndex } = { startIndex: 0 }) =>
      database.write((tx) => catalog.ensureWallet(tx, now, key, startIndex)),
    addStore: (changes = {}) =>
      database.write((tx) => catalog.addStore(tx, now, { ...aStore, ...changes })),
    issue: (walletId = 1, storeId = 1) =>
      database.write((tx) => addresses.issue(tx, now, walletId, storeId)),
  };
}

const aStore: NewStore = {
  name: 'Shop',
  walletId: 1,
  callbackUrl: 'https://shop.example/callback',
  requiredConfirmations: 2,
  allowPrivateCallback: false,
  allowHttpCallback: false,
  webhookSecret: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
};
