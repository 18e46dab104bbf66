// The routes below /api/v1: what shop plugins use of the Greenfield API of BTCPay Server. They are
// operations of the API that read and refuse in its form, for the keys of one store.
// https://docs.btcpayserver.org/API/Greenfield/v1/

import { type Context, Hono } from 'hono';
import * as z from 'zod';
import type { ApiOptions } from '../api/api-parts.ts';
import { type AuthParts, authorise, limitOpenOperation } from '../api/authentication.ts';
import { type Operation, stringsIn } from '../api/operation.ts';
import { createRefusedChanges } from '../api/refused-changes.ts';
import { refusePrivateMaterial } from '../bitcoin/private-material.ts';
import { BodyProblems } from '../domain/order/body-fields.ts';
import { type ErrorCode, PaygateError } from '../lib/errors.ts';
import type { Key } from '../store/access/api-keys.ts';
import { beginRefusal, logFailure } from '../web/error-body.ts';

export type RouteOptions = ApiOptions & Pick<AuthParts, 'limits' | 'refusals' | 'keys'>;

/** Clients leave the store out of some paths. */
const withoutStore = (path: string): string =>
  path.replace(/\/stores\/\{storeId\}(?=\/(?:invoices\/|webhooks\/|rates$))/, '');

export function createRoutes(options: RouteOptions, operations: readonly Operation[]): Hono {
  const refusedChanges = createRefusedChanges(options);
  const greenfield = new Hono();
  greenfield.use((context, next) => {
    context.header('Cache-Control', 'no-store');
    return next();
  });
  for (const operation of operations) {
    const { path, methods } = operation;
    for (const form of new Set([path, withoutStore(path)])) {
      const route = form.replaceAll(/\{(\w+)\}/g, ':$1');
      greenfield.on([...methods], [route, `${route}/`], async (context) => {
        try {
          return await serve(options, operation, context);
        } catch (error) {
          if ('writes' in operation) await refusedChanges.note(operation, context, error, false);
          return refuse(options, context, error, operation);
        }
      });
    }
  }
  greenfield.all('/v1/*', (context) =>
    refuse(options, context, new PaygateError('not_found', 'There is nothing at this path')),
  );
  return greenfield;
}

async function serve(
  options: RouteOptions,
  operation: Operation,
  context: Context,
): Promise<Response> {
  if (operation.open) {
    limitOpenOperation(options, operation, context);
    return context.json(await operation.run(await read(operation, context)));
  }
  const key = authorise(options, operation, context);
  options.untrustedProxies.note(context, true);
  const asked = context.req.param('storeId') ?? storeOf(options, key).publicId;
  if (asked !== storeOf(options, key).publicId) {
    throw new PaygateError('forbidden', 'This key is for another store');
  }
  const answer = await operation.run({ ...(await read(operation, context)), key });
  if (!(answer instanceof Response)) return context.json(answer);
  return context.newResponse(answer.body, { headers: answer.headers });
}

/** The one store of a key. @throws PaygateError forbidden */
export function storeOf({ records }: Pick<ApiOptions, 'records'>, { storeId }: Key) {
  if (storeId !== null) return records.catalog.store(storeId);
  throw new PaygateError('forbidden', 'Use a key of one store: the merchant key is for all stores');
}

/** Whether orders of a store get Lightning invoices: only beside addresses. */
export const hasLightning = (
  { records: { state, catalog } }: RouteOptions,
  storeId: number,
): boolean =>
  catalog.store(storeId).walletId !== null && state.lightningNode(storeId).read() !== undefined;

/** A text that is JSON already. */
export const jsonText = (text: string): Response =>
  new Response(text, { headers: { 'Content-Type': 'application/json' } });

async function read({ query, body, methods }: Operation, context: Context) {
  const text = methods.includes('GET') ? '' : await context.req.text();
  const given = body === undefined || text.trim() === '' ? {} : jsonOf(text);
  refusePrivateMaterial(stringsIn(given));
  const queries = Object.entries(context.req.queries());
  return {
    params: context.req.param(),
    query: parse(query, Object.fromEntries(queries)),
    body: parse(body, body === undefined ? {} : canonical(body, given)),
    context,
  };
}

/** Numbers stay the text that was sent. @throws PaygateError invalid */
export function jsonOf(text: string): unknown {
  const exact = (_name: string, value: unknown, { source }: { readonly source?: string } = {}) =>
    typeof value === 'number' ? source : value;
  try {
    return JSON.parse(text, exact);
  } catch {
    throw new PaygateError('invalid', 'The body is not JSON');
  }
}

/** The fields of a schema, whose names are sent in any case. Null is a missing field. */
function canonical(schema: z.ZodType, given: unknown): unknown {
  const inner = schema instanceof z.ZodOptional ? (schema.unwrap() as z.ZodType) : schema;
  if (!(inner instanceof z.ZodObject) || typeof given !== 'object' || given === null) return given;
  const shape = inner.shape as Readonly<Record<string, z.ZodType>>;
  const names = new Map(Object.keys(shape).map((name) => [name.toLowerCase(), name]));
  const fields = Object.entries(given).flatMap(([sent, value]) => {
    const name = names.get(sent.toLowerCase());
    if (name === undefined || value === null) return [];
    return [[name, canonical(shape[name] as z.ZodType, value)] as const];
  });
  return Array.isArray(given) ? given : Object.fromEntries(fields);
}

function parse(schema: z.ZodType | undefined, given: unknown) {
  const { data, error } = (schema ?? z.object({})).safeParse(given);
  if (error === undefined) return data;
  const pathOf = (path: readonly PropertyKey[]): string =>
    path.map((each) => (typeof each === 'number' ? `[${each}]` : `.${String(each)}`)).join('');
  throw new BodyProblems(
    error.issues.map(({ path, message }) => [pathOf(path).replace(/^\./, ''), message]),
  );
}

/** The code of an error; plugins show its message alone. */
const codes: Readonly<Partial<Record<ErrorCode, string>>> = {
  unauthorized: 'unauthenticated',
  forbidden: 'missing-permission',
  limited: 'rate-limited',
  unavailable: 'unavailable',
  internal: 'internal-error',
};

function refuse(
  { log }: Pick<ApiOptions, 'log'>,
  context: Context,
  error: unknown,
  { permission }: Pick<Operation, 'permission'> = {},
): Response {
  if (error instanceof BodyProblems) {
    return context.json(
      error.problems.map(([path, message]) => ({ path, message })),
      422,
    );
  }
  const known = error instanceof PaygateError && error.code !== 'internal' ? error : undefined;
  if (known === undefined) logFailure(log, context, 'request failed', error);
  const { code, message } =
    known ?? new PaygateError('internal', 'Internal error; the log of paygate says more');
  const status = known === undefined ? 500 : beginRefusal(context, known);
  // A plugin shows the reason of a 400 to the merchant.
  if (code === 'conflict' || code === 'invalid') {
    return context.json({ code: 'generic-error', message }, 400);
  }
  return context.json(
    {
      ...(code === 'forbidden' && { missingPermission: `btcpay.store.${permission}` }),
      code: code === 'not_found' ? notFoundCode(context) : codes[code],
      message,
    },
    status,
  );
}

/** `webhook-not-found` and `invoice-not-found`, by the last of these in the path. */
const notFoundCode = ({ req }: Context): string => {
  const [, what = 'resource'] = /.*\/(invoice|webhook)s\b/.exec(req.path) ?? [];
  return `${what}-not-found`;
};
