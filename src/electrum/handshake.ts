// The first words with a server: the version agreed on, then whether it serves our network.
// https://electrum-protocol.readthedocs.io/en/latest/protocol-basics.html#version-negotiation

import type { Socket } from 'node:net';
import { parseHeader } from '../bitcoin/header.ts';
import type { BlockHash } from '../bitcoin/ids.ts';
import { codeOf, isHangUp, isPlain } from '../domain/network-error.ts';
import type { Trust } from '../domain/server-record.ts';
import { PaygateError, reasonOf } from '../lib/errors.ts';
import type { Connection, SocksProxy, World } from '../world/world.ts';
import { Budget } from './budget.ts';
import { Channel } from './channel.ts';
import { invalid } from './framing.ts';
import { Subscriptions } from './notifications.ts';
import { Closings } from './refusals.ts';
import { isNoAnswer, RequestError, ServerError } from './requests.ts';
import type { ServerAddress } from './server-address.ts';
import {
  askHeaders,
  headersCall,
  pingCall,
  Session,
  type SessionOpening,
  type SessionOptions,
} from './session.ts';
import { judge } from './trust.ts';
import {
  methods,
  offeredVersions,
  type ProtocolVersion,
  parseFeatures,
  parseServerVersion,
  type ServerVersion,
} from './wire.ts';

const defaultWindow = 10;
const ownWindow = 100;
const defaultTimeoutMs = 10_000;
const proxyTimeoutMs = 20_000;
/** A filler asks for this many; 7 headers make an answer of more than 1,024 bytes. Each is billed. */
const fillerHeaders = 8;

/**
 * @throws PaygateError saying why there is no session: `unavailable`, `forbidden` for a certificate
 *   that is not the one known, or `invalid` for a server that breaks the protocol or serves another network
 */
export async function openSession(opening: SessionOpening): Promise<Session> {
  const { proxy } = opening.options;
  const { socket, certificate } = await dial({ ...opening, proxy, timeoutMs: timeoutOf(opening) });
  const judgement = judge(certificate, opening.server, opening.known);
  if (judgement.accept) return converse(opening, socket, judgement.learn);
  socket.destroy();
  opening.onRefuse?.(judgement.shown);
  throw new PaygateError('forbidden', judgement.reason);
}

async function converse(
  opening: SessionOpening,
  socket: Socket,
  learn: Trust | undefined,
): Promise<Session> {
  const { world, server, options, handlers, signal, genesisHash } = opening;
  const { closings = new Closings(world) } = opening;
  let session: Session | undefined;
  const subscriptions = new Subscriptions(
    (tip) => session && handlers.onHeader(session, tip),
    (scripthash, status) => session && handlers.onStatus(session, scripthash, status),
  );
  const stop = (): void => channel.end('stopped');
  const channel: Channel = new Channel({
    world,
    socket,
    window: windowOf(opening),
    requestTimeoutMs: timeoutOf(opening),
    closings,
    ping: () => (closings.refuses(methods.ping) ? headersCall(0, 1, session?.version) : pingCall),
    onNotice: (method, params) => subscriptions.notice(method, params),
    onEnd: (reason) => {
      signal.removeEventListener('abort', stop);
      if (session !== undefined) handlers.onClose(session, reason);
    },
  });
  signal.addEventListener('abort', stop);
  if (signal.aborted) stop();
  try {
    const greeting = await shakeHands(channel, genesisHash, server.tls);
    // Only now: a stranger at this address teaches nothing.
    if (learn !== undefined) await opening.onLearn(learn);
    if (channel.endReason !== undefined) throw new PaygateError('unavailable', channel.endReason);
    session = new Session(opening, greeting, channel, subscriptions);
    useFillers(channel, greeting, subscriptions, options);
    if (!server.own) useBudget(channel, greeting, opening.budget ?? new Budget(world));
    return session;
  } catch (error) {
    channel.end(reasonOf(error));
    throw error;
  }
}

