// The targets of a balance or a history: addresses, extended public keys and descriptors (wire
// §2). They belong to the key of the request, unless a setting allows foreign ones. Work is
// bounded: a reading that takes longer than the client waits goes on, and the client is asked to
// repeat its request.

import { addressToScript, scripthash, scriptToAddress } from '../../bitcoin/address.ts';
import { resemblesDescriptor } from '../../bitcoin/descriptor.ts';
import { parseWalletKey } from '../../bitcoin/keychain.ts';
import { networks } from '../../bitcoin/network.ts';
import { PaygateError } from '../../lib/errors.ts';
import type { Key } from '../../store/access/api-keys.ts';
import type { WalletRow } from '../../store/wallets/catalog.ts';
import type { ScriptMovements } from '../../watcher/reader.ts';
import type { ApiOptions } from '../api-parts.ts';
import { isBareXpub, walletsNamed } from '../store-list.ts';
import { retryLaterError, withTimeout } from '../timeout.ts';

const maxTargets = 100;
/** In-flight readings; beyond that, the client is asked to repeat its request. */
const maxReadings = 200;
/** Characters of a refused extended key that an error shows. */
const shownKeyLength = 12;

export type Targets = ReturnType<typeof createTargets>;

type Reading = Promise<readonly ScriptMovements[]>;

/** How a target is read. The same target has the same name. */
interface Work {
  readonly name: string;
  readonly run: () => Reading;
}

/**
 * Splits at white space, `+`, `%20` and commas, except between the keys of a descriptor.
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

export function createTargets(options: ApiOptions) {
  const readings = new Map<string, Reading>();

  /** Starts a reading; requests for the same target share it while it runs. */
  function start({ name, run }: Work): Reading {
    const running = readings.get(name);
    if (running !== undefined) return running;
    if (readings.size >= maxReadings) throw retryLaterError();
    const reading = run().finally(() => readings.delete(name));
    readings.set(name, reading);
    // Waiting requests get the failure; without any, it must not be an unhandled rejection.
    reading.catch(() => {});
    return reading;
  }

  return {
    /**
     * Reads each target, in the given order.
     * @throws PaygateError unavailable when it takes too long, forbidden for targets of other
     * stores
     */
    async read(
      named: readonly string[],
      key: Key,
    ): Promise<readonly (readonly ScriptMovements[])[]> {
      const works = named.map((each) => workFor(options, key, each));
      return withTimeout(options, Promise.all(works.map(start)));
    },
    readWallet: async (row: WalletRow): Promise<readonly ScriptMovements[]> =>
      withTimeout(options, start(walletWork(options, row))),
  };
}

/** How a target is read. @throws PaygateError invalid, forbidden */
function workFor(options: ApiOptions, key: Key, target: string): Work {
  const { records, reader } = options;
  if (/^[xyztuv]pub/i.test(target) || resemblesDescriptor(target)) {
    return keyWork(options, key, target);
  }
  const script = addressToScript(target, networks[records.network]);
  const hash = scripthash(script);
  const row = records.addresses.byScripthash(hash);
  const isOwn = row !== undefined && (key.storeId === null || row.storeId === key.storeId);
  if (!isOwn) requireForeign(options, target);
  // In our own spelling, because bech32 may be given in capitals.
  const address = row?.address ?? scriptToAddress(script, networks[records.network]);
  return {
    name: address,
    run: async () => [await reader.movements({ address, script, scripthash: hash })],
  };
}

function keyWork(options: ApiOptions, key: Key, target: string): Work {
  const { records, reader } = options;
  const works = walletsNamed(records, key, target).map((row) => walletWork(options, row));
  if (works.length > 0) {
    return {
      name: works.map(({ name }) => name).join(),
      run: async () => (await Promise.all(works.map(({ run }) => run()))).flat(),
    };
  }
  requireForeign(options, target.slice(0, shownKeyLength));
  if (isBareXpub(target)) {
    // docs/decisions/029
    throw new PaygateError(
      'invalid',
      'addr: an xpub alone does not say which addresses it makes; write it as ypub or zpub, or as a ' +
        'descriptor with its checksum, such as wpkh(xpub…/0/*)#…',
    );
  }
  const foreign = parseWalletKey(target, { network: records.network });
  return { name: foreign.descriptor, run: () => reader.walletMovements(foreign, 0) };
}

const walletWork = ({ records, reader }: ApiOptions, { id, nextIndex }: WalletRow): Work => ({
  name: `wallet ${id}`,
  run: () => reader.walletMovements(records.catalog.walletKey(id), nextIndex),
});

function requireForeign({ foreignBalances }: ApiOptions, shown: string): void {
  if (foreignBalances) return;
  throw new PaygateError(
    'forbidden',
    `${shown} is not of this key's stores; paygate serve --foreign-balances allow lets it ask for others`,
  );
}
