// Asks an Electrum server what the watcher would: its network, its newest block and that block's work,
// whether our chain is its chain, and each request that a payment's way needs. It learns nothing: a certificate
// that nobody has pinned yet is only told.

import { meetsTarget, parseHeader } from '../bitcoin/header.ts';
import type { Scripthash, Txid } from '../bitcoin/ids.ts';
import { ProvenTree } from '../bitcoin/merkle.ts';
import type { Network } from '../bitcoin/network.ts';
import { maxBlockAheadMs } from '../domain/clock-check.ts';
import { errorCodeOf, isDnsError } from '../domain/network-error.ts';
import { offlineText, requestAdvice, type TlsIdentity } from '../domain/server-record.ts';
import { maxTipAgeMs } from '../domain/server-standing.ts';
import { openSession } from '../electrum/handshake.ts';
import { Refusals } from '../electrum/refusals.ts';
import { RequestError, ServerError } from '../electrum/requests.ts';
import type { ServerAddress } from '../electrum/server-address.ts';
import type { Session } from '../electrum/session.ts';
import { methods } from '../electrum/wire.ts';
import { reasonOf } from '../lib/errors.ts';
import { hourMs } from '../lib/time-units.ts';
import type { Store } from '../store/open-store.ts';
import type { SocksProxy, World } from '../world/world.ts';
import { type Check, type Checked, type CheckResult, fail, ok, warn } from './doctor-check.ts';

export interface ElectrumParts {
  readonly world: World;
  readonly network: Network;
  readonly servers: readonly ServerAddress[];
  readonly proxy: SocksProxy | undefined;
  /** Undefined where the file cannot be opened. */
  readonly store: Pick<Store, 'headers' | 'servers' | 'paymentView'> | undefined;
}

const name = 'electrum';

/** A finding about a server whose name did not resolve. */
interface Unresolvable {
  readonly isUnresolved?: boolean;
}
type ServerFinding = CheckResult & Unresolvable;
export type ServerChecked = Checked & Unresolvable;

/** Payments that are looked through for one in a block. */
const recent = 50;
/** The hash of no script: its history is empty. */
const unusedScripthash = '00'.repeat(32) as Scripthash;

export function electrumChecks(parts: ElectrumParts): Check[] {
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
): Promise<ServerFinding> {
  const known = parts.store?.servers.trust(server.label);
  let trust = known;
  const refusals = new Refusals(parts.world);
  const open = () =>
    openSession({
      world: parts.world,
      server,
      refusals,
      genesisHash: parts.network.genesisHash,
      generation: 0,
      known,
      onLearn: async (learnt) => {
        trust = learnt;
      },
      options: parts.proxy === undefined ? {} : { proxy: parts.proxy },
      handlers: { onHeader: () => {}, onStatus: () => {}, onClose: () => {} },
      signal,
    });
  let session: Session;
  try {
    session = await open()
      // One that closes the connection at that is asked in another way.
      .catch((error) => (refusals.refuses(methods.features) ? open() : Promise.reject(error)));
  } catch (error) {
    const { cause } = Object(error) as { cause?: unknown };
    return { ...failed(error, server.label), isUnresolved: isDnsError(errorCodeOf(cause)) };
  }
  try {
    const { state, text } = await ask(parts, session);
    return { state, text: `${server.label}: ${text}${describeTrust(server, trust)}` };
  } catch (error) {
    return failed(error, server.label);
  } finally {
    session.close('the doctor has seen enough');
  }
}

function describeTrust({ tls, insecure }: ServerAddress, trust: TlsIdentity | undefined): string {
  if (!tls) return ', no TLS';
  if (insecure) return ', any certificate is accepted';
  return trust?.kind === 'valid' ? ', its certificate is valid' : ', its certificate is pinned';
}

async function ask(
  { world, network, store }: ElectrumParts,
  session: Session,
): Promise<CheckResult> {
  const { height, raw } = await session.subscribeHeaders();
  const tip = parseHeader(raw);
  if (!meetsTarget(tip)) return fail(`block ${height} has no work`);
  const apart = await differs(session, store, height);
  if (apart !== undefined) return warn(apart);
  const proof = await proofOf(session, height, tip.merkleRoot, latest(store));
  if (proof.state === 'fail') return proof;
  const ageMs = world.now() - tip.time * 1000;
  const text = `block ${height}, ${session.software}, ${proof.text}`;
  if (proof.state === 'warn') return warn(text);
  if (-ageMs > maxBlockAheadMs)
    return fail(`${text}; that block is from the future: is the clock right?`);
  return ageMs > maxTipAgeMs && network.name !== 'regtest'
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

interface Known {
  readonly txid: Txid;
  readonly height: number;
}

/** A transaction that must be there: the newest payment that is in a block. */
function latest(store: ElectrumParts['store']): Known | undefined {
  const rows = store?.paymentView.list({ limit: recent }) ?? [];
  const [found] = rows.flatMap(({ txid, height }) => (height === null ? [] : [{ txid, height }]));
  return found;
}

/** The coinbase of the newest block, up to the root in its header, and what a payment's way needs besides. */
async function proofOf(
  session: Session,
  height: number,
  root: Uint8Array,
  paid: Known | undefined,
): Promise<CheckResult> {
  const refused: string[] = [];
  async function orRefused<T>(asked: Promise<T>): Promise<T | undefined> {
    try {
      return await asked;
    } catch (error) {
      if (!(error instanceof ServerError)) throw error;
      refused.push(`${error.message}; ${requestAdvice(error.request)}`);
      return undefined;
    }
  }
  await orRefused(session.headers(height, 1));
  await orRefused(session.subscribe(unusedScripthash));
  await orRefused(session.history(unusedScripthash));
  const needed = refused.length;
  const coinbase = await orRefused(session.coinbase(height));
  const isByPlace = refused.length === needed;
  if (coinbase !== undefined && !new ProvenTree(root).proves(coinbase.txid, coinbase.branch, 0)) {
    return fail(`its proof for block ${height} is wrong`);
  }
  const known = coinbase === undefined ? paid : { txid: coinbase.txid, height };
  if (known !== undefined) {
    await orRefused(session.transaction(known.txid));
    const proof = await orRefused(session.merkle(known.txid, known.height));
    const isOfTip = known.height === height && coinbase !== undefined;
    if (proof && isOfTip && !new ProvenTree(root).proves(known.txid, proof.branch, proof.pos)) {
      return fail(`its proof for block ${height} is wrong`);
    }
  }
  if (refused.length > Number(!isByPlace)) return fail(refused.join('; '));
  const untried = known === undefined ? '; whether it shows and proves one was not asked' : '';
  return isByPlace
    ? ok('proves a transaction of it')
    : warn(`proves none by its place: ${refused.join('; ')}${untried}`);
}

/** A server that cannot be reached or used, and what to do. */
function failed(error: unknown, label: string): CheckResult {
  const request = error instanceof RequestError ? error.request : undefined;
  return fail(`${label}: ${reasonOf(error)}; ${requestAdvice(request)}`);
}

/** An offline machine is told of once, and not for each of many names. */
export function offlineOnce(checked: readonly ServerChecked[]): Checked[] {
  const ofServers = checked.filter(({ check }) => check === name);
  const isOffline = ofServers.length > 1 && ofServers.every((each) => each.isUnresolved);
  const [first] = ofServers;
  return checked
    .filter((each) => !isOffline || each.check !== name || each === first)
    .map(({ isUnresolved: _, ...each }) =>
      isOffline && each.check === name ? { ...each, text: offlineText(ofServers.length) } : each,
    );
}
