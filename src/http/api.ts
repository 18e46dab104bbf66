// The merchant API: who asks, which store is meant, and the answer's frozen shape (wire §§1-2).

import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { isApiKey } from '../domain/api-key.ts';
import { chooseStore } from '../domain/store-choice.ts';
import { PaygateError } from '../errors.ts';
import type { Issued } from '../store/addresses.ts';
import type { Store } from '../store/open.ts';
import { errorResponse } from './errors.ts';

export interface ApiOptions {
  readonly store: Store;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Throws when no address may be issued now. */
  readonly checkIssuing: () => void;
  /** After the commit of an address that was issued. */
  readonly onIssued: (issued: Issued) => void;
}

export function createApi(options: ApiOptions): Hono {
  const api = new Hono();
  api.use(noStore, refuseRepeated, requireKey(options));
  // Hono answers HEAD by a GET route, which would burn an address for nothing.
  api.on(['GET', 'POST'], '/new_address', (context) =>
    context.req.method === 'HEAD' ? notAllowed(context) : newAddress(options, context),
  );
  api.all('/new_address', notAllowed);
  return api;
}

const noStore: MiddlewareHandler = async (context, next) => {
  await next();
  context.header('Cache-Control', 'no-store');
};

/** A parameter given twice means two things: neither is guessed. */
export const refuseRepeated: MiddlewareHandler = async (context, next) => {
  for (const [name, values] of Object.entries(context.req.queries())) {
    if (values.length > 1) {
      throw new PaygateError('invalid', `The query parameter ${name} is given more than once`);
    }
  }
  await next();
};

const requireKey =
  ({ store, now }: ApiOptions): MiddlewareHandler =>
  async (context, next) => {
    const header = context.req.header('Authorization') ?? '';
    const [, key] = /^Bearer +(\S+) *$/i.exec(header) ?? [];
    if (key === undefined || !isApiKey(key) || !store.catalog.isValidKey(key, now())) {
      context.header('WWW-Authenticate', 'Bearer');
      throw new PaygateError('unauthorized', 'This function requires you to login');
    }
    await next();
  };

function notAllowed(context: Context): Response {
  context.header('Allow', 'GET, POST');
  return errorResponse(context, 405, 'Use GET or POST here');
}

async function newAddress(options: ApiOptions, context: Context): Promise<Response> {
  const { store, now, checkIssuing, onIssued } = options;
  const { crypto, match_callback, match_account } = context.req.query();
  if (crypto !== undefined && crypto.toUpperCase() !== 'BTC') {
    throw new PaygateError('invalid', 'Only crypto=BTC is served here');
  }
  checkIssuing();
  const { issued, account } = await store.database.write((tx) => {
    const chosen = chooseStore(candidates(store), {
      ...(match_callback ? { callback: match_callback } : {}),
      ...(match_account ? { account: match_account } : {}),
    });
    const issued = store.addresses.issue(tx, now(), chosen.walletId, chosen.id);
    return { issued, account: chosen.account };
  });
  onIssued(issued);
  return context.json({
    address: issued.address,
    time: Math.floor(issued.issuedAt / 1000),
    crypto: 'BTC',
    account,
  });
}

const candidates = ({ catalog }: Store) =>
  catalog.stores().map((each) => ({ ...each, account: catalog.wallet(each.walletId).account }));
