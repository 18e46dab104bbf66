// The HTTP server: listens with or without TLS, limits connections and the time of each client,
// and stops in order. It knows no route.

import type { IncomingMessage, Server } from 'node:http';
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https';
import { createServer, type Server as PlainServer, type Socket } from 'node:net';
import { createAdaptorServer, type WebSocketServerLike } from '@hono/node-server';
import { type WebSocket, WebSocketServer } from 'ws';
import { PaygateError } from '../lib/errors.ts';
import type { World } from '../world/world.ts';
import { type ConnectionLimits, Connections } from './limits/connection-limit.ts';
import { malformedRequestResponse } from './malformed-request.ts';

/** Clients of the live socket send no messages. */
const maxSocketMessageBytes = 1024;
/** Explicit, because the environment can change the default. */
const tlsOptions = {
  minVersion: 'TLSv1.2',
  // Only suites with forward secrecy and authenticated encryption.
  // Node disables TLS 1.3 unless its suites are named too.
  ciphers: [
    'TLS_AES_128_GCM_SHA256',
    'TLS_AES_256_GCM_SHA384',
    'TLS_CHACHA20_POLY1305_SHA256',
    'ECDHE+AESGCM',
    'ECDHE+CHACHA20',
  ].join(':'),
} as const;
const defaultLimits: ConnectionLimits = {
  maxConnections: 512,
  // A hundred times the largest page for strangers.
  maxUnsentBytes: 16 * 1024 * 1024,
  onAbuse: () => {},
};
/** Time for in-flight requests once the server stops. */
const stopGraceMs = 5_000;

/** Maximum times of a client. */
interface Timeouts {
  readonly handshakeMs: number;
  readonly headersMs: number;
  readonly requestMs: number;
  /**
   * Without a byte in either direction; event streams send heartbeats more often. With TLS, one
   * write of megabytes counts as no byte.
   */
  readonly idleMs: number;
  /** Interval of the checks of `headersMs` and `requestMs`. */
  readonly checkEveryMs: number;
}

const defaultTimeouts: Timeouts = {
  handshakeMs: 10_000,
  headersMs: 10_000,
  requestMs: 15_000,
  idleMs: 60_000,
  checkEveryMs: 1_000,
};

/** `env` is the Node server's view of the connection. */
export type Fetch = (request: Request, env?: object) => Response | Promise<Response>;

/** Whether a request may be upgraded to a WebSocket; no other protocol is accepted. */
export const isSocketUpgrade = ({ method, url = '', headers }: IncomingMessage): boolean =>
  method === 'GET' &&
  headers.upgrade?.toLowerCase() === 'websocket' &&
  // The absolute form is valid, too (RFC 9112 section 3.2.2).
  URL.parse(url, 'http://localhost')?.pathname.startsWith('/payment/') === true;

export interface Binding extends Partial<ConnectionLimits> {
  /** `*` listens on every address of this machine. */
  readonly host: string;
  readonly port: number;
  /** The option that names this address, for an error. */
  readonly flag: string;
  /** HTTPS, with the certificate of `setCertificate`. */
  readonly tls?: boolean;
  readonly timeouts?: Partial<Timeouts>;
}

export interface HttpListener {
  readonly port: number;
  /** The certificate (PEM) for new connections; without one, TLS handshakes fail. */
  setCertificate(pair: { readonly cert: string; readonly key: string }): void;
  /** To call once a minute: ends live sockets whose client does not answer or read. */
  pingSockets(): void;
  /** Accepts no more connections and finishes in-flight requests. */
  close(): Promise<void>;
}

