// How transactions change the balance of a script.

import type { Txid } from '../../bitcoin/ids.ts';
import { sumSat } from './money.ts';
import { depthOf } from './payment.ts';

export interface BalanceChange {
  readonly txid: Txid;
  /** Null while unconfirmed. */
  readonly height: number | null;
  /** Received minus spent, in satoshis. */
  readonly deltaSat: number;
}

/**
 * A transaction seen from one script: its outputs to the script, and every output that it spends.
 */
export interface ScriptTransaction {
  readonly txid: Txid;
  readonly height: number | null;
  readonly received: readonly { readonly vout: number; readonly valueSat: number }[];
  readonly spent: readonly { readonly txid: Txid; readonly vout: number }[];
}

export interface Balance {
  readonly confirmedSat: number;
  /** Changes with fewer confirmations; negative if they spend more than they receive. */
  readonly unconfirmedSat: number;
}

/** From this many confirmations a change is confirmed. */
const minConfirmations = 2;

/**
 * The changes of a script.
 * @param parts its whole history, which includes every output it spends
 */
export function balanceChangesOf(parts: readonly ScriptTransaction[]): BalanceChange[] {
  const outpoint = (txid: Txid, vout: number): string => `${txid}:${vout}`;
  const values = new Map<string, number>();
  for (const { txid, received } of parts) {
    for (const { vout, valueSat } of received) values.set(outpoint(txid, vout), valueSat);
  }
  return parts.map(({ txid, height, received, spent }) => {
    const came = received.map(({ valueSat }) => valueSat);
    const went = spent.map((each) => -(values.get(outpoint(each.txid, each.vout)) ?? 0));
    return { txid, height, deltaSat: sumSat([...came, ...went]) };
  });
}

export const isConfirmed = ({ height }: BalanceChange, tipHeight: number): boolean =>
  height !== null && depthOf(height, tipHeight) >= minConfirmations;

export function balanceOf(changes: Iterable<BalanceChange>, tipHeight: number): Balance {
  const all = [...changes];
  const sumOf = (isCounted: (change: BalanceChange) => boolean): number =>
    sumSat(all.filter(isCounted).map(({ deltaSat }) => deltaSat));
  return {
    confirmedSat: sumOf((change) => isConfirmed(change, tipHeight)),
    unconfirmedSat: sumOf((change) => !isConfirmed(change, tipHeight)),
  };
}
