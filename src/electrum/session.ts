// One connection to an Electrum server, from dialling to its end: TLS judged, version agreed on, network
// checked, then the methods that paygate uses, typed. Nothing is delivered after `onClose`, and no
// status or header for what was not subscribed. It never reconnects: the pool does.
// https://electrum-protocol.readthedocs.io/en/latest/protocol-basics.html#version-negotiation

import { bytesToHex } from '@noble/hashes/utils.js';
import type { BlockHash, Scripthash, Txid } from '../bitcoin/ids.ts';
import type { HistoryItem } from '../domain/script-history.ts';
import type { Trust } from '../domain/server-record.ts';
import { PaygateError } from '../lib/errors.ts';
import type { SocksProxy, World } from '../world/world.ts';
import type { Budget } from './budget.ts';
import type { Channel } from './channel.ts';
import type { Subscriptions } from './notifications.ts';
import { type Closings, Overlong } from './refusals.ts';
import type { Call, Priority } from './requests.ts';
import { isNoAnswer, isUnknown, ServerError } from './requests.ts';
import type { ServerAddress } from './server-address.ts';
import {
  type CoinbaseBranch,
  type HeaderTip,
  type MerkleBranch,
  methods,
  type ProtocolVersion,
  parseBroadcast,
  parseCoinbase,
  parseDescribed,
  parseHeaders,
  parseHistory,
  parseMerkle,
  parseOneHeader,
  parseRawTransaction,
  parseStanding,
  type ServerVersion,
  type Status,
} from './wire.ts';

const largeFromHeaders = 7;
/** Asked for one by one, where a server gives no run of headers. */
const maxSingly = 50;

export interface SessionOptions {
  /** Requests in flight at once; 10 without it. */
  readonly maxInFlight?: number;
  /** The same at an own server; 100 without it. */
  readonly ownMaxInFlight?: number | undefined;
  /** For the connection, and from the sending of a request to its answer; 10 s, 20 s by proxy. */
  readonly requestTimeoutMs?: number;
  /** The only way to the server, where there is one. */
  readonly proxy?: SocksProxy | undefined;
  /** Against an ElectrumX that holds back small answers (see fillers.ts); automatic without it. */
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
  /** Its certificate is refused; `shown` is its SHA-256 where a person can accept it. */
  readonly onRefuse?: (shown: string | undefined) => void;
  readonly options: SessionOptions;
  /** What this server may be asked, from one session to the next; new without it. */
  readonly budget?: Budget;
  /** Which histories it cannot tell; forgotten with the session without it. */
  readonly overlong?: Overlong;
  /** Over which requests it closes the connection; forgotten with the session without it. */
  readonly closings?: Closings;
  readonly handlers: SessionHandlers;
  /** Ends the opening, and the session. */
  readonly signal: AbortSignal;
}

/** How a transaction is asked for. */
export interface TransactionCall extends Priority {
  /** Just heard of and in no block, so that it is none that nodes do not relay. */
  readonly fresh?: boolean;
}

