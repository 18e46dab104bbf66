// The one app of the dashboard (rules §6). Shut by default: a page without a session is shown only where
// it says that it is open, and nothing is done for a form that did not come from a page of ours. What
// was typed is looked through for private keys before any page sees it.

import { timingSafeEqual } from 'node:crypto';
import { type Context, Hono } from 'hono';
import { getCookie } from 'hono/cookie';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { containsPrivateMaterial, rejectPrivateMaterial } from '../bitcoin/private-material.ts';
import { PaygateError } from '../lib/errors.ts';
import { interactivePageHeaders } from '../web/content-policy.ts';
import { httpStatusOf, logFailure } from '../web/error-body.ts';
import { newToken, setVisitorCookie } from './dashboard-session.ts';
import {
  base,
  type DashboardParts,
  formTokenOf,
  type Markup,
  type Page,
  type PageRequest,
} from './page.ts';
import { withQuery } from './pages/listing.tsx';
import { errorPage, httpsPage } from './pages/refused-change.tsx';
import { type Transport, transportOf } from './transport.ts';

/** No page at all: for those who are signed in, so that nobody else learns which pages there are. */
const unknownPage: Page = {
  path: '*',
  show() {
    throw new PaygateError('not_found', 'There is no such page.');
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
    const message = known ? error.message : 'This did not work; the log of paygate says more.';
    return send(context, errorPage(message), known ? httpStatusOf(error) : 500);
  });
  return app;
}

const send = async (
  context: Context,
  markup: Markup,
  status: ContentfulStatusCode = 200,
): Promise<Response> => context.html(markup, status);

/** Whether a request that is for no page comes from somebody who is signed in: that is no use of the session. */
export function isSignedIn(parts: DashboardParts, context: Context): boolean {
  const transport = transportOf(context, parts);
  const cookie = transport && getCookie(context, transport.cookieName);
  return Boolean(cookie && parts.store.admin.session(parts.world.now(), cookie));
}

async function handleRequest(
  parts: DashboardParts,
  page: Page,
  context: Context,
): Promise<Response> {
  const transport = transportOf(context, parts);
  if (transport === undefined) return send(context, httpsPage(), 403);
  if (transport.secure) context.header('Strict-Transport-Security', 'max-age=31536000');
  // It may be long on its way: who has been signed out by then is out.
  const form = await readForm(context, transport);
  const now = parts.world.now();
  const cookie = getCookie(context, transport.cookieName);
  const session = cookie === undefined ? undefined : parts.store.admin.session(now, cookie);
  const visitor = getCookie(context, transport.visitorCookieName);
  const isOpen = page.open !== undefined;
  const { pathname, search, searchParams } = new URL(context.req.url);
  // Neither a page nor a redirect repeats it.
  const asked = [...searchParams.values()];
  if (asked.some(containsPrivateMaterial)) rejectPrivateMaterial(...asked);
  const request: PageRequest = {
    parts,
    context,
    transport,
    now,
    session,
    form,
    url: pathname + search,
    token: (isOpen ? visitor : cookie) ?? newToken({ parts }),
  };
  const { method } = context.req;
  if (method === 'POST') return runAction(request, page);
  if (session === undefined && !isOpen) return redirectToSignIn(request, pathname + search);
  if (method !== 'GET' && method !== 'HEAD') return methodNotAllowed(request, page);
  // What the script fetches by itself is no sign that somebody is there.
  const isByItself = page.unattended || context.req.header('X-Paygate-Live') !== undefined;
  if (session !== undefined && !isByItself) await noteSessionUse(request, session);
  if (isOpen && visitor === undefined) setVisitorCookie(request);
  return renderPage(request, page);
}

async function noteSessionUse(
  { parts, now }: PageRequest,
  session: NonNullable<PageRequest['session']>,
): Promise<void> {
  const { admin, database } = parts.store;
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
  // Whoever signs out is out: nothing is missing, and nobody signs in for that.
  if (page === `${base}/sign-out`) return request.context.redirect(signIn, 303);
  const next = page === base ? undefined : page;
  return request.context.redirect(withQuery({ url: signIn }, { next, ...more }), 303);
}

function methodNotAllowed(request: PageRequest, page: Page): Promise<Response> {
  request.context.header('Allow', page.actions === undefined ? 'GET, HEAD' : 'GET, HEAD, POST');
  return send(request.context, errorPage('This page takes no such request.'), 405);
}

async function runAction(request: PageRequest, page: Page): Promise<Response> {
  const { context, session, form } = request;
  if (session === undefined && page.open === undefined) {
    return redirectToSignIn(request, withQuery(request, {}), { late: 1 });
  }
  if (page.actions === undefined) return methodNotAllowed(request, page);
  requireFormToken(request);
  try {
    refusePrivateMaterial(form);
    const does = form.get('do') ?? '';
    const action = Object.hasOwn(page.actions, does) ? page.actions[does] : undefined;
    if (action === undefined) throw new PaygateError('invalid', 'This form is none of ours.');
    if (session !== undefined) await noteSessionUse(request, session);
    const outcome = await action(request);
    if ('show' in outcome) return send(context, outcome.show);
    if ('send' in outcome) return outcome.send;
    return context.redirect(outcome.to, 303);
  } catch (error) {
    if (!(error instanceof PaygateError) || error.code === 'internal') throw error;
    const { retryAfterSeconds } = error;
    if (retryAfterSeconds !== undefined) context.header('Retry-After', String(retryAfterSeconds));
    return renderPage({ ...request, problem: error.message }, page, httpStatusOf(error));
  }
}

/** @throws PaygateError forbidden for what another site, or no browser, has sent */
function requireOwnOrigin(context: Context, transport: Transport): void {
  const origin = context.req.header('Origin');
  const site = context.req.header('Sec-Fetch-Site');
  const isOwn = origin !== undefined && transport.origins.includes(origin.toLowerCase());
  if (isOwn && (site === undefined || site === 'same-origin')) return;
  throw new PaygateError('forbidden', 'This did not come from a page of this paygate.');
}

/** Empty where none is sent. @throws PaygateError forbidden, invalid */
async function readForm(context: Context, transport: Transport): Promise<URLSearchParams> {
  if (context.req.method !== 'POST') return new URLSearchParams();
  requireOwnOrigin(context, transport);
  const [type] = (context.req.header('Content-Type') ?? '').split(';');
  if (type?.trim().toLowerCase() !== 'application/x-www-form-urlencoded') {
    throw new PaygateError('invalid', 'Only forms of this paygate are read here.');
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
    'This page was too old. Go back, load it anew, and try again.',
  );
}

/** Passwords may look like recovery words. @throws PaygateError invalid */
function refusePrivateMaterial(form: URLSearchParams): void {
  const secrets = [...form].filter(
    ([name, value]) => !name.startsWith('password') && containsPrivateMaterial(value),
  );
  if (secrets.length === 0) return;
  // Nothing of it goes back to the page, either.
  for (const [name] of secrets) form.delete(name);
  rejectPrivateMaterial(...secrets.map(([, value]) => value));
}
