// Authentication: the key of a request, and whether it may call the operation. A valid key is
// accepted regardless of how many wrong keys came from the same client.

import type { Context } from 'hono';
import { readApiKey } from '../domain/access/api-key.ts';
import type { Proxies } from '../domain/access/client-address.ts';
import { requireScope } from '../domain/access/key-scope.ts';
import { PaygateError, reasonOf } from '../lib/errors.ts';
import { isPluginOpen, type Key, type Keys } from '../store/access/api-keys.ts';
import type { RefusalLog } from '../web/limits/refused-requests.ts';
import type { Limits } from '../web/limits/request-limits.ts';
import { clientAddressOf, clientNetworkOf } from '../web/limits/request-origin.ts';
import type { KeyedOperation, Operation } from './operation.ts';
import { isVersion3, loginAdvice } from './version-3-errors.ts';

export interface AuthParts {
  readonly keys: Keys;
  readonly limits: Limits;
  readonly proxies: Proxies;
  readonly refusals: RefusalLog;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/**
 * Returns the key of a request, if it may call the operation.
 * @throws PaygateError unauthorized, forbidden, limited
 */
export function authorise(parts: AuthParts, operation: KeyedOperation, context: Context): Key {
  let key: Key | undefined;
  try {
    key = authenticate(parts, operation, context);
    requireScope(key.scope, { method: context.req.method, issues: operation.issues ?? false });
    if (operation.writes) {
      requirePluginWindow(key, parts.now());
      parts.limits.take('write', key.id);
    }
    const limit = limitOf(operation, context);
    if (limit !== undefined) parts.limits.take(limit, key.id);
    return key;
  } catch (error) {
    noteRefusal(parts, operation, context, { key, error });
    throw error;
  }
}

function noteRefusal(
  { keys, proxies, refusals }: AuthParts,
  { path }: Pick<KeyedOperation, 'path'>,
  context: Context,
  { key, error }: { readonly key: Key | undefined; readonly error: unknown },
): void {
  const client = clientAddressOf(context, proxies);
  if (key !== undefined) {
    refusals.note({ client, path, reason: reasonOf(error), key: key.id });
    return;
  }
  const { text, apiKey } = presentedKey(context);
  const ended = apiKey === undefined ? undefined : keys.ended(apiKey);
  const what = ended === undefined ? 'an unknown key' : 'a key that has ended';
  refusals.note({ client, path, reason: text === undefined ? 'no key' : what, key: ended });
}

/**
 * The valid key of a request that needs none. A wrong one is limited and logged as everywhere.
 * @throws PaygateError limited
 */
export function optionalKey(parts: AuthParts, path: string, context: Context): Key | undefined {
  const key = keyOf(parts, context);
  if (key !== undefined || presentedKey(context).text === undefined) return key;
  noteRefusal(parts, { path }, context, { key, error: undefined });
  limitWrongKey(parts, context);
  return undefined;
}

/** Takes a key that is none from the limit of its client. @throws PaygateError limited */
function limitWrongKey({ limits, proxies }: AuthParts, context: Context): void {
  const { text } = presentedKey(context);
  if (text !== undefined) limits.take('unknownKey', clientNetworkOf(context, proxies));
}

/** The valid key of a request, which the operation may still refuse. */
export function keyOf({ keys, now }: Pick<AuthParts, 'keys' | 'now'>, context: Context) {
  const { apiKey } = presentedKey(context);
  return apiKey === undefined ? undefined : keys.find(apiKey, now());
}

/** Limits an operation without a key by client. @throws PaygateError limited */
export function limitOpenOperation(
  { limits, proxies }: AuthParts,
  operation: Operation,
  context: Context,
): void {
  const limit = limitOf(operation, context);
  if (limit !== undefined) limits.take(limit, clientNetworkOf(context, proxies));
}

const limitOf = ({ limit }: Operation, context: Context) =>
  typeof limit === 'function' ? limit(context.req.query()) : limit;

function authenticate(parts: AuthParts, operation: KeyedOperation, context: Context): Key {
  const key = keyOf(parts, context);
  if (key !== undefined) return key;
  limitWrongKey(parts, context);
  context.header('WWW-Authenticate', 'Bearer');
  const message = isVersion3(operation.path)
    ? loginAdvice(presentedKey(context).text !== undefined)
    : 'This function requires you to login';
  throw new PaygateError('unauthorized', message);
}

/**
 * What a request presents after `Bearer` or `token`: as text, and as an API key if it has the form
 * of one. What came along when a key was copied is beyond ASCII, which no key has.
 */
export function presentedKey(context: Context) {
  const header = context.req.header('Authorization') ?? '';
  const [, text] = /^(?:Bearer|token) +(\S+) *$/i.exec(header.replace(/[^\x20-\x7e]/g, ' ')) ?? [];
  return { text, apiKey: text === undefined ? undefined : readApiKey(text) };
}

function requirePluginWindow(key: Key, now: number): void {
  if (isPluginOpen(key, now)) return;
  throw new PaygateError(
    'forbidden',
    'Changing stores through the API is switched off. Open "Connect a plugin" for this key, on the machine ' +
      `of paygate: paygate plugin allow --minutes 15 --key ${key.id}`,
  );
}
