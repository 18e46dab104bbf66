// How a session is opened: dial the server, judge its certificate, agree on a protocol version,
// check that it serves our network. An error says what to write instead, where the address is the
// cause.
// https://electrum-protocol.readthedocs.io/en/latest/protocol-basics.html#version-negotiation

import type { Socket } from 'node:net';
import { parseHeader } from '../bitcoin/header.ts';
import type { BlockHash } from '../bitcoin/ids.ts';
import { errorCodeOf, isConnectionClosed, isNotTls } from '../domain/delivery/network-error.ts';
import type { TlsIdentity } from '../domain/payment/server-record.ts';
import { PaygateError, reasonOf } from '../lib/errors.ts';
import type { Connection } from '../world/world.ts';
import { Budget } from './budget.ts';
import { Channel } from './channel.ts';
import { invalid } from './framing.ts';
import { Notifications } from './notifications.ts';
import { Refusals } from './refusals.ts';
import { isNoAnswer, RequestError, ServerError } from './requests.ts';
import type { ServerAddress } from './server-address.ts';
import { headersCall, requestHeaders, Session, type SessionOpening } from './session.ts';
import { judge } from './trust.ts';
import {
  methods,
  offeredVersions,
  type ProtocolVersion,
  parseFeatures,
  parseServerVersion,
  type ServerVersion,
} from './wire.ts';

const clientName = 'paygate';
const defaultMaxInFlight = 10;
const defaultOwnMaxInFlight = 100;
const defaultTimeoutMs = 10_000;
const proxyTimeoutMs = 20_000;
/** 7 headers make a response of more than 1,024 bytes. Each header is billed. */
const fillerHeaders = 8;

/**
 * @throws PaygateError saying why there is no session. `unavailable`: it cannot be reached.
 *   `forbidden`: its certificate is not the known one. `invalid`: it breaks the protocol, or serves
 *   another network.
 */
export async function openSession(opening: SessionOpening): Promise<Session> {
  const { socket, certificate } = await dial(opening);
  const judgement = judge(certificate, opening.server, opening.known);
  if (judgement.accept) return startSession(opening, socket, judgement.learn);
  socket.destroy();
  opening.onRefuse?.(judgement.shown);
  throw new PaygateError('forbidden', judgement.reason);
}

async function dial(opening: SessionOpening): Promise<Connection> {
  const { world, server, signal } = opening;
  const { proxy } = opening.options;
  const dialling = new AbortController();
  const stop = (): void => dialling.abort(signal.reason);
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop);
  const cancelDeadline = world.after(timeoutOf(opening), () =>
    dialling.abort(new Error('it did not answer in time')),
  );
  try {
    return await world.connect(proxy ? { ...server, proxy } : server, dialling.signal);
  } catch (error) {
    throw withTcpAdvice(error, server);
  } finally {
    cancelDeadline();
    signal.removeEventListener('abort', stop);
  }
}

/** @param learnt what the certificate has taught, if that is new */
async function startSession(
  opening: SessionOpening,
  socket: Socket,
  learnt: TlsIdentity | undefined,
): Promise<Session> {
  const { world, server, signal, genesisHash } = opening;
  const refusals = opening.refusals ?? new Refusals(world);
  const budget = opening.budget ?? new Budget(world, { isOwn: server.own });
  const notifications = new Notifications();
  const maxInFlight = maxInFlightOf(opening);
  const requestTimeoutMs = timeoutOf(opening);
  const channel = new Channel({
    world,
    socket,
    maxInFlight,
    requestTimeoutMs,
    refusals,
    notifications,
  });
  const stop = (): void => channel.end('stopped');
  signal.addEventListener('abort', stop);
  channel.whenEnded(() => signal.removeEventListener('abort', stop));
  if (signal.aborted) stop();
  try {
    const serverVersion = await shakeHands(channel, genesisHash, server);
    // Only now, because a stranger at this address teaches nothing.
    if (learnt !== undefined) await opening.onLearn(learnt);
    if (channel.endReason !== undefined) throw new PaygateError('unavailable', channel.endReason);
    useFillers(channel, serverVersion, notifications, opening);
    budget.opened(isElectrumX(serverVersion));
    channel.useBudget(budget);
    return new Session({ opening, serverVersion, channel, notifications, refusals, budget });
  } catch (error) {
    channel.end(reasonOf(error));
    throw error;
  }
}

