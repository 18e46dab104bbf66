// Checks an Electrum server as the watcher uses it: network, newest block and its work, our chain,
// and each request of a payment. It stores nothing: a new certificate is reported, not pinned.

import { meetsTarget, parseHeader } from '../bitcoin/header.ts';
import type { Scripthash, Txid } from '../bitcoin/ids.ts';
import { ProvenTree } from '../bitcoin/merkle.ts';
import type { Network } from '../bitcoin/network.ts';
import { errorCodeOf, isDnsError } from '../domain/delivery/network-error.ts';
import { maxBlockAheadMs } from '../domain/payment/clock-check.ts';
import { offlineText, requestAdvice, type TlsIdentity } from '../domain/payment/server-record.ts';
import { maxTipAgeMs } from '../domain/payment/server-standing.ts';
import { openSession } from '../electrum/handshake.ts';
import { Refusals } from '../electrum/refusals.ts';
import { RequestError, ServerError } from '../electrum/requests.ts';
import type { ServerAddress } from '../electrum/server-address.ts';
import type { Session } from '../electrum/session.ts';
import { methods } from '../electrum/wire.ts';
import { reasonOf } from '../lib/errors.ts';
import { hourMs } from '../lib/time-units.ts';
import type { Records } from '../store/open-records.ts';
import type { SocksProxy, World } from '../world/world.ts';
import { type Check, type CheckResult, fail, type NamedResult, ok, warn } from './doctor-check.ts';

export interface ElectrumChecksInput {
  readonly world: World;
  readonly network: Network;
  readonly servers: readonly ServerAddress[];
  readonly proxy: SocksProxy | undefined;
  /** Undefined if the database cannot be opened. */
  readonly records: Pick<Records, 'headers' | 'servers' | 'paymentView'> | undefined;
}

const name = 'electrum';

/** Whether the host name of the server did not resolve. */
interface Unresolvable {
  readonly isUnresolved?: boolean;
}
type ServerResult = CheckResult & Unresolvable;
export type NamedServerResult = NamedResult & Unresolvable;

/** How many of the newest payments are searched for one in a block. */
const maxPayments = 50;
/** The hash of no script: its history is empty. */
const unusedScripthash = '00'.repeat(32) as Scripthash;

export function electrumChecks(input: ElectrumChecksInput): Check[] {
  const none = `${input.network.name} has no built-in servers; name one with --electrum`;
  if (input.servers.length === 0) return [{ name, run: async () => fail(none) }];
  return input.servers.map((server) => ({
    name,
    run: (signal) => electrumCheck(input, server, signal),
  }));
}

async function electrumCheck(
  input: ElectrumChecksInput,
  server: ServerAddress,
  signal: AbortSignal,
): Promise<ServerResult> {
  const known = input.records?.servers.trust(server.label);
  let trust = known;
  const refusals = new Refusals(input.world);
  const open = () =>
    openSession({
      world: input.world,
      server,
      refusals,
      genesisHash: input.network.genesisHash,
      generation: 0,
      known,
      onLearn: async (learnt) => {
        trust = learnt;
      },
      options: input.proxy === undefined ? {} : { proxy: input.proxy },
      handlers: { onHeader: () => {}, onStatus: () => {}, onClose: () => {} },
      signal,
    });
  let session: Session;
  try {
    session = await open()
      // A server may close the connection at `server.features`; the second session omits it.
      .catch((error) => (refusals.refuses(methods.features) ? open() : Promise.reject(error)));
  } catch (error) {
    const { cause } = Object(error) as { cause?: unknown };
    return { ...failed(error, server.label), isUnresolved: isDnsError(errorCodeOf(cause)) };
  }
  try {
    const { state, text } = await checkSession(input, session);
    return { state, text: `${server.label}: ${text}${describeTrust(server, trust)}` };
  } catch (error) {
    return failed(error, server.label);
  } finally {
    session.close('the doctor is done');
  }
}

