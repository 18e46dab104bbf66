// What answers on port 80 where paygate fetches its own certificates: the authority's question whether the
// name is ours (RFC 8555 section 8.3), and for everybody else the way to HTTPS. It never repeats the
// Host that it was asked by, and does no request of the API: its key has been seen on the way. This machine alone may
// ask how paygate is.

import { type Context, Hono } from 'hono';
import { isThisMachine } from '../domain/client-address.ts';
import { noSniff } from './content-policy.ts';
import { errorResponse } from './error-body.ts';
import type { Fetch } from './http-server.ts';
import { socketAddressOf } from './request-origin.ts';

/**
 * @param challenge what is to be answered for a token; undefined for one that nobody asked for
 * @param main what answers at the main door
 */
export function createPort80(
  domain: string,
  challenge: (token: string) => string | undefined,
  main: Fetch,
): Fetch {
  const app = new Hono();
  app.use(noSniff);
  const lead = (context: Context): Response => {
    const { pathname, search } = new URL(context.req.url);
    return context.redirect(`https://${domain}${pathname}${search}`, 308);
  };
  app.get('/.well-known/acme-challenge/:token', (context) => {
    const answer = challenge(context.req.param('token'));
    return answer === undefined
      ? errorResponse(context, 404, 'There is nothing at this path')
      : context.body(answer, 200, { 'Content-Type': 'application/octet-stream' });
  });
  // Who asks on this machine hears why there is no certificate yet, also while the main door can greet nobody.
  app.get('/healthz', (context) =>
    isThisMachine(socketAddressOf(context))
      ? main(context.req.raw, context.env as object)
      : lead(context),
  );
  // The receipt is a page for customers.
  app.get('/api/tx', lead);
  app.all('/api/*', (context) =>
    errorResponse(
      context,
      403,
      `Ask https://${domain}. A key that came here was readable on the way: replace it`,
    ),
  );
  app.on(['GET', 'HEAD'], '*', lead);
  app.notFound((context) => errorResponse(context, 403, `Ask https://${domain}`));
  return (request, env) => app.fetch(request, env);
}
