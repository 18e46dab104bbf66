// The one HTTP door: the API, /healthz, and an error body of the same shape for everything else.
// It bounds what a stranger can send before any route sees it (rules §6).

import type { Server } from 'node:http';
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https';
import { createServer, type Server as PlainServer, type Socket } from 'node:net';
import { createAdaptorServer, type WebSocketServerLike } from '@hono/node-server';
import { type Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { TrieRouter } from 'hono/router/trie-router';
import { type WebSocket, WebSocketServer } from 'ws';
import { PaygateError } from '../errors.ts';
import type { World } from '../world.ts';
import { refusalOf } from './ambiguous.ts';
import { createApi, operationsOf } from './api.ts';
import { httpsHostOf } from './auth.ts';
import { boundCrowd } from './crowd.ts';
import { errorResponse, logFailure, respondTo } from './errors.ts';
import { createGuesses } from './guesses.ts';
import { type HealthReport, publicHealth } from './health.ts';
import { type InsiderParts, isInsider } from './insider.ts';
import { createLimits } from './limits.ts';
import { asksForLive, createLive, type LiveOptions } from './live.ts';
import { docsOf } from './openapi.ts';
import type { ApiOptions } from './options.ts';
import { page, programmersLinks } from './page.ts';
import { quickstartOf } from './quickstart.ts';
import type { Readiness } from './ready.ts';

const urlLimitBytes = 8 * 1024;
const bodyLimitBytes = 16 * 1024;
/** Clients of the live socket have nothing to say. */
const socketMessageBytes = 1024;
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
const places = 512;
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

export interface ServerOptions
  extends ApiOptions,
    Omit<LiveOptions, 'guarded'>,
    Pick<InsiderParts, 'ownNames' | 'isSignedIn'> {
  readonly health: () => HealthReport;
  readonly ready: () => Readiness;
  /** How the outside reaches us, where the operator has said so. */
  readonly publicUrl: string | undefined;
  /** Pages for people, each with its own door. */
  readonly pages: Hono;
}

/** `env` is what the Node server knows of the connection. */
export type Fetch = (request: Request, env?: object) => Response | Promise<Response>;

/** Nothing is answered that a loss of power could take back; a body that is streamed sees to that itself. */
export function createHttp(options: ServerOptions): Fetch {
  // hono would try another before, in vain: it knows no /payments/export beside /payments/:id.
  const app = new Hono({ router: new TrieRouter() });
  app.use(async (context, next) => {
    options.unlisted.note(context);
    context.header('X-Content-Type-Options', 'nosniff');
    if (context.req.url.length > urlLimitBytes) {
      return errorResponse(context, 414, 'The URL is longer than 8 KiB');
    }
    refuseUser(context);
    refuseRepeated(context);
    return next();
  });
  const limited = bodyLimit({
    maxSize: bodyLimitBytes,
    onError: (context) => errorResponse(context, 413, 'The body is larger than 16 KiB'),
  });
  // A GET has no body, and looking for one costs as much as the rest of the request.
  app.use((context, next) =>
    context.req.method === 'GET' || context.req.method === 'HEAD' ? next() : limited(context, next),
  );
  app.get('/healthz', (context) => {
    context.header('Cache-Control', 'no-store');
    const report = options.health();
    return context.json(isInsider(options, context) ? report : publicHealth(report));
  });
  app.get('/readyz', (context) => {
    context.header('Cache-Control', 'no-store');
    const { ready, reasons } = options.ready();
    const shown = isInsider(options, context) ? { ready, reasons } : { ready };
    return context.json(shown, ready ? 200 : 503);
  });
  const operations = operationsOf(options);
  const limits = createLimits(options.rates, options.monotonic);
  const guarded = createGuesses({ ...options, limits });
  app.route('/api', createApi(options, operations, { limits, guarded }));
  app.route('/', createLive({ ...options, guarded }));
  app.route('/', options.pages);
  app.get('/docs', (context) =>
    page(context, 'The API of paygate', docsOf(operations), { header: programmersLinks }),
  );
  app.get('/docs/quickstart', (context) => {
    // It names the host that was asked for, and never plain HTTP where there is HTTPS: a key goes there.
    context.header('Cache-Control', 'no-store');
    const { host, origin } = new URL(context.req.url);
    const httpsHost = httpsHostOf(context, options.proxies, host);
    const base = options.publicUrl ?? (httpsHost === undefined ? origin : `https://${httpsHost}`);
    return page(context, 'Take payments with paygate', quickstartOf(base), {
      header: programmersLinks,
    });
  });
  app.notFound((context) => errorResponse(context, 404, 'There is nothing at this path'));
  app.onError((error, context) => {
    if (!(error instanceof PaygateError)) logFailure(options.log, context, 'request failed', error);
    return respondTo(context, error);
  });
  return async (request, env) => {
    const response = await app.fetch(request, env);
    await options.store.database.syncing;
    return response;
  };
}

/** Whoever names the whole URL may name a user in it (RFC 9110 section 4.2.4): no body could be read of such a request. */
function refuseUser({ req }: Context): void {
  if (!/^https?:\/\/[^/?#]*@/i.test(req.url)) return;
  throw new PaygateError(
    'invalid',
    'The URL names a user: a key goes into the header Authorization',
  );
}

/** A parameter given twice means two things: neither is guessed. */
function refuseRepeated({ req }: Context): void {
  for (const [name, values] of Object.entries(req.queries())) {
    if (values.length > 1) {
      throw new PaygateError('invalid', `The query parameter ${name} is given more than once`);
    }
  }
}

export interface Binding {
  /** `*` for every address of this machine. */
  readonly host: string;
  readonly port: number;
  /** HTTPS, with the pair that `secure` hands over. */
  readonly tls?: boolean;
  readonly timeouts?: Partial<Timeouts>;
  /** At once. */
  readonly connections?: number;
}

export interface Listening {
  readonly port: number;
  /** New connections are shown this certificate (PEM); without one, HTTPS greets nobody. */
  secure(pair: { readonly cert: string; readonly key: string }): void;
  /** Once a minute: ends live sockets whose client has not answered since the last time. */
  beat(): void;
  /** Takes no more connections, finishes the requests under way. */
  close(): Promise<void>;
}

/** @throws PaygateError unavailable when the address is taken or not ours */
export async function listen(
  fetch: Fetch,
  { host, port, tls = false, timeouts, connections = places }: Binding,
  after: World['after'],
): Promise<Listening> {
  const sockets = new WebSocketServer({ noServer: true, maxPayload: socketMessageBytes });
  const limits = { ...defaultTimeouts, ...timeouts };
  const server = createAdaptorServer({
    fetch: (request, env) => refusalOf(env) ?? fetch(request, env),
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
      shouldUpgradeCallback: asksForLive,
      ...(tls && { handshakeTimeout: limits.handshakeMs, ...tlsOptions }),
    },
  }) as Server | HttpsServer;
  boundCrowd(server, connections);
  server.timeout = limits.idleMs;
  const open = openSockets(server);
  await bind(server, { host, port });
  const bound = server.address();
  return {
    port: typeof bound === 'object' && bound !== null ? bound.port : port,
    secure({ cert, key }) {
      if ('setSecureContext' in server) server.setSecureContext({ cert, key, ...tlsOptions });
    },
    beat: createBeat(sockets),
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
function createBeat({ clients }: WebSocketServer): () => void {
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
