// The origin of a request: the address of its client, and the host and scheme that a trusted proxy
// names.

import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import {
  clientAddress,
  isProxy,
  networkPrefix48,
  type Proxies,
} from '../../domain/access/client-address.ts';

/** Headers of proxies; a request with one of them is for another client. */
export const forwardedHeaders = [
  ...['Forwarded', 'X-Forwarded-For', 'X-Forwarded-Proto', 'X-Forwarded-Host'],
  ...['Via', 'X-Real-IP', 'X-Client-IP', 'CF-Connecting-IP', 'True-Client-IP'],
] as const;

/** The address of the client: of the socket, or as a trusted proxy names it. */
export function clientAddressOf(context: Context, proxies: Proxies): string {
  const forwardedFor = context.req.header('X-Forwarded-For');
  return clientAddress(socketAddressOf(context), forwardedFor, proxies);
}

/** What limits count: the IPv4 address of the client, or its /48 of IPv6. */
export const clientNetworkOf = (context: Context, proxies: Proxies): string =>
  networkPrefix48(clientAddressOf(context, proxies));

/**
 * The host of a request that reached a trusted proxy by HTTPS; undefined for other requests.
 * @param host the default, when the proxy names none
 */
export function httpsHostOf(context: Context, proxies: Proxies, host: string): string | undefined {
  const value = (name: string): string | undefined => lastOf(context.req.header(name));
  const isHttps =
    isProxy(socketAddressOf(context), proxies) && value('X-Forwarded-Proto') === 'https';
  return isHttps ? (value('X-Forwarded-Host') ?? host) : undefined;
}

/** Whether the browser reached us by HTTPS, directly or through a trusted proxy. */
export function isEncrypted(context: Context, proxies: Proxies): boolean {
  const { incoming } = (context.env ?? {}) as Partial<HttpBindings>;
  const isOurs = incoming?.socket !== undefined && 'encrypted' in incoming.socket;
  return isOurs || httpsHostOf(context, proxies, '') !== undefined;
}

/** The origins of our own pages, by each name under which the client may have reached us. */
export function ownOriginsOf(
  context: Context,
  proxies: Proxies,
  publicUrl: string | undefined,
): string[] {
  const host = context.req.header('Host') ?? '';
  const shown = httpsHostOf(context, proxies, host) ?? host;
  const urls = [`https://${shown}`, `http://${host}`, publicUrl ?? ''];
  return urls.flatMap((url) => URL.parse(url)?.origin ?? []);
}

/** Whether a browser says that a page of one of these origins sent the request. */
export function isSentFrom({ req }: Context, origins: readonly string[]): boolean {
  const origin = req.header('Origin');
  const site = req.header('Sec-Fetch-Site');
  const isOwn = origin !== undefined && origins.includes(origin.toLowerCase());
  return isOwn && (site === undefined || site === 'same-origin');
}

/** The last value, because each proxy appends and the last one is ours. */
const lastOf = (list: string | undefined): string | undefined =>
  list === undefined ? undefined : list.split(',').at(-1)?.trim().toLowerCase();

export function socketAddressOf(context: Context): string {
  const { incoming } = (context.env ?? {}) as Partial<HttpBindings>;
  return incoming?.socket?.remoteAddress ?? 'unknown';
}
