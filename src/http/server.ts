// The one HTTP door: the API, /healthz, and an error body of the same shape for everything else.
// It bounds what a stranger can send before any route sees it (rules §6).

import type { Server } from 'node:http';
import { createAdaptorServer } from '@hono/node-server';
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { PaygateError, reasonOf } from '../errors.ts';
import type { Prices } from '../price/prices.ts';
import type { Logger } from '../world.ts';
import { type ApiOptions, createApi } from './api.ts';
import { errorResponse, respondTo } from './errors.ts';
import { createPriceRoutes } from './price.ts';

const urlLimitBytes = 8 * 1024;
const bodyLimitBytes = 16 * 1024;
const headersTimeoutMs = 10_000;
const requestTimeoutMs = 15_000;
const connectionLimit = 512;
/** How long requests under way may take once the server stops. */
const stopGraceMs = 5_000;

export interface Health {
  readonly status: 'ok' | 'degraded';
  readonly warnings: readonly string[];
}

export interface ServerOptions extends ApiOptions {
  readonly log: Logger;
  readonly health: () => Health;
  /** Undefined where they are switched off. */
  readonly prices?: Prices | undefined;
}

export type Fetch = (request: Request) => Response | Promise<Response>;

export function createHttp(options: ServerOptions): Fetch {
  const app = new Hono();
  app.use(async (context, next) => {
    if (context.req.url.length > urlLimitBytes) {
      return errorResponse(context, 414, 'The URL is longer than 8 KiB');
    }
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
    return context.json(options.health());
  });
  app.route('/api', createPriceRoutes(options.prices));
  app.route('/api', createApi(options));
  app.notFound((context) => errorResponse(context, 404, 'There is nothing at this path'));
  app.onError((error, context) => {
    if (!(error instanceof PaygateError)) {
      options.log.error('request failed', { path: context.req.path, reason: reasonOf(error) });
    }
    return respondTo(context, error);
  });
  return (request) => app.fetch(request);
}

export interface Listening {
  readonly port: number;
  /** Takes no more connections, finishes the requests under way. */
  close(): Promise<void>;
}

/** @throws PaygateError unavailable when the address is taken or not ours */
export async function listen(
  fetch: Fetch,
  { host, port }: { readonly host: string; readonly port: number },
  after: (delayMs: number, run: () => void) => () => void,
): Promise<Listening> {
  const server = createAdaptorServer({
    fetch,
    serverOptions: { headersTimeout: headersTimeoutMs, requestTimeout: requestTimeoutMs },
  }) as Server;
  server.maxConnections = connectionLimit;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        new PaygateError('unavailable', `cannot listen on ${host}:${port}: ${faultOf(error)}`),
      ),
    );
    server.listen(port, host, resolve);
  });
  const bound = server.address();
  return {
    port: typeof bound === 'object' && bound !== null ? bound.port : port,
    close: () =>
      new Promise((resolve) => {
        const cancel = after(stopGraceMs, () => server.closeAllConnections());
        server.close(() => {
          cancel();
          resolve();
        });
        server.closeIdleConnections();
      }),
  };
}

function faultOf({ code, message }: NodeJS.ErrnoException): string {
  if (code === 'EADDRINUSE') return 'the port is taken';
  if (code === 'EADDRNOTAVAIL') return 'this machine has no such address';
  if (code === 'EACCES') return 'not allowed to use this port';
  return message;
}
