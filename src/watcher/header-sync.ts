// Header sync: how our chain follows the servers, and what happens at a reorganisation.
//
// Format: a server announces its tip; headers are fetched in chunks and joined by `connectHeaders`
// alone.
//
// Algorithm: the syncs of one server run one after another, and none waits for another server. Only
// connecting and storing runs one at a time over all servers, on the chain that was compared with.
//
// Invariants: new headers and the promotions that they cause commit together. A payment whose block
// left the best chain is not changed here, only found by `offChain`: its history decides about it.

import { type Header, parseHeader, workOfBits } from '../bitcoin/header.ts';
import { formatCheckpoint, type Network } from '../bitcoin/network.ts';
import {
  type ChainHeader,
  connectHeaders,
  type HeaderConnection,
  minAncestorHeight,
} from '../domain/payment/chain.ts';
import type { Session } from '../electrum/session.ts';
import type { HeaderTip } from '../electrum/wire.ts';
import { PaygateError, reasonOf } from '../lib/errors.ts';
import { SerialQueue } from '../lib/serial-queue.ts';
import type { Records } from '../store/open-records.ts';
import type { World } from '../world/world.ts';
import { promote } from './finality-hold.ts';
import { checkpointOf, ServerLie } from './proof/proofs.ts';

export type HeaderSync = ReturnType<typeof createSyncQueues>;

export interface HeaderSyncOptions {
  readonly world: World;
  readonly records: Records;
  readonly network: Network;
  /** Called after the best chain has grown or changed; the change enqueued `callbacks`. */
  readonly onTip: (tip: ChainHeader, reorganised: boolean, callbacks: number) => void;
}

/** The protocol's limit for one request: a difficulty period. */
const maxHeaders = 2016;
/** For the first request: 32 kB of hex, which a slow connection delivers within the deadline. */
const firstHeaders = 200;
/** After a quicker answer, the next request asks for twice as many. */
const quickMs = 2_000;
/** A fork is searched 10, 150, 2,250 blocks back, and so on to the first header. */
const firstStepBack = 10;
const stepFactor = 15;

interface ServerSyncs {
  readonly queue: SerialQueue;
  /** The sync that has not begun: it follows the newest announcement. */
  next: { announced: HeaderTip; readonly done: Promise<void> } | undefined;
  /** Since when a sync is under way, monotonic. */
  since: number | undefined;
}

export function createHeaderSync(options: HeaderSyncOptions): HeaderSync {
  const { records, world } = options;
  const checkpoint = checkpointOf(options.network);
  const firstHeight = minAncestorHeight(checkpoint.height);
  const connecting = new SerialQueue();
  const fetch = createFetch(world);

  const join = (headers: readonly Header[], startHeight: number): Promise<HeaderConnection> =>
    connecting.run(async () => {
      const result = connect(options.network, records, headers, startHeight);
      await commit(result);
      return result;
    });

  function commit(result: HeaderConnection): Promise<void> {
    if (result.kind === 'best') return extend(options, result.added, result.forkHeight);
    // A branch that is too deep to follow is stored as well, because its work decides about holds.
    if (result.kind !== 'side' && result.kind !== 'deep') return Promise.resolve();
    return records.database.write((tx) => records.headers.addSide(tx, result.added));
  }

  async function follow(session: Session, announced: HeaderTip): Promise<void> {
    const top = headerOf(announced.raw);
    const known = records.headers.byHash(top.hash);
    if (known !== undefined) {
      if (known.height === announced.height) return;
      throw new ServerLie(`its tip ${top.hash} is not at height ${announced.height}`);
    }
    if (announced.height < checkpoint.height) {
      throw new PaygateError('unavailable', `its chain ends below ${checkpoint.height}`);
    }
    const ours = records.headers.tip() ?? (await beginWith(session));
    if (top.previous === ours.header.hash && announced.height === ours.height + 1) {
      await join([top], announced.height);
      return;
    }
    const isKnown = () => records.headers.byHash(top.hash) !== undefined;
    await followFrom(
      session,
      announced.height,
      Math.min(ours.height + 1, announced.height),
      isKnown,
    );
  }

  async function beginWith(session: Session): Promise<ChainHeader> {
    const base = await fetchBase(options.network, (...asked) => fetch(session, ...asked));
    // Another server may have been quicker.
    return connecting.run(async () => records.headers.tip() ?? (await storeBase(options, base)));
  }

  /**
   * Fetches and connects chunk by chunk; steps back where the first chunk does not link.
   * @param isKnown whether another server has shown the tip meanwhile
   */
  async function followFrom(
    session: Session,
    height: number,
    from: number,
    isKnown: () => boolean,
  ): Promise<void> {
    let start = from;
    let lowest = from;
    let back = firstStepBack;
    while (start <= height && !isKnown()) {
      const chunk = await fetch(session, start, height - start + 1);
      if (chunk.length === 0) return;
      const result = await join(chunk, start);
      if (result.kind === 'unlinked') {
        if (start === firstHeight) throw new ServerLie('its chain shares no block with ours');
        // Otherwise it could show known headers and make us step back for ever.
        if (lowest === firstHeight)
          throw new ServerLie('its headers begin with ours, but the later ones do not connect');
        lowest = Math.max(firstHeight, from - back);
        start = lowest;
        back *= stepFactor;
      } else {
        start += chunk.length;
      }
    }
  }

  return createSyncQueues(world, follow);
}

