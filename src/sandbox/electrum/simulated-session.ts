// One connection to the simulated server: requests, version negotiation, responses and
// notifications, all subject to the active faults. Responses keep the order of the requests.

import type { Socket } from 'node:net';
import type { Scripthash } from '../../bitcoin/ids.ts';
import { reasonOf } from '../../lib/errors.ts';
import type { ChainChange, SimulatedChain } from '../chain/simulated-chain.ts';
import { type ChainView, viewOf } from './chain-view.ts';
import {
  errorCodes,
  errorLine,
  type JsonRpcRequest,
  notificationLine,
  parseRequest,
  RpcError,
  resultLine,
} from './json-rpc.ts';
import {
  isMethod,
  runMethod,
  type ServerInfo,
  type Subscriptions,
  statusAt,
  tipResult,
} from './methods.ts';
import { isAtLeast, negotiate, type ProtocolVersion } from './protocol-version.ts';
import { type Fault, type Faults, faultOf, garbageLine } from './server-faults.ts';
import { SessionOutput, type Timer } from './session-output.ts';

export interface SessionContext {
  readonly chain: SimulatedChain;
  readonly timer: Timer;
  readonly faults: Faults;
  readonly padsOutput: boolean;
  readonly info: ServerInfo;
  /** Logs a request; unknown methods share one name. */
  record(method: string, params: readonly unknown[]): void;
}

/** Response to a request, before faults apply to its sending. */
interface PreparedResponse {
  /** Undefined for a notification, which gets no response. */
  readonly text: string | undefined;
  readonly id: unknown;
  readonly faults: readonly Fault[];
  readonly disconnects?: boolean;
}

/** ElectrumX's default (MAX_RECV): a longer request ends the connection. */
const maxLineBytes = 5_000_000;
const newline = 0x0a;
const headersMethod = 'blockchain.headers.subscribe';
const scripthashMethod = 'blockchain.scripthash.subscribe';

export class SimulatedSession {
  readonly output: SessionOutput;
  readonly #context: SessionContext;
  readonly #subscriptions: Subscriptions = { header: undefined, statuses: new Map() };
  #version: ProtocolVersion | undefined;
  /** Pieces of a request whose end has not arrived. */
  #pieces: Buffer[] = [];
  #piecesBytes = 0;
  #closed = false;

  constructor(socket: Socket, context: SessionContext) {
    this.#context = context;
    this.output = new SessionOutput(socket, context.timer, context.padsOutput);
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('close', () => {
      this.#closed = true;
      this.output.destroy();
    });
    // A close event follows every error.
    socket.on('error', () => {});
  }