/** Is told each as it is answered: the status, or why the server does not tell it. */
export type Hear = (scripthash: Scripthash, told: Status | PaygateError) => void;

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
  readonly #overlong: Overlong;
  /** Whether it says all of a transaction, as far as is known. */
  #describes = true;

  constructor(
    { server, generation, world, overlong }: SessionOpening,
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
    this.#overlong = overlong ?? new Overlong(world);
  }

  get closed(): boolean {
    return this.#channel.endReason !== undefined;
  }

  /** Requests that may be in flight at once. */
  get window(): number {
    return this.#channel.window;
  }

  /** How many requests were sent for the size of their answer alone. */
  get fillersSent(): number {
    return this.#channel.fillersSent;
  }

  /** The round trip of small requests, smoothed; undefined before the first. */
  get latencyMs(): number | undefined {
    return this.#channel.latencyMs;
  }

  /** Mass requests that are not yet sent. */
  get bulkWaiting(): number {
    return this.#channel.bulkWaiting;
  }

  /** How long it must be left alone, for what it was asked and has not forgiven yet; mostly 0. */
  spentMs({ bulk = false }: Priority = {}): number {
    return this.#channel.spentMs(bulk);
  }

  /** The newest tip that the server told; undefined before `subscribeHeaders` is answered. */
  get tip(): HeaderTip | undefined {
    return this.#subscriptions.tip;
  }

  /** The newest tip known. */
  async subscribeHeaders(): Promise<HeaderTip> {
    const parse = this.#subscriptions.addHeaders();
    const call = { method: methods.subscribeHeaders, params: [], parse };
    const told = await this.#channel.request(call);
    return this.#subscriptions.tip ?? told;
  }

  /** Up to `count` raw headers from a height on; fewer at the tip or beyond the server's maximum. */
  headers(start: number, count: number): Promise<readonly Uint8Array[]> {
    return askHeaders(this.#channel, start, count, this.version);
  }

  /** The newest status known: a notification that overtakes the answer wins. */
  async subscribe(scripthash: Scripthash, priority: Priority = {}): Promise<Status> {
    const { parse, newest } = this.#subscriptions.add(scripthash);
    const call = { method: methods.subscribe, params: [scripthash], parse };
    return newest(await this.#channel.request({ ...call, ...priority }));
  }

  /**
   * The same of several, each heard as it is answered.
   * @throws PaygateError unavailable when the session ends, and whatever `hear` throws
   */
  async subscribeAll(
    scripthashes: readonly Scripthash[],
    priority: Priority,
    hear: Hear,
  ): Promise<void> {
    const one = async (scripthash: Scripthash): Promise<void> => {
      const told = await this.subscribe(scripthash, priority).catch((error: unknown) => {
        // One that does not answer has refused as well, unless the session has ended over it.
        if (this.closed || !(error instanceof PaygateError)) throw error;
        return error;
      });
      hear(scripthash, told);
    };
    await Promise.all(scripthashes.map(one));
  }

  /** From the call on, no status of it is delivered. */
  async unsubscribe(scripthash: Scripthash, priority: Priority = {}): Promise<void> {
    this.#subscriptions.remove(scripthash);
    const call = { method: methods.unsubscribe, params: [scripthash], parse: () => undefined };
    try {
      await this.#channel.request({ ...call, ...priority });
    } catch (error) {
      // Protocol 1.4.0 and 1.4.1 do not have it.
      if (!(error instanceof ServerError)) throw error;
    }
  }

  history(scripthash: Scripthash, priority: Priority = {}): Promise<readonly HistoryItem[]> {
    const onTooLong = (certain: boolean) => this.#overlong.ended(scripthash, certain);
    const call = { method: methods.history, params: [scripthash], parse: parseHistory, onTooLong };
    const history = () => this.#channel.request({ ...call, ...priority });
    return this.#overlong.ask(scripthash, history);
  }

  /**
   * The raw transaction, whatever the server says it is: the caller hashes it. One that is fresh is asked for
   * together with all that the node says of it where a short answer would be held back.
   */
  async transaction(txid: Txid, how: TransactionCall = {}): Promise<Uint8Array> {
    const { fresh = false, ...priority } = how;
    const described =
      fresh && this.#describes && this.#channel.holdsBack
        ? await this.#describedTransaction(txid)
        : undefined;
    if (described !== undefined) return described;
    const call = { method: methods.transaction, params: [txid], parse: parseRawTransaction };
    return this.#channel.request({ ...call, ...priority });
  }

  /** Undefined where the server gives none in that way, which it is not asked for again. */
  async #describedTransaction(txid: Txid): Promise<Uint8Array | undefined> {
    try {
      const raw = await this.#describe(txid, parseDescribed, { large: true });
      this.#describes = raw !== undefined;
      return raw;
    } catch (error) {
      if (!(error instanceof ServerError) || isUnknown(error)) throw error;
      this.#describes = false;
      return undefined;
    }
  }

  /** Whether the server's node has it in its mempool or its chain. Not every server can be asked. */
  stands(txid: Txid): Promise<boolean> {
    return this.#describe(txid, parseStanding);
  }

  #describe<T>(
    txid: Txid,
    parse: (result: unknown) => T,
    how: { large?: boolean } = {},
  ): Promise<T> {
    const call = { method: methods.transaction, params: [txid, true], parse, described: true };
    return this.#channel.request({ ...call, ...how });
  }

  merkle(txid: Txid, height: number): Promise<MerkleBranch> {
    const params = [txid, height];
    return this.#channel.request({ method: methods.merkle, params, parse: parseMerkle });
  }

  /** The first transaction of a block, with its branch. */
  coinbase(height: number): Promise<CoinbaseBranch> {
    const params = [height, 0, true];
    return this.#channel.request({ method: methods.coinbase, params, parse: parseCoinbase });
  }

  broadcast(raw: Uint8Array): Promise<Txid> {
    const params = [bytesToHex(raw)];
    return this.#channel.request({ method: methods.broadcast, params, parse: parseBroadcast });
  }

  ping(): Promise<void> {
    return this.#channel.request(pingCall);
  }

  /** Ends the session; `onClose` is told the reason. */
  close(reason: string): void {
    this.#channel.end(reason);
  }
}

export const pingCall: Call<undefined> = {
  method: methods.ping,
  params: [],
  parse: () => undefined,
};

/** Raw headers from a height on, as of a session; one by one where the server gives them in no other way. */
export async function askHeaders(
  channel: Channel,
  start: number,
  count: number,
  version: ProtocolVersion,
): Promise<readonly Uint8Array[]> {
  try {
    return await channel.request(headersCall(start, count, version));
  } catch (error) {
    if (!isNoAnswer(error)) throw error;
    const heights = Array.from({ length: Math.min(count, maxSingly) }, (_, at) => start + at);
    const singly = heights.map((height) => channel.request(headerCall(height)));
    return Promise.all(singly).catch((failure) => {
      throw isNoAnswer(failure) ? error : failure;
    });
  }
}

const headerCall = (height: number): Call<Uint8Array> => ({
  method: methods.header,
  params: [height],
  parse: parseOneHeader,
});

export const headersCall = (
  start: number,
  count: number,
  version: ProtocolVersion = '1.4',
): Call<readonly Uint8Array[]> => ({
  method: methods.headers,
  params: [start, count],
  parse: (answer) => parseHeaders(answer, version, count),
  large: count >= largeFromHeaders,
  headers: count,
});
