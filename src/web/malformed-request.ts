// Refuses requests that a proxy and paygate may read in two ways. Otherwise the rule of a proxy
// for one page would let through another.

import type { HttpBindings } from '@hono/node-server';

/**
 * Returns the refusal, or undefined for a request that can be read in one way only.
 * @param env the Node server's view of the connection
 */
export function malformedRequestResponse(env: object | undefined): Response | undefined {
  const { incoming } = (env ?? {}) as Partial<HttpBindings>;
  const message = incoming === undefined ? undefined : faultOf(incoming);
  if (message === undefined) return undefined;
  const headers = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' };
  const body = { status: 400, message, error: { code: 400, message } };
  return Response.json(body, { status: 400, headers });
}

/**
 * The segments `.` and `..`, also written as `%2e`. URLs resolve them.
 * Source: https://url.spec.whatwg.org/#double-dot-path-segment
 */
const dots = /(^|[/\\])(\.|%2e){1,2}([/\\]|$)/i;

function faultOf({ url = '', rawHeaders }: HttpBindings['incoming']): string | undefined {
  const hosts = rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host');
  // RFC 9112 section 3.2.
  if (hosts.length > 1) return 'The header Host is given more than once';
  const [path = ''] = url.split(/[?#]/, 1);
  return dots.test(path) ? 'The path has a segment . or ..' : undefined;
}