  /** Sends notifications of values that differ from those that the client received last. */
  notify(touched: ReadonlySet<Scripthash> | 'all'): void {
    if (this.#closed) return;
    this.#notifyHeader();
    const { statuses } = this.#subscriptions;
    const candidates =
      touched === 'all' || touched.size > statuses.size
        ? [...statuses.keys()].filter((one) => touched === 'all' || touched.has(one))
        : [...touched].filter((one) => statuses.has(one));
    for (const scripthash of candidates) this.#notifyStatus(scripthash);
  }

  /** Notifies after a change of the chain. Faults may change values of untouched scripts. */
  onChainChange({ scripthashes }: ChainChange): void {
    this.notify(this.#context.faults.hasAny ? 'all' : scripthashes);
  }

  #notifyHeader(): void {
    if (this.#subscriptions.header === undefined) return;
    const faults = this.#context.faults.forNotification(headersMethod, []);
    const result = tipResult(this.#view(faults));
    if (result.hex === this.#subscriptions.header) return;
    this.#subscriptions.header = result.hex;
    this.#sendNotification(headersMethod, [result], faults);
  }

  #notifyStatus(scripthash: Scripthash): void {
    const { statuses } = this.#subscriptions;
    const faults = this.#context.faults.forNotification(scripthashMethod, [scripthash]);
    const status = statusAt(this.#view(faults), this.#protocolVersion, scripthash);
    if (status === statuses.get(scripthash)) return;
    statuses.set(scripthash, status);
    this.#sendNotification(scripthashMethod, [scripthash, status], faults);
  }

  #sendNotification(method: string, params: readonly unknown[], faults: readonly Fault[]): void {
    if (faultOf(faults, 'stopNotifications')) return;
    this.output.line(notificationLine(method, params));
  }

  /** The negotiated version; before negotiation, the oldest one of the server. */
  get #protocolVersion(): ProtocolVersion {
    return this.#version ?? this.#context.info.protocols[0];
  }

  #view(faults: readonly Fault[]): ChainView {
    return viewOf(this.#context.chain, faults);
  }

  #receive(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      const line = Buffer.concat([...this.#pieces, chunk.subarray(start, end)]);
      this.#pieces = [];
      this.#piecesBytes = 0;
      start = end + 1;
      if (!this.#closed) this.#handle(line.toString('utf8'));
    }
    this.#pieces.push(chunk.subarray(start));
    this.#piecesBytes += chunk.length - start;
    if (this.#piecesBytes > maxLineBytes) this.#close();
  }

  #handle(line: string): void {
    let request: JsonRpcRequest;
    try {
      request = parseRequest(line);
    } catch (thrown) {
      this.output.line(errorLine(null, rpcError(thrown)));
      return;
    }
    const { text, id, faults, disconnects } = this.#answer(request);
    if (text !== undefined) this.#deliver(text, id, faults);
    if (disconnects) this.#close();
  }

  #answer(request: JsonRpcRequest): PreparedResponse {
    const { id, method, params } = request;
    this.#context.record(isMethod(method) ? method : 'invalid method', params);
    const faults = this.#context.faults.forRequest(method, params);
    const outcome = (line: string, disconnects = false): PreparedResponse => {
      return { text: id === undefined ? undefined : line, id, faults, disconnects };
    };
    try {
      return outcome(resultLine(id, this.#run(request, faults)));
    } catch (thrown) {
      const error = rpcError(thrown);
      return outcome(errorLine(id, error), error.disconnects);
    }
  }

  #run({ method, params }: JsonRpcRequest, faults: readonly Fault[]): unknown {
    const error = faultOf(faults, 'error');
    if (error) throw new RpcError(error.code, error.message);
    if (method === 'server.version') return this.#negotiate(params);
    const { chain } = this.#context;
    const server = this.#context.info;
    // Protocol 1.6: server.version must come first. A server of 1.4 alone is lenient.
    if (this.#version === undefined && isAtLeast(server.protocols[1], '1.6')) {
      throw new RpcError(errorCodes.badRequest, 'use server.version to identify client', true);
    }
    const view = this.#view(faults);
    const version = this.#protocolVersion;
    const subscriptions = this.#subscriptions;
    return runMethod(method, { view, chain, version, params, server, subscriptions });
  }

  #negotiate([, client = '1.4']: readonly unknown[]): unknown {
    if (this.#version !== undefined) {
      throw new RpcError(errorCodes.badRequest, 'server.version already sent');
    }
    const { software, protocols } = this.#context.info;
    const version = negotiate(protocols, client);
    if (version === undefined) {
      const message = `unsupported protocol version: ${JSON.stringify(client)}`;
      throw new RpcError(errorCodes.badRequest, message, true);
    }
    this.#version = version;
    return [software, version];
  }

  #deliver(answer: string, id: unknown, faults: readonly Fault[]): void {
    if (faultOf(faults, 'hang')) return;
    const delay = faultOf(faults, 'delay');
    if (delay) {
      const others = faults.filter((fault) => fault !== delay);
      this.#context.timer.after(delay.ms, () => this.#deliver(answer, id, others));
      return;
    }
    if (this.#closed) return;
    const garbage = faultOf(faults, 'garbage');
    if (garbage) this.output.bytes(garbageLine(garbage.as, id));
    else if (faultOf(faults, 'closeMidLine')) {
      this.output.bytes(Buffer.from(answer.slice(0, answer.length / 2)));
      this.#close();
    } else this.output.line(answer);
  }

  #close(): void {
    this.#closed = true;
    this.output.end();
  }
}

const rpcError = (thrown: unknown): RpcError =>
  thrown instanceof RpcError ? thrown : new RpcError(errorCodes.internal, reasonOf(thrown));
