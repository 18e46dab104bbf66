// The description of the API for programs (OpenAPI 3.1). It is made from the operations and the
// schemas that read requests, so that it can not be outdated.
// Libraries that wrap routes check the Content-Type, which the wire format forbids.
// https://spec.openapis.org/oas/v3.1.1

import * as z from 'zod';
import { isAllowed, keyScopes } from '../../domain/access/key-scope.ts';
import { version } from '../../lib/version.ts';
import { type Rates, rateText } from '../../web/limits/request-limits.ts';
import { type KeyedOperation, type Operation, tags } from '../operation.ts';
import { webhookBody } from '../orders/order-schemas.ts';
import { satoshis } from '../shared-schemas.ts';
import { type RefusalCode, refusalCodes, refusals } from './documented-refusals.ts';
import { exampleOf } from './example-json.ts';
import {
  type JsonContent,
  type MediaObject,
  type NamedSchemas,
  type OpenapiDocument,
  type OperationObject,
  type Parameter,
  type Paths,
  type ResponseObject,
  referenceOf,
  type SchemaObject,
} from './openapi-shape.ts';

type Method = Operation['methods'][number];

const error = z.object({
  status: z.int().describe('The HTTP status again'),
  message: z.string().describe('What is wrong, and what to do'),
  error: z.object({
    code: z.int().describe('1001, 1003, 1008, 1032, or the HTTP status'),
    message: z.string().describe('The message again'),
    fields: z
      .array(z.object({ path: z.string(), message: z.string() }))
      .optional()
      .describe('Below /v3: each field of the request that is wrong, such as `metadata.cart`'),
  }),
});

/** Headers of refusals that are temporary. */
const wait = { 'Retry-After': { description: 'Seconds', schema: { type: 'integer', minimum: 1 } } };
const passing = ['429', '503'];
/** Refusals of operations with a key, and of those with a body. */
const ofKeys = ['401', '403'];
const ofBodies = ['413'];

/** @param named receives the named schemas within */
export function schemaOf(
  schema: z.ZodType,
  io: 'input' | 'output',
  named: NamedSchemas,
): SchemaObject {
  const { $schema, $defs, ...rest } = z.toJSONSchema(schema, {
    io,
    // Generators of clients make a 32-bit float of a literal of the type number.
    override: ({ jsonSchema }) => {
      const values = jsonSchema.enum ?? [jsonSchema.const];
      if (values.every(Number.isInteger)) jsonSchema.type = 'integer';
      // Without this, older clients would refuse answers with new fields.
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
    },
  });
  const moved = inComponents({ $defs, rest }) as { $defs?: NamedSchemas; rest: SchemaObject };
  Object.assign(named, moved.$defs);
  return moved.rest;
}

/** The same value, with its references into the components of the document. */
const inComponents = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value).replaceAll('"#/$defs/', '"#/components/schemas/'));

/** The name of an operation for clients, such as `getNewAddress`. */
const nameOf = ({ name, path }: Operation, method: Method): string =>
  name ??
  [method.toLowerCase(), ...path.matchAll(/[a-z0-9]+/g)]
    .map(String)
    .map((word, at) => (at === 0 ? word : `${word[0]?.toUpperCase()}${word.slice(1)}`))
    .join('');

const onlyInWindow = 'Only while "Connect a plugin" is open for the key.';

const scopesOf = ({ issues, writes }: KeyedOperation, method: Method): string[] =>
  keyScopes.filter(
    (scope) =>
      isAllowed(scope, { method, issues: issues ?? false }) && (!writes || scope === 'payments'),
  );

function parameters(
  schema: z.ZodObject | undefined,
  place: Parameter['in'],
  named: NamedSchemas = {},
): Parameter[] {
  if (schema === undefined) return [];
  const given = schemaOf(schema, 'input', named);
  const reference = referenceOf(given);
  const { properties = {}, required = [] } =
    (reference === undefined ? given : named[reference]) ?? {};
  return Object.entries(properties).map(([name, { description, ...rest }]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    ...(description !== undefined && { description }),
    schema: rest,
  }));
}

const parametersOf = ({ params, query, headers }: Operation, named?: NamedSchemas): Parameter[] => [
  ...parameters(params, 'path', named),
  ...parameters(query, 'query', named),
  ...parameters(headers, 'header', named),
];

const json = (schema: SchemaObject, example?: unknown): JsonContent => ({
  'application/json': { schema, ...(example !== undefined && { example }) },
});

const limited: Readonly<Record<keyof Rates, string>> = {
  newAddress: 'New addresses, orders and quotes together',
  balance: 'Requests for balances',
  searchHistory: 'Requests for histories',
  price: 'Requests for prices',
  write: 'Changes of stores, links and orders together',
  unknownKey: 'Wrong keys',
  unknownAddress: 'Unknown addresses',
};

function limitsOf(operation: Operation, rates: Rates): string[] {
  const { open, limit } = operation;
  const names = [
    ...('writes' in operation ? (['write'] as const) : []),
    ...(typeof limit === 'string' ? [limit] : []),
  ];
  return names.flatMap((name) => {
    const rate = rates[name];
    if (rate === undefined) return [];
    return `${limited[name]}: ${rateText(rate)} for each ${open ? 'client address' : 'key'}.`;
  });
}

function callersOf(operation: Operation, method: Method): string {
  if (operation.open) return 'For everybody, without a key.';
  const scopes = scopesOf(operation, method).map((scope) => `\`${scope}\``);
  const callers = `For keys of the scope ${scopes.join(' or ')}.`;
  return operation.writes ? `${callers} ${onlyInWindow}` : callers;
}

