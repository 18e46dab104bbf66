// The HTTP server: listens with or without TLS, bounds connections and how long a client may take, and stops in
// order. It knows no route.

import type { IncomingMessage, Server } from 'node:http';
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https';
import { createServer, type Server as PlainServer, type Socket } from 'node:net';
import { createAdaptorServer, type WebSocketServerLike } from '@hono/node-server';
import { type WebSocket, WebSocketServer } from 'ws';
import { PaygateError } from '../lib/errors.ts';
import type { World } from '../world/world.ts';
import { limitConnections } from './connection-limit.ts';
import { malformedRequestResponse } from './malformed-request.ts';

/** Clients of the live socket have nothing to say. */
const maxSocketMessageBytes = 1024;
/** Said aloud because the environment can change the default. */
const tlsOptions = {
  minVersion: 'TLSv1.2',
  // Forward secrecy and authenticated encryption alone. Suites of TLS 1.3 are named too: without them Node leaves it out.
  ciphers: [
    'TLS_AES_128_GCM_SHA256',
    'TLS_AES_256_GCM_SHA384',
    'TLS_CHACHA20_POLY1305_SHA256',
    'ECDHE+AESGCM',
    'ECDHE+CHACHA20',
  ].join(':'),
} as const;
const defaultMaxConnections = 512;
/** How long requests under way may take once the server stops. */
const stopGraceMs = 5_000;

/** How long a client may take. */
interface Timeouts {
  readonly handshakeMs: number;
  readonly headersMs: number;
  readonly requestMs: number;
  /** Without a byte either way; what is streamed beats more often. With TLS, megabytes in one piece count as none. */
  readonly idleMs: number;
  /** How often the headers and the requests under way are looked at. */
  readonly checkEveryMs: number;
}

const defaultTimeouts: Timeouts = {
  handshakeMs: 10_000,
  headersMs: 10_000,
  requestMs: 15_000,
  idleMs: 60_000,
  checkEveryMs: 1_000,
};

/** `env` is what the Node server knows of the connection. */
export type Fetch = (request: Request, env?: object) => Response | Promise<Response>;

/** Nothing else may leave HTTP. */
export const isSocketUpgrade = ({ method, url = '', headers }: IncomingMessage): boolean =>
  method === 'GET' &&
  headers.upgrade?.toLowerCase() === 'websocket' &&
  // The whole URL is as good (RFC 9112 section 3.2.2).
  URL.parse(url, 'http://localhost')?.pathname.startsWith('/payment/') === true;

export interface Binding {
  /** `*` for every address of this machine. */
  readonly host: string;
  readonly port: number;
  /** HTTPS, with the pair that `secure` hands over. */
  readonly tls?: boolean;
  readonly timeouts?: Partial<Timeouts>;
  /** At once. */
  readonly maxConnections?: number;
}

export interface HttpListener {
  readonly port: number;
  /** New connections are shown this certificate (PEM); without one, HTTPS greets nobody. */
  setCertificate(pair: { readonly cert: string; readonly key: string }): void;
  /** Once a minute: ends live sockets whose client has not answered since the last time. */
  pingSockets(): void;
  /** Takes no more connections, finishes the requests under way. */
  close(): Promise<void>;
}

/** @throws PaygateError unavailable when the address is taken or not ours */
export async function listen(
  fetch: Fetch,
  {
    host,
    port,
    tls = false,
    timeouts,
    maxConnections: connections = defaultMaxConnections,
  }: Binding,
  after: World['after'],
): Promise<HttpListener> {
  const sockets = new WebSocketServer({ noServer: true, maxPayload: maxSocketMessageBytes });
  const limits = { ...defaultTimeouts, ...timeouts };
  const server = createAdaptorServer({
    fetch: (request, env) => malformedRequestResponse(env) ?? fetch(request, env),
    // Of who names none, as HTTP/1.0 may and checks of load balancers do.
    hostname: 'localhost',
    websocket: { server: sockets as WebSocketServerLike },
    ...(tls && { createServer: createHttpsServer }),
    serverOptions: {
      headersTimeout: limits.headersMs,
      requestTimeout: limits.requestMs,
      connectionsCheckingInterval: limits.checkEveryMs,
      // What else is offered is answered as if it were not (RFC 9110 section 7.8): an offer that is taken up and not kept
      // leaves a socket that nobody looks after.
      shouldUpgradeCallback: isSocketUpgrade,
      ...(tls && { handshakeTimeout: limits.handshakeMs, ...tlsOptions }),
    },
  }) as Server | HttpsServer;
  limitConnections(server, connections);
  server.timeout = limits.idleMs;
  const open = openSockets(server);
  await bind(server, { host, port });
  const bound = server.address();
  return {
    port: typeof bound === 'object' && bound !== null ? bound.port : port,
    setCertificate({ cert, key }) {
      if ('setSecureContext' in server) server.setSecureContext({ cert, key, ...tlsOptions });
    },
    pingSockets: createPing(sockets),
    close: () =>
      new Promise((resolve) => {
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
 * Listens for nobody. @returns what ends that
 * @throws PaygateError unavailable where nobody could listen now
 */
export async function tryListening(at: Binding): Promise<() => Promise<unknown>> {
  const server = createServer((socket) => socket.destroy());
  await bind(server, at);
  return () => new Promise((resolve) => server.close(resolve));
}

function bind(server: PlainServer, { host, port }: Binding): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        new PaygateError('unavailable', `cannot listen on ${host}:${port}: ${faultOf(error)}`),
      ),
    );
    server.listen({ port, ...(host !== '*' && { host }) }, resolve);
  });
}

/** Also what is none of HTTP's any more, or not yet; whoever has been answered for good does not stay. */
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

/** Of each socket a pong is expected between two beats. */
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