function createSyncQueues(
  world: World,
  follow: (session: Session, announced: HeaderTip) => Promise<void>,
) {
  const servers = new WeakMap<Session, ServerSyncs>();
  return {
    /** Follows a server to the tip that it announced, or to a newer one since. @throws ServerLie */
    sync(session: Session, announced: HeaderTip): Promise<void> {
      const syncs = servers.get(session) ?? {
        queue: new SerialQueue(),
        next: undefined,
        since: undefined,
      };
      servers.set(session, syncs);
      if (syncs.next !== undefined) {
        syncs.next.announced = announced;
        return syncs.next.done;
      }
      const done = syncs.queue.run(async () => {
        const newest = syncs.next?.announced ?? announced;
        syncs.next = undefined;
        syncs.since = world.monotonic();
        try {
          await follow(session, newest);
        } finally {
          syncs.since = undefined;
        }
      });
      syncs.next = { announced, done };
      return done;
    },
    /** Makes a sync that has not begun follow this tip instead; false when there is none. */
    replacePending(session: Session, announced: HeaderTip): boolean {
      const next = servers.get(session)?.next;
      if (next !== undefined) next.announced = announced;
      return next !== undefined;
    },
    /** Resolves when the syncs with this server have ended; undefined when none is under way. */
    underWay(session: Session): Promise<void> | undefined {
      const syncs = servers.get(session);
      return syncs === undefined || syncs.queue.size === 0 ? undefined : syncs.queue.settled();
    },
    /** Since when one is under way, monotonic; undefined when none is. */
    syncingSince: (session: Session): number | undefined => servers.get(session)?.since,
  };
}

/** Fetches headers from a height on, as many at once as the connection is quick enough for. */
function createFetch(world: Pick<World, 'monotonic'>) {
  const maxAtOnce = new WeakMap<Session, number>();
  return async (session: Session, start: number, left: number): Promise<Header[]> => {
    const max = maxAtOnce.get(session) ?? firstHeaders;
    const askedAt = world.monotonic();
    const headers = await session.headers(start, Math.min(max, left));
    const isQuick = world.monotonic() - askedAt < quickMs;
    if (isQuick && headers.length === max) maxAtOnce.set(session, Math.min(maxHeaders, 2 * max));
    return headers.map(headerOf);
  };
}

function connect(
  network: Network,
  records: Records,
  headers: readonly Header[],
  startHeight: number,
): HeaderConnection {
  const tip = records.headers.tip();
  if (tip === undefined) throw new PaygateError('internal', 'no header is stored to connect to');
  const result = connectHeaders(records.headers.view(network, tip), headers);
  if (result.kind === 'reject') throw new ServerLie(result.reason);
  // Known headers are checked too: otherwise a server could show the same ones for ever.
  if (result.kind !== 'unlinked') {
    const end = headers.at(-1);
    const last = 'added' in result ? result.added.at(-1) : end && records.headers.byHash(end.hash);
    if (last?.height !== startHeight + headers.length - 1)
      throw new ServerLie('its headers are not at the heights that were requested');
  }
  if (result.kind !== 'deep' || !isAccepted(records, result.added)) return result;
  return { kind: 'best', added: result.added, forkHeight: tip.height - result.depth };
}

