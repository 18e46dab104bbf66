// The one error that paygate throws on purpose. Anything else that is thrown is a bug.

/** What a caller can do about it; the HTTP and CLI edges map each code to a status. */
export type ErrorCode =
  | 'invalid'
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'conflict'
  | 'limited'
  | 'unavailable'
  | 'internal';

export interface ErrorDetails {
  /** Number that API clients branch on (wire §1); without one the HTTP status stands in. */
  readonly number?: number;
  /** How long a client should wait before it asks again. */
  readonly retryAfterSeconds?: number;
  readonly cause?: unknown;
}

/** An error with a message that is fit for the person who sees it: it says what to do. */
export class PaygateError extends Error {
  readonly code: ErrorCode;
  readonly number: number | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'PaygateError';
    this.code = code;
    this.number = details.number;
    this.retryAfterSeconds = details.retryAfterSeconds;
  }
}

/** Text of anything thrown, for a log field. */
export function reasonOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
