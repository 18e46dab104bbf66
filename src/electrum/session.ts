// A live session with an Electrum server: the methods that paygate uses, typed. It delivers nothing
// after `onClose`, and no status or header that is not subscribed. It never connects: handshake.ts
// opens it, and the pool opens the next one.
// https://electrum-protocol.readthedocs.io/en/latest/protocol-methods.html

import { bytesToHex } from '@noble/hashes/utils.js';
import type { BlockHash, Scripthash, Txid } from '../bitcoin/ids.ts';
import type { HistoryItem } from '../domain/payment/script-history.ts';
import type { TlsIdentity } from '../domain/payment/server-record.ts';
import { PaygateError } from '../lib/errors.ts';
import type { SocksProxy, World } from '../world/world.ts';
import type { Budget } from './budget.ts';
import { type Channel, pingCall } from './channel.ts';
import type { Notifications } from './notifications.ts';
import type { Refusals } from './refusals.ts';
import {
  type Call,
  isNoAnswer,
  isUnknownTransaction,
  type Priority,
  ServerError,
} from './requests.ts';
import type { ServerAddress } from './server-address.ts';
import {
  type CoinbaseBranch,
  type HeaderTip,
  type MerkleBranch,
  methods,
  type ProtocolVersion,
  parseBroadcast,
  parseCoinbase,
  parseHeaders,
  parseHistory,
  parseMerkle,
  parseOneHeader,
  parsePresence,
  parseRawTransaction,
  parseVerboseTransaction,
  type ServerVersion,
  type Status,
} from './wire.ts';

/** From this many headers on, a response is longer than what ElectrumX holds back. */
const minLargeHeaders = 7;
/** Headers that are requested one by one, where a server does not give several. */
const maxSingleHeaders = 50;

export interface SessionOptions {
  /** The in-flight limit at a public server; 10 by default. */
  readonly maxInFlight?: number;
  /** The in-flight limit at an own server; 100 by default. */
  readonly ownMaxInFlight?: number | undefined;
  /** For the connection, and from sending a request to its deadline; 10 s, or 20 s by proxy. */
  readonly requestTimeoutMs?: number;
  readonly proxy?: SocksProxy | undefined;
  /** Against an ElectrumX that holds small responses back (see fillers.ts); `auto` by default. */
  readonly fillers?: 'auto' | 'never';
}

export interface SessionHandlers {
  onHeader(session: Session, tip: HeaderTip): void;
  onStatus(session: Session, scripthash: Scripthash, status: Status): void;
  /** Called once; nothing follows it. */
  onClose(session: Session, reason: string): void;
}

export interface SessionOpening {
  readonly world: Pick<World, 'monotonic' | 'after' | 'connect'>;
  readonly server: ServerAddress;
  readonly genesisHash: BlockHash;
  /** Grows with every connection, so that earlier connections differ. */
  readonly generation: number;
  /** What earlier connections have learnt of the certificate. */
  readonly known: TlsIdentity | undefined;
  /** Stores what the certificate has taught; the session waits for it. */
  readonly onLearn: (trust: TlsIdentity) => Promise<void>;
  /** The certificate is refused. @param shown its SHA-256 when a person can accept it */
  readonly onRefuse?: (shown: string | undefined) => void;
  readonly options: SessionOptions;
  /** The one of this server across its sessions; a new one by default. */
  readonly budget?: Budget;
  /** Those of this server across its sessions; new ones by default. */
  readonly refusals?: Refusals;
  readonly handlers: SessionHandlers;
  /** Ends the opening, and the session. */
  readonly signal: AbortSignal;
}

export interface TransactionOptions extends Priority {
  /** It was just announced and is in no block, so nodes do relay it. */
  readonly fresh?: boolean;
}

/** Called for each script as it is answered, with its status or the reason why there is none. */
export type OnSubscribed = (scripthash: Scripthash, result: Status | PaygateError) => void;

export interface SessionParts {
  readonly opening: Pick<SessionOpening, 'server' | 'generation' | 'handlers'>;
  readonly serverVersion: ServerVersion;
  readonly channel: Channel;
  readonly notifications: Notifications;
  readonly refusals: Refusals;
  readonly budget: Budget;
}

/**
 * Every method rejects with PaygateError `unavailable` when the session ends, with RequestTimeout
 * after its deadline, and with ServerError when the server refuses the request.
 */
export class Session {
  readonly server: ServerAddress;
  readonly generation: number;
  readonly version: ProtocolVersion;
  /** What the server calls itself, made plain. */
  readonly software: string;
  /** How much the server may still be asked, and for what. */
  readonly budget: Budget;
  readonly #channel: Channel;
  readonly #notifications: Notifications;
  readonly #refusals: Refusals;
  /** False after the server gave no verbose transaction. */
  #givesVerbose = true;

  constructor({ opening, serverVersion, channel, notifications, ...parts }: SessionParts) {
    const { handlers } = opening;
    this.server = opening.server;
    this.generation = opening.generation;
    this.version = serverVersion.version;
    this.software = serverVersion.software;
    this.budget = parts.budget;
    this.#channel = channel;
    this.#notifications = notifications;
    this.#refusals = parts.refusals;
    notifications.listener = {
      onHeader: (tip) => handlers.onHeader(this, tip),
      onStatus: (scripthash, status) => handlers.onStatus(this, scripthash, status),
    };
    channel.whenEnded((reason) => handlers.onClose(this, reason));
  }

  get closed(): boolean {
    return this.#channel.endReason !== undefined;
  }

  get maxInFlight(): number {
    return this.#channel.maxInFlight;
  }

