// The guard of every page (rules §6). A page without `open` needs a session, and that of the owner
// unless it says that it is for viewers. An action needs a form token and our own Origin. Form
// fields and query parameters are searched for private keys before any page receives them.

import { timingSafeEqual } from 'node:crypto';
import { type Context, Hono } from 'hono';
import { getCookie } from 'hono/cookie';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import {
  containsPrivateMaterial,
  refusePrivateMaterial,
  rejectPrivateMaterial,
} from '../../bitcoin/private-material.ts';
import { PaygateError } from '../../lib/errors.ts';
import { ownerId, type Session } from '../../store/access/admin.ts';
import { interactivePageHeaders } from '../../web/content-policy.ts';
import { beginRefusal, logFailure } from '../../web/error-body.ts';
import { isSentFrom } from '../../web/limits/request-origin.ts';
import {
  base,
  type DashboardParts,
  formTokenOf,
  isViewer,
  type Markup,
  type Page,
  type PageRequest,
} from '../page.ts';
import { FieldErrors } from '../parts/form-fields.ts';
import { withQuery } from '../parts/listing.tsx';
import { inWordsOfPages } from '../parts/page-words.ts';
import { continuePage, errorPage, httpsPage } from '../parts/refused-change.tsx';
import { newToken, setVisitorCookie } from './dashboard-session.ts';
import { type Transport, transportOf } from './transport.ts';

/** Any other path. It needs a session, so that strangers cannot find out which pages exist. */
const unknownPage: Page = {
  path: '*',
  viewers: [],
  show() {
    throw new PaygateError('not_found', 'Page not found.');
  },
};

export function createGuardedPages(parts: DashboardParts, pages: readonly Page[]): Hono {
  const app = new Hono();
  app.use(interactivePageHeaders);
  for (const page of [...pages, unknownPage]) {
    app.all(page.path, (context) => handleRequest(parts, page, context));
  }
  app.onError((error, context) => {
    const known = error instanceof PaygateError && error.code !== 'internal';
    if (!known) logFailure(parts.world.log, context, 'dashboard page failed', error);
    const message = known
      ? error.message
      : 'Something went wrong. The log of paygate has the details.';
    const status = known ? beginRefusal(context, error) : 500;
    return send(context, errorPage(message, status === 404 ? 'Not found' : undefined), status);
  });
  return app;
}

const send = async (
  context: Context,
  markup: Markup,
  status: ContentfulStatusCode = 200,
): Promise<Response> => context.html(markup, status);

/** Whether a request for another route has a session of the owner; this does not prolong it. */
export const isOwner = (parts: DashboardParts, context: Context): boolean =>
  sessionOf(parts, context)?.personId === ownerId;

function sessionOf(parts: DashboardParts, context: Context): Session | undefined {
  const transport = transportOf(context, parts);
  const cookie = transport && getCookie(context, transport.cookieName);
  return cookie ? parts.records.admin.session(parts.world.now(), cookie) : undefined;
}

async function handleRequest(
  parts: DashboardParts,
  page: Page,
  context: Context,
): Promise<Response> {
  // Before any work for a stranger, such as the search for private keys.
  if (sessionOf(parts, context) === undefined)
    parts.limitVisit(context, page.open ? 'signIn' : 'locked');
  const transport = transportOf(context, parts);
  if (transport === undefined) return send(context, httpsPage(), 403);
  if (transport.secure) context.header('Strict-Transport-Security', 'max-age=31536000');
  // Reading the body may take long, so the session is looked up afterwards: it may have ended.
  const form = await readForm(context, transport);
  const now = parts.world.now();
  const cookie = getCookie(context, transport.cookieName);
  const session = cookie === undefined ? undefined : parts.records.admin.session(now, cookie);
  const visitor = getCookie(context, transport.visitorCookieName);
  const isOpen = page.open !== undefined;
  const { pathname, search, searchParams } = new URL(context.req.url);
  // No page and no redirect may repeat a private key of the query.
  refusePrivateMaterial([...searchParams.values()]);
  const request: PageRequest = {
    parts,
    context,
    transport,
    now,
    session,
    account: parts.records.admin.of(session?.personId ?? ownerId),
    form,
    url: pathname + search,
    token: (isOpen ? visitor : cookie) ?? newToken({ parts }),
  };
  refuseViewer(request, page);
  const { method } = context.req;
  if (method === 'POST') return runAction(request, page);
  const isOfScript = context.req.header('X-Paygate-Live') !== undefined;
  if (session === undefined && !isOpen) {
    // A script can't see where a redirect leads.
    if (isOfScript) return send(context, errorPage('Sign in again.'), 401);
    if (page.linked && isFromOtherSite(context)) {
      context.header('Refresh', `0; url=${request.url}`);
      return send(context, continuePage(request.url));
    }
    return redirectToSignIn(request, pathname + search);
  }
  if (method !== 'GET' && method !== 'HEAD') return methodNotAllowed(request, page);
  const isByItself = page.unattended || isOfScript || isReload(request);
  if (session !== undefined && !isByItself) await noteSessionUse(request, session);
  if (isOpen && visitor === undefined) setVisitorCookie(request);
  return renderPage(request, page);
}

/**
 * The one place that limits viewers: what no page allows them is refused.
 * @throws PaygateError forbidden
 */
