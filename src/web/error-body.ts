// Errors on the wire (wire §1): the HTTP status says the class, the body says it again with a
// number that clients branch on and a message that says what to do.

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
  limited: 429,
  unavailable: 503,
  internal: 500,
};

export const httpStatusOf = ({ code }: PaygateError): ContentfulStatusCode => statuses[code];

const defaultRetryAfterSeconds = 5;

/** `number` is what clients branch on; without one it is the status. */
export function errorResponse(
  context: Context,
  status: ContentfulStatusCode,
  message: string,
  number: number = status,
): Response {
  context.header('Cache-Control', 'no-store');
  return context.json({ status, message, error: { code: number, message } }, status);
}

/** Logs a bug of ours. That a client breaks off what it says is none: strangers do it as often as they like. */
export function logFailure(log: Logger, context: Context, message: string, error: unknown): void {
  const { incoming } = (context.env ?? {}) as Partial<HttpBindings>;
  if (error === incoming?.errored) return;
  log.error(message, { path: context.req.path, reason: reasonOf(error) });
}

/** Anything but a PaygateError is a bug of ours, whose text is not for strangers. */
export function respondTo(context: Context, error: unknown): Response {
  if (!(error instanceof PaygateError) || error.code === 'internal') {
    return errorResponse(context, 500, 'Internal error; the log of paygate says more');
  }
  const status = httpStatusOf(error);
  if (status === 429 || status === 503) {
    context.header('Retry-After', String(error.retryAfterSeconds ?? defaultRetryAfterSeconds));
  }
  return errorResponse(context, status, error.message, error.number);
}
