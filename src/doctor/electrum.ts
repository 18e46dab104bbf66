// Asks an Electrum server what the watcher would: its network, its newest block and that block's work,
// whether our chain is its chain, and a proof of a recent transaction. It learns nothing: a certificate that
// nobody has pinned yet is only told.

import { meetsTarget, parseHeader } from '../bitcoin/header.ts';
import { ProvenTree } from '../bitcoin/merkle.ts';
import type { Network } from '../bitcoin/network.ts';
import { aheadMs } from '../domain/clock.ts';
import type { Trust } from '../domain/server.ts';
import { staleMs } from '../domain/standing.ts';
import { ServerError } from '../electrum/framing.ts';
import { openSession, type Session } from '../electrum/session.ts';
import type { ServerAddress } from '../electrum/trust.ts';
import type { Store } from '../store/open.ts';
import { hourMs } from '../time.ts';
import type { SocksProxy, World } from '../world.ts';
import { type Check, type Finding, fail, ok, warn } from './check.ts';

export interface ElectrumParts {
  readonly world: World;
  readonly network: Network;
  readonly servers: readonly ServerAddress[];
  readonly proxy: SocksProxy | undefined;
  /** Undefined where the file cannot be opened. */
  readonly store: Pick<Store, 'headers' | 'servers'> | undefined;
}

export function electrumChecks(parts: ElectrumParts): Check[] {
  const name = 'electrum';
  const none = `name a server with --electrum: ${parts.network.name} has no built-in list`;
  if (parts.servers.length === 0) return [{ name, run: async () => fail(none) }];
  return parts.servers.map((server) => ({
    name,
    run: (signal) => electrumCheck(parts, server, signal),
  }));
}

async function electrumCheck(
  parts: ElectrumParts,
  server: ServerAddress,
  signal: AbortSignal,
): Promise<Finding> {
  const known = parts.store?.servers.trust(server.label);
  let trust = known;
  const session = await openSession({
    world: parts.world,
    server,
    genesisHash: parts.network.genesisHash,
    generation: 0,
    known,
    onLearn: async (learnt) => {
      trust = learnt;
    },
    options: parts.proxy === undefined ? {} : { proxy: parts.proxy },
    handlers: { onHeader: () => {}, onStatus: () => {}, onClose: () => {} },
    signal,
  }).catch((error) => {
    throw new Error(`${server.label}: ${error.message}`);
  });
  try {
    const { state, text } = await ask(parts, session);
    return { state, text: `${server.label}: ${text}${describeTrust(server, trust)}` };
  } catch (error) {
    return fail(`${server.label}: ${(error as Error).message}`);
  } finally {
    session.close('the doctor has seen enough');
  }
}

function describeTrust({ tls, insecure }: ServerAddress, trust: Trust | undefined): string {
  if (!tls) return ', no TLS';
  if (insecure) return ', any certificate is accepted';
  return trust?.kind === 'valid' ? ', its certificate is valid' : ', its certificate is pinned';
}

async function ask({ world, network, store }: ElectrumParts, session: Session): Promise<Finding> {
  const { height, raw } = await session.subscribeHeaders();
  const tip = parseHeader(raw);
  if (!meetsTarget(tip)) return fail(`block ${height} has no work`);
  const apart = await differs(session, store, height);
  if (apart !== undefined) return warn(apart);
  const proof = await proofOf(session, height, tip.merkleRoot);
  if (proof.state === 'fail') return proof;
  const ageMs = world.now() - tip.time * 1000;
  const text = `block ${height}, ${session.software}, ${proof.text}`;
  if (-ageMs > aheadMs) return fail(`${text}; that block is from the future: is the clock right?`);
  return ageMs > staleMs && network.name !== 'regtest'
    ? warn(`${text}; that block is ${Math.round(ageMs / hourMs)} hours old`)
    : ok(text);
}

/** At the height that both have; undefined where they agree, or nothing is known. */
async function differs(
  session: Session,
  store: ElectrumParts['store'],
  height: number,
): Promise<string | undefined> {
  const ours = store?.headers.tipHeight();
  if (ours === undefined) return undefined;
  const shared = Math.min(ours, height);
  const expected = store?.headers.bestHashAt(shared);
  const [theirs] = await session.headers(shared, 1);
  if (expected === undefined || theirs === undefined) return undefined;
  if (parseHeader(theirs).hash === expected) return undefined;
  return `its block ${shared} is not the one that paygate has verified`;
}

/** The coinbase of the newest block, up to the root in its header. */
async function proofOf(session: Session, height: number, root: Uint8Array): Promise<Finding> {
  try {
    const { txid, branch } = await session.coinbase(height);
    return new ProvenTree(root).proves(txid, branch, 0)
      ? ok('proves a transaction of it')
      : fail(`its proof for block ${height} is wrong`);
  } catch (error) {
    if (!(error instanceof ServerError)) throw error;
    return ok(`proves none by its place (${error.message})`);
  }
}
