// The merchant API: the routes of all operations (wire §§1-3). It authenticates a request, reads
// it by the schemas of the operation, and maps errors. Operations know nothing of HTTP.

import { type Context, type Handler, Hono, type MiddlewareHandler } from 'hono';
import type { Key } from '../store/access/api-keys.ts';
import { errorResponse } from '../web/error-body.ts';
import type { LimitedLookup } from '../web/limits/lookup-limit.ts';
import type { RefusalLog } from '../web/limits/refused-requests.ts';
import type { Limits } from '../web/limits/request-limits.ts';
import type { LimitVisit } from '../web/limits/visit-limit.ts';
import { balanceOperations } from './addresses/balance.ts';
import { createTargets } from './addresses/balance-targets.ts';
import { labelOperations } from './addresses/label-operations.ts';
import { merchantTx } from './addresses/merchant-tx.ts';
import { newAddress } from './addresses/new-address.ts';
import { listPayments } from './addresses/payment-list.ts';
import { txDetail } from './addresses/tx-detail.ts';
import { walletOperations } from './addresses/wallet-list.ts';
import type { ApiOptions } from './api-parts.ts';
import { type AuthParts, authorise, limitOpenOperation } from './authentication.ts';
import { connectOperations } from './connect-plugin.ts';
import { type Operation, readRequest } from './operation.ts';
import { eventOperations } from './orders/event-operations.ts';
import { linkOperations } from './orders/link-operations.ts';
import { orderOperations } from './orders/order-operations.ts';
import { priceOperations } from './price.ts';
import { createRefusedChanges, type RefusedChanges } from './refused-changes.ts';
import { catalogOperations } from './store-list.ts';

export function operationsOf(options: ApiOptions): readonly Operation[] {
  const targets = createTargets(options);
  return [
    ...orderOperations(options),
    ...labelOperations(options),
    ...linkOperations(options),
    ...eventOperations(options),
    newAddress(options),
    merchantTx(options),
    listPayments(options),
    ...balanceOperations(options, targets),
    txDetail(options),
    ...walletOperations(options, targets),
    ...catalogOperations(options),
    ...connectOperations(options),
    ...priceOperations(options),
  ];
}

export type ReceiptPage = (
  context: Context,
  limitLookup: LimitedLookup,
) => Response | Promise<Response>;

/** A key never touches an extended public key (S-100). */
const walletsAreFixed =
  'Wallets are set in the dashboard alone: open Stores, choose the store, then Wallet. On the ' +
  'machine of paygate: paygate store add, or paygate store wallet ID';

export interface ApiParts {
  readonly limits: Limits;
  readonly refusals: RefusalLog;
  readonly limitLookup: LimitedLookup;
  readonly limitVisit: LimitVisit;
  readonly receiptPage: ReceiptPage;
  /** The OpenAPI document as JSON. Unread responses share these bytes. */
  readonly description: () => Uint8Array<ArrayBuffer>;
}

export function createApi(
  options: ApiOptions,
  operations: readonly Operation[],
  { limits, refusals, limitLookup, limitVisit, receiptPage, description }: ApiParts,
): Hono {
  const shared = { ...options, limits, refusals, keys: options.records.keys };
  const parts = { ...shared, refusedChanges: createRefusedChanges(shared) };
  const api = new Hono();
  api.use(noStore);
  const allowed = new Map<string, string[]>();
  function route(path: string, methods: readonly string[], handler: Handler): void {
    allowed.set(path, [...(allowed.get(path) ?? []), ...methods]);
    api.on([...methods], path, handler);
  }
  route('/openapi.json', ['GET'], (context) => {
    limitVisit(context, 'page');
    context.header('Content-Type', 'application/json');
    return context.body(description());
  });
  route('/tx', ['GET'], (context) => receiptPage(context, limitLookup));
  for (const operation of operations) {
    const path = operation.path.replaceAll(/\{(\w+)\}/g, ':$1');
    route(path, operation.methods, (context) => serve(parts, operation, context));
  }
  api.on(['POST', 'DELETE'], ['/v2/wallets', '/v2/wallets/:id'], (context) =>
    errorResponse(context, 403, walletsAreFixed),
  );
  for (const [path, methods] of allowed) {
    api.all(path, (context) => notAllowed(context, methods));
  }
  return api;
}

async function serve(
  parts: AuthParts &
    Pick<ApiOptions, 'untrustedProxies'> & { readonly refusedChanges: RefusedChanges },
  operation: Operation,
  context: Context,
): Promise<Response> {
  // Hono answers HEAD by the GET route, which would waste an address.
  if (context.req.method === 'HEAD' && 'issues' in operation) {
    return notAllowed(context, operation.methods);
  }
  if (operation.open) {
    limitOpenOperation(parts, operation, context);
    return context.json(await operation.run(await readRequest(operation, context)));
  }
  let key: Key | undefined;
  try {
    key = authorise(parts, operation, context);
    parts.untrustedProxies.note(context, true);
    const answer = await operation.run({ ...(await readRequest(operation, context)), key });
    return answer instanceof Response
      ? context.newResponse(answer.body, { headers: answer.headers })
      : context.json(answer);
  } catch (error) {
    if (operation.writes)
      await parts.refusedChanges.note(operation, context, error, key === undefined);
    throw error;
  }
}

/** Forbids caches. Set before there is a response, because changing the headers of one is slow. */
const noStore: MiddlewareHandler = (context, next) => {
  context.header('Cache-Control', 'no-store');
  return next();
};

function notAllowed(context: Context, allowed: readonly string[]): Response {
  context.header('Allow', allowed.join(', '));
  return errorResponse(context, 405, `Use ${allowed.join(' or ')} here`);
}
