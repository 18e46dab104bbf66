// Limits what connections to a server cost: their number, the requests of each without a response,
// and the response bytes that clients have not taken. One client can't exclude all others, and
// can't exhaust the memory.

import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Server, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import {
  type ClientPrefixes,
  clientPrefixesOf,
  connectionToClose,
} from '../../domain/access/connection-eviction.ts';
import { nextTurn } from '../../lib/next-turn.ts';

export interface ConnectionLimits {
  readonly maxConnections: number;
  /** Bytes that wait for clients of all connections together, before the kernel has them. */
  readonly maxUnsentBytes: number;
  /** Called after a connection was closed because of what its client did. */
  readonly onAbuse: (client: string, reason: string) => void;
}

interface Connection extends ClientPrefixes {
  readonly address: string;
  readonly peer: string;
  readonly tcp: Socket;
  /** The TLS socket, if there is one. */
  stream: Socket;
  /** Responses that are not yet written, or were written in this turn of the event loop. */
  readonly responses: Set<ServerResponse>;
}

/**
 * Requests of one connection without a response, in each turn of the event loop. Browsers and
 * proxies send one at a time. The next one may come in the turn in which Node ends a response.
 */
const maxUnanswered = 2;

export class Connections {
  readonly #limits: ConnectionLimits;
  /** By peer, oldest first. */
  readonly #open = new Map<string, Connection>();
  readonly #bySocket = new WeakMap<Duplex, Connection>();
  /** As many bytes are unsent as in the last exact count, and were added since: at most these. */
  #maybeUnsentBytes = 0;

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  /** The responses of the server: Node makes one for each request that it parses. */
  readonly Response = responsesThat({
    begin: (response) => this.#began(response),
    end: ({ writableLength }) => {
      this.#maybeUnsentBytes += writableLength;
      if (this.#maybeUnsentBytes > this.#limits.maxUnsentBytes) this.limitUnsent();
    },
  });

  /** Begins to limit the connections of a server that makes responses of this class. */
  limit(server: Server): void {
    server.on('connection', (tcp: Socket) => this.#add(tcp));
    server.on('secureConnection', (tls: Socket) => this.#secured(tls));
    server.on('timeout', (socket: Socket) => this.#timedOut(socket));
  }

  /**
   * Whether a connection may change its protocol. If a response is missing, it is closed instead:
   * the response to the upgrade would overtake.
   */
  mayUpgrade({ socket }: IncomingMessage): boolean {
    const connection = this.#bySocket.get(socket);
    if (connection === undefined) return true;
    const isAnswered = [...connection.responses].every(({ writableFinished }) => writableFinished);
    if (!isAnswered) this.#refuse(connection, socket);
    return isAnswered;
  }

  /** Whether a request may be processed: its connection is open. */
  has({ socket }: IncomingMessage): boolean {
    return this.#bySocket.has(socket);
  }

  /**
   * Closes the connections with the most unsent bytes, while there are too many. Also to call now
   * and then, for the bytes of event streams and live sockets.
   */
  limitUnsent(): void {
    const unsent = new Map([...this.#open.values()].map((each) => [each, unsentBytesOf(each)]));
    let sum = [...unsent.values()].reduce((all, bytes) => all + bytes, 0);
    while (sum > this.#limits.maxUnsentBytes) {
      const closing = connectionToClose([...unsent.keys()], (each) => unsent.get(each) ?? 0);
      if (closing === undefined) break;
      sum -= unsent.get(closing) ?? 0;
      unsent.delete(closing);
      this.#close(closing);
      this.#limits.onAbuse(closing.address, 'it did not take the responses that it asked for');
    }
    this.#maybeUnsentBytes = sum;
  }

  #add(tcp: Socket): void {
    const address = tcp.remoteAddress ?? '';
    const connection: Connection = {
      ...clientPrefixesOf(address),
      address,
      peer: peerOf(tcp),
      tcp,
      stream: tcp,
      responses: new Set(),
    };
    this.#open.set(connection.peer, connection);
    this.#bySocket.set(tcp, connection);
    tcp.once('close', () => this.#forget(connection));
    if (this.#open.size <= this.#limits.maxConnections) return;
    this.#close(connectionToClose([...this.#open.values()]) ?? connection);
  }

  #secured(tls: Socket): void {
    const connection = this.#open.get(peerOf(tls));
    if (connection === undefined) return;
    connection.stream = tls;
    this.#bySocket.set(tls, connection);
  }

  #began(response: ServerResponse): void {
    const { socket } = response.req;
    const connection = this.#bySocket.get(socket);
    if (connection === undefined) return;
    connection.responses.add(response);
    // Node may write responses between requests of one packet, which others have to wait for.
    response.once('close', async () => {
      await nextTurn();
      connection.responses.delete(response);
    });
    if (connection.responses.size > maxUnanswered) this.#refuse(connection, socket);
  }

  #refuse(connection: Connection, socket: Duplex): void {
    stopParsing(socket);
    this.#close(connection);
    this.#limits.onAbuse(connection.address, 'it sent requests without waiting for the responses');
  }

  #timedOut(socket: Socket): void {
    const connection = this.#bySocket.get(socket);
    if (connection !== undefined) this.#close(connection);
  }

  /** A reset also frees what the kernel has for the client. Without unsent bytes, it is sent. */
  #close(connection: Connection): void {
    const isBusy = connection.responses.size > 0 || unsentBytesOf(connection) > 0;
    this.#forget(connection);
    if (isBusy) connection.tcp.resetAndDestroy();
    else connection.stream.destroy();
  }

  /** At once, because the close event comes later. */
  #forget(connection: Connection): void {
    // A later connection may come from the same port.
    if (this.#open.get(connection.peer) === connection) this.#open.delete(connection.peer);
    this.#bySocket.delete(connection.tcp);
    this.#bySocket.delete(connection.stream);
  }
}

const peerOf = ({ remoteAddress, remotePort, localAddress }: Socket): string =>
  `${remoteAddress} ${remotePort} ${localAddress}`;

/** With TLS before encryption, which needs as many bytes again. */
const unsentBytesOf = ({ stream, responses }: Connection): number =>
  // A response that is not yet assigned to the socket has bytes of its own.
  [...responses]
    .filter(({ socket }) => socket === null)
    .reduce((sum, { writableLength }) => sum + writableLength, stream.writableLength);

/**
 * Ends the parsing of what was read from a socket. Otherwise Node parses up to 64 KiB of it even
 * after the socket was destroyed, 2,500 requests in 50 ms. Its parser ends when this callback
 * returns an error. See docs/decisions/058.
 */
function stopParsing(socket: Duplex): void {
  const { parser } = socket as { parser?: { onIncoming: () => number } };
  if (parser !== undefined) parser.onIncoming = () => -1;
}

interface ResponseWatch {
  begin(response: ServerResponse): void;
  /** Called when the whole response was written to its connection, or waits for that. */
  end(response: ServerResponse): void;
}

/** Node makes a response also for a request that it refuses by itself, with 400 or 417. */
const responsesThat = ({ begin, end }: ResponseWatch): typeof ServerResponse =>
  class extends ServerResponse {
    constructor(...parameters: ConstructorParameters<typeof ServerResponse>) {
      super(...parameters);
      begin(this);
    }
    override end(...parameters: unknown[]): this {
      super.end(...(parameters as Parameters<ServerResponse['end']>));
      end(this);
      return this;
    }
  } as typeof ServerResponse;
