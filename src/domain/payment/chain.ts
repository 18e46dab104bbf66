// Verifies headers and connects them to the stored chain. The chain with the most work is the best
// one; forks are followed up to 144 blocks deep. It reads stored headers through a view and returns
// what to store. Rules: https://developer.bitcoin.org/reference/block_chain.html, BIP94 (testnet4).

import {
  expectedBits,
  type Header,
  medianTimePast,
  meetsTarget,
  minimumTime,
  retargetPeriod,
  workOfBits,
} from '../../bitcoin/header.ts';
import type { BlockHash } from '../../bitcoin/ids.ts';
import type { Network } from '../../bitcoin/network.ts';

/** A verified header in its chain. `work` is that of the chain since our first header. */
export interface ChainHeader {
  readonly header: Header;
  readonly height: number;
  readonly work: bigint;
}

export interface ChainView {
  readonly network: Network;
  readonly tip: ChainHeader;
  /** Any stored header, on any branch. */
  byHash(hash: BlockHash): ChainHeader | undefined;
  /** The header of the best chain at a height; undefined below our first one. */
  bestAt(height: number): ChainHeader | undefined;
  /** Epoch seconds of the best chain's last `count` headers up to a height, the latest first. */
  bestTimes(height: number, count: number): number[];
}

export type HeaderConnection =
  /** All of them are stored already. */
  | { readonly kind: 'known' }
  /** The first header's parent is not stored: request earlier headers. */
  | { readonly kind: 'unlinked' }
  /** Verified, but our best chain has as much work or more. */
  | { readonly kind: 'side'; readonly added: readonly ChainHeader[] }
  /** The last of them is the new tip; `forkHeight` is the last height that both chains share. */
  | {
      readonly kind: 'best';
      readonly added: readonly ChainHeader[];
      readonly forkHeight: number;
    }
  /** Verified and with more work than our best chain, but the fork is too deep to be followed. */
  | { readonly kind: 'deep'; readonly added: readonly ChainHeader[]; readonly depth: number }
  | { readonly kind: 'reject'; readonly reason: string };

/** Deeper forks are not followed: a person must find out what is wrong. */
export const maxReorganisationBlocks = 144;

/** A header must be later than the median time of this many headers before it (BIP113). */
export const medianTimeBlocks = 11;

/**
 * The lowest header that verification of a next block needs. It is the first of the difficulty
 * period or of the median time past.
 */
export const minAncestorHeight = (height: number): number =>
  Math.max(0, Math.min(height - (height % retargetPeriod), height - medianTimeBlocks + 1));

export function connectHeaders(view: ChainView, headers: readonly Header[]): HeaderConnection {
  const fresh = dropKnown(view, headers);
  const [first] = fresh;
  if (first === undefined) return { kind: 'known' };
  const parent = view.byHash(first.previous);
  if (parent === undefined) return { kind: 'unlinked' };

  const branch = openBranch(view, parent);
  if (branch.forkHeight < (view.network.checkpoint?.height ?? 0)) {
    return { kind: 'reject', reason: 'its chain forks from ours below the checkpoint' };
  }
  for (const header of fresh) {
    const error = headerError(view.network, branch, header);
    if (error !== undefined) {
      return { kind: 'reject', reason: `header ${branch.tip.height + 1}: ${error}` };
    }
    branch.push(header);
  }

  const added = branch.added;
  if (branch.tip.work <= view.tip.work) return { kind: 'side', added };
  const depth = view.tip.height - branch.forkHeight;
  if (depth > maxReorganisationBlocks) return { kind: 'deep', added, depth };
  return { kind: 'best', added, forkHeight: branch.forkHeight };
}

type StoredHeaders = Pick<ChainView, 'byHash' | 'bestAt'>;

/** The height of the last block that a stored header's chain shares with the best chain. */
export const forkHeightOf = (view: StoredHeaders, end: ChainHeader): number =>
  pathToBestChain(view, end).join.height;

/** The headers from a stored header down to the best chain, and the header where they join. */
function pathToBestChain(
  view: StoredHeaders,
  end: ChainHeader,
): { side: ChainHeader[]; join: ChainHeader } {
  const side: ChainHeader[] = [];
  let join = end;
  while (view.bestAt(join.height)?.header.hash !== join.header.hash) {
    side.push(join);
    const below = view.byHash(join.header.previous);
    if (below === undefined) break;
    join = below;
  }
  return { side, join };
}

function dropKnown(view: ChainView, headers: readonly Header[]): readonly Header[] {
  const firstFresh = headers.findIndex((header) => view.byHash(header.hash) === undefined);
  return firstFresh === -1 ? [] : headers.slice(firstFresh);
}

interface Branch {
  readonly tip: ChainHeader;
  readonly added: readonly ChainHeader[];
  /** The height of the last header that this branch shares with the best chain. */
  readonly forkHeight: number;
  at(height: number): Header | undefined;
  /** Epoch seconds of its last headers: as many as the median needs, or fewer near the start. */
  lastTimes(): number[];
  push(header: Header): void;
}

/** A branch that ends in a stored header: side headers below it, then the best chain. */
function openBranch(view: ChainView, parent: ChainHeader): Branch {
  const { side: stored, join } = pathToBestChain(view, parent);
  const side = new Map(stored.map(({ height, header }) => [height, header]));
  const added: ChainHeader[] = [];
  let tip = parent;
  return {
    get tip() {
      return tip;
    },
    added,
    forkHeight: join.height,
    at: (height) => side.get(height) ?? view.bestAt(height)?.header,
    lastTimes() {
      const times: number[] = [];
      for (
        let { height } = tip;
        height > join.height && times.length < medianTimeBlocks;
        height -= 1
      ) {
        const header = side.get(height);
        if (header !== undefined) times.push(header.time);
      }
      const left = medianTimeBlocks - times.length;
      return left === 0 ? times : [...times, ...view.bestTimes(join.height, left)];
    },
    push(header) {
      tip = { header, height: tip.height + 1, work: tip.work + workOfBits(header.bits) };
      added.push(tip);
      side.set(tip.height, header);
    },
  };
}

function headerError(network: Network, branch: Branch, header: Header): string | undefined {
  const parent = branch.tip;
  const height = parent.height + 1;
  if (header.previous !== parent.header.hash) return 'does not follow the one before it';
  const at = (wanted: number): Header => {
    const found = branch.at(wanted);
    if (found === undefined) throw new Error(`header ${wanted} is needed but not stored`);
    return found;
  };
  const bits = expectedBits(network, height, parent.header, header.time, at);
  if (header.bits !== bits) return `bits ${hex(header.bits)} where ${hex(bits)} is due`;
  if (!meetsTarget(header)) return 'its hash does not meet its target';
  if (header.time <= medianTimePast(branch.lastTimes())) {
    return `its time is not after the median of the ${medianTimeBlocks} before it`;
  }
  if (header.time < minimumTime(network, height, parent.header)) {
    return 'its time is too far before the end of the last difficulty period (BIP94)';
  }
  return undefined;
}

const hex = (bits: number): string => bits.toString(16).padStart(8, '0');