/** Whether the operator accepted a block of this branch. */
function isAccepted(records: Records, added: readonly ChainHeader[]): boolean {
  const wanted = records.state.acceptedBranch.read();
  const height = wanted && records.headers.byHash(wanted)?.height;
  if (height === undefined) return false;
  let block = added.at(-1);
  const fresh = new Map(added.map((each) => [each.header.hash, each]));
  while (block !== undefined && block.height > height) {
    const { previous } = block.header;
    block = fresh.get(previous) ?? records.headers.byHash(previous);
  }
  return block?.header.hash === wanted;
}

async function extend(
  { world, records, onTip }: HeaderSyncOptions,
  added: readonly ChainHeader[],
  forkHeight: number,
): Promise<void> {
  const before = records.headers.tipHeight();
  const tip = added.at(-1);
  if (tip === undefined) return;
  let isMoved = false;
  let callbacks = 0;
  try {
    callbacks = await promote({ world, records }, (tx) => {
      records.headers.setBest(tx, added, forkHeight);
      tx.afterCommit(() => {
        isMoved = true;
      });
    });
  } finally {
    // Even after a failed later commit, because no server announces this tip again.
    if (isMoved) {
      const reorganised = before !== undefined && forkHeight < before;
      world.log[reorganised ? 'warn' : 'debug'](
        reorganised ? 'the best chain was reorganised' : 'the best chain grew',
        { height: tip.height, hash: tip.header.hash, forkHeight },
      );
      onTip(tip, reorganised, callbacks);
    }
  }
}

/** Fetches headers of one server from a height on, as many as one answer has. */
type FetchHeaders = (start: number, left: number) => Promise<readonly Header[]>;

/**
 * The headers that our chain begins with. They end in the checkpoint, and begin as far below it as
 * the difficulty rules of later headers reach back.
 */
async function fetchBase(network: Network, fetch: FetchHeaders): Promise<readonly ChainHeader[]> {
  const checkpoint = checkpointOf(network);
  const start = minAncestorHeight(checkpoint.height);
  const base = await fetchRun(fetch, start, checkpoint.height);
  for (const [index, header] of base.entries()) {
    const before = base[index - 1];
    if (before !== undefined && header.previous !== before.hash) {
      throw new ServerLie('its headers up to the checkpoint do not link');
    }
  }
  const { height, hash } = checkpoint;
  const last = base.at(-1)?.hash;
  if (last !== hash)
    throw new ServerLie(`its block ${height} is ${last}, the checkpoint says ${hash}`);
  return withWork(base, start);
}

async function storeBase(
  { network, records }: HeaderSyncOptions,
  base: readonly ChainHeader[],
): Promise<ChainHeader> {
  const tip = base.at(-1);
  const forkHeight = (base[0]?.height ?? 0) - 1;
  await records.database.write((tx) => {
    records.headers.setBest(tx, base, forkHeight);
    records.state.checkpoint.write(tx, formatCheckpoint(checkpointOf(network)));
  });
  if (tip === undefined) throw new PaygateError('internal', 'a chain without a first header');
  return tip;
}

async function fetchRun(fetch: FetchHeaders, from: number, to: number): Promise<Header[]> {
  const run: Header[] = [];
  while (run.length < to - from + 1) {
    const chunk = await fetch(from + run.length, to - from + 1 - run.length);
    if (chunk.length === 0) throw new ServerLie('it does not have the headers below its own tip');
    run.push(...chunk);
  }
  return run;
}

function withWork(base: readonly Header[], start: number): ChainHeader[] {
  let work = 0n;
  return base.map((header, index) => {
    work += workOfBits(header.bits);
    return { header, height: start + index, work };
  });
}

function headerOf(raw: Uint8Array): Header {
  try {
    return parseHeader(raw);
  } catch (error) {
    throw new ServerLie(`not a header: ${reasonOf(error)}`);
  }
}
