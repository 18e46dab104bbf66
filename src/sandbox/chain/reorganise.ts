// A reorganisation of the simulated chain. It disconnects blocks from the tip down and connects
// another branch. The caller chooses the fate of each transaction of the disconnected blocks.

import type { Txid } from '../../bitcoin/ids.ts';
import { PaygateError } from '../../lib/errors.ts';
import { type ChainState, relayFeeRate } from './chain-state.ts';
import type { SimulatedBlock } from './simulated-block.ts';
import type { SimulatedTransaction } from './simulated-transaction.ts';
import type { SimulatedWallet } from './simulated-wallet.ts';

/**
 * Fate of a transaction whose block is disconnected. `mempool`: it is unconfirmed again. `drop`: it
 * is double-spent. Otherwise the new branch includes it, at the same or at another height.
 */
export type Fate = 'mempool' | 'drop' | 'remine-same-height' | { readonly height: number };

export interface ReorganiseOptions {
  /** Blocks of the new branch, depth + 1 by default. With depth, both have the same work. */
  readonly blocks?: number;
  readonly transactions: Fate | ((txid: Txid, height: number) => Fate);
  /** Script that the new coinbases pay, by default the faucet's. */
  readonly to?: Uint8Array;
}

export interface Reorganisation {
  /** Disconnected blocks, lowest first. */
  readonly disconnected: readonly SimulatedBlock[];
  readonly connected: readonly SimulatedBlock[];
  /** Dropped transactions, each with the transaction that double-spends it, if known. */
  readonly dropped: ReadonlyMap<Txid, Txid | undefined>;
}

interface Plan {
  /** Transactions for the new branch, by height, in their old order. */
  readonly mine: Map<number, SimulatedTransaction[]>;
  readonly restore: Set<SimulatedTransaction>;
  readonly drop: SimulatedTransaction[];
}

function planFates(
  disconnected: readonly SimulatedBlock[],
  top: number,
  fates: ReorganiseOptions['transactions'],
): Plan {
  const plan: Plan = { mine: new Map(), restore: new Set(), drop: [] };
  const fork = (disconnected[0]?.height ?? 0) - 1;
  for (const { height, transactions } of disconnected) {
    for (const transaction of transactions) {
      if (transaction.coinbase) continue;
      const fate = typeof fates === 'function' ? fates(transaction.txid, height) : fates;
      const at = typeof fate === 'object' ? fate.height : height;
      if (fate === 'drop') plan.drop.push(transaction);
      else if (fate === 'mempool' || at <= fork || at > top) plan.restore.add(transaction);
      else plan.mine.set(at, [...(plan.mine.get(at) ?? []), transaction]);
    }
  }
  return plan;
}

/** What the call returns, or undefined when the chain's rules reject it. */
function undefinedIfRejected<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch (thrown) {
    if (thrown instanceof PaygateError) return undefined;
    throw thrown;
  }
}

/** Sends the coins of the victim to the faucet; undefined when that is impossible. */
function doubleSpend(
  state: ChainState,
  wallet: SimulatedWallet,
  victim: SimulatedTransaction,
): SimulatedTransaction | undefined {
  const coins = victim.inputs.flatMap((input) => state.coin(input) ?? []);
  if (coins.length < victim.inputs.length) return undefined;
  const spending = {
    coins,
    mustSpend: coins.length,
    recipients: [],
    change: wallet.script,
    feeRate: relayFeeRate,
    replacedFeeSat: victim.feeSat,
    replaceable: true,
  };
  return undefinedIfRejected(() => state.accept(wallet.spend(spending), true));
}

/**
 * Replaces the top of the chain. A transaction that cannot be mined at its height returns to the
 * mempool, because its parent comes later. One that the mempool rejects is dropped.
 * @param depth number of blocks to disconnect
 */
export function reorganise(
  state: ChainState,
  wallet: SimulatedWallet,
  depth: number,
  options: ReorganiseOptions,
): Reorganisation {
  const { confirmed, mempool } = state;
  const fork = confirmed.tip.height - depth;
  if (depth < 1 || fork < 0) {
    throw new PaygateError('invalid', `cannot take ${depth} of ${confirmed.tip.height} blocks off`);
  }
  const blocks = options.blocks ?? depth + 1;
  const waiting = [...mempool.values()];
  state.evict(waiting);
  const disconnected = Array.from({ length: depth }, () => state.disconnectTip()).toReversed();
  const plan = planFates(disconnected, fork + blocks, options.transactions);

  const dropped = new Map<Txid, Txid | undefined>();
  const connected: SimulatedBlock[] = [];
  const displace = () => {
    for (const victim of plan.drop) {
      if (dropped.get(victim.txid) !== undefined) continue;
      dropped.set(victim.txid, doubleSpend(state, wallet, victim)?.txid);
    }
  };
  displace();
  while (connected.length < blocks) {
    const height = confirmed.tip.height + 1;
    const included = [...mempool.values()];
    const before = new Set(included.map(({ txid }) => txid));
    for (const transaction of plan.mine.get(height) ?? []) {
      if (!state.isMinable(transaction, before)) plan.restore.add(transaction);
      else {
        included.push(transaction);
        before.add(transaction.txid);
      }
    }
    connected.push(state.mineBlock(included, options.to ?? wallet.script));
    displace();
  }
  const restored = disconnected
    .flatMap(({ transactions }) => transactions)
    .filter((transaction) => plan.restore.has(transaction));
  for (const transaction of [...restored, ...waiting]) {
    if (!undefinedIfRejected(() => state.accept(transaction.raw))) {
      dropped.set(transaction.txid, undefined);
    }
  }
  displace();
  return { disconnected, connected, dropped };
}