/** The numbers of an operation's refusals that have a status. */
function codesOf({ codes = [] }: Operation, status: number): MediaObject {
  const own = codes
    .map((code): [number, RefusalCode] => [code, refusalCodes[code]])
    .filter(([, refusal]) => refusal.status === status)
    .map(([code, { description: summary, message }]) => [
      String(code),
      { summary, value: { status, message, error: { code, message } } },
    ]);
  const schema = { $ref: '#/components/schemas/Error' };
  return own.length === 0 ? { schema } : { schema, examples: Object.fromEntries(own) };
}

function refusalsOf(operation: Operation, method: Method): Record<string, ResponseObject> {
  const { open, conflict, gone } = operation;
  const general = Object.entries(refusals).map(([status, { description }]) => [
    status,
    description,
  ]);
  const described = Object.entries<string>({
    ...Object.fromEntries(general),
    ...(conflict !== undefined && { 409: conflict }),
    ...(gone !== undefined && { 410: gone }),
  })
    .filter(([status]) => !(open && ofKeys.includes(status)))
    .filter(([status]) => method !== 'GET' || !ofBodies.includes(status))
    .map(([status, description]) => [
      status,
      {
        description,
        ...(passing.includes(status) && { headers: wait }),
        content: { 'application/json': codesOf(operation, Number(status)) },
      },
    ]);
  return Object.fromEntries(described);
}

interface Described {
  readonly rates: Rates;
  /** Receives the named schemas. */
  readonly named: NamedSchemas;
}

function describe(
  operation: Operation,
  method: Method,
  { rates, named }: Described,
): OperationObject {
  const { summary, tag, body, example, answer, isText } = operation;
  const bodySchema = body && schemaOf(body, 'input', named);
  const answerSchema = schemaOf(answer, 'output', named);
  return {
    operationId: nameOf(operation, method),
    tags: [tag],
    summary,
    description: [callersOf(operation, method), ...limitsOf(operation, rates)].join(' '),
    security: operation.open ? [] : scopesOf(operation, method).map((scope) => ({ key: [scope] })),
    parameters: parametersOf(operation, named),
    ...(bodySchema !== undefined &&
      method !== 'GET' && {
        requestBody: {
          // An operation with GET takes the same from its query.
          required: !operation.methods.includes('GET'),
          content: json(bodySchema, example ?? exampleOf(bodySchema, named)),
        },
      }),
    responses: {
      200: {
        description: 'Done',
        content: {
          [isText ? 'text/plain' : 'application/json']: {
            schema: answerSchema,
            example: exampleOf(answerSchema, named),
          },
        },
      },
      ...refusalsOf(operation, method),
    },
  };
}

const callbackQuery = z.object({
  status: z.literal([-1, 0, 1, 2]).describe('-1 only where the store asks for it'),
  addr: z.string(),
  value: satoshis,
  txid: z.string(),
  rbf: z.literal(1).optional().describe('An unconfirmed payment that can be replaced'),
});

/** https://www.standardwebhooks.com */
const signature = z.object({
  'webhook-id': z.string().describe('The same for each attempt'),
  'webhook-timestamp': z.string().describe('Unix seconds of the attempt'),
  'webhook-signature': z.string().describe('v1,… by the whsec_ secret of the store'),
});

/** Requests that paygate sends to a shop. */
function webhooksOf(named: NamedSchemas): Paths {
  const event = schemaOf(webhookBody, 'output', named);
  return {
    callback: {
      get: {
        operationId: 'receiveCallback',
        summary: 'A payment to an issued address, sent to the Callback URL of the store',
        security: [],
        parameters: [...parameters(callbackQuery, 'query'), ...parameters(signature, 'header')],
        responses: { 200: { description: 'Received; any other status is sent again' } },
      },
    },
    event: {
      post: {
        operationId: 'receiveEvent',
        summary: 'A change of an order or a payment, sent to the webhook URL of the store',
        security: [],
        parameters: parameters(signature, 'header'),
        requestBody: { content: json(event, exampleOf(event, named)) },
        responses: { '2XX': { description: 'Received; any other status is sent again' } },
      },
    },
  };
}

/** What two documents do not share. */
export interface DocumentForm {
  readonly description: string;
  readonly error: z.ZodType;
  readonly webhooks: (named: NamedSchemas) => Paths;
}

const ownForm: DocumentForm = {
  description: 'Bitcoin payments to your own wallet',
  error,
  webhooks: webhooksOf,
};

export function openapiOf(
  operations: readonly Operation[],
  rates: Rates,
  form: DocumentForm = ownForm,
): OpenapiDocument {
  const paths: Paths = {};
  const named: NamedSchemas = {};
  named.Error = schemaOf(form.error, 'output', named);
  for (const operation of operations) {
    for (const method of operation.methods) {
      paths[operation.path] = {
        ...paths[operation.path],
        [method.toLowerCase()]: describe(operation, method, { rates, named }),
      };
    }
  }
  const used = new Set(operations.map(({ tag }) => tag));
  return {
    openapi: '3.1.1',
    info: {
      title: 'paygate',
      version,
      description: form.description,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/api' }],
    security: [{ key: [] }],
    tags: tags.filter((name) => used.has(name)).map((name) => ({ name })),
    paths,
    webhooks: form.webhooks(named),
    components: {
      securitySchemes: { key: { type: 'http', scheme: 'bearer' } },
      schemas: named,
    },
  };
}
