// Watches refunds that were noted as sent: a block must have their transaction. The merchant's
// wallet may replace it for a higher fee; then a mined transaction that pays the same takes its
// place. Each refund is asked for once a block.

import { addressToScript, scripthash } from '../bitcoin/address.ts';
import type { BlockHash } from '../bitcoin/ids.ts';
import type { Network } from '../bitcoin/network.ts';
import { maxAheadMs } from '../domain/payment/in-time.ts';
import { sumSat } from '../domain/payment/money.ts';
import type { HistoryItem } from '../domain/payment/script-history.ts';
import type { Pool } from '../electrum/pool.ts';
import type { Session } from '../electrum/session.ts';
import { PaygateError, reasonOf } from '../lib/errors.ts';
import { dayMs } from '../lib/time-units.ts';
import type { Records } from '../store/open-records.ts';
import type { RefundRow } from '../store/orders/refunds.ts';
import type { World } from '../world/world.ts';
import { type Proofs, ServerLie } from './proof/proofs.ts';
import type { ServerChoice } from './server-choice.ts';

export interface RefundWatchParts {
  readonly world: Pick<World, 'now' | 'log'>;
  readonly records: Pick<Records, 'database' | 'headers' | 'refunds'>;
  readonly network: Network;
  readonly proofs: Pick<Proofs, 'prove' | 'output'>;
  readonly pool: Pick<Pool, 'ban'>;
  readonly servers: Pick<ServerChoice, 'caughtUp'>;
}

/** No mempool keeps a transaction for so long. */
const maxAgeMs = 30 * dayMs;
/** Refunds that are asked for in one block. */
const maxAtOnce = 50;
/** Transactions of an address that may have replaced the noted one. */
const maxCandidates = 5;

export function createRefundWatch(parts: RefundWatchParts) {
  const { world, records, servers, pool } = parts;
  const { headers, refunds } = records;
  let asked: BlockHash | undefined;

  return async (): Promise<void> => {
    const session = servers.caughtUp;
    const tip = headers.tip()?.header.hash;
    if (session === undefined || tip === asked) return;
    asked = tip;
    const due = refunds
      .sentSince(world.now() - maxAgeMs)
      .filter((row) => !isOnBest(records, row))
      .slice(0, maxAtOnce);
    for (const row of due) {
      try {
        await look(parts, session, row);
      } catch (error) {
        // The next block is the next attempt. An address may have too long a history.
        if (!(error instanceof ServerLie || error instanceof PaygateError)) throw error;
        world.log.debug('a refund was not looked for', { reason: reasonOf(error) });
        if (error instanceof ServerLie) return pool.ban(session, error.message);
      }
    }
  };
}

const isOnBest = (
  { headers }: RefundWatchParts['records'],
  { height, blockHash: hash }: RefundRow,
): boolean => height !== null && hash !== null && headers.isOnBest({ height, hash });

/** Records the block that has a refund. @throws ServerLie; PaygateError without an answer */
async function look(
  { records, network, proofs }: RefundWatchParts,
  session: Session,
  row: RefundRow,
): Promise<void> {
  const { headers, refunds, database } = records;
  const script = addressToScript(row.address ?? '', network);
  const history = await session.history(scripthash(script), { bulk: true });
  const isNoted = history.some(({ txid }) => txid === row.txid);
  const isCandidate = ({ txid, position }: HistoryItem): boolean => {
    if (position.kind !== 'mined') return false;
    if (isNoted) return txid === row.txid;
    const minedAt = (headers.bestAt(position.height)?.header.time ?? 0) * 1000;
    // An older payment is no refund.
    return minedAt + maxAheadMs >= row.createdAt;
  };
  for (const { txid, position } of history.filter(isCandidate).slice(-maxCandidates)) {
    if (position.kind !== 'mined') continue;
    const inclusion = await proofs.prove(session, txid, position.height);
    if (inclusion.kind !== 'proven') continue;
    const paid = await proofs.output(session, txid, script);
    const others = sumSat(refunds.othersOf(txid, row).map(({ amountSat }) => amountSat));
    if (paid === undefined || paid.output.valueSat - others < row.amountSat) continue;
    await database.write((tx) => refunds.mined(tx, row.id, txid, inclusion.block));
    return;
  }
}
