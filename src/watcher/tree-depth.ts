// How deep a block's tree of transactions is, proven by its coinbase. A branch may reach the root of a
// header from one level too low or too high and prove nothing, where a miner has dressed a node of
// the tree as a transaction (CVE-2017-12842). The coinbase is a transaction for certain and stands on
// the lowest level, as all the others do: their branches are as long as its own.

import { LRUCache } from 'lru-cache';
import type { Header } from '../bitcoin/header.ts';
import type { BlockHash, Txid } from '../bitcoin/ids.ts';
import { ProvenTree } from '../bitcoin/merkle.ts';
import type { Transaction } from '../bitcoin/transaction.ts';
import type { Block } from '../domain/payment.ts';
import type { Session } from '../electrum/session.ts';
import { PaygateError } from '../lib/errors.ts';
import type { Headers } from '../store/records/headers.ts';

/** The transaction itself, verified against its id. */
type Fetch = (session: Session, txid: Txid) => Promise<{ readonly parsed: Transaction }>;

/** Blocks whose depth is remembered. */
const keptBlocks = 100;

/**
 * @returns asks a server whether transactions of a block stand so deep as a branch was long. It throws
 *   what the session and `fetch` throw
 */
export function createTreeDepth(headers: Headers, fetch: Fetch) {
  const depths = new LRUCache<BlockHash, number>({ max: keptBlocks });

  async function depthOf(session: Session, { height, hash }: Block): Promise<number | undefined> {
    const known = depths.get(hash);
    if (known !== undefined) return known;
    const depth = await provenDepth(session, height, headers.byHash(hash)?.header);
    if (depth !== undefined) depths.set(hash, depth);
    return depth;
  }

  async function provenDepth(
    session: Session,
    height: number,
    header: Header | undefined,
  ): Promise<number | undefined> {
    const { txid, branch } = await session.coinbase(height);
    const { parsed } = await fetch(session, txid);
    if (header === undefined || !parsed.coinbase) return undefined;
    return reaches(txid, branch, header) ? branch.length : undefined;
  }

  return async (session: Session, block: Block, depth: number): Promise<boolean> =>
    (await depthOf(session, block)) === depth;
}

function reaches(txid: Txid, branch: readonly string[], { merkleRoot }: Header): boolean {
  try {
    return new ProvenTree(merkleRoot).proves(txid, branch, 0);
  } catch (error) {
    if (error instanceof PaygateError) return false;
    throw error;
  }
}
