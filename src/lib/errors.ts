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
  readonly fields?: readonly FieldError[];
  readonly cause?: unknown;
}

/** What is wrong with one field of a request. */
export interface FieldError {
  /** `amount`, or `metadata.cart` for a field within another. */
  readonly path: string;
  readonly message: string;
}

/** An error whose message is shown to people: what is wrong, then what to do. */
export class PaygateError extends Error {
  readonly code: ErrorCode;
  readonly number: number | undefined;
  readonly retryAfterSeconds: number | undefined;
  /** The fields that are wrong, for programs; the message names them, too. */
  readonly fields: readonly FieldError[];

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'PaygateError';
    this.code = code;
    this.number = details.number;
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.fields = details.fields ?? [];
  }
}

/** @param path the field that is wrong, if it is one. @throws PaygateError invalid, always */
export function throwInvalid(message: string, path?: string): never {
  const fields = path === undefined ? [] : [{ path, message }];
  throw new PaygateError('invalid', message, { fields });
}

/** An error of one field, whose message begins with its name. */
export const errorAt = (code: ErrorCode, path: string, message: string): PaygateError =>
  new PaygateError(code, `${path}: ${message}`, { fields: [{ path, message }] });

/** The message of a thrown value, for a log field. */
export function reasonOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