function refuseViewer(request: PageRequest, { open, viewers, actions }: Page): void {
  if (open || !isViewer(request)) return;
  const runsAction = request.context.req.method === 'POST' && actions !== undefined;
  if (viewers && (!runsAction || viewers.includes(request.form.get('do') ?? ''))) return;
  throw new PaygateError('forbidden', 'Only the owner of this paygate may see or change this.');
}

/**
 * Whether a page without a script loaded itself again. Like the requests of a script, that must not
 * prolong the session. A browser names the page itself as the referrer then.
 */
function isReload({ context, url }: PageRequest): boolean {
  const referrer = URL.parse(context.req.header('Referer') ?? '');
  return referrer !== null && referrer.pathname + referrer.search === url;
}

/** The browser keeps cookies with `SameSite=Strict` back then; the page itself asks with them. */
const isFromOtherSite = ({ req }: Context): boolean =>
  req.method === 'GET' && req.header('Sec-Fetch-Site') === 'cross-site';

async function noteSessionUse(
  { parts, now }: PageRequest,
  session: NonNullable<PageRequest['session']>,
): Promise<void> {
  const { admin, database } = parts.records;
  if (!admin.isDueToBeSeen(session, now)) return;
  await database.write((tx) => admin.seen(tx, now, session.id));
}

async function renderPage(
  request: PageRequest,
  page: Page,
  status: ContentfulStatusCode = 200,
): Promise<Response> {
  const shown = await page.show(request);
  return shown instanceof Response ? shown : send(request.context, shown, status);
}

/** @param page where to go after signing in */
function redirectToSignIn(
  request: PageRequest,
  page: string,
  more: { readonly late?: 1 } = {},
): Response {
  const signIn = `${base}/sign-in`;
  // Without a session there is nothing to sign out of.
  if (page === `${base}/sign-out`) return request.context.redirect(signIn, 303);
  const next = page === base ? undefined : page;
  return request.context.redirect(withQuery({ url: signIn }, { next, ...more }), 303);
}

function methodNotAllowed(request: PageRequest, page: Page): Promise<Response> {
  request.context.header('Allow', page.actions === undefined ? 'GET, HEAD' : 'GET, HEAD, POST');
  return send(request.context, errorPage('This page does not accept this kind of request.'), 405);
}

async function runAction(request: PageRequest, page: Page): Promise<Response> {
  const { context, session, form } = request;
  if (session === undefined && page.open === undefined) {
    return redirectToSignIn(request, withQuery(request, {}), { late: 1 });
  }
  if (page.actions === undefined) return methodNotAllowed(request, page);
  requireFormToken(request);
  try {
    refusePrivateFields(form);
    const name = form.get('do') ?? '';
    const action = Object.hasOwn(page.actions, name) ? page.actions[name] : undefined;
    if (action === undefined) throw new PaygateError('invalid', 'Unknown form.');
    if (session !== undefined) await noteSessionUse(request, session);
    const outcome = await action(request);
    if ('show' in outcome) return send(context, outcome.show);
    if ('send' in outcome) return outcome.send;
    return context.redirect(outcome.to, 303);
  } catch (error) {
    if (!(error instanceof PaygateError) || error.code === 'internal') throw error;
    const problem = inWordsOfPages(error.message);
    const faults = error instanceof FieldErrors ? error.faults : new Map();
    return renderPage({ ...request, problem, faults }, page, beginRefusal(context, error));
  }
}

/** @throws PaygateError forbidden if another site, or no browser, sent the request */
function requireOwnOrigin(context: Context, transport: Transport): void {
  if (isSentFrom(context, transport.origins)) return;
  throw new PaygateError('forbidden', 'This request did not come from a page of this paygate.');
}

/** Empty unless the method is POST. @throws PaygateError forbidden, invalid */
async function readForm(context: Context, transport: Transport): Promise<URLSearchParams> {
  if (context.req.method !== 'POST') return new URLSearchParams();
  requireOwnOrigin(context, transport);
  const [type] = (context.req.header('Content-Type') ?? '').split(';');
  if (type?.trim().toLowerCase() !== 'application/x-www-form-urlencoded') {
    throw new PaygateError('invalid', 'This page accepts only forms of this paygate.');
  }
  return new URLSearchParams(await context.req.text());
}

/** @throws PaygateError forbidden */
function requireFormToken(request: PageRequest): void {
  const given = Buffer.from(request.form.get('token') ?? '');
  const wanted = Buffer.from(formTokenOf(request));
  if (given.length === wanted.length && timingSafeEqual(given, wanted)) return;
  throw new PaygateError(
    'forbidden',
    'This page is out of date. Go back, reload it, and try again.',
  );
}

/**
 * Skips passwords, because they may look like recovery words. Skips what a browser says of a
 * passkey, because its random letters may look like anything. Neither is stored or shown.
 * @throws PaygateError invalid
 */
function refusePrivateFields(form: URLSearchParams): void {
  const secrets = [...form].filter(
    ([name, value]) => !/^pass(word|key)/.test(name) && containsPrivateMaterial(value),
  );
  if (secrets.length === 0) return;
  // The page that comes back must not repeat the secret.
  for (const [name] of secrets) form.delete(name);
  rejectPrivateMaterial();
}
