// Header sync: how our chain follows what servers announce. A header joins it only through connectHeaders.
//
// The syncs of one server run one after another, and none waits for another server's answers; only
// connecting and storing is done one at a time, so that the chain compared with is the one added to. New
// headers and the payments that they make deep enough commit in one transaction. A payment whose block left the
// best chain is not touched here, only named by `offChain`: what became of it stands in the histories and not in
// the headers.

import { type Header, parseHeader, workOfBits } from '../bitcoin/header.ts';
import type { Network } from '../bitcoin/network.ts';
import {
  type ChainHeader,
  connectHeaders,
  type HeaderConnection,
  minAncestorHeight,
} from '../domain/chain.ts';
import type { Session } from '../electrum/session.ts';
import type { HeaderTip } from '../electrum/wire.ts';
import { PaygateError, reasonOf } from '../lib/errors.ts';
import type { Store } from '../store/open-store.ts';
import { keepCheckpoint } from '../store/records/headers.ts';
import { acceptedBranch } from '../store/records/hold-record.ts';
import type { World } from '../world/world.ts';
import { promote } from './finality-hold.ts';
import { checkpointOf, Lie } from './proofs.ts';

export interface HeaderSync {
  /** Follows a server to the tip it announced, or to a newer one that it announced since. @throws Lie */
  sync(session: Session, announced: HeaderTip): Promise<void>;
  /** Has a sync that has not begun follow this tip instead; false when there is none. A server may announce any number. */
  replacePending(session: Session, announced: HeaderTip): boolean;
  /** Resolves when the sync with this server that is under way has ended; undefined when none is. */
  underWay(session: Session): Promise<void> | undefined;
  /** Since when one is, monotonic; undefined when none is. */
  syncingSince(session: Session): number | undefined;
}

export interface HeaderSyncOptions {
  readonly world: World;
  readonly store: Store;
  readonly network: Network;
  /** Called after the best chain has grown or changed; `callbacks` were enqueued by it. */
  readonly onTip: (tip: ChainHeader, reorganised: boolean, callbacks: number) => void;
}

/** Headers asked for at once, at most: the protocol's own limit, one difficulty period. */
const maxHeaders = 2016;
/** The same at first: 32 kB of hex, which a slow line brings within the deadline of a request. */
const firstHeaders = 200;
/** After an answer as quick as this, twice as many are asked for: those have time as well. */
const quickMs = 2_000;
/** How far back a fork is looked for: 10, 150, 2,250 blocks, and so on to the first one. */
const firstStepBack = 10;
const stepFactor = 15;

/** The syncs with one server. */
interface Line {
  /** Resolves when the last of them has ended. */
  last: Promise<void>;
  /** The one that has not begun: of what is announced meanwhile, the newest is enough. */
  next: { announced: HeaderTip; readonly done: Promise<void> } | undefined;
  /** Monotonic; while one is under way. */
  since: number | undefined;
}

const idleLine = (): Line => ({ last: Promise.resolve(), next: undefined, since: undefined });