function useFillers(
  channel: Channel,
  { software, version }: ServerVersion,
  subscriptions: Subscriptions,
  { fillers = 'auto' }: SessionOptions,
): void {
  if (fillers === 'never' || !isElectrumX(software)) return;
  // The newest headers lie in every server's memory.
  const start = (): number => Math.max(0, (subscriptions.tip?.height ?? 0) - fillerHeaders);
  channel.useFiller(() => headersCall(start(), fillerHeaders, version));
}

function useBudget(channel: Channel, { software }: ServerVersion, budget: Budget): void {
  budget.opened(isElectrumX(software));
  channel.useBudget(budget);
}

const isElectrumX = (software: string): boolean => software.startsWith('ElectrumX');

const windowOf = ({ server, options }: SessionOpening): number =>
  server.own ? (options.ownMaxInFlight ?? ownWindow) : (options.maxInFlight ?? defaultWindow);

const timeoutOf = ({ options: { requestTimeoutMs, proxy } }: SessionOpening): number =>
  requestTimeoutMs ?? (proxy === undefined ? defaultTimeoutMs : proxyTimeoutMs);

// Dials a server within its deadline, and says of a port that speaks otherwise what to write in its place.

export interface DialParts {
  readonly world: Pick<World, 'after' | 'connect'>;
  readonly server: ServerAddress;
  readonly proxy: SocksProxy | undefined;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** @throws PaygateError unavailable, with the cause that World found */
export async function dial(parts: DialParts): Promise<Connection> {
  const { world, server, proxy, timeoutMs, signal } = parts;
  const giveUp = new AbortController();
  const stop = (): void => giveUp.abort(signal.reason);
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop);
  const cancelDeadline = world.after(timeoutMs, () =>
    giveUp.abort(new Error('it did not answer in time')),
  );
  try {
    return await world.connect(proxy ? { ...server, proxy } : server, giveUp.signal);
  } catch (error) {
    throw withPlainScheme(error, server);
  } finally {
    cancelDeadline();
    signal.removeEventListener('abort', stop);
  }
}

/** A port that shows no TLS, or hangs up at it, may speak plain TCP. */
function withPlainScheme(error: unknown, { tls }: ServerAddress): unknown {
  if (!tls || !(error instanceof PaygateError)) return error;
  const code = codeOf(error.cause);
  if (!isPlain(code) && !isHangUp(code)) return error;
  const message = `${error.message}; if it speaks plain TCP, write tcp:// instead of ssl://`;
  return new PaygateError(error.code, message, { cause: error.cause });
}

// The first words with a server: the version agreed on, then whether it serves our network.
// https://electrum-protocol.readthedocs.io/en/latest/protocol-basics.html#version-negotiation

const clientName = 'paygate';
/** The version first, as protocol 1.6 demands; then whether the server serves our network. */
export async function shakeHands(
  channel: Channel,
  genesisHash: BlockHash,
  tls: boolean,
): Promise<ServerVersion> {
  const greeting = await channel
    .request({
      method: methods.version,
      params: [clientName, offeredVersions],
      parse: parseServerVersion,
    })
    .catch((error) => {
      throw tls || error instanceof ServerError ? error : withTlsScheme(error);
    });
  if ((await genesisOf(channel, greeting.version)) !== genesisHash) {
    throw invalid('the genesis block of another network');
  }
  return greeting;
}

/** A port that gives no Electrum server's answer may speak TLS. */
function withTlsScheme(error: unknown): unknown {
  if (!(error instanceof PaygateError)) return error;
  const { code, message } = error;
  return new PaygateError(
    code,
    `${message}; if this port speaks TLS, write ssl:// instead of tcp://`,
  );
}

/** By `server.features`, or by the first header where a server keeps those to itself (esplora, electrs before 0.9). */
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
    return firstHash(channel, version, error);
  }
}

async function firstHash(
  channel: Channel,
  version: ProtocolVersion,
  { message: before }: RequestError,
): Promise<BlockHash> {
  try {
    const [first] = await askHeaders(channel, 0, 1, version);
    if (first === undefined) throw invalid('a chain without a first header');
    return parseHeader(first).hash;
  } catch (error) {
    if (!(error instanceof PaygateError)) throw error;
    const { code, message } = error;
    const request = error instanceof RequestError ? error.request : methods.headers;
    throw new RequestError(code, `${message}; and before that, ${before}`, request);
  }
}