/** @throws PaygateError unavailable when the address is in use or not of this machine */
export async function listen(
  fetch: Fetch,
  binding: Binding,
  after: World['after'],
): Promise<HttpListener> {
  const { host, port, flag, tls = false, timeouts } = binding;
  const sockets = createSockets();
  const limits = { ...defaultTimeouts, ...timeouts };
  const connections = new Connections({ ...defaultLimits, ...binding });
  const server = createAdaptorServer({
    async fetch(request, env) {
      // After the rest of a packet was parsed: it may end the connection.
      await undefined;
      return connections.has(env.incoming as IncomingMessage)
        ? (malformedRequestResponse(env) ?? fetch(request, env))
        : new Response(null, { status: 503 });
    },
    // For requests without a Host, such as HTTP/1.0 checks of load balancers.
    hostname: 'localhost',
    websocket: { server: sockets as WebSocketServerLike },
    ...(tls && { createServer: createHttpsServer }),
    serverOptions: {
      ServerResponse: connections.Response,
      headersTimeout: limits.headersMs,
      requestTimeout: limits.requestMs,
      connectionsCheckingInterval: limits.checkEveryMs,
      // Other upgrade requests are ignored (RFC 9110 section 7.8). An upgrade without a handler
      // would leave an open socket without a timeout.
      shouldUpgradeCallback: (request) =>
        isSocketUpgrade(request) && connections.mayUpgrade(request),
      ...(tls && { handshakeTimeout: limits.handshakeMs, ...tlsOptions }),
    },
  }) as Server | HttpsServer;
  connections.limit(server);
  server.timeout = limits.idleMs;
  const open = openSockets(server);
  let isClosing = false;
  // The response of a stream ends when paygate stops. Its client would keep the connection open for
  // seconds.
  server.on('request', (_, response) =>
    response.once('close', () => isClosing && server.closeIdleConnections()),
  );
  const ping = createPing(sockets);
  await bind(server, { host, port, flag });
  const bound = server.address();
  return {
    port: typeof bound === 'object' && bound !== null ? bound.port : port,
    setCertificate({ cert, key }) {
      if ('setSecureContext' in server) server.setSecureContext({ cert, key, ...tlsOptions });
    },
    pingSockets() {
      ping();
      connections.limitUnsent();
    },
    close: () =>
      new Promise((resolve) => {
        isClosing = true;
        for (const socket of sockets.clients) socket.close(1001, 'paygate stops');
        const cancel = after(stopGraceMs, () => {
          for (const socket of open) socket.destroy();
        });
        server.close(() => {
          cancel();
          resolve();
        });
        server.closeIdleConnections();
      }),
  };
}

/**
 * Listens, and closes each connection. Returns what ends that.
 * @throws PaygateError unavailable when the port can not be used now
 */
export async function tryListening(at: Binding): Promise<() => Promise<unknown>> {
  const server = createServer((socket) => socket.destroy());
  await bind(server, at);
  return () => new Promise((resolve) => server.close(resolve));
}

function bind(server: PlainServer, { host, port, flag }: Binding): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const fault = `cannot listen on ${host}:${port}: ${faultOf(error)}`;
      reject(new PaygateError('unavailable', `${fault}; choose another address with ${flag}`));
    });
    server.listen({ port, ...(host !== '*' && { host }) }, resolve);
  });
}

/** Every open socket, before, during and after HTTP. A socket that is finished is destroyed. */
function openSockets(server: Server | HttpsServer): ReadonlySet<Socket> {
  const open = new Set<Socket>();
  const add = (socket: Socket): void => {
    open.add(socket);
    socket.once('finish', () => socket.destroy());
    socket.once('close', () => open.delete(socket));
  };
  server.on('connection', add);
  server.on('secureConnection', add);
  return open;
}

/** The server of the live sockets. A client that does not read makes no pongs wait for it. */
function createSockets(): WebSocketServer {
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: maxSocketMessageBytes,
    // It would answer each of thousands of pings. RFC 6455 section 5.5.3 asks for one.
    autoPong: false,
  });
  return sockets.on('connection', (socket) => {
    socket.on('ping', (data) => {
      if (socket.bufferedAmount === 0) socket.pong(data);
    });
  });
}

/** Ends each socket that sent no pong between two pings. */
function createPing({ clients }: WebSocketServer): () => void {
  const awaited = new WeakSet<WebSocket>();
  return () => {
    for (const socket of clients) {
      if (awaited.has(socket)) {
        socket.terminate();
        continue;
      }
      awaited.add(socket);
      socket.once('pong', () => awaited.delete(socket));
      socket.ping();
    }
  };
}

function faultOf({ code, message }: NodeJS.ErrnoException): string {
  if (code === 'EADDRINUSE') return 'the port is taken';
  if (code === 'EADDRNOTAVAIL') return 'this machine has no such address';
  if (code === 'EACCES') return 'not allowed to use this port';
  return message;
}
