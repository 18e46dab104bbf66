// One operation of the API as a value: its parameters, its answer, and who may call it. Router,
// documentation and tests read the same value, so that they can not differ.

import type { Context } from 'hono';
import * as z from 'zod';
import { refusePrivateMaterial } from '../bitcoin/private-material.ts';
import type { Permission } from '../domain/access/key-scope.ts';
import { PaygateError } from '../lib/errors.ts';
import type { Key } from '../store/access/api-keys.ts';
import type { Rates } from '../web/limits/request-limits.ts';
import type { refusalCodes } from './reference/documented-refusals.ts';
import { createPartReader, isVersion3, jsonAdvice } from './version-3-errors.ts';

const none = z.object({});

export interface RequestParts<Params, Query, Body> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  readonly context: Context;
}

export const tags = [
  'Orders',
  'Links',
  'Events',
  'Addresses',
  'Payments',
  'Balances',
  'Prices',
  'Stores',
  'Wallets',
  'Server',
  'Invoices',
  'Webhooks',
] as const;

type Description<
  Params extends z.ZodObject,
  Query extends z.ZodObject,
  Body extends z.ZodObject,
  Answer extends z.ZodType,
> = {
  readonly methods: readonly ('GET' | 'POST' | 'PUT' | 'DELETE')[];
  /** Below `/api`, with `{name}` for a parameter. */
  readonly path: string;
  /** Its name in clients; by default it is made of method and path. */
  readonly name?: string;
  readonly tag: (typeof tags)[number];
  readonly summary: string;
  /** What a 409 means; undefined if it has none. */
  readonly conflict?: string;
  /** Numbers of refusals that clients branch on. */
  readonly codes?: readonly (keyof typeof refusalCodes)[];
  /** What a 410 means; undefined if it has none. */
  readonly gone?: string;
  /** Counted by key, or by client for an operation without a key. */
  readonly limit?:
    | keyof Rates
    | ((query: Readonly<Record<string, string>>) => keyof Rates | undefined);
  readonly params?: Params;
  readonly query?: Query;
  /** Headers that the operation reads by itself. */
  readonly headers?: z.ZodObject;
  /** JSON, regardless of its Content-Type. */
  readonly body?: Body;
  /** A body, for the documentation. */
  readonly example?: z.input<Body>;
  /** The body of a 200. */
  readonly answer: Answer;
  /** What a key without the right for it lacks, in the words of the Greenfield API. */
  readonly permission?: Permission;
  /** `run` returns a response of plain text. */
  readonly isText?: true;
} & (
  | Keyed<RequestParts<z.infer<Params>, z.infer<Query>, z.infer<Body>>, z.infer<Answer>>
  | Open<RequestParts<z.infer<Params>, z.infer<Query>, z.infer<Body>>, z.infer<Answer>>
);

interface Keyed<Request, Answer> {
  readonly open?: undefined;
  /** It issues an address, or is about one: a key of the scope address-only may call it. */
  readonly issues?: true;
  /** It changes a store: only in the "Connect a plugin" window. */
  readonly writes?: true;
  run(asked: Request & { readonly key: Key }): Answer | Response | Promise<Answer | Response>;
}

interface Open<Request, Answer> {
  /** It needs no key. */
  readonly open: true;
  run(asked: Request): Answer | Promise<Answer>;
}

// biome-ignore lint/suspicious/noExplicitAny: each operation has schemas of its own.
export type Operation = Description<any, any, any, any>;
export type KeyedOperation = Extract<Operation, { readonly open?: undefined }>;

/** Makes an operation; its `run` is typed by its schemas. */
export const operation = <
  Answer extends z.ZodType,
  Params extends z.ZodObject = typeof none,
  Query extends z.ZodObject = typeof none,
  Body extends z.ZodObject = typeof none,
>(
  description: Description<Params, Query, Body, Answer>,
): Operation => description;

/** Reads a request by the operation's schemas. @throws PaygateError invalid */
export async function readRequest(
  operation: Operation,
  context: Context,
): Promise<RequestParts<unknown, unknown, unknown>> {
  const { params, query, body } = operation;
  const isRead = body === undefined || ['GET', 'HEAD'].includes(context.req.method);
  const given = {
    params: context.req.param(),
    query: context.req.query(),
    body: isRead ? {} : jsonOf(operation, utf8Of(await context.req.arrayBuffer())),
  };
  // Checked before any of it is stored or repeated in a response.
  const stored = 'writes' in operation ? given : 'issues' in operation ? given.body : undefined;
  const texts = stringsIn(stored);
  refusePrivateMaterial(texts);
  const read = isVersion3(operation.path) ? createPartReader(operation) : { part, end: () => {} };
  const parts = {
    params: read.part(params, given.params),
    query: read.part(query, given.query),
    body: isRead ? {} : read.part(body, given.body),
    context,
  };
  read.end();
  return parts;
}

export function stringsIn(value: unknown): string[] {
  const left = [value];
  const texts: string[] = [];
  for (const each of left) {
    if (typeof each === 'string') texts.push(each);
    else if (typeof each === 'object' && each !== null) {
      left.push(...Object.entries(each).flat());
    }
  }
  return texts;
}

function part(schema: z.ZodObject | undefined, given: unknown): unknown {
  if (schema === undefined) return {};
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = issue?.path.join('.');
  if (issue?.path.length === 1 && !((where ?? '') in (given as object))) {
    throw new PaygateError('invalid', `${where} is missing`);
  }
  throw new PaygateError('invalid', `${where ? `${where}: ` : ''}${issue?.message}`);
}

/** Refuses other encodings, which would be stored as wrong characters (RFC 8259 section 8.1). */
function utf8Of(bytes: ArrayBuffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new PaygateError('invalid', 'The body is not UTF-8');
  }
}

/** A missing body is an empty object, because clients post without one. */
function jsonOf(operation: Operation, text: string): unknown {
  if (text.trim() === '') return {};
  try {
    return JSON.parse(text);
  } catch {
    const advice = isVersion3(operation.path) ? jsonAdvice(operation, text) : '';
    throw new PaygateError('invalid', `The body is not JSON${advice}`);
  }
}
