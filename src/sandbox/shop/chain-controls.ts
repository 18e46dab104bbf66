// Changes of the simulated chain by forms of the Chain page and of an order's page.
// Every form field is untrusted input and is validated here.

import { addressToScript, scripthash } from '../../bitcoin/address.ts';
import type { Txid } from '../../bitcoin/ids.ts';
import { networks } from '../../bitcoin/network.ts';
import { PaygateError } from '../../lib/errors.ts';
import type { Fate } from '../chain/reorganise.ts';
import type { SimulatedChain } from '../chain/simulated-chain.ts';

export const controlLimits = {
  maxSat: 1_000_000_000,
  maxBlocks: 6,
  /** Fewer than the blocks above the one that stocks the faucet. */
  maxDepth: 10,
  maxSeconds: 60,
  /** More payments than a person makes by hand. */
  maxMempool: 1_000,
} as const;

/** Fates of payments whose block is disconnected, by their value in the form. */
export const transactionFates: ReadonlyMap<
  string,
  { readonly fate: Fate; readonly words: string }
> = new Map([
  ['wait', { fate: 'mempool', words: 'return to the mempool' }],
  ['stay', { fate: 'remine-same-height', words: 'are included in the new blocks' }],
  ['drop', { fate: 'drop', words: 'are double-spent' }],
]);

export type Fields = Readonly<Record<string, string>>;

/** Values of the payments for a requested amount. */
const paymentsByChoice: ReadonlyMap<string, (askedSat: number) => readonly number[]> = new Map([
  ['exact', (askedSat) => [askedSat]],
  ['short', (askedSat) => [Math.ceil(askedSat / 2)]],
  ['over', (askedSat) => [askedSat + Math.ceil(askedSat / 2)]],
  ['twice', (askedSat) => [askedSat, askedSat]],
]);

/** @throws PaygateError invalid, also for an address of another network */
export function pay(chain: SimulatedChain, fields: Fields): void {
  const address = text(fields, 'address').trim();
  const values = choice(
    paymentsByChoice,
    fields,
    'how',
  )(whole(fields, 'amount', 1, controlLimits.maxSat));
  if (chain.mempool().length >= controlLimits.maxMempool) {
    throw new PaygateError('invalid', 'The mempool is full: mine a block first');
  }
  for (const valueSat of values) chain.pay([{ address, valueSat }]);
}

export function mine(chain: SimulatedChain, fields: Fields): void {
  chain.mine(whole(fields, 'blocks', 1, controlLimits.maxBlocks));
}

/** Replaces the newest unconfirmed payment to an address. @throws PaygateError not_found */
export function replaceNewest(chain: SimulatedChain, address: string, fields: Fields): void {
  const script = scripthash(addressToScript(address, networks.regtest));
  const newest = chain
    .mempool()
    .findLast(({ outputs }) => outputs.some((each) => each.scripthash === script));
  if (newest === undefined) throw new PaygateError('not_found', 'No payment is unconfirmed');
  replace(chain, { ...fields, txid: newest.txid });
}

/** @throws PaygateError not_found when a block already includes it */
export function replace(chain: SimulatedChain, fields: Fields): void {
  const txid = text(fields, 'txid') as Txid;
  const outputs = choice(
    new Map([
      ['fee', undefined],
      ['spend', []],
    ]),
    fields,
    'by',
  );
  chain.replace(txid, outputs);
}

export function reorganise(chain: SimulatedChain, fields: Fields): void {
  const { fate } = choice(transactionFates, fields, 'fate');
  chain.reorganise(whole(fields, 'depth', 1, controlLimits.maxDepth), { transactions: fate });
}

/** Duration of the server's outage, in milliseconds. */
export const stopMs = (fields: Fields): number =>
  1000 * whole(fields, 'seconds', 1, controlLimits.maxSeconds);

function text(fields: Fields, name: string): string {
  const given = fields[name];
  if (given !== undefined) return given;
  throw new PaygateError('invalid', `${name}: one is expected`);
}

function whole(fields: Fields, name: string, least: number, most: number): number {
  const given = text(fields, name);
  const value = Number(given);
  if (/^\d{1,12}$/.test(given) && value >= least && value <= most) return value;
  throw new PaygateError('invalid', `${name}: a whole number from ${least} to ${most} is expected`);
}

function choice<T>(choices: ReadonlyMap<string, T>, fields: Fields, name: string): T {
  const given = text(fields, name);
  if (choices.has(given)) return choices.get(given) as T;
  throw new PaygateError('invalid', `${name}: one of ${[...choices.keys()].join(', ')} expected`);
}
