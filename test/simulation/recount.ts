// The naive recount: the expected state of every payment, computed from the blocks and the mempool
// of the simulated chain. It must share no code with paygate's rules.

import type { SimulatedChain } from '../../src/sandbox/chain/simulated-chain.ts';

/** An address that was issued to a shop. */
export interface IssuedAddress {
  readonly address: string;
  readonly script: Uint8Array;
  readonly index: number;
  readonly shop: Shop;
  /** A restored file has no record of which shop requested it, so no shop gets its callbacks. */
  readonly isAmbiguous?: boolean;
  /** A restored file does not contain its wallet. */
  readonly isUnwatched?: boolean;
}

export interface Shop {
  readonly id: number;
  readonly name: string;
  /** The number of the merchant's wallet. */
  readonly wallet: number;
  readonly hasReversalCallback: boolean;
  required: number;
  /** The highest minimum it ever had. A smaller payment may or may not have a callback. */
  maxMinimumSat: number;
  /** It gets no more addresses. */
  archived: boolean;
  /** Larger payments need more confirmations. */
  bands: readonly Band[];
  settings: CallbackSettings;
  /** Earlier settings, newest first. */
  pastSettings: readonly (CallbackSettings & Until)[];
  /** When its callbacks were stopped, in milliseconds of a monotonic clock. */
  stoppedAt: number | undefined;
  /** The URL of its Lightning node. */
  node: string | undefined;
}

export interface Band {
  readonly aboveSat: number;
  readonly confirmations: number;
}

/** The path of the Callback URL, and the webhook secrets. */
export interface CallbackSettings {
  readonly path: string;
  readonly secret: string;
  /** The previous secret, which also signs until this time of the wall clock. */
  readonly older?: { readonly secret: string; readonly until: number };
}

interface Until {
  /** Milliseconds of a monotonic clock. */
  readonly endedAt: number;
}

export interface Expected {
  readonly address: string;
  readonly txid: string;
  readonly valueSat: number;
  readonly height: number | null;
  readonly blockHash: string | null;
  readonly coinbase: boolean;
  /** Confirmations; 0 in the mempool. */
  readonly depth: number;
  /** The status by the shop's rules. */
  readonly status: 0 | 1 | 2;
  readonly shop: Shop;
  readonly isAmbiguous: boolean;
}

/** The balance of a script in satoshis. Coins with fewer than 2 confirmations are unconfirmed. */
export interface Balance {
  readonly confirmed: number;
  readonly unconfirmed: number;
}

export const paymentKey = (address: string, txid: string): string => `${address} ${txid}`;

/** @param orderSat the price of an address's order; 0 without one */
export function recount(
  chain: SimulatedChain,
  issued: readonly IssuedAddress[],
  orderSat: (address: string) => number,
): Map<string, Expected> {
  const byScript = new Map(
    issued
      .filter(({ isUnwatched }) => !isUnwatched)
      .map((each) => [Buffer.from(each.script).toString('hex'), each]),
  );
  const found = new Map<string, Expected>();
  const tip = chain.tipHeight;
  for (let height = 1; height <= tip; height += 1) {
    const block = chain.block(height);
    if (block === undefined) throw new Error(`no block ${height}`);
    const place = { height, blockHash: block.hash, depth: tip - height + 1 };
    for (const transaction of block.transactions) count(transaction, place);
  }
  for (const transaction of chain.mempool()) {
    count(transaction, { height: null, blockHash: null, depth: 0 });
  }
  return found;

  function count(
    transaction: NonNullable<ReturnType<SimulatedChain['transaction']>>,
    place: Pick<Expected, 'height' | 'blockHash' | 'depth'>,
  ): void {
    const { txid, coinbase } = transaction;
    const paid = new Map<IssuedAddress, number>();
    for (const { script, valueSat } of transaction.outputs) {
      const to = byScript.get(Buffer.from(script).toString('hex'));
      if (to !== undefined) paid.set(to, (paid.get(to) ?? 0) + valueSat);
    }
    for (const [issued, valueSat] of paid) {
      const { address, shop, isAmbiguous = false } = issued;
      const needed = neededFor(issued, Math.max(valueSat, orderSat(address)), coinbase);
      const status = place.depth === 0 ? 0 : place.depth >= needed ? 2 : 1;
      found.set(paymentKey(address, txid), {
        address,
        txid,
        valueSat,
        coinbase,
        shop,
        isAmbiguous,
        status,
        ...place,
      });
    }
  }
}

/**
 * The number of confirmations that make a payment final.
 * @param valueSat its value, or the price of its order if that is higher
 */
export function neededFor(
  { shop, isAmbiguous }: IssuedAddress,
  valueSat: number,
  coinbase: boolean,
): number {
  const above = shop.bands.filter(({ aboveSat }) => valueSat > aboveSat);
  const asked = Math.max(shop.required, ...above.map(({ confirmations }) => confirmations));
  return Math.max(isAmbiguous ? 1 : asked, coinbase ? 100 : 1);
}

/** The balance of each script that was ever paid, by its bytes in hex. */
export function balances(chain: SimulatedChain): Map<string, Balance> {
  const moved = new Map<string, Balance>();
  const paid = new Map<string, { readonly script: string; readonly valueSat: number }>();
  const all = chain.mempool().map((transaction) => ({ transaction, depth: 0 }));
  for (let height = chain.tipHeight; height >= 1; height -= 1) {
    const depth = chain.tipHeight - height + 1;
    for (const transaction of chain.block(height)?.transactions ?? []) {
      all.push({ transaction, depth });
    }
  }
  for (const { transaction, depth } of all) {
    for (const [vout, { script, valueSat }] of transaction.outputs.entries()) {
      const hex = Buffer.from(script).toString('hex');
      paid.set(`${transaction.txid}:${vout}`, { script: hex, valueSat });
      add(hex, valueSat, depth);
    }
  }
  for (const { transaction, depth } of all) {
    for (const { txid, vout } of transaction.inputs) {
      const coin = paid.get(`${txid}:${vout}`);
      if (coin !== undefined) add(coin.script, -coin.valueSat, depth);
    }
  }
  return moved;

  function add(script: string, valueSat: number, depth: number): void {
    const { confirmed, unconfirmed } = moved.get(script) ?? { confirmed: 0, unconfirmed: 0 };
    const isConfirmed = depth >= 2;
    moved.set(script, {
      confirmed: confirmed + (isConfirmed ? valueSat : 0),
      unconfirmed: unconfirmed + (isConfirmed ? 0 : valueSat),
    });
  }
}
