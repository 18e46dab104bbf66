// The header chain: what connectHeaders verified, forks included. `onBest` marks the chain of most
// work; exactly one header of each height may carry it, which the file itself enforces.

import { and, desc, eq, gt, sql } from 'drizzle-orm';
import { parseHeader } from '../bitcoin/header.ts';
import type { BlockHash } from '../bitcoin/ids.ts';
import type { Network } from '../bitcoin/network.ts';
import type { ChainHeader, ChainView } from '../domain/chain.ts';
import type { Orm, Tx } from './database.ts';
import { headers } from './schema.ts';

type HeaderRow = typeof headers.$inferSelect;

export interface Headers {
  /** The end of the best chain; undefined before the first header was stored. */
  tip(): ChainHeader | undefined;
  bestAt(height: number): ChainHeader | undefined;
  /** The hash alone, which is all that a proof is checked against. */
  bestHashAt(height: number): BlockHash | undefined;
  byHash(hash: BlockHash): ChainHeader | undefined;
  view(network: Network, tip: ChainHeader): ChainView;
  /** Stores headers that are not (or not yet) on the best chain. */
  addSide(tx: Tx, added: readonly ChainHeader[]): void;
  /** Makes `tip`, whose ancestors are stored or added, the end of the best chain. */
  setBest(tx: Tx, added: readonly ChainHeader[], forkHeight: number): void;
}

export function createHeaders(orm: Orm): Headers {
  const statements = prepare(orm);
  const at = (height: number) => read(statements.bestAt.get({ height }));
  const byHash = (hash: BlockHash) => read(statements.byHash.get({ hash }));

  function addSide(_tx: Tx, added: readonly ChainHeader[]): void {
    for (const { header, height, work } of added) {
      statements.insert.run({
        hash: header.hash,
        height,
        raw: Buffer.from(header.raw),
        work: workBytes(work),
      });
    }
  }

  return {
    tip: () => read(statements.tip.get()),
    bestAt: at,
    bestHashAt: (height) => statements.bestHashAt.get({ height })?.hash,
    byHash,
    view: (network, tip) => ({ network, tip, byHash, bestAt: at }),
    addSide,
    setBest(tx, added, forkHeight) {
      addSide(tx, added);
      statements.leaveBest.run({ height: forkHeight });
      let joined = added.at(-1);
      while (joined !== undefined && joined.height > forkHeight) {
        statements.joinBest.run({ hash: joined.header.hash });
        joined = byHash(joined.header.previous);
      }
    },
  };
}

function prepare(orm: Orm) {
  // A literal, not a parameter: only so does SQLite use the partial index over it.
  const best = sql`${headers.onBest} = 1`;
  const atHeight = and(best, eq(headers.height, sql.placeholder('height')));
  const hasHash = eq(headers.hash, sql.placeholder('hash'));
  return {
    tip: orm.select().from(headers).where(best).orderBy(desc(headers.height)).limit(1).prepare(),
    bestAt: orm.select().from(headers).where(atHeight).prepare(),
    bestHashAt: orm.select({ hash: headers.hash }).from(headers).where(atHeight).prepare(),
    byHash: orm.select().from(headers).where(hasHash).prepare(),
    insert: orm
      .insert(headers)
      .values({
        hash: sql.placeholder('hash'),
        height: sql.placeholder('height'),
        raw: sql.placeholder('raw'),
        work: sql.placeholder('work'),
        onBest: false,
      })
      .onConflictDoNothing()
      .prepare(),
    leaveBest: orm
      .update(headers)
      .set({ onBest: false })
      .where(and(best, gt(headers.height, sql.placeholder('height'))))
      .prepare(),
    joinBest: orm.update(headers).set({ onBest: true }).where(hasHash).prepare(),
  };
}

function read(row: HeaderRow | undefined): ChainHeader | undefined {
  if (row === undefined) return undefined;
  return {
    header: parseHeader(row.raw),
    height: row.height,
    work: BigInt(`0x${row.work.toString('hex')}`),
  };
}

const workBytes = (work: bigint): Buffer => Buffer.from(work.toString(16).padStart(64, '0'), 'hex');
