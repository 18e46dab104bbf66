// The one error that paygate throws on purpose. Anything else that is thrown is a bug.

/** The class of an error. HTTP and CLI map each code to a status. */
export type ErrorCode =
  | 'invalid'
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'conflict'
  | 'gone'
  | 'limited'
  | 'unavailable'
  | 'internal';

export interface ErrorDetails {
  /** Number that API clients branch on; by default the HTTP status. */
  readonly number?: number;
  /** When a client should retry. */
  readonly retryAfterSeconds?: number;
  readonly cause?: unknown;
}

/** An error whose message is shown to people: what is wrong, then what to do. */
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

/** @throws PaygateError invalid, always */
export function throwInvalid(message: string): never {
  throw new PaygateError('invalid', message);
}

/** The message of a thrown value, for a log field. */
export function reasonOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
