// Decides which requests see the details of /healthz and /readyz, which name hosts, stores,
// servers and certificates. They need to come from this machine, with a key that may read all
// stores, or with a session of the owner.

import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import {
  isSameAddress,
  isThisMachine,
  isThisMachineName,
} from '../domain/access/client-address.ts';
import { isAllowed } from '../domain/access/key-scope.ts';
import type { Records } from '../store/open-records.ts';
import { forwardedHeaders } from '../web/limits/request-origin.ts';
import { type AuthParts, optionalKey } from './authentication.ts';
import { storesOf } from './store-list.ts';

export interface DetailAccessParts extends AuthParts {
  readonly records: Pick<Records, 'catalog'>;
  /** Names of this machine besides its addresses: the host of `--listen`. */
  readonly ownNames: readonly string[];
  /** Whether a request has a session of the owner in the dashboard. */
  readonly isOwner: (context: Context) => boolean;
}

/** @throws PaygateError limited after too many wrong keys */
export const maySeeDetails = (parts: DetailAccessParts, context: Context): boolean =>
  isLocal(context, parts.ownNames) || hasKey(parts, context) || parts.isOwner(context);

/** Whether a program of this machine asks: neither a proxy nor a web page by DNS rebinding. */
function isLocal(context: Context, ownNames: readonly string[]): boolean {
  const { socket, httpVersion } = ((context.env ?? {}) as Partial<HttpBindings>).incoming ?? {};
  const { remoteAddress = '', localAddress = '' } = socket ?? {};
  if (forwardedHeaders.some((name) => context.req.header(name) !== undefined)) return false;
  // nginx by default sends no such header and its own address as Host, but speaks 1.0.
  // Our commands and curl speak 1.1.
  if (httpVersion === '1.0') return false;
  // The kernel connects to an own address from that same address.
  if (!isThisMachine(remoteAddress) && !isSameAddress(remoteAddress, localAddress)) return false;
  const name = new URL(context.req.url).hostname.replace(/^\[|\]$/g, '');
  return (
    ownNames.some((own) => own.toLowerCase() === name) ||
    isThisMachineName(name) ||
    isSameAddress(name, localAddress)
  );
}

/** A key of one store among several does not count: the details name all stores. */
function hasKey(parts: DetailAccessParts, context: Context): boolean {
  const { records } = parts;
  const key = optionalKey(parts, context.req.path, context);
  if (key === undefined || !isAllowed(key.scope, { method: 'GET', issues: false })) return false;
  return storesOf(records, key).length === records.catalog.stores().length;
}
