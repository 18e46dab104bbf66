// All routes of the HTTP server: the API, /healthz, /readyz, the documentation and the pages.
// Everything else gets an error body. It limits the size of requests before any route sees them
// (rules §6).

import { type Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { TrieRouter } from 'hono/router/trie-router';
import { PaygateError } from '../lib/errors.ts';
import { lazy } from '../lib/lazy.ts';
import { type HealthReport, publicHealth } from '../status/health.ts';
import type { Readiness } from '../status/readiness.ts';
import { encodedPage, sendDocsPage } from '../web/docs-page.tsx';
import { errorResponse, logFailure, respondTo } from '../web/error-body.ts';
import type { Fetch } from '../web/http-server.ts';
import { createLookupLimit } from '../web/limits/lookup-limit.ts';
import { createRefusalLog } from '../web/limits/refused-requests.ts';
import { createLimits } from '../web/limits/request-limits.ts';
import { httpsHostOf } from '../web/limits/request-origin.ts';
import type { LimitVisit } from '../web/limits/visit-limit.ts';
import { createApi, operationsOf, type ReceiptPage } from './api.ts';
import type { ApiOptions } from './api-parts.ts';
import type { AuthParts } from './authentication.ts';
import { type DetailAccessParts, maySeeDetails } from './detail-access.ts';
import { createPaymentSockets, type PaymentSocketOptions } from './payment-socket.ts';
import { callbackTutorialOf } from './reference/callback-tutorial.tsx';
import { llmsTextOf } from './reference/llms-text.ts';
import { openapiOf } from './reference/openapi.ts';
import type { OpenapiDocument } from './reference/openapi-shape.ts';
import { quickstartOf } from './reference/quickstart.tsx';
import { createReference, type ReferenceNotes } from './reference/reference-page.tsx';
import { pathAdvice } from './version-3-errors.ts';

const urlLimitBytes = 8 * 1024;
const bodyLimitBytes = 16 * 1024;
/** Plugins of other shops repeat parameters there, and send more data of the buyer. */
const isGreenfield = ({ req }: Context): boolean => /^\/api(?:\/v1|-keys)\//.test(req.path);
const greenfieldLimitBytes = 2 * bodyLimitBytes;

/** Routes that app.ts brings: they share the limits of the API. */
export type GreenfieldRoutes = (
  shared: Pick<AuthParts, 'limits' | 'refusals'> & Pick<HttpAppOptions, 'limitVisit'>,
) => {
  readonly app: Hono;
  readonly description: () => OpenapiDocument;
  readonly notes: ReferenceNotes;
};

export interface HttpAppOptions
  extends ApiOptions,
    Omit<PaymentSocketOptions, 'limitLookup'>,
    Pick<DetailAccessParts, 'ownNames' | 'isOwner'> {
  readonly health: () => HealthReport;
  readonly ready: () => Readiness;
  /** The URL by which clients reach us, if the operator has set it. */
  readonly publicUrl: string | undefined;
  readonly pages: Hono;
  readonly checkout: Hono;
  readonly greenfield: GreenfieldRoutes;
  readonly receiptPage: ReceiptPage;
  readonly limitVisit: LimitVisit;
}

export function createHttpApp(options: HttpAppOptions): Fetch {
  // Hono's default router tries one first that can't have /payments/export beside /payments/:id.
  const app = new Hono({ router: new TrieRouter() });
  app.use(async (context, next) => {
    options.untrustedProxies.note(context);
    context.header('X-Content-Type-Options', 'nosniff');
    if (context.req.url.length > urlLimitBytes) {
      return errorResponse(context, 414, 'The URL is longer than 8 KiB');
    }
    refuseUser(context);
    if (!isGreenfield(context)) refuseRepeated(context);
    return next();
  });
  const limitedTo = (maxSize: number) =>
    bodyLimit({
      maxSize,
      onError: (context) =>
        errorResponse(context, 413, `The body is larger than ${maxSize / 1024} KiB`),
    });
  const limited = limitedTo(bodyLimitBytes);
  const limitedMore = limitedTo(greenfieldLimitBytes);
  // A GET has no body, and checking for one is slow.
  app.use((context, next) =>
    context.req.method === 'GET' || context.req.method === 'HEAD'
      ? next()
      : (isGreenfield(context) ? limitedMore : limited)(context, next),
  );
  const limits = createLimits(options.rates, options.monotonic);
  const refusals = createRefusalLog(options.log, options.monotonic);
  const access = { ...options, limits, refusals, keys: options.records.keys };
  app.get('/healthz', (context) => {
    context.header('Cache-Control', 'no-store');
    const isOpen = maySeeDetails(access, context);
    if (!isOpen) options.limitVisit(context, 'state');
    const report = options.health();
    return context.json(isOpen ? report : publicHealth(report));
  });
  app.get('/readyz', (context) => {
    context.header('Cache-Control', 'no-store');
    const isOpen = maySeeDetails(access, context);
    if (!isOpen) options.limitVisit(context, 'state');
    const { ready, reasons } = options.ready();
    const shown = isOpen ? { ready, reasons } : { ready };
    return context.json(shown, ready ? 200 : 503);
  });
  const operations = operationsOf(options);
  const limitLookup = createLookupLimit({ ...options, limits });
  const { receiptPage, limitVisit } = options;
  // Made at the first request, so that no start waits for it.
  const description = lazy(() => openapiOf(operations, options.rates));
  const encoded = lazy(() => new TextEncoder().encode(JSON.stringify(description())));
  const parts = { limits, refusals, limitLookup, limitVisit, receiptPage, description: encoded };
  const greenfield = options.greenfield({ limits, refusals, limitVisit });
  app.route('/', greenfield.app);
  app.route('/api', createApi(options, operations, parts));
  app.route('/', createPaymentSockets({ ...options, limitLookup }));
  app.route('/', options.checkout);
  app.route('/', options.pages);
  serveDocs(app, options, { description, greenfield });
  app.notFound((context) => {
    const advice = pathAdvice(operations, context.req.path);
    return errorResponse(context, 404, `There is nothing at this path${advice}`);
  });
  app.onError((error, context) => {
    if (!(error instanceof PaygateError)) logFailure(options.log, context, 'request failed', error);
    return respondTo(context, error);
  });
  return app.fetch;
}

interface Documents {
  readonly description: () => OpenapiDocument;
  readonly greenfield: ReturnType<GreenfieldRoutes>;
}

/** The pages for programmers, and `/llms.txt`. */
function serveDocs(app: Hono, options: HttpAppOptions, { description, greenfield }: Documents) {
  const docsPages = {
    '/docs': createReference(description),
    '/docs/quickstart': quickstartOf,
    '/docs/new-address': callbackTutorialOf,
    '/docs/greenfield': createReference(greenfield.description, greenfield.notes),
  };
  for (const [path, render] of Object.entries(docsPages)) {
    const page = encodedPage(render);
    app.get(path, async (context) => {
      options.limitVisit(context, 'page');
      return sendDocsPage(context, await page(baseOf(options, context)));
    });
  }
  app.get('/llms.txt', (context) => {
    options.limitVisit(context, 'page');
    context.header('Cache-Control', 'no-store');
    const documents = [description(), greenfield.description()];
    return context.text(llmsTextOf(baseOf(options, context), documents));
  });
}

/** Stands for a requested host that a shell would read as more than a name. */
const noBase = 'https://paygate.invalid';

/**
 * The URL by which the reader of a page reaches us: the requested host, unless the operator has set
 * another. It prefers HTTPS, because readers send a key there. Readers copy it into a shell.
 */
function baseOf({ publicUrl, proxies }: HttpAppOptions, context: Context): string {
  const { host, origin } = new URL(context.req.url);
  const httpsHost = httpsHostOf(context, proxies, host);
  const asked = httpsHost === undefined ? origin : `https://${httpsHost}`;
  return publicUrl ?? (/^https?:\/\/[\w.:[\]-]+$/.test(asked) ? asked : noBase);
}

/** Refuses a user in the URL (RFC 9110 section 4.2.4): the body of such a request is unreadable. */
function refuseUser({ req }: Context): void {
  if (!/^https?:\/\/[^/?#]*@/i.test(req.url)) return;
  throw new PaygateError(
    'invalid',
    'The URL names a user: a key goes into the header Authorization',
  );
}

/** Refuses a parameter that is given twice, because it is ambiguous. */
function refuseRepeated({ req }: Context): void {
  for (const [name, values] of Object.entries(req.queries())) {
    if (values.length > 1) {
      throw new PaygateError('invalid', `The query parameter ${name} is given more than once`);
    }
  }
}