/** Asks for the version first, as protocol 1.6 demands, then for the network. */
async function shakeHands(
  channel: Channel,
  genesisHash: BlockHash,
  { tls }: ServerAddress,
): Promise<ServerVersion> {
  const serverVersion = await channel
    .request({
      method: methods.version,
      params: [clientName, offeredVersions],
      parse: parseServerVersion,
    })
    .catch((error) => {
      throw tls || error instanceof ServerError ? error : withTlsAdvice(error);
    });
  if ((await genesisOf(channel, serverVersion.version)) !== genesisHash) {
    throw invalid('the genesis block of another network');
  }
  return serverVersion;
}

/** Asks for `server.features`, or for the first header at esplora and electrs before 0.9. */
async function genesisOf(channel: Channel, version: ProtocolVersion): Promise<BlockHash> {
  try {
    const features = await channel.request({
      method: methods.features,
      params: [],
      parse: parseFeatures,
    });
    if (features.hashFunction !== 'sha256') throw invalid('another hash function than SHA-256');
    return features.genesisHash;
  } catch (error) {
    if (!isNoAnswer(error)) throw error;
    return firstBlockHash(channel, version, error);
  }
}

async function firstBlockHash(
  channel: Channel,
  version: ProtocolVersion,
  { message: before }: RequestError,
): Promise<BlockHash> {
  try {
    const [first] = await requestHeaders(channel, 0, 1, version);
    if (first === undefined) throw invalid('a chain without a first header');
    return parseHeader(first).hash;
  } catch (error) {
    if (!(error instanceof PaygateError)) throw error;
    const { code, message } = error;
    const request = error instanceof RequestError ? error.request : methods.headers;
    throw new RequestError(code, `${message}; and before that, ${before}`, request);
  }
}

/** A port that shows no TLS, or hangs up at it, may speak plain TCP. */
function withTcpAdvice(error: unknown, { tls }: ServerAddress): unknown {
  if (!tls || !(error instanceof PaygateError)) return error;
  const code = errorCodeOf(error.cause);
  if (!isNotTls(code) && !isConnectionClosed(code)) return error;
  const message = `${error.message}; if it speaks plain TCP, write tcp:// instead of ssl://`;
  return new PaygateError(error.code, message, { cause: error.cause });
}

/** A port that does not answer as an Electrum server may speak TLS. */
function withTlsAdvice(error: unknown): unknown {
  if (!(error instanceof PaygateError)) return error;
  const { code, message } = error;
  return new PaygateError(
    code,
    `${message}; if this port speaks TLS, write ssl:// instead of tcp://`,
  );
}

function useFillers(
  channel: Channel,
  serverVersion: ServerVersion,
  notifications: Notifications,
  { options: { fillers = 'auto' } }: SessionOpening,
): void {
  if (fillers === 'never' || !isElectrumX(serverVersion)) return;
  // Every server has the newest headers in memory.
  const start = (): number => Math.max(0, (notifications.tip?.height ?? 0) - fillerHeaders);
  channel.useFillers(() => headersCall(start(), fillerHeaders, serverVersion.version));
}

const isElectrumX = ({ software }: ServerVersion): boolean => software.startsWith('ElectrumX');

const maxInFlightOf = ({ server, options }: SessionOpening): number =>
  server.own
    ? (options.ownMaxInFlight ?? defaultOwnMaxInFlight)
    : (options.maxInFlight ?? defaultMaxInFlight);

const timeoutOf = ({ options: { requestTimeoutMs, proxy } }: SessionOpening): number =>
  requestTimeoutMs ?? (proxy === undefined ? defaultTimeoutMs : proxyTimeoutMs);