export function createHeaderSync(options: HeaderSyncOptions): HeaderSync {
  const { store, world } = options;
  const checkpoint = checkpointOf(options.network);
  const firstHeight = minAncestorHeight(checkpoint.height);
  const oneAtATime = createTurns();
  const fetch = createFetch(world);

  const join = (headers: readonly Header[], startHeight: number): Promise<HeaderConnection> =>
    oneAtATime(async () => {
      const result = connect(options.network, store, headers, startHeight);
      await commit(result);
      return result;
    });

  function commit(result: HeaderConnection): Promise<void> {
    if (result.kind === 'best') return extend(options, result.added, result.forkHeight);
    // One that is too deep to follow is kept as well: whether it is, is seen from its work.
    if (result.kind !== 'side' && result.kind !== 'deep') return Promise.resolve();
    return store.database.write((tx) => store.headers.addSide(tx, result.added));
  }

  async function follow(session: Session, announced: HeaderTip): Promise<void> {
    const top = headerOf(announced.raw);
    const known = store.headers.byHash(top.hash);
    if (known !== undefined) {
      if (known.height === announced.height) return;
      throw new Lie(`its tip ${top.hash} is not at height ${announced.height}`);
    }
    if (announced.height < checkpoint.height) {
      throw new PaygateError('unavailable', `its chain ends below ${checkpoint.height}`);
    }
    const ours = store.headers.tip() ?? (await beginWith(session));
    if (top.previous === ours.header.hash && announced.height === ours.height + 1) {
      await join([top], announced.height);
      return;
    }
    const isKnown = () => store.headers.byHash(top.hash) !== undefined;
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
    return oneAtATime(async () => store.headers.tip() ?? (await storeBase(options, base)));
  }

  /**
   * Fetches and connects chunk by chunk, stepping back where the first one does not link.
   * @param isKnown whether another server has shown the end of it meanwhile
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
        if (start === firstHeight) throw new Lie('its chain shares no block with ours');
        // Else it could show what is known and step back for ever.
        if (lowest === firstHeight) throw new Lie('its headers begin with ours and lead nowhere');
        lowest = Math.max(firstHeight, from - back);
        start = lowest;
        back *= stepFactor;
      } else {
        start += chunk.length;
      }
    }
  }

  return createLines(world, follow);
}

/** The syncs of each server, one after another. */
function createLines(
  world: World,
  follow: (session: Session, announced: HeaderTip) => Promise<void>,
): HeaderSync {
  const lines = new WeakMap<Session, Line>();
  return {
    sync(session, announced) {
      const line = lines.get(session) ?? idleLine();
      lines.set(session, line);
      if (line.next !== undefined) {
        line.next.announced = announced;
        return line.next.done;
      }
      const done = line.last.then(() => {
        const newest = line.next?.announced ?? announced;
        line.next = undefined;
        line.since = world.monotonic();
        return follow(session, newest);
      });
      line.next = { announced, done };
      line.last = done
        .catch(() => {})
        .then(() => {
          line.since = undefined;
        });
      return done;
    },
    replacePending(session, announced) {
      const next = lines.get(session)?.next;
      if (next !== undefined) next.announced = announced;
      return next !== undefined;
    },
    underWay(session) {
      const line = lines.get(session);
      const isIdle = line === undefined || (line.next === undefined && line.since === undefined);
      return isIdle ? undefined : line.last;
    },
    syncingSince: (session) => lines.get(session)?.since,
  };
}

/** Fetches headers from a height on, as many of those that are left as the line has shown itself quick enough for. */
function createFetch(world: Pick<World, 'monotonic'>) {
  const atOnce = new WeakMap<Session, number>();
  return async (session: Session, start: number, left: number): Promise<Header[]> => {
    const most = atOnce.get(session) ?? firstHeaders;
    const askedAt = world.monotonic();
    const headers = await session.headers(start, Math.min(most, left));
    const isQuick = world.monotonic() - askedAt < quickMs;
    if (isQuick && headers.length === most) atOnce.set(session, Math.min(maxHeaders, 2 * most));
    return headers.map(headerOf);
  };
}

/** Does what it is given one after another. */
function createTurns() {
  let last: Promise<unknown> = Promise.resolve();
  return <T>(work: () => Promise<T>): Promise<T> => {
    const done = last.then(work);
    last = done.catch(() => {});
    return done;
  };
}

function connect(
  network: Network,
  store: Store,
  headers: readonly Header[],
  startHeight: number,
): HeaderConnection {
  const tip = store.headers.tip();
  if (tip === undefined) throw new PaygateError('internal', 'no header is stored to connect to');
  const result = connectHeaders(store.headers.view(network, tip), headers);
  if (result.kind === 'reject') throw new Lie(result.reason);
  // Also of those that were known: else it could show the same ones for ever.
  if (result.kind !== 'unlinked') {
    const end = headers.at(-1);
    const last = 'added' in result ? result.added.at(-1) : end && store.headers.byHash(end.hash);
    if (last?.height !== startHeight + headers.length - 1)
      throw new Lie('its headers are not where it says');
  }
  if (result.kind !== 'deep' || !isAccepted(store, result.added)) return result;
  return { kind: 'best', added: result.added, forkHeight: tip.height - result.depth };
}

/** Whether the operator named a block of that branch as one to follow. */
function isAccepted(store: Store, added: readonly ChainHeader[]): boolean {
  const wanted = acceptedBranch(store.catalog);
  const height = wanted && store.headers.byHash(wanted)?.height;
  if (height === undefined) return false;
  let block = added.at(-1);
  const fresh = new Map(added.map((each) => [each.header.hash, each]));
  while (block !== undefined && block.height > height) {
    const { previous } = block.header;
    block = fresh.get(previous) ?? store.headers.byHash(previous);
  }
  return block?.header.hash === wanted;
}

async function extend(
  { world, store, onTip }: HeaderSyncOptions,
  added: readonly ChainHeader[],
  forkHeight: number,
): Promise<void> {
  const before = store.headers.tipHeight();
  const tip = added.at(-1);
  if (tip === undefined) return;
  let isMoved = false;
  let callbacks = 0;
  try {
    callbacks = await promote({ world, store }, (tx) => {
      store.headers.setBest(tx, added, forkHeight);
      tx.afterCommit(() => {
        isMoved = true;
      });
    });
  } finally {
    // Also where a later commit has failed: nobody would tell of this tip again.
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

/** Of one server: headers from a height on, as many of those that are left as come in one answer. */
type Fetch = (start: number, left: number) => Promise<readonly Header[]>;

/**
 * The headers that our chain begins with: up to the checkpoint, which they must end in, from as far
 * below it as the rules over those that follow will look back.
 */
async function fetchBase(network: Network, fetch: Fetch): Promise<readonly ChainHeader[]> {
  const checkpoint = checkpointOf(network);
  const start = minAncestorHeight(checkpoint.height);
  const base = await fetchRun(fetch, start, checkpoint.height);
  for (const [index, header] of base.entries()) {
    const before = base[index - 1];
    if (before !== undefined && header.previous !== before.hash) {
      throw new Lie('its headers up to the checkpoint do not link');
    }
  }
  const { height, hash } = checkpoint;
  const last = base.at(-1)?.hash;
  if (last !== hash) throw new Lie(`its block ${height} is ${last}, the checkpoint says ${hash}`);
  return withWork(base, start);
}

async function storeBase(
  { network, store }: HeaderSyncOptions,
  base: readonly ChainHeader[],
): Promise<ChainHeader> {
  const tip = base.at(-1);
  const forkHeight = (base[0]?.height ?? 0) - 1;
  await store.database.write((tx) => {
    store.headers.setBest(tx, base, forkHeight);
    keepCheckpoint(tx, store.catalog, checkpointOf(network));
  });
  if (tip === undefined) throw new PaygateError('internal', 'a chain without a first header');
  return tip;
}

/** The headers of a server from one height to another, in as many answers as it likes. */
async function fetchRun(fetch: Fetch, from: number, to: number): Promise<Header[]> {
  const run: Header[] = [];
  while (run.length < to - from + 1) {
    const chunk = await fetch(from + run.length, to - from + 1 - run.length);
    if (chunk.length === 0) throw new Lie('it does not have the headers below its own tip');
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
    throw new Lie(`not a header: ${reasonOf(error)}`);
  }
}
