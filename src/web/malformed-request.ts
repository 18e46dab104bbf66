// Refuses requests that a proxy and paygate may read in two ways: the proxy's rule for one page would let another through.

import type { HttpBindings } from '@hono/node-server';

/** @param env what the Node server knows of the connection @returns undefined for what can be read in one way alone */
export function malformedRequestResponse(env: object | undefined): Response | undefined {
  const { incoming } = (env ?? {}) as Partial<HttpBindings>;
  const message = incoming === undefined ? undefined : faultOf(incoming);
  if (message === undefined) return undefined;
  const headers = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' };
  const body = { status: 400, message, error: { code: 400, message } };
  return Response.json(body, { status: 400, headers });
}

/** `.` and `..`, which URLs leave out, also where they are written `%2e` (https://url.spec.whatwg.org/#double-dot-path-segment). */
const dots = /(^|[/\\])(\.|%2e){1,2}([/\\]|$)/i;

function faultOf({ url = '', rawHeaders }: HttpBindings['incoming']): string | undefined {
  const hosts = rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host');
  // RFC 9112 section 3.2.
  if (hosts.length > 1) return 'The header Host is given more than once';
  const [path = ''] = url.split(/[?#]/, 1);
  return dots.test(path) ? 'The path has a segment . or ..' : undefined;
}
