// What is asked, and how its answer is read.

import type { PaygateError } from '../lib/errors.ts';
import type { Priced } from './budget.ts';
import { type Answer, encodeRequest, ServerError } from './framing.ts';
import type { Method } from './wire.ts';

/** How a request is queued. */
export interface Priority {
  /** One of very many: after all others, and no faster than a public server likes. */
  readonly bulk?: boolean;
}

export interface Call<T> extends Priority {
  readonly method: Method;
  readonly params: readonly unknown[];
  /** Reads the answer; what it throws as `invalid` ends the channel. */
  readonly parse: (result: unknown) => T;
  /** The answer is surely too long to be held back (see filler.ts). */
  readonly large?: boolean;
  /** The answer is a transaction taken apart. */
  readonly described?: boolean;
  /** How many headers are asked for. */
  readonly headers?: number;
  /** Called when an answer was longer than any line that is read, which ends the channel: surely this one's, or not. */
  readonly onTooLong?: (certain: boolean) => void;
}

export interface Request extends Priced {
  /** ASCII: methods, numbers, and what is written in hex. Empty once it is sent: thousands may wait for their answers. */
  text: string;
  readonly id: number;
  readonly large: boolean;
  readonly described: boolean;
  /** The first parameter, where it is a text. */
  readonly subject: string | undefined;
  /** Reads the answer and returns its delivery. @throws PaygateError invalid */
  readonly read: (answer: Answer) => () => void;
  readonly reject: (error: PaygateError) => void;
  readonly onTooLong?: Call<unknown>['onTooLong'] | undefined;
  /** Monotonic; of what has been sent. */
  sentAt: number;
  overdue: boolean;
}

type Reject = (error: PaygateError) => void;

export function requestOf<T>(
  id: number,
  { method, params, parse, ...call }: Call<T>,
  resolve: (value: T) => void,
  reject: Reject,
): Request {
  const { large = false, bulk = false, described = false, headers = 0 } = call;
  return {
    id,
    method,
    large,
    bulk,
    described,
    subject: subjectOf(params),
    headers,
    reject,
    onTooLong: call.onTooLong,
    text: encodeRequest(id, method, params),
    read(answer) {
      const told = readAnswer(answer, method, parse);
      return () => (told instanceof ServerError ? reject(told) : resolve(told));
    },
    sentAt: 0,
    overdue: false,
  };
}

function readAnswer<T>(
  answer: Answer,
  method: Method,
  parse: (result: unknown) => T,
): T | ServerError {
  if (answer.kind === 'result') return parse(answer.result);
  return new ServerError(answer.code, answer.text, method);
}

/** A scripthash or a transaction's id: what is longer is a transaction. */
function subjectOf([first]: readonly unknown[]): string | undefined {
  return typeof first === 'string' && first.length <= 64 ? first : undefined;
}
