// How a server's tip stands to our best chain, and whether the server may be used. Pure. An ancestor of
// our tip is lag, never disagreement; a valid branch beside ours is disagreement, never a lie.

import type { NetworkName } from '../bitcoin/network.ts';
import { hourMs, minuteMs } from '../lib/time-units.ts';
import {
  type ChainHeader,
  type ChainView,
  forkHeightOf,
  maxReorganisationBlocks,
} from './chain.ts';

/** Blocks behind our tip from which on a server is not used. */
const minLagBlocks = 2;
/** A branch that leaves ours no deeper is what every race between miners looks like. */
const maxRaceBlocks = 2;
/** Age of a tip, by its own time, from which on its server is not used. */
export const maxTipAgeMs = 8 * hourMs;

/** Why a server is not used while another one can be. */
export type Doubt =
  | { readonly kind: 'lag'; readonly blocks: number }
  | { readonly kind: 'stale'; readonly ageMs: number }
  /** On another branch, that leaves ours so many blocks below our tip. */
  | { readonly kind: 'branch'; readonly depth: number }
  /** The same, deeper than is ever followed, and with more work than ours. */
  | { readonly kind: 'deep'; readonly depth: number }
  /** For long now, it has not shown the headers that lead to its tip. */
  | { readonly kind: 'unshown' }
  /** It was asked for more than it forgives, and would bear nothing for so long. */
  | { readonly kind: 'spent'; readonly waitMs: number };

export interface ServerStanding {
  /** Of our best chain. */
  readonly view: Pick<ChainView, 'tip' | 'byHash' | 'bestAt'>;
  readonly network: NetworkName;
  /** Of the server, verified. */
  readonly tip: ChainHeader;
  /** Epoch milliseconds. */
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

/** In words for the operator. */
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
      return `it was asked for so much that it is left alone for ${Math.ceil(doubt.waitMs / minuteMs)} minutes`;
    case 'deep':
      return (
        `it follows a branch with more work than ours, which leaves ours ${doubt.depth} blocks back: ` +
        `deeper than ${maxReorganisationBlocks}, so it is not followed`
      );
  }
}
