// Where a request comes from: the address of its client, and the host and scheme that a trusted proxy names.

import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import { clientAddress, isProxy, type Proxies } from '../domain/client-address.ts';

/** Headers of proxies: a request with any of them comes for another client. */
export const forwardedHeaders = [
  ...['Forwarded', 'X-Forwarded-For', 'X-Forwarded-Proto', 'X-Forwarded-Host'],
  ...['Via', 'X-Real-IP', 'X-Client-IP', 'CF-Connecting-IP', 'True-Client-IP'],
] as const;

/** The client's address: the socket's, or what a proxy of ours says. */
export function clientAddressOf(context: Context, proxies: Proxies): string {
  const forwardedFor = context.req.header('X-Forwarded-For');
  return clientAddress(socketAddressOf(context), forwardedFor, proxies);
}

/**
 * The host by which a client came with HTTPS to a proxy of ours; undefined where none says so.
 * @param host where the proxy names none
 */
export function httpsHostOf(context: Context, proxies: Proxies, host: string): string | undefined {
  const said = (name: string): string | undefined => lastOf(context.req.header(name));
  const isSaid =
    isProxy(socketAddressOf(context), proxies) && said('X-Forwarded-Proto') === 'https';
  return isSaid ? (said('X-Forwarded-Host') ?? host) : undefined;
}

/** Each proxy appends; the last one is ours. */
const lastOf = (list: string | undefined): string | undefined =>
  list === undefined ? undefined : list.split(',').at(-1)?.trim().toLowerCase();

/** Who is connected to us. */
export function socketAddressOf(context: Context): string {
  const { incoming } = (context.env ?? {}) as Partial<HttpBindings>;
  return incoming?.socket?.remoteAddress ?? 'unknown';
}
