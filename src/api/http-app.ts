// Everything that the HTTP server answers: the API, /healthz, the documentation, the pages, and an error body of one
// shape for everything else. It bounds what a client can send before any route sees it (rules §6).

import { type Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { TrieRouter } from 'hono/router/trie-router';
import { PaygateError } from '../lib/errors.ts';
import { type HealthReport, publicHealth } from '../status/health.ts';
import type { Readiness } from '../status/readiness.ts';
import { errorResponse, logFailure, respondTo } from '../web/error-body.ts';
import { docsNavigation, textPage } from '../web/html-page.ts';
import type { Fetch } from '../web/http-server.ts';
import { createLookupLimit } from '../web/lookup-limit.ts';
import { createLimits } from '../web/request-limits.ts';
import { httpsHostOf } from '../web/request-origin.ts';
import { createApi, operationsOf } from './api.ts';
import type { ApiOptions } from './api-parts.ts';
import { type DetailAccessParts, maySeeDetails } from './detail-access.ts';
import { docsOf } from './openapi.ts';
import { createPaymentSockets, type PaymentSocketOptions } from './payment-socket.ts';
import { quickstartOf } from './quickstart.ts';

const urlLimitBytes = 8 * 1024;
const bodyLimitBytes = 16 * 1024;

export interface HttpAppOptions
  extends ApiOptions,
    Omit<PaymentSocketOptions, 'limitLookup'>,
    Pick<DetailAccessParts, 'ownNames' | 'isSignedIn'> {
  readonly health: () => HealthReport;
  readonly ready: () => Readiness;
  /** How the outside reaches us, where the operator has said so. */
  readonly publicUrl: string | undefined;
  /** Pages for people, each with its own door. */
  readonly pages: Hono;
}

export function createHttpApp(options: HttpAppOptions): Fetch {
  // hono would try another before, in vain: it knows no /payments/export beside /payments/:id.
  const app = new Hono({ router: new TrieRouter() });
  app.use(async (context, next) => {
    options.untrustedProxies.note(context);
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
    return context.json(maySeeDetails(options, context) ? report : publicHealth(report));
  });
  app.get('/readyz', (context) => {
    context.header('Cache-Control', 'no-store');
    const { ready, reasons } = options.ready();
    const shown = maySeeDetails(options, context) ? { ready, reasons } : { ready };
    return context.json(shown, ready ? 200 : 503);
  });
  const operations = operationsOf(options);
  const limits = createLimits(options.rates, options.monotonic);
  const limitLookup = createLookupLimit({ ...options, limits });
  app.route('/api', createApi(options, operations, { limits, limitLookup }));
  app.route('/', createPaymentSockets({ ...options, limitLookup }));
  app.route('/', options.pages);
  app.get('/docs', (context) =>
    textPage(context, 'The API of paygate', docsOf(operations), { header: docsNavigation }),
  );
  app.get('/docs/quickstart', (context) => {
    // It names the host that was asked for, and never plain HTTP where there is HTTPS: a key goes there.
    context.header('Cache-Control', 'no-store');
    const { host, origin } = new URL(context.req.url);
    const httpsHost = httpsHostOf(context, options.proxies, host);
    const base = options.publicUrl ?? (httpsHost === undefined ? origin : `https://${httpsHost}`);
    return textPage(context, 'Take payments with paygate', quickstartOf(base), {
      header: docsNavigation,
    });
  });
  app.notFound((context) => errorResponse(context, 404, 'There is nothing at this path'));
  app.onError((error, context) => {
    if (!(error instanceof PaygateError)) logFailure(options.log, context, 'request failed', error);
    return respondTo(context, error);
  });
  return app.fetch;
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