  get fillersSent(): number {
    return this.#channel.fillersSent;
  }

  get latencyMs(): number | undefined {
    return this.#channel.latencyMs;
  }

  get bulkWaiting(): number {
    return this.#channel.bulkWaiting;
  }

  /** The newest tip; undefined before `subscribeHeaders` is answered. */
  get tip(): HeaderTip | undefined {
    return this.#notifications.tip;
  }

  async subscribeHeaders(): Promise<HeaderTip> {
    const parse = this.#notifications.subscribeHeaders();
    const call = { method: methods.subscribeHeaders, params: [], parse };
    const answered = await this.#channel.request(call);
    return this.#notifications.tip ?? answered;
  }

  /**
   * Up to `count` raw headers from a height on; fewer at the tip or beyond the server's maximum.
   */
  headers(start: number, count: number): Promise<readonly Uint8Array[]> {
    return requestHeaders(this.#channel, start, count, this.version);
  }

  /** Returns the newest status, which may come from a notification that overtook the response. */
  async subscribe(scripthash: Scripthash, priority: Priority = {}): Promise<Status> {
    const { parse, newest } = this.#notifications.subscribe(scripthash);
    const call = { method: methods.subscribe, params: [scripthash], parse };
    return newest(await this.#channel.request({ ...call, ...priority }));
  }

  /**
   * Subscribes to several scripts. A script that the server refuses does not hold up the others.
   * @throws PaygateError unavailable when the session ends; also what `onSubscribed` throws
   */
  async subscribeAll(
    scripthashes: readonly Scripthash[],
    priority: Priority,
    onSubscribed: OnSubscribed,
  ): Promise<void> {
    const subscribeOne = async (scripthash: Scripthash): Promise<void> => {
      const result = await this.subscribe(scripthash, priority).catch((error: unknown) => {
        // A timeout counts as a refusal, unless it has ended the session.
        if (this.closed || !(error instanceof PaygateError)) throw error;
        return error;
      });
      onSubscribed(scripthash, result);
    };
    await Promise.all(scripthashes.map(subscribeOne));
  }

  /** No status of the script is delivered from the call on. */
  async unsubscribe(scripthash: Scripthash, priority: Priority = {}): Promise<void> {
    this.#notifications.unsubscribe(scripthash);
    const call = { method: methods.unsubscribe, params: [scripthash], parse: () => undefined };
    try {
      await this.#channel.request({ ...call, ...priority });
    } catch (error) {
      // Protocol 1.4.0 and 1.4.1 do not have the method.
      if (!(error instanceof ServerError)) throw error;
    }
  }

  history(scripthash: Scripthash, priority: Priority = {}): Promise<readonly HistoryItem[]> {
    const call = { method: methods.history, params: [scripthash], parse: parseHistory };
    return this.#refusals.historyInTurn(() => this.#channel.request({ ...call, ...priority }));
  }

  /**
   * The raw transaction, whatever the server says it is: the caller hashes it. A fresh one is
   * requested verbosely where a short response would be delayed.
   */
  async transaction(txid: Txid, options: TransactionOptions = {}): Promise<Uint8Array> {
    const { fresh = false, ...priority } = options;
    const isVerbose = fresh && this.#givesVerbose && this.#channel.holdsBack;
    const raw = isVerbose ? await this.#verboseTransaction(txid) : undefined;
    if (raw !== undefined) return raw;
    const call = { method: methods.transaction, params: [txid], parse: parseRawTransaction };
    return this.#channel.request({ ...call, ...priority });
  }

  /** Whether the server's node has it in its mempool or best chain. Some servers cannot say. */
  hasTransaction(txid: Txid): Promise<boolean> {
    return this.#channel.request(verboseCall(txid, parsePresence));
  }

  /** Undefined when the server gives no verbose transaction; it is not asked for one again. */
  async #verboseTransaction(txid: Txid): Promise<Uint8Array | undefined> {
    try {
      const call = { ...verboseCall(txid, parseVerboseTransaction), large: true };
      const raw = await this.#channel.request(call);
      this.#givesVerbose = raw !== undefined;
      return raw;
    } catch (error) {
      if (!(error instanceof ServerError) || isUnknownTransaction(error)) throw error;
      this.#givesVerbose = false;
      return undefined;
    }
  }

  merkle(txid: Txid, height: number): Promise<MerkleBranch> {
    const params = [txid, height];
    return this.#channel.request({ method: methods.merkle, params, parse: parseMerkle });
  }

  /** The first transaction of a block, with its merkle branch. */
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

  close(reason: string): void {
    this.#channel.end(reason);
  }
}

const verboseCall = <T>(txid: Txid, parse: (result: unknown) => T): Call<T> => ({
  method: methods.transaction,
  params: [txid, true],
  parse,
  verbose: true,
});

/** Raw headers from a height on; one by one where the server does not give several. */
export async function requestHeaders(
  channel: Channel,
  start: number,
  count: number,
  version: ProtocolVersion,
): Promise<readonly Uint8Array[]> {
  try {
    return await channel.request(headersCall(start, count, version));
  } catch (error) {
    if (!isNoAnswer(error)) throw error;
    const heights = Array.from(
      { length: Math.min(count, maxSingleHeaders) },
      (_, at) => start + at,
    );
    const single = heights.map((height) => channel.request(headerCall(height)));
    return Promise.all(single).catch((failure) => {
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
  version: ProtocolVersion,
): Call<readonly Uint8Array[]> => ({
  method: methods.headers,
  params: [start, count],
  parse: (result) => parseHeaders(result, version, count),
  large: count >= minLargeHeaders,
  headers: count,
});
