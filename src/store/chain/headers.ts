// The header chain: what connectHeaders verified, forks included. `onBest` marks the chain of most
// work; exactly one header of each height may carry it, which the file itself enforces.

import { and, desc, gt, lte, sql } from 'drizzle-orm';
import { bitsToTarget, headerTime, readHeader } from '../../bitcoin/header.ts';
import type { BlockHash } from '../../bitcoin/ids.ts';
import {
  type Checkpoint,
  formatCheckpoint,
  type Network,
  type NetworkName,
  networks,
  parseCheckpoint,
} from '../../bitcoin/network.ts';
import type { ChainHeader, ChainView } from '../../domain/payment/chain.ts';
import { type Block, depthOf } from '../../domain/payment/payment.ts';
import { PaygateError } from '../../lib/errors.ts';
import { equals, type Orm, placeholder, placeholders, prepared } from '../db/orm.ts';
import type { StoreEvents } from '../db/store-events.ts';
import type { Tx } from '../db/writer.ts';
import type { FileState } from '../file/file-state.ts';
import { headers } from '../schema/schema.ts';

type HeaderRow = typeof headers.$inferSelect;

export type Headers = ReturnType<typeof createHeaders>;

export function createHeaders(orm: Orm, events: StoreEvents) {
  const statements = prepare(orm);
  const at = (height: number) => read(statements.bestAt.get({ height }));
  const byHash = (hash: BlockHash) => read(statements.byHash.get({ hash }));
  const bestHashAt = (height: number) => statements.bestHashAt.get({ height })?.hash;
  const isOnBest = ({ height, hash }: Block) => bestHashAt(height) === hash;

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
    /** The end of the best chain; undefined before the first header was stored. */
    tip: (): ChainHeader | undefined => read(statements.tip.get()),
    tipHeight: (): number | undefined => statements.tipPlace.get()?.height,
    /** When its miner says that it was found, epoch seconds. */
    tipTime(): number | undefined {
      const row = statements.tipRaw.get();
      return row && headerTime(row.raw);
    },
    bestAt: at,
    /** The hash alone, which is all that a proof is checked against. */
    bestHashAt,
    isOnBest,
    /**
     * How deep a block lies on our best chain, 1 for its end; undefined where it is not part of it.
     */
    depthOnBest(block: Block): number | undefined {
      const tip = statements.tipPlace.get();
      if (tip === undefined) return undefined;
      // Most that is decided on lies in the newest block, which is not read again.
      return tip.hash === block.hash || isOnBest(block)
        ? depthOf(block.height, tip.height)
        : undefined;
    },
    byHash,
    /** @param tip the end of the best chain, which is not read again */
    view: (network: Network, tip: ChainHeader): ChainView => ({
      network,
      tip,
      byHash: (hash) => (hash === tip.header.hash ? tip : byHash(hash)),
      bestAt: (height) => (height === tip.height ? tip : at(height)),
      bestTimes: (height, count) =>
        statements.lastRaws.all({ height, count }).map(({ raw }) => headerTime(raw)),
    }),
    /** Stores headers that are not (or not yet) on the best chain. */
    addSide,
    /** Makes `tip`, whose ancestors are stored or added, the end of the best chain. */
    setBest(tx: Tx, added: readonly ChainHeader[], forkHeight: number): void {
      addSide(tx, added);
      statements.leaveBest.run({ height: forkHeight });
      let joined = added.at(-1);
      while (joined !== undefined && joined.height > forkHeight) {
        statements.joinBest.run({ hash: joined.header.hash });
        joined = byHash(joined.header.previous);
      }
      tx.afterCommit(() => events.emit('tipChanged'));
    },
  };
}

