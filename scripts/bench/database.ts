// Database files of the benches. The CLI makes the store, the wallet and its counter; SQL adds
// rows, because these benches do not measure how rows come about. A large file is written once a
// run, and its rows share it.

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import SqliteDatabase from 'better-sqlite3';
import { issue, order, pay, SESSION_TOKEN, signIn } from './rows.ts';
import { folder, progress } from './run.ts';
import { launcher } from './server.ts';

export type Sqlite = SqliteDatabase.Database;

export interface File {
  readonly path: string;
  readonly apiKey: string;
}

/** m/84'/0'/0' of the seed of 32 bytes 0xbe. It is public: nothing of value may be sent to it. */
export const ACCOUNT =
  'tpubDCcaPmk9nLZKEzsCCFubpbGBhw8B3TncPn5MUeXqCfMs5P1kbUhGjXCXA3A2yhojhu2Noct7EJGEEwnVgXUyE8nKat3rb6XC6fJVfCW55Cf';
const paygate = (...args: string[]) => promisify(execFile)(launcher, args);

/** Makes a database with one store, which issues from `startIndex` without a scan. */
export async function addStore(
  name: string,
  { callbackUrl = 'http://127.0.0.1:9/', startIndex = 0 } = {},
): Promise<File> {
  const path = join(folder, `${name}.db`);
  const { stdout } = await paygate(
    ...['store', 'add', '--db', path, '--network', 'regtest', '--name', 'Bench', '--json'],
    ...['--xpub', ACCOUNT, '--script', 'p2wpkh', '--start-index', `${startIndex}`],
    ...['--callback-url', callbackUrl, '--allow-private-callback'],
  );
  return { path, apiKey: JSON.parse(stdout).api_key };
}

function withFile(path: string, work: (sqlite: Sqlite) => void) {
  const sqlite = new SqliteDatabase(path);
  work(sqlite);
  sqlite.close();
}

/** Adds a store with the settings of the first one for each further callback URL. */
export const addStores = (path: string, callbackUrls: readonly string[]) =>
  withFile(path, (sqlite) => {
    sqlite
      .prepare(
        `INSERT INTO stores (name, wallet_id, callback_url, required_confirmations,
           allow_private_callback, webhook_secret, created_at)
         SELECT name, wallet_id, urls.value, required_confirmations, allow_private_callback,
           webhook_secret, created_at FROM stores, json_each(?) urls WHERE stores.id = 1`,
      )
      .run(JSON.stringify(callbackUrls));
  });

/** Gives every store of a file another callback URL. */
export const setCallbackUrl = (path: string, url: string) =>
  withFile(path, (sqlite) => sqlite.prepare('UPDATE stores SET callback_url = ?').run(url));

/** A file with issued addresses, all hot and none paid. */
export const issuedFile = (count: number) => largeFile(`issued-${count}`, count, issue);

/**
 * A file with addresses that have one settled payment each, whose callback was delivered; every
 * hundredth callback is exhausted.
 */
export const paidFile = (count: number) =>
  largeFile(`paid-${count}`, count, (sqlite) => {
    issue(sqlite, count);
    pay(sqlite, count);
  });

/** A file with orders of 12.50 EUR, whose quote is in force. The first half received too little. */
export const orderedFile = (count: number) =>
  largeFile(`ordered-${count}`, count, (sqlite) => {
    issue(sqlite, count);
    order(sqlite, count);
    pay(sqlite, Math.floor(count / 2));
  });

/** The public id of the order on an address of `orderedFile`. */
export const orderIdOf = (addressId: number) =>
  `ord_${`${addressId}`.padStart(22, '0').replaceAll('0', 'z')}`;

/** The cookie of the session in a large file. */
export const sessionCookie = ({ port }: { port: number }) => `paygate-${port}=${SESSION_TOKEN}`;

const files = new Map<string, Promise<File>>();
type Write = (sqlite: Sqlite, count: number) => void;

function largeFile(name: string, count: number, write: Write): Promise<File> {
  const file = files.get(name) ?? makeLarge(name, count, write);
  files.set(name, file);
  return file;
}

async function makeLarge(name: string, count: number, write: Write): Promise<File> {
  progress(`writing the file ${name}`);
  const file = await addStore(name, { startIndex: count });
  withFile(file.path, (sqlite) => {
    sqlite.pragma('journal_mode = OFF');
    sqlite.pragma('synchronous = OFF');
    sqlite.pragma('cache_size = -500000');
    sqlite.transaction(() => {
      write(sqlite, count);
      signIn(sqlite);
      // The wallet is scanned: a start has nothing to scan.
      sqlite.exec('UPDATE wallets SET scanned_at = created_at');
    })();
    sqlite.pragma('journal_mode = WAL');
  });
  // The mark file is beside the database: a start finds no copy.
  await paygate('restore', '--moved', '--without-mark', '--db', file.path);
  return file;
}
