// Error responses (wire §1). The HTTP status gives the class. The body repeats it, with a number
// that clients branch on, and a message that says what to do.

import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { type ErrorCode, PaygateError, reasonOf } from '../lib/errors.ts';
import type { Logger } from '../world/world.ts';

const statuses: Readonly<Record<ErrorCode, ContentfulStatusCode>> = {
  invalid: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  gone: 410,
  limited: 429,
  unavailable: 503,
  internal: 500,
};

export const httpStatusOf = ({ code }: PaygateError): ContentfulStatusCode => statuses[code];

/** How long to wait if an error does not say it. */
const defaultRetryAfterSeconds = 5;

/** The status of an error. A response with 429 or 503 says how long to wait. */
export function beginRefusal(
  context: Context,
  error: PaygateError,
  waitSeconds = defaultRetryAfterSeconds,
): ContentfulStatusCode {
  const status = httpStatusOf(error);
  if (status === 429 || status === 503) {
    context.header('Retry-After', String(error.retryAfterSeconds ?? waitSeconds));
  }
  return status;
}

/**
 * @param number clients branch on it; by default it is the status
 * @param fields left out of the body if there are none
 */
export function errorResponse(
  context: Context,
  status: ContentfulStatusCode,
  message: string,
  { number = status, fields = [] }: Partial<Pick<PaygateError, 'number' | 'fields'>> = {},
): Response {
  context.header('Cache-Control', 'no-store');
  const error = { code: number, message, fields: fields.length > 0 ? fields : undefined };
  return context.json({ status, message, error }, status);
}

/**
 * Logs an unexpected error, unless the client aborted its request: that is no bug of ours.
 * @param path what is logged as the path, if the path itself is a secret
 */
export function logFailure(
  log: Logger,
  context: Context,
  message: string,
  error: unknown,
  path = context.req.path,
): void {
  const { incoming } = (context.env ?? {}) as Partial<HttpBindings>;
  if (error === incoming?.errored) return;
  log.error(message, { path, reason: reasonOf(error) });
}

/** The text of anything but a PaygateError is not shown, because it is a bug of ours. */
export function respondTo(context: Context, error: unknown): Response {
  if (!(error instanceof PaygateError) || error.code === 'internal') {
    return errorResponse(context, 500, 'Internal error; the log of paygate says more');
  }
  return errorResponse(context, beginRefusal(context, error), error.message, error);
}
