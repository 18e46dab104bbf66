// An Electrum server for the simulated chain, on real TCP: protocol 1.4 to 1.6. Faults can be
// injected and ended at any time. It serves no data but that of its chain.
// https://electrum-protocol.readthedocs.io

import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { SimulatedChain } from '../chain/simulated-chain.ts';
import type { ServerInfo } from './methods.ts';
import type { ProtocolVersion } from './protocol-version.ts';
import { type Fault, Faults } from './server-faults.ts';
import type { Timer } from './session-output.ts';
import { type SessionContext, SimulatedSession } from './simulated-session.ts';

export interface SimulatedServerOptions {
  readonly chain: SimulatedChain;
  /** For delayed and padded output; a World is one. */
  readonly timer: Timer;
  /** Oldest and newest protocol version, by default 1.4 and 1.6. */
  readonly protocols?: readonly [ProtocolVersion, ProtocolVersion];
  readonly banner?: string;
  /** Name in server.version. */
  readonly software?: string;
  /** Delays and pads output, as ElectrumX does since 1.18. */
  readonly padOutput?: boolean;
}

export interface ServerListener {
  readonly host: string;
  readonly port: number;
  /** Ends all connections and frees the port. */
  close(): Promise<void>;
}

export interface LoggedRequest {
  readonly method: string;
  readonly params: readonly unknown[];
}

const software = 'paygate sandbox 1';
/** Requests in the log; it is trimmed at twice this number. */
const logLength = 10_000;

export class SimulatedServer {
  readonly #options: SimulatedServerOptions;
  readonly #faults = new Faults();
  readonly #sessions = new Map<Socket, SimulatedSession>();
  #log: LoggedRequest[] = [];
  #counts = new Map<string, number>();
  #paused = false;

  constructor(options: SimulatedServerOptions) {
    this.#options = options;
  }

  /** Accepts connections; port 0 takes a free one. */
  async listen({ host, port }: { host: string; port: number }): Promise<ServerListener> {
    const server = createServer();
    const address = await bind(server, host, port);
    const info: ServerInfo = {
      software: this.#options.software ?? software,
      protocols: this.#options.protocols ?? ['1.4', '1.6'],
      banner: this.#options.banner ?? 'A simulated chain: nothing here has any value.',
      host,
      port: address.port,
    };
    const { chain, timer, padOutput = false } = this.#options;
    const context: SessionContext = {
      chain,
      timer,
      faults: this.#faults,
      padsOutput: padOutput,
      info,
      record: (method, params) => this.#record(method, params),
    };
    server.on('connection', (socket) => this.#accept(socket, context));
    const unsubscribe = chain.onChange((change) => {
      for (const session of this.#sessions.values()) session.onChainChange(change);
    });
    return {
      host,
      port: address.port,
      close: () => {
        unsubscribe();
        const closed = new Promise<void>((resolve) => server.close(() => resolve()));
        this.disconnectAll();
        return closed;
      },
    };
  }

  /** @returns ends this fault */
  inject(fault: Fault): () => void {
    return this.#faults.inject(fault);
  }

  heal(): void {
    this.#faults.clear();
  }

  /** Sends notifications of changed values. A fault by itself causes no notification. */
  notifyAll(): void {
    for (const session of this.#sessions.values()) session.notify('all');
  }

  get connections(): number {
    return this.#sessions.size;
  }

  disconnectAll(): void {
    for (const session of this.#sessions.values()) session.output.destroy();
  }

  /** Delays all output until resume, also for later connections. */
  pause(): void {
    this.#paused = true;
    for (const session of this.#sessions.values()) session.output.pause();
  }

  resume(): void {
    this.#paused = false;
    for (const session of this.#sessions.values()) session.output.resume();
  }

  /** Sends bytes as they are to every connection, valid or not. */
  send(bytes: Uint8Array): void {
    for (const session of this.#sessions.values()) session.output.bytes(bytes);
  }

  /** Requests since the start or the last clearLog, oldest first; the newest 10,000 at least. */
  get requests(): readonly LoggedRequest[] {
    return this.#log;
  }

  /** Calls of a method in the same time. */
  count(method: string): number {
    return this.#counts.get(method) ?? 0;
  }

  clearLog(): void {
    this.#log = [];
    this.#counts.clear();
  }

  #accept(socket: Socket, context: SessionContext): void {
    if (this.#faults.has('refuse')) {
      socket.resetAndDestroy();
      return;
    }
    const session = new SimulatedSession(socket, context);
    if (this.#paused) session.output.pause();
    this.#sessions.set(socket, session);
    socket.on('close', () => this.#sessions.delete(socket));
  }

  #record(method: string, params: readonly unknown[]): void {
    this.#counts.set(method, (this.#counts.get(method) ?? 0) + 1);
    this.#log.push({ method, params });
    if (this.#log.length > 2 * logLength) this.#log = this.#log.slice(-logLength);
  }
}

/** Resolves when the server listens; rejects when the address is taken. */
function bind(server: Server, host: string, port: number): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve(server.address() as AddressInfo);
    });
  });
}