function describeTrust({ tls, insecure }: ServerAddress, trust: TlsIdentity | undefined): string {
  if (!tls) return ', no TLS';
  if (insecure) return ', any certificate is accepted';
  return trust?.kind === 'valid' ? ', its certificate is valid' : ', its certificate is pinned';
}

async function checkSession(
  { world, network, records }: ElectrumChecksInput,
  session: Session,
): Promise<CheckResult> {
  const { height, raw } = await session.subscribeHeaders();
  const tip = parseHeader(raw);
  if (!meetsTarget(tip)) return fail(`block ${height} has no work`);
  const apart = await chainDifference(session, records, height);
  if (apart !== undefined) return warn(apart);
  const proof = await proofResult(session, height, tip.merkleRoot, newestPayment(records));
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

/** Compares at the lower of both tips. Undefined if the blocks agree, or none is known. */
async function chainDifference(
  session: Session,
  records: ElectrumChecksInput['records'],
  height: number,
): Promise<string | undefined> {
  const ours = records?.headers.tipHeight();
  if (ours === undefined) return undefined;
  const shared = Math.min(ours, height);
  const expected = records?.headers.bestHashAt(shared);
  const [theirs] = await session.headers(shared, 1);
  if (expected === undefined || theirs === undefined) return undefined;
  if (parseHeader(theirs).hash === expected) return undefined;
  return `its block ${shared} is not the one that paygate has verified`;
}

interface KnownTransaction {
  readonly txid: Txid;
  readonly height: number;
}

/** The newest payment that is in a block: a transaction that the server must have. */
function newestPayment(records: ElectrumChecksInput['records']): KnownTransaction | undefined {
  const rows = records?.paymentView.list({ isOnChain: true, limit: maxPayments }) ?? [];
  const [found] = rows.flatMap(({ txid, height }) => (height === null ? [] : [{ txid, height }]));
  return found;
}

/** Proves the coinbase of the newest block, and makes the other requests that a payment needs. */
async function proofResult(
  session: Session,
  height: number,
  root: Uint8Array,
  paid: KnownTransaction | undefined,
): Promise<CheckResult> {
  const refused: string[] = [];
  async function orRefused<T>(request: Promise<T>): Promise<T | undefined> {
    try {
      return await request;
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
  const canByPosition = refused.length === needed;
  if (coinbase !== undefined && !new ProvenTree(root).proves(coinbase.txid, coinbase.branch, 0)) {
    return fail(`its proof for block ${height} is wrong`);
  }
  const example = coinbase === undefined ? paid : { txid: coinbase.txid, height };
  if (example !== undefined) {
    await orRefused(session.transaction(example.txid));
    const proof = await orRefused(session.merkle(example.txid, example.height));
    const isOfTip = example.height === height && coinbase !== undefined;
    if (proof && isOfTip && !new ProvenTree(root).proves(example.txid, proof.branch, proof.pos)) {
      return fail(`its proof for block ${height} is wrong`);
    }
  }
  if (refused.length > Number(!canByPosition)) return fail(refused.join('; '));
  const untried =
    example === undefined ? '; whether it returns and proves a transaction was not checked' : '';
  return canByPosition
    ? ok('proves a transaction of it')
    : warn(`refuses to prove a transaction by its position: ${refused.join('; ')}${untried}`);
}

/** A server that cannot be reached or used, and what to do. */
function failed(error: unknown, label: string): CheckResult {
  const request = error instanceof RequestError ? error.request : undefined;
  return fail(`${label}: ${reasonOf(error)}; ${requestAdvice(request)}`);
}

/** Merges the results of all servers into one if no host name resolves: the machine is offline. */
export function mergeOffline(checked: readonly NamedServerResult[]): NamedResult[] {
  const ofServers = checked.filter(({ check }) => check === name);
  const isOffline = ofServers.length > 1 && ofServers.every((each) => each.isUnresolved);
  const [first] = ofServers;
  return checked
    .filter((each) => !isOffline || each.check !== name || each === first)
    .map(({ isUnresolved: _, ...each }) =>
      isOffline && each.check === name ? { ...each, text: offlineText(ofServers.length) } : each,
    );
}