function prepare(orm: Orm) {
  // A literal, not a parameter: only so does SQLite use the partial index over it.
  const best = sql`${headers.onBest} = 1`;
  const atHeight = and(best, equals(headers.height, 'height'));
  const hasHash = equals(headers.hash, 'hash');
  const highest = desc(headers.height);
  return {
    tip: prepared(() => orm.select().from(headers).where(best).orderBy(highest)),
    tipPlace: prepared(() =>
      orm
        .select({ height: headers.height, hash: headers.hash })
        .from(headers)
        .where(best)
        .orderBy(highest),
    ),
    tipRaw: prepared(() =>
      orm.select({ raw: headers.raw }).from(headers).where(best).orderBy(highest),
    ),
    bestAt: prepared(() => orm.select().from(headers).where(atHeight)),
    lastRaws: prepared(() =>
      orm
        .select({ raw: headers.raw })
        .from(headers)
        .where(and(best, lte(headers.height, placeholder('height'))))
        .orderBy(highest)
        .limit(sql.placeholder('count')),
    ),
    bestHashAt: prepared(() => orm.select({ hash: headers.hash }).from(headers).where(atHeight)),
    byHash: prepared(() => orm.select().from(headers).where(hasHash)),
    insert: prepared(() =>
      orm
        .insert(headers)
        .values({
          ...placeholders('hash', 'height', 'raw', 'work'),
          onBest: false,
        })
        .onConflictDoNothing(),
    ),
    leaveBest: prepared(() =>
      orm
        .update(headers)
        .set({ onBest: false })
        .where(and(best, gt(headers.height, placeholder('height')))),
    ),
    joinBest: prepared(() => orm.update(headers).set({ onBest: true }).where(hasHash)),
  };
}

function read(row: HeaderRow | undefined): ChainHeader | undefined {
  if (row === undefined) return undefined;
  return {
    header: readHeader(row.raw, row.hash),
    height: row.height,
    work: BigInt(`0x${row.work.toString('hex')}`),
  };
}

export interface ChainFile {
  readonly network: NetworkName;
  readonly headers: Headers;
  readonly state: Pick<FileState, 'checkpoint'>;
}

/**
 * The network of a file, with the checkpoint that its chain is verified from. Before the first
 * header it is the given one, or else the built-in one. Afterwards it is always the one that the
 * file began with. A checkpoint that is given later must be a block of the stored chain, and
 * changes nothing.
 * @throws PaygateError invalid without any, conflict when the stored chain does not have it
 */
export function followedNetwork(file: ChainFile, given: Checkpoint | undefined): Network {
  const network = networks[file.network];
  if (file.headers.tip() === undefined) return beginAt(network, given);
  if (given !== undefined) compareWithStored(file.headers, given);
  const stored = file.state.checkpoint.read();
  return stored === undefined ? network : { ...network, checkpoint: parseCheckpoint(stored) };
}

/**
 * The network, verified from the given checkpoint, or else from its own.
 * @throws PaygateError invalid without any, or if it cannot be a block of the network
 */
export function beginAt(network: Network, given: Checkpoint | undefined): Network {
  const checkpoint = given ?? network.checkpoint;
  if (checkpoint === undefined) {
    throw new PaygateError(
      'invalid',
      `--checkpoint HEIGHT:HASH is needed, ${network.name} has none built in: take a block that is ` +
        '144 deep or more, from your own node (bitcoin-cli getblockhash HEIGHT) or an explorer',
    );
  }
  const { height, hash } = checkpoint;
  const possible =
    height === 0
      ? hash === network.genesisHash
      : BigInt(`0x${hash}`) <= bitsToTarget(network.powLimitBits);
  if (possible) return { ...network, checkpoint };
  throw new PaygateError(
    'invalid',
    `--checkpoint ${formatCheckpoint(checkpoint)}: not a block of ${network.name}, ` +
      (height === 0 ? 'which begins with another one' : 'its hash shows no proof of work'),
  );
}

function compareWithStored(headers: Headers, given: Checkpoint): void {
  const ours = headers.bestHashAt(given.height);
  if (ours === given.hash) return;
  const tip = headers.tip();
  const above = tip !== undefined && given.height > tip.height;
  const why =
    ours === undefined
      ? `this file's headers ${above ? `end at height ${tip.height}, below it` : 'begin above it'}`
      : `this file's chain has the block ${ours} at that height`;
  throw new PaygateError(
    'invalid',
    `--checkpoint ${formatCheckpoint(given)}: ${why}; leave --checkpoint out or use another file`,
  );
}

const workBytes = (work: bigint): Buffer => Buffer.from(work.toString(16).padStart(64, '0'), 'hex');
