// Compares a server's tip with our best chain and decides whether the server is used. An ancestor
// of our tip is lag, not disagreement. A valid fork is disagreement, not a lie.

import type { NetworkName } from '../../bitcoin/network.ts';
import { hourMs, minuteMs } from '../../lib/time-units.ts';
import {
  type ChainHeader,
  type ChainView,
  forkHeightOf,
  maxReorganisationBlocks,
} from './chain.ts';

/** From this many blocks behind our tip, a server is not used. */
const minLagBlocks = 2;
/** A fork up to this depth is an ordinary race between miners. */
const maxRaceBlocks = 2;
/** A server with an older tip, by the block's own time, is not used. */
export const maxTipAgeMs = 8 * hourMs;

/** Why a server is not used if there is another one. */
export type Doubt =
  | { readonly kind: 'lag'; readonly blocks: number }
  | { readonly kind: 'stale'; readonly ageMs: number }
  /** On a fork that begins this many blocks below our tip. */
  | { readonly kind: 'branch'; readonly depth: number }
  /** A fork with more work than ours, too deep to be followed. */
  | { readonly kind: 'deep'; readonly depth: number }
  /** The server does not send the headers that lead to its tip. */
  | { readonly kind: 'unshown' }
  /** The budget of the server is spent for this long. */
  | { readonly kind: 'spent'; readonly waitMs: number };

export interface ServerStanding {
  readonly view: Pick<ChainView, 'tip' | 'byHash' | 'bestAt'>;
  readonly network: NetworkName;
  readonly tip: ChainHeader;
  readonly now: number;
}

export function doubtOf({ view, network, tip, now }: ServerStanding): Doubt | undefined {
  const best = view.tip;
  const forkHeight = forkHeightOf(view, tip);
  const depth = best.height - forkHeight;
  const isBranch = forkHeight < tip.height;
  if (isBranch && depth > maxRaceBlocks) {
    const isHeavier = tip.work > best.work;
    return { kind: isHeavier && depth > maxReorganisationBlocks ? 'deep' : 'branch', depth };
  }
  const blocks = best.height - tip.height;
  if (blocks >= minLagBlocks) return { kind: 'lag', blocks };
  const ageMs = now - tip.header.time * 1000;
  if (ageMs > maxTipAgeMs && network !== 'regtest') return { kind: 'stale', ageMs };
  return undefined;
}

export function formatDoubtOfServer(doubt: Doubt): string {
  switch (doubt.kind) {
    case 'lag':
      return `it is ${doubt.blocks} blocks behind`;
    case 'stale':
      return `its newest block is ${Math.floor(doubt.ageMs / hourMs)} hours old`;
    case 'branch':
      return `it follows another branch, which leaves ours ${doubt.depth} blocks back`;
    case 'unshown':
      return 'it does not show the headers of its newest block';
    case 'spent':
      return `its request limit is used up, so it is not used for ${Math.ceil(doubt.waitMs / minuteMs)} minutes`;
    case 'deep':
      return (
        `it follows a branch with more work than ours, which leaves ours ${doubt.depth} blocks back: ` +
        `deeper than ${maxReorganisationBlocks}, so it is not followed`
      );
  }
}
