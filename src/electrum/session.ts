// One connection to an Electrum server, from dialling to its end: TLS judged, version agreed on, network
// checked, then the methods that paygate uses, typed. Nothing is delivered after `onClose`, and no
// status or header for what was not subscribed. It never reconnects: the pool does.
// https://electrum-protocol.readthedocs.io/en/latest/protocol-basics.html#version-negotiation

import type { Socket } from 'node:net';
import { bytesToHex } from '@noble/hashes/utils.js';
import { parseHeader } from '../bitcoin/header.ts';
import type { BlockHash, Scripthash, Txid } from '../bitcoin/ids.ts';
import type { HistoryItem } from '../domain/history.ts';
import { PaygateError, reasonOf } from '../errors.ts';
import type { Connection, World } from '../world.ts';
import { type Call, Channel } from './channel.ts';
import { invalid, ServerError } from './framing.ts';
import { Subscriptions } from './subscriptions.ts';
import { judge, type ServerAddress, type Trust } from './trust.ts';
import {
  type HeaderTip,
  type MerkleBranch,
  methods,
  offeredVersions,
  type ProtocolVersion,
  parseBroadcast,
  parseFeatures,
  parseHeaders,
  parseHistory,
  parseMerkle,
  parseRawTransaction,
  parseServerVersion,
  type ServerVersion,
  type Status,
} from './wire.ts';

const clientName = 'paygate';
const defaultWindow = 10;
const defaultTimeoutMs = 10_000;
/** A filler asks for this many; 7 headers make an answer of more than 1,024 bytes. */
const fillerHeaders = 20;
const largeFromHeaders = 7;

export interface SessionOptions {
  /** Requests in flight at once; 10 without it. */
  readonly maxInFlight?: number;
  /** For the connection, and from the sending of a request to its answer; 10 s without it. */
  readonly requestTimeoutMs?: number;
  /** Against an ElectrumX that holds back small answers (see filler.ts); automatic without it. */
  readonly fillers?: 'auto' | 'never';
}

export interface SessionHandlers {
  onHeader(session: Session, tip: HeaderTip): void;
  onStatus(session: Session, scripthash: Scripthash, status: Status): void;
  /** Once, after which nothing more comes of this session. */
  onClose(session: Session, reason: string): void;
}

export interface SessionOpening {
  readonly world: Pick<World, 'monotonic' | 'after' | 'connect'>;
  readonly server: ServerAddress;
  readonly genesisHash: BlockHash;
  /** Grows with every connection, so that what belongs to an older one can be told. */
  readonly generation: number;
  readonly known: Trust | undefined;
  /** Keeps what the certificate has taught; awaited before the session is live. */
  readonly onLearn: (trust: Trust) => Promise<void>;
  readonly options: SessionOptions;
  readonly handlers: SessionHandlers;
  /** Ends the opening, and the session. */
  readonly signal: AbortSignal;
}

/**
 * Every method rejects with PaygateError `unavailable` when overdue or when the session ends, and with
 * ServerError when the server refuses that request.
 */
export class Session {
  readonly server: ServerAddress;
  /** Grows with every connection of the pool. */
  readonly generation: number;
  readonly version: ProtocolVersion;
  /** What the server calls itself, made plain. */
  readonly software: string;
  readonly #channel: Channel;
  readonly #subscriptions: Subscriptions;

  constructor(
    { server, generation }: SessionOpening,
    { version, software }: ServerVersion,
    channel: Channel,
    subscriptions: Subscriptions,
  ) {
    this.server = server;
    this.generation = generation;
    this.version = version;
    this.software = software;
    this.#channel = channel;
    this.#subscriptions = subscriptions;
  }

  get closed(): boolean {
    return this.#channel.endReason !== undefined;
  }

  /** How many requests were sent for the size of their answer alone. */
  get fillersSent(): number {
    return this.#channel.fillersSent;
  }

  /** The newest tip known. */
  subscribeHeaders(): Promise<HeaderTip> {
    const parse = this.#subscriptions.addHeaders();
    return this.#channel.request({ method: methods.subscribeHeaders, params: [], parse });
  }

  /** Up to `count` raw headers from a height on; fewer at the tip or beyond the server's maximum. */
  headers(start: number, count: number): Promise<readonly Uint8Array[]> {
    return this.#channel.request(headersCall(start, count, this.version));
  }

  /** The newest status known: a notification that overtakes the answer wins. */
  subscribe(scripthash: Scripthash): Promise<Status> {
    const parse = this.#subscriptions.add(scripthash);
    return this.#channel.request({ method: methods.subscribe, params: [scripthash], parse });
  }

  /** From the call on, no status of it is delivered. */
  async unsubscribe(scripthash: Scripthash): Promise<void> {
    this.#subscriptions.remove(scripthash);
    const parse = (): void => undefined;
    try {
      await this.#channel.request({ method: methods.unsubscribe, params: [scripthash], parse });
    } catch (error) {
      // Protocol 1.4.0 and 1.4.1 do not have it.
      if (!(error instanceof ServerError)) throw error;
    }
  }

