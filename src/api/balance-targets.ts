// What a balance or a history is asked of: addresses, extended public keys and descriptors, those of the key that asks
// or, where a setting allows it, of anybody (wire §2). Work is bounded: what takes longer than a client
// waits goes on, and the client is told to come back.

import { addressToScript, scripthash, scriptToAddress } from '../bitcoin/address.ts';
import { resemblesDescriptor } from '../bitcoin/descriptor.ts';
import { parseWalletKey } from '../bitcoin/keychain.ts';
import { networks } from '../bitcoin/network.ts';
import { PaygateError } from '../lib/errors.ts';
import type { Key } from '../store/records/api-keys.ts';
import type { WalletRow } from '../store/records/catalog.ts';
import type { ScriptMovements } from '../watcher/reader.ts';
import type { ApiOptions } from './api-parts.ts';
import { isBareXpub, walletsNamed } from './store-list.ts';
import { retryLaterError, withTimeout } from './timeout.ts';

const maxTargets = 100;
/** Readings that are under way; what comes beyond them is told to come back. */
const maxReadings = 200;
/** Of a key that is refused. */
const shownKeyLength = 12;

export interface Targets {
  /**
   * Reads each of those that are named, in their order.
   * @throws PaygateError unavailable while it takes longer, forbidden for what is not the key's own
   */
  read(named: readonly string[], key: Key): Promise<readonly (readonly ScriptMovements[])[]>;
  /** The same of one wallet. @throws PaygateError unavailable */
  readWallet(row: WalletRow): Promise<readonly ScriptMovements[]>;
}

type Reading = Promise<readonly ScriptMovements[]>;

/** How something is read, under a name that is the same for the same thing. */
interface Work {
  readonly name: string;
  readonly run: () => Reading;
}

/**
 * Split at white space, `+`, `%20` and commas, but not those between the keys of a descriptor.
 * @throws PaygateError invalid
 */
export function splitTargets(text: string): string[] {
  const targets = [''];
  let depth = 0;
  for (const part of text.split(/((?:\s|\+|%20|,)+|[()])/)) {
    if (part === '(') depth += 1;
    if (part === ')') depth -= 1;
    if (depth <= 0 && /^(?:\s|\+|%20|,)/.test(part)) targets.push('');
    else targets.push(`${targets.pop()}${part}`);
  }
  const named = targets.filter(Boolean);
  if (named.length >= 1 && named.length <= maxTargets) return named;
  throw new PaygateError('invalid', `addr: 1 to ${maxTargets} addresses or xpubs are expected`);
}

export function createTargets(options: ApiOptions): Targets {
  const readings = new Map<string, Reading>();

  /** One reading of the same thing at a time: who asks meanwhile shares it. */
  function start({ name, run }: Work): Reading {
    const running = readings.get(name);
    if (running !== undefined) return running;
    if (readings.size >= maxReadings) throw retryLaterError();
    const reading = run().finally(() => readings.delete(name));
    readings.set(name, reading);
    // Its failure is told to whoever waits; nobody may be left.
    reading.catch(() => {});
    return reading;
  }

  return {
    async read(named, key) {
      const works = named.map((each) => workFor(options, key, each));
      return withTimeout(options, Promise.all(works.map(start)));
    },
    readWallet: async (row) => withTimeout(options, start(walletWork(options, row))),
  };
}

/** How a target is read. @throws PaygateError invalid, forbidden */
function workFor(options: ApiOptions, key: Key, target: string): Work {
  const { store, reader } = options;
  if (/^[xyztuv]pub/i.test(target) || resemblesDescriptor(target)) {
    return keyWork(options, key, target);
  }
  const script = addressToScript(target, networks[store.network]);
  const hash = scripthash(script);
  const row = store.addresses.byScripthash(hash);
  const isOwn = row !== undefined && (key.storeId === null || row.storeId === key.storeId);
  if (!isOwn) requireForeign(options, target);
  // As we write it, whatever the case in which it was asked for.
  const address = row?.address ?? scriptToAddress(script, networks[store.network]);
  return {
    name: address,
    run: async () => [await reader.movements({ address, script, scripthash: hash })],
  };
}

function keyWork(options: ApiOptions, key: Key, target: string): Work {
  const { store, reader } = options;
  const works = walletsNamed(store, key, target).map((row) => walletWork(options, row));
  if (works.length > 0) {
    return {
      name: works.map(({ name }) => name).join(),
      run: async () => (await Promise.all(works.map(({ run }) => run()))).flat(),
    };
  }
  requireForeign(options, target.slice(0, shownKeyLength));
  if (isBareXpub(target)) {
    throw new PaygateError(
      'invalid',
      'addr: an xpub alone does not say which addresses it makes; write it as ypub or zpub, or as a ' +
        'descriptor with its checksum, such as wpkh(xpub…/0/*)#…',
    );
  }
  const foreign = parseWalletKey(target, { network: store.network });
  return { name: foreign.descriptor, run: () => reader.walletMovements(foreign, 0) };
}

const walletWork = ({ store, reader }: ApiOptions, { id, nextIndex }: WalletRow): Work => ({
  name: `wallet ${id}`,
  run: () => reader.walletMovements(store.catalog.walletKey(id), nextIndex),
});

function requireForeign({ foreignBalances }: ApiOptions, shown: string): void {
  if (foreignBalances) return;
  throw new PaygateError(
    'forbidden',
    `${shown} is not of this key's stores; paygate serve --foreign-balances allow lets it ask for others`,
  );
}
