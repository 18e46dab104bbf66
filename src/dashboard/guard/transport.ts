// How a browser reached us, and whether the connection is safe enough for a password (rules §6).
// Safe are HTTPS, directly or through a trusted proxy, and plain HTTP on loopback. The operator may
// allow plain HTTP in their own network (decision 052). Headers count only from a trusted proxy.

import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import {
  isLocalNetwork,
  isProxy,
  isThisMachine,
  isThisMachineName,
  type Proxies,
} from '../../domain/access/client-address.ts';
import {
  clientAddressOf,
  forwardedHeaders,
  httpsHostOf,
  socketAddressOf,
} from '../../web/limits/request-origin.ts';

export interface Transport {
  readonly secure: boolean;
  /** Values of the header Origin that mean our own pages. */
  readonly origins: readonly string[];
  readonly cookieName: string;
  /** Name of the cookie that binds forms of public pages to a browser. */
  readonly visitorCookieName: string;
}

export interface TransportOptions {
  readonly proxies: Proxies;
  /** Plain HTTP is allowed in the operator's own network. */
  readonly dashboardPlainHttp?: boolean | undefined;
  readonly publicUrl: string | undefined;
}

/** Undefined if others can read the connection. */
export function transportOf(context: Context, options: TransportOptions): Transport | undefined {
  const { incoming } = (context.env ?? {}) as Partial<HttpBindings>;
  const header = (name: string): string | undefined => context.req.header(name);
  const host = header('Host') ?? '';
  const secureTransport = (shown: string): Transport => {
    // Proxies write the port that a browser leaves out: `pay.example.com:443`.
    const urls = [`https://${shown}`, options.publicUrl ?? ''];
    const origins = urls.flatMap((url) => URL.parse(url)?.origin ?? []);
    return { secure: true, origins, ...cookieNames('__Host-paygate') };
  };
  const httpsHost = httpsHostOf(context, options.proxies, host);
  if (httpsHost !== undefined) return secureTransport(httpsHost);
  const isForwarded = forwardedHeaders.some((name) => header(name) !== undefined);
  if (isForwarded && !isProxy(socketAddressOf(context), options.proxies)) {
    // An unknown proxy forwarded the request, so the connection to the browser is unknown.
    return undefined;
  }
  const isEncrypted = incoming?.socket !== undefined && 'encrypted' in incoming.socket;
  if (isEncrypted) return isForwarded ? undefined : secureTransport(host);
  const { hostname, port } = hostOf(host);
  const isOnLoopback =
    !isForwarded &&
    isThisMachine(socketAddressOf(context)) &&
    // Any other host name may belong to an attacker who points it at loopback (DNS rebinding).
    isThisMachineName(hostname);
  const isAllowed =
    options.dashboardPlainHttp === true &&
    isLocalNetwork(clientAddressOf(context, options.proxies)) &&
    (isLocalName(hostname) || URL.parse(options.publicUrl ?? '')?.origin === `http://${host}`);
  if (!isOnLoopback && !isAllowed) return undefined;
  // Cookies are not separated by port: two paygates on one machine must not share one.
  return { secure: false, origins: [`http://${host}`], ...cookieNames(`paygate-${port}`) };
}

/** Whether it is a private address, or a name that no public DNS points at this machine. */
export const isLocalName = (hostname: string): boolean =>
  isLocalNetwork(hostname) ||
  /^[a-z0-9-]+$|\.(local|lan|home|internal|home\.arpa|onion)$/.test(hostname);

const cookieNames = (name: string) => ({ cookieName: name, visitorCookieName: `${name}-visitor` });

function hostOf(host: string): { readonly hostname: string; readonly port: string } {
  const [, name = '', port = '80'] =
    /^(\[[0-9a-f:]+\]|[a-z0-9.-]+)(?::(\d{1,5}))?$/i.exec(host) ?? [];
  return { hostname: name.replace(/^\[|\]$/g, '').toLowerCase(), port };
}
