// Port 80, open when paygate fetches its own certificates. It answers the challenge of the
// authority (RFC 8555 section 8.3) and redirects all else to HTTPS. It never repeats the Host of a
// request. It serves no API request, because the key was readable on the way. Only this machine
// may ask for /healthz.

import { type Context, Hono } from 'hono';
import { isThisMachine } from '../domain/access/client-address.ts';
import { noSniff } from './content-policy.ts';
import { errorResponse } from './error-body.ts';
import type { Fetch } from './http-server.ts';
import { socketAddressOf } from './limits/request-origin.ts';

/**
 * @param challenge returns the response to a token; undefined for an unknown token
 * @param main the handler of the main listener
 */
export function createPort80(
  domain: string,
  challenge: (token: string) => string | undefined,
  main: Fetch,
): Fetch {
  const app = new Hono();
  app.use(noSniff);
  const redirect = (context: Context): Response => {
    const { pathname, search } = new URL(context.req.url);
    return context.redirect(`https://${domain}${pathname}${search}`, 308);
  };
  app.get('/.well-known/acme-challenge/:token', (context) => {
    const answer = challenge(context.req.param('token'));
    return answer === undefined
      ? errorResponse(context, 404, 'There is nothing at this path')
      : context.body(answer, 200, { 'Content-Type': 'application/octet-stream' });
  });
  // Programs of this machine see why there is no certificate, while HTTPS does not work yet.
  // `paygate health` works then, too.
  app.get('/healthz', (context) =>
    isThisMachine(socketAddressOf(context))
      ? main(context.req.raw, context.env as object)
      : redirect(context),
  );
  // The receipt is a page for customers, without a key.
  app.get('/api/tx', redirect);
  app.all('/api/*', (context) =>
    errorResponse(
      context,
      403,
      `Ask https://${domain}. A key sent here was readable on the way: replace it`,
    ),
  );
  app.on(['GET', 'HEAD'], '*', redirect);
  app.notFound((context) => errorResponse(context, 403, `Ask https://${domain}`));
  return (request, env) => app.fetch(request, env);
}