  history(scripthash: Scripthash): Promise<readonly HistoryItem[]> {
    const params = [scripthash];
    return this.#channel.request({ method: methods.history, params, parse: parseHistory });
  }

  /** The raw transaction, whatever the server says it is: the caller hashes it. */
  transaction(txid: Txid): Promise<Uint8Array> {
    const params = [txid];
    return this.#channel.request({
      method: methods.transaction,
      params,
      parse: parseRawTransaction,
    });
  }

  merkle(txid: Txid, height: number): Promise<MerkleBranch> {
    const params = [txid, height];
    return this.#channel.request({ method: methods.merkle, params, parse: parseMerkle });
  }

  broadcast(raw: Uint8Array): Promise<Txid> {
    const params = [bytesToHex(raw)];
    return this.#channel.request({ method: methods.broadcast, params, parse: parseBroadcast });
  }

  ping(): Promise<void> {
    return this.#channel.request({ method: methods.ping, params: [], parse: () => undefined });
  }

  /** Ends the session; `onClose` is told the reason. */
  close(reason: string): void {
    this.#channel.end(reason);
  }
}

/**
 * @throws PaygateError saying why there is no session: `unavailable`, or `invalid` for a server that
 *   breaks the protocol or serves another network
 */
export async function openSession(opening: SessionOpening): Promise<Session> {
  const { socket, certificate } = await dial(opening);
  const judgement = judge(certificate, opening.server, opening.known);
  if (judgement.accept) return converse(opening, socket, judgement.learn);
  socket.destroy();
  throw new PaygateError('unavailable', judgement.reason);
}

async function dial({ world, server, options, signal }: SessionOpening): Promise<Connection> {
  const giveUp = new AbortController();
  const stop = (): void => giveUp.abort(signal.reason);
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop);
  const cancelDeadline = world.after(options.requestTimeoutMs ?? defaultTimeoutMs, () =>
    giveUp.abort(new Error('it did not answer in time')),
  );
  try {
    return await world.connect(server, giveUp.signal);
  } finally {
    cancelDeadline();
    signal.removeEventListener('abort', stop);
  }
}

async function converse(
  opening: SessionOpening,
  socket: Socket,
  learn: Trust | undefined,
): Promise<Session> {
  const { world, options, handlers, signal, genesisHash } = opening;
  let session: Session | undefined;
  const subscriptions = new Subscriptions(
    (tip) => session && handlers.onHeader(session, tip),
    (scripthash, status) => session && handlers.onStatus(session, scripthash, status),
  );
  const stop = (): void => channel.end('stopped');
  const channel: Channel = new Channel({
    world,
    socket,
    window: options.maxInFlight ?? defaultWindow,
    requestTimeoutMs: options.requestTimeoutMs ?? defaultTimeoutMs,
    onNotice: (method, params) => subscriptions.notice(method, params),
    onEnd: (reason) => {
      signal.removeEventListener('abort', stop);
      if (session !== undefined) handlers.onClose(session, reason);
    },
  });
  signal.addEventListener('abort', stop);
  if (signal.aborted) stop();
  try {
    const greeting = await shakeHands(channel, genesisHash);
    // Only now: a stranger at this address teaches nothing.
    if (learn !== undefined) await opening.onLearn(learn);
    if (channel.endReason !== undefined) throw new PaygateError('unavailable', channel.endReason);
    session = new Session(opening, greeting, channel, subscriptions);
    useFillers(channel, greeting, subscriptions, options);
    return session;
  } catch (error) {
    channel.end(reasonOf(error));
    throw error;
  }
}

/** The version first, as protocol 1.6 demands; then whether the server serves our network. */
async function shakeHands(channel: Channel, genesisHash: BlockHash): Promise<ServerVersion> {
  const greeting = await channel.request({
    method: methods.version,
    params: [clientName, offeredVersions],
    parse: parseServerVersion,
  });
  if ((await genesisOf(channel, greeting.version)) !== genesisHash) {
    throw invalid('the genesis block of another network');
  }
  return greeting;
}

/** By `server.features`, or by the first header where a server keeps those to itself (esplora). */
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
    if (!(error instanceof ServerError)) throw error;
    const [first] = await channel.request(headersCall(0, 1, version));
    if (first === undefined) throw invalid('a chain without a first header');
    return parseHeader(first).hash;
  }
}

function useFillers(
  channel: Channel,
  { software, version }: ServerVersion,
  subscriptions: Subscriptions,
  { fillers = 'auto' }: SessionOptions,
): void {
  if (fillers === 'never' || !software.startsWith('ElectrumX')) return;
  // The newest headers lie in every server's memory.
  const start = (): number => Math.max(0, (subscriptions.tip?.height ?? 0) - fillerHeaders);
  channel.useFiller(() => headersCall(start(), fillerHeaders, version));
}

const headersCall = (
  start: number,
  count: number,
  version: ProtocolVersion,
): Call<readonly Uint8Array[]> => ({
  method: methods.headers,
  params: [start, count],
  parse: (answer) => parseHeaders(answer, version, count),
  large: count >= largeFromHeaders,
});
