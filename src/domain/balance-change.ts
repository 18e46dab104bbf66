// What a transaction did to a script, and what that comes to. Pure.

import type { Txid } from '../bitcoin/ids.ts';
import { depthOf } from './payment.ts';

export interface BalanceChange {
  readonly txid: Txid;
  /** Null while it is in no block. */
  readonly height: number | null;
  /** What came in less what went out, satoshis. */
  readonly deltaSat: number;
}

/** What one transaction does to one script: its outputs to it, and every output that it spends. */
export interface ScriptTransaction {
  readonly txid: Txid;
  readonly height: number | null;
  readonly received: readonly { readonly vout: number; readonly valueSat: number }[];
  readonly spent: readonly { readonly txid: Txid; readonly vout: number }[];
}

export interface Balance {
  readonly confirmedSat: number;
  /** What fewer confirmations than that change: below 0 when it is spent. */
  readonly unconfirmedSat: number;
}

/** Depth from which a movement counts as confirmed. */
const minConfirmations = 2;

/** A whole history of a script: whatever it spends, it received before. */
export function balanceChangesOf(parts: readonly ScriptTransaction[]): BalanceChange[] {
  const outpoint = (txid: Txid, vout: number): string => `${txid}:${vout}`;
  const values = new Map<string, number>();
  for (const { txid, received } of parts) {
    for (const { vout, valueSat } of received) values.set(outpoint(txid, vout), valueSat);
  }
  return parts.map(({ txid, height, received, spent }) => {
    const came = received.reduce((sum, { valueSat }) => sum + valueSat, 0);
    const went = spent.reduce(
      (sum, each) => sum + (values.get(outpoint(each.txid, each.vout)) ?? 0),
      0,
    );
    return { txid, height, deltaSat: came - went };
  });
}

export const isConfirmed = ({ height }: BalanceChange, tipHeight: number): boolean =>
  height !== null && depthOf(height, tipHeight) >= minConfirmations;

export function balanceOf(changes: Iterable<BalanceChange>, tipHeight: number): Balance {
  let confirmedSat = 0;
  let unconfirmedSat = 0;
  for (const change of changes) {
    if (isConfirmed(change, tipHeight)) confirmedSat += change.deltaSat;
    else unconfirmedSat += change.deltaSat;
  }
  return { confirmedSat, unconfirmedSat };
}
