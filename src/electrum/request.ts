// What is asked, one thing or several in one message, and how its answer is read.

import type { PaygateError } from '../lib/errors.ts';
import type { Priced } from './budget.ts';
import { type Answer, encodeBatch, encodeRequest, invalid, ServerError } from './framing.ts';
import type { Method } from './wire.ts';

/** How a request is queued. */
export interface Priority {
  /** One of very many: after all others, and no faster than a public server likes. */
  readonly bulk?: boolean;
  /** Of a script that surely has no history, of which a server is asked thousands at once. */
  readonly light?: boolean;
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

/** Light mass requests of one method; each has its own answer, or error. */
export interface BatchCall<T> {
  readonly method: Method;
  readonly params: readonly (readonly unknown[])[];
  /** Reads one answer; as of a call. */
  readonly parse: (result: unknown) => T;
}

export interface Request extends Priced {
  /** ASCII: methods, numbers, and what is written in hex. Empty once it is sent: thousands may wait for their answers. */
  text: string;
  /** Of the first call; the others follow it. */
  readonly id: number;
  /** How many calls it is made of. */
  readonly count: number;
  readonly large: boolean;
  readonly described: boolean;
  /** The first parameter, where it is a text and no other request is part of it. */
  readonly subject: string | undefined;
  /** Reads the answers, one for each call, in any order, and returns their delivery. @throws PaygateError invalid */
  readonly read: (answers: readonly Answer[]) => () => void;
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
  const { large = false, bulk = false, light = false, described = false, headers = 0 } = call;
  return {
    id,
    method,
    large,
    bulk,
    light,
    described,
    subject: subjectOf(params),
    headers,
    reject,
    onTooLong: call.onTooLong,
    count: 1,
    text: encodeRequest(id, method, params),
    read([answer, ...others]) {
      if (answer === undefined || others.length > 0) throw notAsked();
      const told = readAnswer(answer, method, parse);
      return () => (told instanceof ServerError ? reject(told) : resolve(told));
    },
    sentAt: 0,
    overdue: false,
  };
}

export function batchOf<T>(
  id: number,
  { method, params, parse }: BatchCall<T>,
  resolve: (values: (T | ServerError)[]) => void,
  reject: Reject,
): Request {
  const count = params.length;
  return {
    id,
    method,
    count,
    reject,
    bulk: true,
    light: true,
    // All answers come together.
    large: count >= smallAnswers,
    described: false,
    subject: undefined,
    text: encodeBatch(id, method, params),
    read(answers) {
      const [first] = answers;
      if (answers.length === 1 && first?.kind === 'error') {
        return () => reject(new ServerError(first.code, first.text, method));
      }
      if (answers.length !== count) throw notAsked();
      const values: (T | ServerError)[] = new Array(count);
      const isAnswered = new Uint8Array(count);
      for (const answer of answers) {
        const place = answer.id - id;
        if (isAnswered[place] !== 0) throw notAsked();
        isAnswered[place] = 1;
        values[place] = readAnswer(answer, method, parse);
      }
      return () => resolve(values);
    },
    sentAt: 0,
    overdue: false,
  };
}

const notAsked = (): PaygateError => invalid('answers to something else');

/** As many of the shortest, `{"jsonrpc":"2.0","id":1,"result":null}`, are longer than what is held back. */
const smallAnswers = 28;

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
