// How a browser reached us, and whether that way is safe enough for a password (rules §6): HTTPS to us or
// through a proxy of ours, or plain HTTP that never left this machine. Headers count only from where
// they can be believed.

import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import { isThisMachine, type Proxies } from '../domain/client-address.ts';
import { forwardedHeaders, httpsHostOf } from '../web/request-origin.ts';

export interface Transport {
  readonly secure: boolean;
  /** What a browser says as Origin when the page is ours. */
  readonly origins: readonly string[];
  /** Of a session. */
  readonly cookieName: string;
  /** Of who is looking at a page that is open. */
  readonly visitorCookieName: string;
}

export interface TransportOptions {
  readonly proxies: Proxies;
  /** How the outside reaches us, where the operator has said so. */
  readonly publicUrl: string | undefined;
}

/** Undefined for a way that others can listen on. */
export function transportOf(context: Context, options: TransportOptions): Transport | undefined {
  const { incoming } = (context.env ?? {}) as Partial<HttpBindings>;
  const socketAddress = incoming?.socket?.remoteAddress ?? '';
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
  // Somebody stands between, and the way to him is unknown.
  if (forwardedHeaders.some((name) => header(name) !== undefined)) return undefined;
  if (incoming?.socket !== undefined && 'encrypted' in incoming.socket) {
    return secureTransport(host);
  }
  if (!isThisMachine(socketAddress)) return undefined;
  const { hostname, port } = hostOf(host);
  // Any other name may be a stranger's, made to lead here.
  if (hostname !== 'localhost' && !isThisMachine(hostname)) return undefined;
  // Cookies know no ports: two paygates on one machine must not share one.
  return { secure: false, origins: [`http://${host}`], ...cookieNames(`paygate-${port}`) };
}

const cookieNames = (name: string) => ({ cookieName: name, visitorCookieName: `${name}-visitor` });

function hostOf(host: string): { readonly hostname: string; readonly port: string } {
  const [, name = '', port = '80'] =
    /^(\[[0-9a-f:]+\]|[a-z0-9.-]+)(?::(\d{1,5}))?$/i.exec(host) ?? [];
  return { hostname: name.replace(/^\[|\]$/g, '').toLowerCase(), port };
}
