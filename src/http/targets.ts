// What a balance or a history is asked of: addresses and extended public keys, those of the key that asks
// or, where a setting allows it, of anybody (wire §2). Work is bounded: what takes longer than a client
// waits goes on, and the client is told to come back.

import { addressToScript, scripthash } from '../bitcoin/address.ts';
import { parseWalletKey, type WalletKey } from '../bitcoin/keychain.ts';
import { networks } from '../bitcoin/network.ts';
import { PaygateError } from '../errors.ts';
import type { Key } from '../store/keys.ts';
import type { Reader, ScriptMovements } from '../watcher/reader.ts';
import { walletsOf } from './catalog.ts';
import type { ApiOptions } from './options.ts';

const mostTargets = 100;
/** Readings that are under way; what comes beyond them is told to come back. */
const mostReadings = 200;
const patienceMs = 5_000;
const retryAfterSeconds = 5;

export interface Targets {
  /**
   * Reads what a text names, in its order.
   * @throws PaygateError unavailable while it takes longer, forbidden for what is not the key's own
   */
  read(text: string, key: Key): Promise<readonly (readonly ScriptMovements[])[]>;
}

type Reading = Promise<readonly ScriptMovements[]>;

/** Split at white space, `+`, `%20` and commas. @throws PaygateError invalid */
export function splitTargets(text: string): string[] {
  const targets = text.split(/(?:\s|\+|%20|,)+/).filter(Boolean);
  if (targets.length >= 1 && targets.length <= mostTargets) return targets;
  throw new PaygateError('invalid', `addr: 1 to ${mostTargets} addresses or xpubs are expected`);
}

export function createTargets(options: ApiOptions): Targets {
  const readings = new Map<string, Reading>();

  /** One reading of the same thing at a time: who asks meanwhile shares it. */
  function start(target: string, work: () => Reading): Reading {
    const running = readings.get(target);
    if (running !== undefined) return running;
    if (readings.size >= mostReadings) throw comeBack();
    const reading = work().finally(() => readings.delete(target));
    readings.set(target, reading);
    // Its failure is told to whoever waits; nobody may be left.
    reading.catch(() => {});
    return reading;
  }

  return {
    async read(text, key) {
      const works = splitTargets(text).map((each) => [each, workFor(options, key, each)] as const);
      const all = Promise.all(works.map(([target, work]) => start(target, work)));
      return within(all, options.after);
    },
  };
}

/** How a target is read. @throws PaygateError invalid, forbidden */
function workFor(options: ApiOptions, key: Key, target: string): () => Reading {
  const { store, reader } = options;
  if (/^[xyztuv]pub/i.test(target)) return walletWork(options, key, target);
  const script = addressToScript(target, networks[store.network]);
  const hash = scripthash(script);
  const row = store.addresses.byScripthash(hash);
  const isOwn = row !== undefined && (key.storeId === null || row.storeId === key.storeId);
  if (!isOwn) requireForeign(options, target);
  return async () => [await reader.movements({ address: target, script, scripthash: hash })];
}

function walletWork(options: ApiOptions, key: Key, target: string): () => Reading {
  const { store, reader } = options;
  const own = walletsOf(store, key).find(({ account }) => account === target);
  if (own !== undefined) {
    return () => reader.walletMovements(store.catalog.walletKey(own.id), own.nextIndex);
  }
  requireForeign(options, target.slice(0, 12));
  return foreignWork(reader, parseWalletKey(target, { network: store.network }));
}

const foreignWork =
  (reader: Reader, key: WalletKey): (() => Reading) =>
  () =>
    reader.walletMovements(key, 0);

function requireForeign({ foreignBalances }: ApiOptions, shown: string): void {
  if (foreignBalances) return;
  throw new PaygateError(
    'forbidden',
    `${shown} is not of this key's stores; paygate serve --foreign-balances allow lets it ask for others`,
  );
}

const comeBack = (): PaygateError =>
  new PaygateError('unavailable', 'The chain is being searched for this; ask again in a moment', {
    retryAfterSeconds,
  });

function within<T>(work: Promise<T>, after: ApiOptions['after']): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = after(patienceMs, () => reject(comeBack()));
    work.then(resolve, reject).finally(cancel);
  });
}
