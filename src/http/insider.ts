// Who is told how paygate is in words: the machine itself, a key that may read of all stores, who is signed in at the
// dashboard. The words name hosts, stores, servers and certificates, which are no stranger's business.

import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import { isSameAddress, isThisMachine } from '../domain/client-address.ts';
import { isAllowed } from '../domain/scope.ts';
import type { Store } from '../store/open.ts';
import { shownBy } from './auth.ts';
import { storesOf } from './catalog.ts';

export interface InsiderParts {
  readonly store: Pick<Store, 'keys' | 'catalog'>;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Names of this machine beside its addresses: where paygate was told to listen. */
  readonly ownNames: readonly string[];
  /** Whether a request comes from somebody who is signed in at the dashboard. */
  readonly isSignedIn: (context: Context) => boolean;
}

export const isInsider = (parts: InsiderParts, context: Context): boolean =>
  isLocal(context, parts.ownNames) || hasKey(parts, context) || parts.isSignedIn(context);

/** What proxies say: with any of it somebody else asks, and where no proxy is named nobody knows who. */
export const forwardedHeaders = [
  ...['Forwarded', 'X-Forwarded-For', 'X-Forwarded-Proto', 'X-Forwarded-Host'],
] as const;

/** Whether a program of this machine asks, and not a proxy for somebody, nor a page whose name was made to lead here. */
function isLocal(context: Context, ownNames: readonly string[]): boolean {
  const { socket } = ((context.env ?? {}) as Partial<HttpBindings>).incoming ?? {};
  const { remoteAddress = '', localAddress = '' } = socket ?? {};
  if (forwardedHeaders.some((name) => context.req.header(name) !== undefined)) return false;
  // Who asks at an address of this machine from this machine, does it from that address.
  if (!isThisMachine(remoteAddress) && !isSameAddress(remoteAddress, localAddress)) return false;
  const name = new URL(context.req.url).hostname.replace(/^\[|\]$/g, '');
  return (
    ['localhost', ...ownNames].some((own) => own.toLowerCase() === name) ||
    isThisMachine(name) ||
    isSameAddress(name, localAddress)
  );
}

/** A key of one store of several is told nothing: the words speak of all of them. */
function hasKey({ store, now }: InsiderParts, context: Context): boolean {
  const { apiKey } = shownBy(context);
  const key = apiKey === undefined ? undefined : store.keys.find(apiKey, now());
  if (key === undefined || !isAllowed(key.scope, { method: 'GET', issues: false })) return false;
  return storesOf(store, key).length === store.catalog.stores().length;
}
